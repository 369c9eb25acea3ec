"""Faults that a scripted server shows where `Behaviour.fault` asks for them, by kind."""

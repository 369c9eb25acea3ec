"""What methods are made of: a run with its rounds, and the steps that candidates go through."""

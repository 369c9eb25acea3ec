"""A synthetic reasoner: problems with a hidden structure, and a model that sees only prompts."""

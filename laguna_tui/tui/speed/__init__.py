"""How fast the model answers, and what speculation contributes."""

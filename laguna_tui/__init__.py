"""laguna-tui: a terminal coding assistant with the model inside it."""

__version__ = "0.1.0"

"""`laguna-tui selfcheck`: compares what this machine computes with what it should, for the models that are on it."""

"""`laguna-tui selfcheck`: what this machine computes, compared with what it should, with the models that are there."""

"""`laguna-tui bench`: what speculative decoding brings on this machine, measured in the user's own process."""

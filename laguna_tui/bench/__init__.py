"""`laguna-tui bench`: measures what speculative decoding brings on this machine, in the user's own process."""

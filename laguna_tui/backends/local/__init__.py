"""A model in this process: messages become tokens, and everything that only tokens can do (cache, drafts, replay)."""

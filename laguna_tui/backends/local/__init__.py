"""A model in this process: messages become tokens, which allow caching, drafting and replay."""

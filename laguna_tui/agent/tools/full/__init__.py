"""The tools of models that read code themselves: `find`, `search` and `read`."""

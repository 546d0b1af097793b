"""Model files, read in Python: what a GGUF says about itself, and whether native code may see it."""

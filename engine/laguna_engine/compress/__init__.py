"""The prompt scorer: a small model that says which texts a question needs, and how long asking it takes."""

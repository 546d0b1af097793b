"""Shortening of files: cut into spans, ranked for a question, and selected within a budget of tokens."""

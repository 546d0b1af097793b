"""Prompt compression: files as spans, ranked for a question and selected within a token budget."""

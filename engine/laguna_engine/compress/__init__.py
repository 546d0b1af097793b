"""What a long prompt can do without: files as spans, ranked for a question and cut to a budget of tokens."""

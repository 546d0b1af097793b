"""Tasks with a verdict: what a model is asked, what runs to say whether it was right, and the figures of many."""

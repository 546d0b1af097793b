"""Drafts are verified, accepted and paid for: the rounds, the exactness, and whether they are worth it."""

"""Constraints on the next token of the target: a mask for each row of logits, which composes with drafts."""

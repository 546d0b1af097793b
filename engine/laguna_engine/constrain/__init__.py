"""What the target may say next: a mask for each row of logits, which composes with drafts."""

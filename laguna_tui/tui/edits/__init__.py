"""Proposed edits on the screen: the diff in the conversation, the question below it, and who answers it."""

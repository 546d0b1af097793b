"""Code in the prompt: mentions, attachments, the opening map, instructions, and completion of mentions."""

"""What of the codebase stands in the prompt: mentions, the context pack, and what the user is shown of both."""

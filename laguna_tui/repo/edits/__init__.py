"""Changes of files as they are proposed, shown and applied."""

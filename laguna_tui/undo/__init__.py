"""What a session changed in its folder, and how that is undone."""

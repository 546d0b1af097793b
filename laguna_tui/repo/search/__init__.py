"""The index of a folder, and what is found with it."""

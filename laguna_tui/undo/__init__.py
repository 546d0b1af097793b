"""What a session changed in its folder, and how it is taken back."""

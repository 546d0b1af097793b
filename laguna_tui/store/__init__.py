"""Session files: events, reading and writing them, their index, search, export and retention."""

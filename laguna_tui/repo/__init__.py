"""The project's folder: its files, their text, its definitions, search and edits."""

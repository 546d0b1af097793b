"""What is in the folder that is asked about: its files, their text and their definitions."""

"""The input: typing, its history, mentions, and what is found out while the user types."""

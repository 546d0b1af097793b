"""The Textual front end: the agent's events as a conversation on the screen. It knows no engine and no files."""

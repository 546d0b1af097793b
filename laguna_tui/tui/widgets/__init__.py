"""The widgets around the transcript: input, rail, status bar, help and history search. Styles stand beside them."""

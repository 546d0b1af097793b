"""The conversation on the screen: entries, the document that stacks them, and the widget that renders it."""

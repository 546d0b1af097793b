"""The conversation on the screen: pieces that lay themselves out, a document that stacks them, a widget that draws."""

"""Undo, redo, rewind and diffs: their screens and their controller."""

"""Proposed edits: the panel that asks about them, and its controller."""

"""Definitions, references and errors in a file's text, by its language."""

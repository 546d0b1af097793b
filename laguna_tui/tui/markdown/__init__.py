"""Markdown to lines of toned text, without a widget: a stream is split, a block converted once, then wrapped."""

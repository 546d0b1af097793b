"""Markdown to styled lines, without a widget: a stream is split into blocks, each is converted once, then wrapped."""

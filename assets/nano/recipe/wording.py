"""How tables of wordings are written down: one a line, or one a paragraph where they are long.

Deals in plain text. Everywhere `{n}` stands for a name, `{m}` for a new name, `{f}` for a file and `{t}` for a text in
quotes.
"""

from __future__ import annotations

import re


def wordings(text: str) -> tuple[str, ...]:
    """One wording a line."""
    return tuple(line.strip() for line in text.strip().splitlines())


def paragraphs(text: str) -> tuple[str, ...]:
    """One wording a paragraph: its lines are joined."""
    return tuple(" ".join(part.split()) for part in text.strip().split("\n\n"))


def bare(text: str) -> str:
    """The words and places of a wording alone: two that differ in case or punctuation only are the same."""
    return " ".join(re.findall(r"[\w{}]+", text)).casefold()

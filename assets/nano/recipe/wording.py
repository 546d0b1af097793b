"""Load the wordings in `wordings/*.txt`.

Deals in plain text. Everywhere `{n}` stands for a name, `{m}` for a new name, `{f}` for a file and `{t}` for a text in
quotes. A file has tables that begin with `== NAME`, with one wording per line; in a table `== NAME (paragraphs)` long
wordings are separated by blank lines.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

FOLDER = Path(__file__).with_name("wordings")


def tables(name: str) -> SimpleNamespace:
    """Return the tables of a file as attributes, each a tuple of wordings."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    found = SimpleNamespace()
    for table in text.split("\n== ")[1:]:
        head, _, body = table.partition("\n")
        table_name, _, kind = head.partition(" ")
        parts = body.strip().split("\n\n" if kind == "(paragraphs)" else "\n")
        setattr(found, table_name, tuple(" ".join(part.split("\n")) for part in parts))
    return found


def bare(text: str) -> str:
    """The words and places of a wording alone: two that differ in case or punctuation only are the same."""
    return " ".join(re.findall(r"[\w{}]+", text)).casefold()

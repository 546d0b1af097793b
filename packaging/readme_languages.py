"""Write the README's table of languages from the queries of each grammar: `python packaging/readme_languages.py`.

A test compares the two, so that the README cannot drift.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from laguna_tui.repo.syntax.language_patterns import BY_SUFFIX
from laguna_tui.repo.syntax.tag_queries import LANGUAGE_OF, TAGS

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- languages: made by packaging/readme_languages.py -->\n", "<!-- /languages -->"
_TITLES = {
    "cpp": "C++",
    "csharp": "C#",
    "javascript": "JavaScript",
    "php": "PHP",
    "tsx": "TSX",
    "typescript": "TypeScript",
}
_KINDS = {"function": "functions", "type": "types", "variable": "values"}
# What a pattern of references is about, by the kinds of nodes that it names.
_USES = {
    "calls": r"\((call|\w*invocation\w*|\w*call_expression|function_call|command|apply|new_expression)\b",
    "types": r"type|superclass|heritage|base_|extends|constant|alias\)|signature",
    "imports": r"import|\(use_|using_|namespace_use|\(alias\)",
}


def languages_table() -> str:
    """Every language with a grammar, and the files that are read by line patterns alone, as Markdown."""
    return "\n".join(["| language | files | definitions | uses |", "|---|---|---|---|", *_rows()]) + "\n"


def _rows() -> Iterator[str]:
    for name, (tags, suffixes) in TAGS.items():
        kinds = ", ".join(kind for capture, kind in _KINDS.items() if re.search(rf"@{capture}\b", tags.definitions))
        uses = ", ".join(use for use, pattern in _USES.items() if re.search(pattern, tags.references + tags.imports))
        yield f"| {_TITLES.get(name, name.title())} | {_files(suffixes.split())} | {kinds} | {uses} |"
    others = sorted(set(BY_SUFFIX) - set(LANGUAGE_OF))
    yield f"| others, by line patterns | {_files(others)} | functions, types | |"


def _files(suffixes: list[str]) -> str:
    return " ".join(f"`{suffix}`" for suffix in suffixes)


def updated(text: str) -> str:
    """The README's text with today's languages between its two marks."""
    before, rest = text.split(BEGIN, 1)
    return before + BEGIN + "\n" + languages_table() + "\n" + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")

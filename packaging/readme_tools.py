"""Write the README's table of tools from their declarations: `python packaging/readme_tools.py`.

A test compares the two, so that the README cannot drift.
"""

from pathlib import Path
from typing import Any

from laguna_tui.agent.tools.base.tool import Tool
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.base.schema import REQUIRED, DeclaredField, declarations

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- tools: made by packaging/readme_tools.py -->\n", "<!-- /tools -->"


def tools_table() -> str:
    """Every tool with its arguments, as Markdown."""
    head = ["| tool | arguments | what it does | changes something |", "|---|---|---|---|"]
    return "\n".join([*head, *map(_row, FULL.tools)]) + "\n"


def _row(tool: Tool[Any]) -> str:
    arguments = ", ".join(map(_argument, declarations(tool.arguments).values()))
    cells = f"`{tool.name}`", arguments, tool.description, "no" if tool.read_only else "yes"
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _argument(field: DeclaredField) -> str:
    """An argument's name; in brackets where a call may leave it out."""
    return f"`{field.name}`" if field.default is REQUIRED else f"[`{field.name}`]"


def updated(text: str) -> str:
    """The README's text with today's tools between its two marks."""
    before, rest = text.split(BEGIN, 1)
    return before + BEGIN + "\n" + tools_table() + "\n" + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")

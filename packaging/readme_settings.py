"""Write the README's table of settings from their declarations: `python packaging/readme_settings.py`.

A test compares the two, so that the README cannot drift.
"""

from pathlib import Path

from laguna_tui.base.schema import DeclaredField, declarations
from laguna_tui.base.settings import Settings

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- settings: made by packaging/readme_settings.py -->\n", "<!-- /settings -->"


def settings_table() -> str:
    """Every setting with its range and its default, as Markdown."""
    head = ["| setting | what it is | allowed | default |", "|---|---|---|---|"]
    return "\n".join([*head, *map(_row, declarations(Settings).values())]) + "\n"


def _row(setting: DeclaredField) -> str:
    kind = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}[setting.kind]
    cells = (
        f"`{setting.name}`",
        setting.rule.help,
        setting.allowed_anywhere or kind,
        setting.default_text,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def updated(text: str) -> str:
    """The README's text with today's settings between its two marks."""
    before, rest = text.split(BEGIN, 1)
    return before + BEGIN + "\n" + settings_table() + "\n" + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")

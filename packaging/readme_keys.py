"""Generate the README's table of keys from the app's bindings: `python packaging/readme_keys.py`.

A test checks that the README is up to date.
"""

from pathlib import Path

from laguna_tui.tui.app import LagunaApp

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- keys: made by packaging/readme_keys.py -->\n", "<!-- /keys -->"


def keys_table() -> str:
    """The help screen's sections as Markdown."""
    parts = []
    for title, rows in LagunaApp.help_sections().items():
        lines = [f"| {' or '.join(f'`{_cell(key)}`' for key in keys.split('  '))} | {what} |" for keys, what in rows]
        parts.append("\n".join([f"| {title} | |", "|---|---|", *lines]))
    return "\n\n".join(parts) + "\n"


def _cell(key: str) -> str:
    """Escape bars: even in code they would start another column."""
    return key.replace("|", "\\|")


def updated(text: str) -> str:
    """The README with the table between its two marks replaced."""
    before, rest = text.split(BEGIN, 1)
    return before + BEGIN + "\n" + keys_table() + "\n" + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")

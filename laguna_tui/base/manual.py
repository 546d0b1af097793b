"""The manual: pages of Markdown in `assets/docs`, shown by `laguna-tui help` and by the help screen."""

import re
from pathlib import Path

from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import data_root
from laguna_tui.base.spelling import did_you_mean

# A terminal shows neither pictures nor the marks around generated tables.
_HIDDEN = re.compile(r"^(!\[.*?\]\(.*?\)|<!--.*?-->)\n+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


def manual_pages() -> dict[str, Path]:
    """Return the file of each page by its name."""
    return {path.stem: path for path in sorted((data_root() / "assets" / "docs").glob("*.md"))}


def page_title(page: Path) -> str:
    """Return a page's heading."""
    return page.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def read_page(name: str) -> str:
    """Return a page's Markdown as a terminal shows it: without pictures, links within the manual as plain text.

    Raises:
        UserError: there is no such page.
    """
    pages = manual_pages()
    if name not in pages:
        hint = did_you_mean(name, tuple(pages))
        raise UserError(f"the manual has no page {name!r}{hint}; the pages: {', '.join(pages)}")
    return _LINK.sub(r"\1", _HIDDEN.sub("", pages[name].read_text(encoding="utf-8")))

"""The table of llama.cpp's tests names tests that exist."""

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_row_names_tests_that_exist():
    text = (HERE / "README.md").read_text(encoding="utf-8").partition("## In tests of our own")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in text.splitlines() if "|" in line]
    named = {name for row in rows for name in re.findall(r"`(test_\w+)`", row[2])}
    sources = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    assert named
    assert not [name for name in sorted(named) if f"def {name}(" not in sources]
    empty = [row for row in rows[2:] if not row[2].strip()]
    assert all(row[3].strip().startswith("not applicable") for row in empty)

"""The page of chat formats by family says what the templates of these families say."""

import pytest

from tests.engine.chat.family_table import FAMILIES, HEAD, PAGE, row

LINES = PAGE.read_text(encoding="utf-8").removeprefix(HEAD).splitlines(keepends=True)


def test_every_family_has_a_line():
    assert [line.split(" | ")[0] for line in LINES] == [f"| {family}" for family in FAMILIES]


@pytest.mark.parametrize(("family", "line"), zip(FAMILIES, LINES, strict=True), ids=FAMILIES)
@pytest.mark.sampled(6)
def test_a_line_is_what_the_template_says(family: str, line: str):
    assert line == row(family), "take it with: python -m tests.engine.chat.family_table"

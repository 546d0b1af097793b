"""A diff becomes rows that fit the width, whatever its lines contain."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import ChangeMade
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.base.text_diff import Hunk
from laguna_tui.tui.approvals.question import (
    ALWAYS,
    EDIT,
    ELSEWHERE,
    NETWORK,
    NO,
    SAY_NO,
    STOP,
    YES,
    Choice,
    choice_at,
    choice_parts,
    lay_choices,
)
from laguna_tui.tui.event_sanitizer import safe_event
from laguna_tui.tui.text_lines import cells, drawn, plain
from laguna_tui.tui.transcript.diff_lines import MAX_LINES, tinted_diff
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.request_entries import ChangeEntry, ChangeOutcome, DiffEntry
from laguna_tui.tui.transcript.selection import rows_text
from tests.app.hunks import hunks_of
from tests.tui.changes import Project
from tests.tui.test_screen_safety import assert_harmless

HEAD = "@@ -5 +5 @@"
LINES = st.lists(st.tuples(st.sampled_from(" -+"), st.text(max_size=60)).map("".join), max_size=12)


def rows(lines: tuple[str, ...], width: int = 80, path: str = "a.py") -> list[str]:
    return [plain(line.runs).rstrip() for line in tinted_diff(hunks_of(*lines), path).lay(width)]


def safe(lines: list[str]) -> tuple[Hunk, ...]:
    """The lines as they come over the border."""
    raw = ChangeProposal("a.py", "", "", 1, hunks_of(HEAD, *lines), "", Path("/"), b"", b"", FolderIdentity(0, 0))
    event = safe_event(ChangeMade(1, raw))
    assert isinstance(event, ChangeMade)
    return event.change.hunks


def test_lines_have_their_numbers_and_signs(tmp_path: Path) -> None:
    change = Project(tmp_path).edit("        return total", "        paid = True\n        return total")
    assert rows(change.diff) == [
        "11           total = 0",
        "12           for item in self.items:",
        "13               total += item.price  # in cents",
        "14 +         paid = True",
        "15           return total",
    ]


def test_places_far_from_each_other_are_parted() -> None:
    assert rows((HEAD, "-one", "+two", "@@ -60 +61 @@", "-three")) == [" 5 − one", " 5 + two", "⋯", "60 − three"]


def test_a_narrow_screen_has_no_numbers() -> None:
    assert rows((HEAD, "-one", "+two"), 40) == ["− one", "+ two"]


def test_a_long_line_is_folded_under_its_sign() -> None:
    assert rows((HEAD, "-abcdefghij"), 8) == ["− abcdef", "  ghij"]


def beside(lines: tuple[str, ...], width: int = 121) -> list[str]:
    laid = tinted_diff(hunks_of(*lines), "a.txt").lay(width, side_by_side=True)
    return [" ".join(plain(line.runs).split()) for line in laid]


def test_side_by_side_a_line_stands_beside_the_one_that_replaces_it() -> None:
    lines = ("@@ -5,4 +8,5 @@", " kept", "-one", "-two", "+three", "+four", "+five", " end")
    assert beside(lines) == [
        "5 kept │ 8 kept",
        "6 − one │ 9 + three",
        "7 − two │10 + four",
        "│11 + five",
        "8 end │12 end",
    ]


def test_side_by_side_both_columns_are_as_wide_as_each_other() -> None:
    diff = tinted_diff(hunks_of(HEAD, "-one\t", "+" + "three " * 30, "+漢字"), "a.py")
    for width in (121, 160, 161):
        laid = diff.lay(width, side_by_side=True)
        halves = {cells(drawn(plain(row.runs)).partition("│")[0]) for row in laid}
        assert len(halves) == 1
        assert {row.reach for row in laid} == {2 * halves.pop() + 1}
        assert max(row.reach for row in laid) <= width
        assert max(cells(drawn(plain(row.runs))) for row in laid) <= width


def test_side_by_side_a_long_line_is_folded_in_its_column() -> None:
    rows = beside((HEAD, "-" + "a" * 80, "+b"))
    assert rows == [f"5 − {'a' * 56}│5 + b", "a" * 24]


def test_side_by_side_each_column_is_copied_by_itself() -> None:
    document = TranscriptDocument(121)
    document.resize(121, side_by_side=True)
    document.append(DiffEntry(hunks_of(HEAD, " kept", "-" + "a" * 80, "+one", "+two"), "a.txt"))
    document.flush()
    assert document.height == 4
    assert rows_text(document, (0, 0), (4, None)) == "kept\none\ntwo"
    assert rows_text(document, (0, 0), (3, 62)) == f"kept\n{'a' * 80}\n"
    assert rows_text(document, (0, 64), (1, 70)) == "kept\non"


def test_a_new_file_has_one_column_on_every_screen() -> None:
    lines = ("@@ -0,0 +1,2 @@", "+one", "+two")
    assert beside(lines) == ["1 + one", "2 + two"]


def test_a_string_over_many_lines_is_one_on_both_sides() -> None:
    lines = (HEAD, ' """one', "-two", "+three", ' four"""')
    hunk = tinted_diff(hunks_of(*lines), "a.py").hunks[0]
    assert ["code-string" in line.runs[0].tone for line in hunk] == [True] * 4


def parts(lines: tuple[str, ...]) -> list[str]:
    """What is set off in each line."""
    hunk = tinted_diff(hunks_of(HEAD, *lines), "a.py").hunks[0]
    return ["".join(run.text for run in line.runs if run.tone.endswith("-part")) for line in hunk]


@pytest.mark.parametrize(
    ("dropped", "added", "set_off"),
    [
        ("    def total(self):", "    def amount(self):", ["total", "amount"]),
        ("total = 0", "tally = 0", ["total", "tally"]),
        ("return a", "return a + b", ["", " + b"]),
        ("f(x)", "f(x, y)", ["", ", y"]),
        ("x = old_name()", "x = new_name()", ["old_name", "new_name"]),
        ("something", "else entirely", ["", ""]),
    ],
)
def test_what_is_new_in_a_line_is_set_off(dropped: str, added: str, set_off: list[str]) -> None:
    assert parts((f"-{dropped}", f"+{added}")) == set_off


def test_lines_are_only_compared_with_those_that_replace_them() -> None:
    assert parts(("-a = 1", "-b = 2", "+a = 3", "+b = 4")) == ["1", "2", "3", "4"]
    assert parts(("-a = 1", "+a = 2", "+b = 3", " c = 4", "+c = 5")) == [""] * 5


def test_lines_that_begin_like_a_header_are_lines() -> None:
    assert rows((HEAD, "--- a.py", "+@@ -1 +1 @@")) == ["5 − -- a.py", "5 + @@ -1 +1 @@"]


def test_what_is_too_much_to_show_is_said_to_be_missing() -> None:
    found = rows((HEAD, *["+x"] * (MAX_LINES + 4)))
    assert len(found) == MAX_LINES
    assert found[-1] == "… 5 more lines are not shown"


@given(LINES, st.integers(8, 120))
def test_any_diff_stays_in_its_rows(lines: list[str], width: int) -> None:
    shown = tinted_diff(safe(lines), "a.py").lay(width)
    for line in shown:
        assert_harmless(drawn(plain(line.runs)))
        assert cells(plain(line.runs)) <= width
    # A row that continues another one has no sign, so that nobody takes it for a line of its own.
    begun = [line for line in shown if line.glue is None]
    assert len(begun) == len(lines)
    signs = [plain(line.runs)[: line.lead][-2] for line in begun]
    assert signs == [line[0].replace("-", "−") for line in lines]


@pytest.mark.parametrize("choices", [(YES, ALWAYS, NO, SAY_NO, EDIT, NETWORK, STOP), (YES, NO, STOP), ELSEWHERE])
@pytest.mark.parametrize("width", [16, 36, 76, 120])
def test_each_choice_is_where_it_shows(choices: tuple[Choice, ...], width: int) -> None:
    found = []
    for row in lay_choices(choices, width):
        text = "".join(part for part, _ in choice_parts(row))
        assert cells(text) <= width
        for placed in row:
            assert choice_at(row, text.index(placed.text)) == placed.choice.key
            found.append(placed.choice)
        assert choice_at(row, len(text)) == ""
    assert tuple(found) == choices


def test_all_choices_fit_into_one_row_of_a_usual_terminal() -> None:
    assert len(lay_choices((YES, ALWAYS, NO, SAY_NO, EDIT, NETWORK, STOP), 76)) == 1


def test_the_warning_of_an_edit_that_nobody_was_asked_about_stands_above_its_diff(tmp_path: Path) -> None:
    proposal = Project(tmp_path).edit("def total(self):", "def total(self:")

    def shown(*, agreed: bool) -> list[str]:
        edit = ChangeEntry(proposal, agreed=agreed)
        edit.finish(ChangeOutcome.MADE)
        return [plain(line.runs).rstrip() for line in edit.peek(100)]

    assert shown(agreed=True)[0].startswith("│ After this edit the file is no longer valid Python: ")
    assert shown(agreed=True)[1:] == shown(agreed=False)

"""The document finds rows fast, lays them out lazily, and keeps their position."""

import time
from pathlib import Path

import pytest
from rich.style import Style

from laguna_engine.events import Source
from laguna_tui.tui.markdown.attributed_text import AttributedText, TintSwitch
from laguna_tui.tui.markdown.markdown_parser import to_flows
from laguna_tui.tui.text_lines import TextRun, cells, drawn, plain
from laguna_tui.tui.transcript import export, selection
from laguna_tui.tui.transcript.answer_entries import AnswerEntry
from laguna_tui.tui.transcript.document import GUTTER, TranscriptDocument
from laguna_tui.tui.transcript.entries import Entry, NoticeEntry, QuestionEntry
from laguna_tui.tui.transcript.request_entries import DiffEntry
from laguna_tui.tui.transcript.shell_entry import ShellEntry
from laguna_tui.tui.transcript.step_entries import ThinkingEntry, ToolCallEntry
from laguna_tui.tui.transcript.transcript_view import draw_line
from tests.app.hunks import hunks_of


def document_of(*pieces: Entry, width: int = 40) -> TranscriptDocument:
    document = TranscriptDocument(width)
    for piece in pieces:
        document.append(piece)
    document.flush()
    return document


def answered(source: str, *, gap: bool = True) -> AnswerEntry:
    return AnswerEntry(source, to_flows(source), AttributedText(), TintSwitch(), gap=gap)


def shown(document: TranscriptDocument) -> list[str]:
    rows = (document.line(*document.at(row)) for row in range(document.height))
    return [drawn(plain(line.runs)).rstrip() for line in rows]


def test_rows_belong_to_pieces_with_their_gap() -> None:
    document = document_of(QuestionEntry("one"), answered("two"), answered("three", gap=False))
    assert shown(document) == ["", "one", "", "two", "three"]
    assert [document.at(row) for row in range(5)] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]


def test_only_what_changed_is_laid_out_again() -> None:
    thought = ThinkingEntry(TintSwitch())
    document = document_of(*(answered(f"piece {number}") for number in range(100)), thought)
    before = document.laid
    thought.extend("hm", Source.TARGET)
    assert document.flush() == document.top(100)
    assert document.laid == before + 1


def test_a_resize_lays_out_nothing_until_it_is_looked_at() -> None:
    document = document_of(*(answered("word " * 30) for _ in range(500)))
    before, tall = document.laid, document.height
    document.resize(20)
    document.flush()
    assert document.laid == before
    document.refresh(499)
    assert document.laid == before + 1
    assert document.height > tall


def test_settling_finishes_a_resize_bit_by_bit() -> None:
    document = document_of(*(answered("word " * 30) for _ in range(50)))
    document.resize(20)
    steps = 1
    while document.settle(10):
        steps += 1
    assert steps == 5
    document.flush()
    assert document.height == 50 * (1 + 8)


def test_removed_pieces_leave_no_rows() -> None:
    last = QuestionEntry("gone")
    document = document_of(QuestionEntry("one"), last)
    document.remove(last)
    assert document.flush() == 2
    assert shown(document) == ["", "one"]
    assert document.index(last) is None


def test_an_answer_is_one_stop_and_each_of_its_code_blocks_another() -> None:
    document = document_of(
        QuestionEntry("q"),
        ToolCallEntry("read()", gap=True),
        answered("text"),
        answered("```\ncode\n```"),
        answered("more"),
    )
    assert selection.stops(document) == [0, 1, 2, 3]
    assert selection.span(document, 2) == range(2, 5)
    assert selection.span(document, 3) == range(3, 4)
    assert selection.copied(document, 2) == "text\n\n```\ncode\n```\n\nmore"
    assert selection.copied(document, 3) == "code"


def test_the_last_answer_goes_over_its_tool_calls() -> None:
    document = document_of(
        QuestionEntry("old"),
        answered("old answer"),
        QuestionEntry("new"),
        answered("first"),
        ToolCallEntry("read()", gap=True),
        answered("- a"),
        answered("- b", gap=False),
        NoticeEntry("stopped"),
    )
    assert selection.last_answer(document) == "first\n\n- a\n- b"


def test_copied_rows_join_wrapped_lines_and_leave_decoration_out() -> None:
    document = document_of(answered("- " + "word " * 12), width=20)
    assert document.height > 3
    assert selection.rows_text(document, (0, 0), (document.height, None)) == "\n" + ("word " * 12).strip()


def test_a_copied_table_has_its_columns_and_no_borders() -> None:
    document = document_of(answered("| name | what |\n|---|---|\n| a | first |\n| bb | second |"))
    copied = selection.rows_text(document, (1, 0), (document.height, None))
    assert copied == "name   what\na      first\nbb     second"


def selected(document: TranscriptDocument, position: selection.Position, unit: selection.SelectionUnit) -> str:
    """What a double or triple click copies."""
    return selection.rows_text(document, *selection.unit_at(document, position, unit))


@pytest.mark.parametrize("width", [9, 12, 20, 80])
def test_a_word_and_a_line_are_selected_whole_however_they_are_wrapped(width: int) -> None:
    document = document_of(answered("See `src/cart/total.py:12`, the total() of it."), width=width)
    found = {
        unit: {
            selected(document, (row, column), unit)
            for row in range(1, document.height)
            for column in range(GUTTER, GUTTER + cells(plain(document.line(0, row).runs)))
        }
        for unit in selection.SelectionUnit
    }
    assert found[selection.SelectionUnit.LINE] == {"See src/cart/total.py:12, the total() of it."}
    words = {"See", "src/cart/total.py:12", ",", "the", "total", "(", ")", "of", "it", "."}
    assert found[selection.SelectionUnit.WORD] - {""} == words


def test_the_export_holds_the_whole_chat() -> None:
    called = ToolCallEntry('read("a.py")', gap=True)
    called.finish("1: ```", 0.1, ok=True)
    text = export.chat_text(
        document_of(QuestionEntry("why?\nsay"), called, answered("- a"), answered("- b", gap=False)), "Chat"
    )
    assert text.startswith('# Chat\n\n> why?\n> say\n\n<details><summary><code>read("a.py")</code></summary>')
    assert "````\n1: ```\n````" in text
    assert text.endswith("- a\n- b\n")


def test_an_exported_chat_has_no_secrets(tmp_path: Path) -> None:
    called = ToolCallEntry('read("config.py")', gap=True)
    called.finish("DB_PASSWORD=hunter2x\nPORT=5432", 0.1, ok=True)
    path = export.write_chat(document_of(called, answered("It is set.")), tmp_path, time.gmtime(0))
    assert "hunter2x" not in path.read_text()
    assert "DB_PASSWORD=[redacted]\nPORT=5432" in path.read_text()


MAKEFILE = "all:\t## build\n\tcc -o a a.c\n\n\t\t\ndata:\t日本\ta\t"


def dragged(document: TranscriptDocument, *, first: int = 1, start: int = 0) -> str:
    """What dragging from a row and column to the end copies."""
    return selection.rows_text(document, (first, start), (document.height, None))


def test_copied_code_keeps_its_tabs() -> None:
    document = document_of(answered(f"```make\n{MAKEFILE}\n```"))
    assert shown(document)[2:4] == [" all:    ## build", "     cc -o a a.c"]
    assert selection.copied(document, 0) == MAKEFILE
    assert dragged(document, first=2) == MAKEFILE


def test_the_tabs_of_folded_code_are_copied() -> None:
    code = "\tcc\t-o\ta a.c\t\tb.c \tc.c"
    for width in range(5, 40):
        assert dragged(document_of(answered(f"```\n{code}\n```"), width=width)) == code


@pytest.mark.parametrize(("start", "copied"), [(4, "\tb"), (5, "b"), (7, "b")])
def test_a_tab_is_copied_where_its_first_cell_is_selected(start: int, copied: str) -> None:
    document = document_of(NoticeEntry("a\tb"))
    assert dragged(document, start=start) == copied


def test_tabs_of_everything_in_the_chat_are_copied() -> None:
    thought = ThinkingEntry(TintSwitch(on=True))
    thought.extend("a\t日\n\tb", Source.TARGET)
    thought.toggle()
    assert dragged(document_of(thought), first=2) == "a\t日\n\tb"
    called = ToolCallEntry("read()", gap=True)
    called.write("a\tb\n\tc")
    assert dragged(document_of(called), first=2) == "a\tb\n\tc"
    called.finish("a\tb\n\tc", 0.1, ok=True)
    called.toggle()
    assert dragged(document_of(called), first=2) == "a\tb\n\tc"
    command = ShellEntry("make")
    command.add("a\tb\n\tc")
    assert dragged(document_of(command), first=2).startswith("a\tb\n\tc\n")
    for entry in (QuestionEntry("a\tb\n\tc"), NoticeEntry("a\tb\n\tc")):
        assert dragged(document_of(entry)) == "a\tb\n\tc"
    assert dragged(document_of(answered("`a\tb` and\tc"))) == "a\tb and\tc"
    assert dragged(document_of(answered("| a | b |\n|---|---|\n| `x\ty` | z |"))).split("\n")[1] == "x\ty   z"
    hunks = hunks_of("@@ -1,2 +1,2 @@", " all:", "-\tcc a.c", "+\tcc\tb.c")
    assert dragged(document_of(DiffEntry(hunks, "Makefile")), first=0) == "all:\n\tcc a.c\n\tcc\tb.c"


def test_a_running_commands_long_line_shows_its_end_in_one_row() -> None:
    called = ToolCallEntry("bash", gap=True)
    called.write("x\t" * 200)
    assert len(document_of(called, width=200).entries[0].lay(200)) == 2


def test_letters_around_a_joiner_take_a_cell_each_and_are_copied_with_it() -> None:
    document = document_of(answered("ه\u200dه می\u200cشود"))
    strip = draw_line(document.line(0, 1), TextRun(""), 40, lambda _: Style())
    assert strip.cell_length == 40
    assert len(strip.text.rstrip()) == 3 + len("ه\u200dه می\u200cشود")
    assert len(strip.text) == 40 + 2, "each letter is one cell, a joiner is none"
    assert dragged(document) == "ه\u200dه می\u200cشود"


def test_tabs_are_drawn_as_blanks() -> None:
    document = document_of(answered("```\n\ta\t日\tb\n```"))
    strip = draw_line(document.line(0, 1), TextRun(""), 40, lambda _: Style())
    assert strip.text == "        a   日  b" + " " * 23
    assert strip.cell_length == 40

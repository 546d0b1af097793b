"""Every rendered character is tinted by its source, in any Markdown."""

import random
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.events import Source
from laguna_tui.base.events import ReasoningDelta, TextDelta, TurnEnd, TurnFinished
from laguna_tui.tui.drafter_colours import colour_of
from laguna_tui.tui.event_queue import coalesced
from laguna_tui.tui.markdown.attributed_text import AttributedText, Tinter, tinted
from laguna_tui.tui.markdown.layout import lay_out
from laguna_tui.tui.markdown.markdown_parser import to_flows
from laguna_tui.tui.text_lines import TextLine, TextRun, plain
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.step_entries import ThinkingEntry
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter
from tests.tui.story import ANSWER

DFLASH, SUFFIX, FILE, TARGET = DFlash.source, SuffixDrafter.source, FileDrafter.source, Source.TARGET
PROPOSERS = (DFLASH, TARGET, SUFFIX, FILE)


def said(*parts: tuple[str, Source]) -> AttributedText:
    made = AttributedText()
    for text, source in parts:
        made.add(text, source)
    return made


def tints(lines: list[TextLine]) -> str:
    """The drawn letters that a drafter proposed, `.` for the target's, blanks left out."""
    runs = [run for line in lines for run in line.runs]
    drawn = "".join(run.text if "by-" in run.tone else "." * len(run.text.strip()) for run in runs)
    return "".join(drawn.split())


@pytest.mark.parametrize(
    ("source", "part", "shown"),
    [
        ("one two three", "two", "two"),
        ("one **two** three", "**two**", "two"),
        ("# Title and more", "and", "and"),
        ("one\ntwo\nthree", "two", "two"),
        ("an `x = 1` here", "x = 1", "x=1"),
        ("a [link](http://example.org/with/a/long/address) end", "end", "end"),
        ("- item one", "one", "one"),
        ("> quoted words", "words", "words"),
        ("```python\ndef f(x):\n\treturn x\n```", "return", "return"),
        ("```python\npython()\n```", "python()", "python()"),
        ("| a | b |\n|---|---|\n| one | two |", "two", "two"),
        (r"a \* star and more", "more", "more"),
        ("~~gone~~ &amp; done", "done", "done"),
    ],
)
def test_what_a_drafter_proposed_is_tinted_and_nothing_else(source: str, part: str, shown: str) -> None:
    at = source.rindex(part)
    end = at + len(part)
    parts = said((source[:at], TARGET), (source[at:end], DFLASH), (source[end:], TARGET))
    assert tints(lay_out(tinted(to_flows(source), parts), 80)).strip(".") == shown


def test_each_drafter_has_its_own_tint() -> None:
    parts = said(("one ", DFLASH), ("two ", SUFFIX), ("three ", FILE), ("four", TARGET))
    (line,) = lay_out(tinted(to_flows("one two three four"), parts), 80)
    assert [(run.text.strip(), run.tone.split()[1:]) for run in line.runs] == [
        ("one", ["by-teal"]),
        ("two", ["by-amber"]),
        ("three", ["by-violet"]),
        ("four", []),
    ]


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab *`_[]()#|-\n\t>1.é日", max_size=80), st.integers(0, 10**6))
def test_tinting_changes_no_letter(source: str, seed: int) -> None:
    pick = random.Random(seed)
    parts = said(*((letter, pick.choice(PROPOSERS)) for letter in source))
    before, after = to_flows(source), tinted(to_flows(source), parts)
    assert [plain(line.runs) for line in lay_out(before, 30)] == [plain(line.runs) for line in lay_out(after, 30)]


class Chat:
    """A conversation that hears an answer in pieces from changing proposers."""

    def __init__(self) -> None:
        self.document = TranscriptDocument(80)
        self.conversation = TranscriptWriter(self.document, lambda: 0.0)

    def hear(self, text: str, size: int) -> None:
        sources = cycle(PROPOSERS)
        for at in range(0, len(text), size):
            self.conversation.apply(TextDelta(text[at : at + size], next(sources)))

    def lines(self) -> list[TextLine]:
        self.document.flush()
        self.document.settle(len(self.document))
        return [self.document.line(*self.document.at(row)) for row in range(self.document.height)]


def test_an_answer_in_pieces_is_tinted_like_the_whole_of_it() -> None:
    chat = Chat()
    chat.hear(ANSWER, 7)
    chat.conversation.apply(TurnFinished(TurnEnd.ANSWERED))
    plain_rows = [plain(line.runs) for line in chat.lines()]
    assert not any("by-" in run.tone for line in chat.lines() for run in line.runs)
    chat.conversation.tint.on = True
    chat.document.restyle()
    rows = chat.lines()
    assert [plain(line.runs) for line in rows] == plain_rows
    known = [run for line in rows for run in line.runs if len(run.text) > 3 and ANSWER.count(run.text) == 1]
    assert len(known) > 50
    for run in known:
        proposer = PROPOSERS[(ANSWER.index(run.text) // 7) % len(PROPOSERS)]
        assert [word for word in run.tone.split() if "by-" in word] == [
            f"by-{colour_of(by)}" for by in (proposer,) if by != TARGET
        ]


@pytest.mark.parametrize("opening", ["words ", "```python\ndef f():\n    x = ", "| a | b |\n|---|---|\n| one | "])
def test_the_open_block_is_tinted_while_it_streams(opening: str) -> None:
    chat = Chat()
    chat.conversation.tint.on = True
    chat.conversation.apply(TextDelta(opening, TARGET))
    chat.conversation.apply(TextDelta("drafted |\n", DFLASH))
    assert any(run.text.startswith("drafted") and "by-teal" in run.tone for line in chat.lines() for run in line.runs)


def test_an_open_fence_follows_the_switch() -> None:
    chat = Chat()
    chat.conversation.apply(TextDelta("```py\n", TARGET))
    chat.conversation.apply(TextDelta("drafted\n", DFLASH))
    chat.lines()
    for on in (True, False):
        chat.conversation.tint.on = on
        chat.document.restyle()
        assert any("by-teal" in run.tone for line in chat.lines() for run in line.runs) is on


def test_thinking_is_tinted_too() -> None:
    chat = Chat()
    chat.conversation.tint.on = True
    chat.conversation.apply(ReasoningDelta("\nlet me ", TARGET))
    chat.conversation.apply(ReasoningDelta("see", FILE))
    (thought,) = [entry for entry in chat.document.entries if isinstance(entry, ThinkingEntry)]
    thought.toggle()
    assert any(run == TextRun("see", "thinking-text by-violet") for line in chat.lines() for run in line.runs)


def test_neighbouring_deltas_are_joined_when_one_proposer_wrote_them() -> None:
    items = [TextDelta("a", DFLASH), TextDelta("b", DFLASH), TextDelta("c"), ReasoningDelta("d"), ReasoningDelta("e")]
    assert coalesced([*items]) == [TextDelta("ab", DFLASH), TextDelta("c"), ReasoningDelta("de")]


def test_a_block_is_cut_off_with_its_proposers() -> None:
    text = said(("one\n", TARGET), ("\ntwo", DFLASH), ("\n\nthree", FILE))
    assert text.take("one").parts(0, 3) == [("one", TARGET)]
    assert text.take("two").parts(0, 3) == [("two", DFLASH)]
    assert text.text == "\n\nthree"


def test_a_walk_goes_on_behind_what_it_does_not_find() -> None:
    walk = Tinter(said(("abc ", DFLASH), ("def", TARGET)))
    assert walk.runs((TextRun("nowhere"), TextRun("def"))) == (TextRun("nowhere", "text"), TextRun("def", "text"))

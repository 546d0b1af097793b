"""The agent's events become the right entries, and a block is converted once."""

from collections import Counter
from pathlib import Path

import pytest

from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    CallRejected,
    ChangeMade,
    Notice,
    PermissionAnswered,
    PermissionAsked,
    ReasoningDelta,
    Steered,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.permission_request import Decision, PermissionAnswer, PermissionRequest
from laguna_tui.tui.event_queue import coalesced
from laguna_tui.tui.markdown.flow import Flows
from laguna_tui.tui.markdown.markdown_parser import to_flows
from laguna_tui.tui.text_lines import plain
from laguna_tui.tui.transcript.answer_entries import AnswerEntry
from laguna_tui.tui.transcript.document import Document
from laguna_tui.tui.transcript.edit_entry import EditEntry, EditOutcome
from laguna_tui.tui.transcript.entries import NoticeEntry, ProgressEntry, QuestionEntry
from laguna_tui.tui.transcript.step_entries import ThinkingEntry, ToolCallEntry
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter
from tests.tui.changes import Project
from tests.tui.scripted import call, deltas, thinking
from tests.tui.story import ANSWER


class Chat:
    """A conversation with a clock that is moved by hand and a converter that counts."""

    def __init__(self) -> None:
        self.now = 0.0
        self.converted: Counter[str] = Counter()
        self.document = Document(80)
        self.conversation = TranscriptWriter(self.document, lambda: self.now, self._convert)

    def _convert(self, source: str) -> Flows:
        self.converted[source] += 1
        return to_flows(source)

    def hear(self, *events: AgentEvent) -> None:
        for event in events:
            self.conversation.apply(event)
        self.document.flush()

    def kinds(self) -> list[type]:
        return [type(piece) for piece in self.document.entries]

    def rows(self) -> list[str]:
        lines = (self.document.line(*self.document.at(row)) for row in range(self.document.height))
        return [plain(line.runs).rstrip() for line in lines]


def test_each_block_of_a_stream_is_converted_exactly_once() -> None:
    chat = Chat()
    chat.conversation.add_question("q")
    for event in deltas(ANSWER, 3):
        chat.hear(event)
    chat.hear(TurnFinished(TurnEnd.ANSWERED))
    assert set(chat.converted.values()) == {1}
    assert len(chat.converted) == 9


def test_streaming_and_loading_at_once_show_the_same() -> None:
    slow, fast = Chat(), Chat()
    slow.hear(*deltas(ANSWER, 2), TurnFinished(TurnEnd.ANSWERED))
    fast.hear(TextDelta(ANSWER), TurnFinished(TurnEnd.ANSWERED))
    assert slow.rows() == fast.rows()


def test_thinking_shows_its_end_while_it_runs_and_folds_when_it_is_done() -> None:
    chat = Chat()
    chat.hear(*thinking("one\ntwo\nthree\nfour\nfive\nsix"))
    assert chat.rows() == ["", "thinking …", "│ three", "│ four", "│ five", "│ six"]
    chat.now = 3.25
    chat.hear(TextDelta("Answer"))
    assert chat.rows() == ["", "thought for 3.2 s", "", "Answer"]


def test_a_tool_call_is_one_line_until_it_is_opened() -> None:
    chat = Chat()
    chat.hear(*call(1, "search", "a\nb\nc", pattern="foo", path="src"))
    assert chat.rows()[1] == "search(foo, path=src)  3 lines  0.01 s"
    (called,) = [entry for entry in chat.document.entries if isinstance(entry, ToolCallEntry)]
    called.toggle()
    chat.document.flush()
    assert chat.rows()[2:5] == ["│ a", "│ b", "│ c"]


def test_a_tool_that_failed_unexpectedly_shows_where_its_traceback_is() -> None:
    chat = Chat()
    output = "error: search failed (ValueError); try other arguments, or go on without it"
    started, *_ = call(1, "search", "", pattern="x")
    chat.hear(started, ToolFinished(1, "search", output, False, 0.01, "/home/me/.local/state/laguna-tui/tool-1.log"))
    (called,) = [entry for entry in chat.document.entries if isinstance(entry, ToolCallEntry)]
    called.toggle()
    chat.document.flush()
    assert chat.rows()[1].endswith("failed  0.01 s")
    assert chat.rows()[2:4] == [
        f"│ {output}",
        "│ Full report: /home/me/.local/state/laguna-tui/tool-1.log",
    ]
    assert "tool-1.log" in called.source()


def test_calls_in_a_row_stand_close_together() -> None:
    chat = Chat()
    chat.hear(*call(1, "find", "x"), *call(2, "read", "y"), TextDelta("done"))
    assert chat.rows() == ["", "find()  1 line  0.01 s", "read()  1 line  0.01 s", "", "done"]


def test_results_find_their_call_even_out_of_order() -> None:
    chat = Chat()
    chat.hear(ToolStarted(1, "a"), ToolStarted(2, "b"))
    chat.hear(ToolFinished(2, "b", "second", True, 0.0), ToolFinished(1, "a", "first", True, 0.0))
    calls = [entry for entry in chat.document.entries if isinstance(entry, ToolCallEntry)]
    assert [piece.output for piece in calls] == ["first", "second"]


def test_something_is_always_said_to_be_going_on() -> None:
    chat = Chat()
    chat.conversation.add_question("q")
    assert chat.kinds() == [QuestionEntry, ProgressEntry]
    chat.hear(TurnStarted(100, 0), *call(1, "find", "x"))
    assert chat.kinds() == [QuestionEntry, ToolCallEntry, ProgressEntry]
    chat.hear(ReasoningDelta("hm"))
    assert chat.kinds() == [QuestionEntry, ToolCallEntry, ThinkingEntry]


@pytest.mark.parametrize("end", [end for end in TurnEnd if end is not TurnEnd.ANSWERED])
def test_every_other_end_says_what_happened(end: TurnEnd) -> None:
    chat = Chat()
    chat.hear(TextDelta("half"), TurnFinished(end))
    assert chat.kinds() == [AnswerEntry, NoticeEntry]
    assert chat.rows()[-1]


def test_the_agents_own_words_come_first() -> None:
    chat = Chat()
    chat.hear(TurnFinished(TurnEnd.CONTEXT_FULL, "needs 9,000 of 8,192"))
    assert chat.rows() == ["", "needs 9,000 of 8,192 Start a new chat: /new"]


@pytest.mark.parametrize("end", list(TurnEnd))
def test_what_to_do_in_the_app_is_no_flag_of_the_command_line(end: TurnEnd) -> None:
    chat = Chat()
    chat.hear(TurnFinished(end))
    assert "--" not in "".join(chat.rows())


def test_a_rejected_call_is_told_and_the_wait_goes_on_below() -> None:
    chat = Chat()
    chat.conversation.add_question("q")
    chat.hear(CallRejected("<tool_call>x", "no tool x"))
    assert "no tool x" in chat.rows()[3]
    assert chat.kinds() == [QuestionEntry, NoticeEntry, ProgressEntry]


def test_an_answer_that_was_corrected_is_followed_by_a_note() -> None:
    chat = Chat()
    corrected = AnswerCorrected("Defined nowhere.")
    chat.hear(TextDelta("Defined here:"), TextDelta(" `a.py:1`"), corrected, TurnFinished(TurnEnd.ANSWERED))
    assert chat.kinds() == [AnswerEntry, NoticeEntry]
    assert corrected.sentence in chat.rows()[-1]
    assert "nowhere" not in "".join(chat.rows())


def test_an_error_in_the_middle_closes_what_was_open() -> None:
    chat = Chat()
    chat.conversation.add_question("q")
    chat.hear(ToolStarted(1, "read"), TextDelta("half a **sen"))
    chat.conversation.add_error("The engine stopped.")
    chat.document.flush()
    assert chat.kinds() == [QuestionEntry, ToolCallEntry, AnswerEntry, NoticeEntry]
    assert chat.rows()[3] == "read()  stopped"


def test_blank_text_opens_nothing() -> None:
    chat = Chat()
    chat.hear(ReasoningDelta("\n"), TextDelta("\n\n"), TextDelta("\nHi"), TurnFinished(TurnEnd.ANSWERED))
    assert chat.rows() == ["", "Hi"]


def test_neighbouring_deltas_are_one() -> None:
    events = [*deltas("abcdefgh", 1), ReasoningDelta("x"), ReasoningDelta("y"), TurnFinished(TurnEnd.ANSWERED)]
    assert coalesced(list(events)) == [TextDelta("abcdefgh"), ReasoningDelta("xy"), TurnFinished(TurnEnd.ANSWERED)]


def test_what_the_user_said_meanwhile_is_a_question_of_its_own_between_two_answers() -> None:
    chat = Chat()
    chat.hear(TurnStarted(10, 0), TextDelta("First."), Steered("use cents"), TextDelta("Second."))
    chat.hear(TurnFinished(TurnEnd.ANSWERED))
    assert chat.kinds() == [AnswerEntry, QuestionEntry, AnswerEntry]


def test_a_notice_ends_no_answer_and_is_shown_where_it_came() -> None:
    chat = Chat()
    chat.hear(TurnStarted(10, 0), Notice("The rule cannot be written."), TextDelta("Done."))
    chat.hear(TurnFinished(TurnEnd.ANSWERED))
    assert chat.kinds() == [NoticeEntry, AnswerEntry]


def test_the_entry_of_a_change_shows_what_the_user_made_of_it(tmp_path: Path) -> None:
    project, chat = Project(tmp_path), Chat()
    proposed, made = project.rename(), project.edit("items", "goods", all=True)
    yes = PermissionAnswer(Decision.YES, edited=made.after)
    chat.hear(ToolStarted(1, "edit", {}), PermissionAsked(1, PermissionRequest("edit", proposed)))
    chat.hear(PermissionAnswered(1, yes, "user"), ChangeMade(1, made))
    chat.hear(ToolFinished(1, "edit", "Changed.", ok=True, seconds=0.1), TurnFinished(TurnEnd.ANSWERED))
    (entry,) = [entry for entry in chat.document.entries if isinstance(entry, EditEntry)]
    assert entry.outcome is EditOutcome.MADE
    assert "goods" in entry.source()
    assert "amount" not in entry.source()

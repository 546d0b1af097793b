"""The agent's events become the right entries, and a block is converted once."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.events import (
    AgentEvent,
    AnswerCorrected,
    CallRejected,
    ChangeMade,
    Compacted,
    Compacting,
    Notice,
    PermissionAnswered,
    PermissionAsked,
    ReasoningDelta,
    Steered,
    TextDelta,
    TodoChanged,
    TodoItem,
    TodoState,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.permission_request import CommandProposal, Decision, PermissionAnswer, PermissionRequest
from laguna_tui.repo.edits.file_changes import propose_delete, propose_move, propose_write
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.tui.event_queue import coalesced
from laguna_tui.tui.event_sanitizer import EventSanitizer
from laguna_tui.tui.markdown.flow import Flows
from laguna_tui.tui.markdown.markdown_parser import to_flows
from laguna_tui.tui.text_lines import plain
from laguna_tui.tui.transcript.answer_entries import AnswerEntry
from laguna_tui.tui.transcript.compaction_entry import CompactionEntry
from laguna_tui.tui.transcript.document import TranscriptDocument
from laguna_tui.tui.transcript.entries import NoticeEntry, ProgressEntry, QuestionEntry
from laguna_tui.tui.transcript.export import chat_text
from laguna_tui.tui.transcript.request_entries import ChangeEntry, ChangeOutcome
from laguna_tui.tui.transcript.step_entries import CommandEntry, ThinkingEntry, ToolCallEntry
from laguna_tui.tui.transcript.todo_entry import TodoEntry
from laguna_tui.tui.transcript.transcript_writer import TranscriptWriter
from tests.tui.changes import Project
from tests.tui.scripted import call, deltas, thinking
from tests.tui.story import ANSWER
from tests.tui.test_screen_safety import assert_harmless


class Chat:
    """A conversation with a clock that is moved by hand and a converter that counts."""

    def __init__(self) -> None:
        self.now = 0.0
        self.converted: Counter[str] = Counter()
        self.document = TranscriptDocument(80)
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
    assert chat.rows() == ["", "thinking …  Enter: answer now", "│ three", "│ four", "│ five", "│ six"]
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
    chat.hear(ToolStarted(1, "a", {}), ToolStarted(2, "b", {}))
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
    assert corrected.sentence in " ".join(" ".join(chat.rows()).split())
    assert "nowhere" not in "".join(chat.rows())


def test_an_error_in_the_middle_closes_what_was_open() -> None:
    chat = Chat()
    chat.conversation.add_question("q")
    chat.hear(ToolStarted(1, "read", {}), TextDelta("half a **sen"))
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
    (entry,) = [entry for entry in chat.document.entries if isinstance(entry, ChangeEntry)]
    assert entry.outcome is ChangeOutcome.MADE
    assert "goods" in entry.source()
    assert "amount" not in entry.source()


@pytest.mark.parametrize("made", [True, False])
def test_an_allowed_change_is_open_while_its_linter_is_asked_about(tmp_path: Path, made: bool) -> None:
    project, chat, yes = Project(tmp_path), Chat(), PermissionAnswer(Decision.YES)
    change, linter = project.rename(), CommandProposal("ruff check", tmp_path, 60.0)
    chat.hear(ToolStarted(1, "edit", {}), PermissionAsked(1, PermissionRequest("edit", change)))
    chat.hear(PermissionAnswered(1, yes, "user"), PermissionAsked(1, PermissionRequest("shell", linter)))
    (entry,) = [entry for entry in chat.document.entries if isinstance(entry, ChangeEntry)]
    assert entry.outcome is ChangeOutcome.OPEN
    chat.hear(PermissionAnswered(1, yes, "user"), *([ChangeMade(1, change)] if made else []))
    chat.hear(ToolFinished(1, "edit", "", ok=made, seconds=0.1), TurnFinished(TurnEnd.ANSWERED))
    assert [each for each in chat.document.entries if isinstance(each, ChangeEntry)] == [entry]
    assert entry.outcome is (ChangeOutcome.MADE if made else ChangeOutcome.NOT_MADE)


def progress(*texts: str) -> list[ToolProgress]:
    return [ToolProgress(1, text) for text in texts]


def shell(command: str = "make") -> ToolStarted:
    return ToolStarted(1, "shell", {"cmd": f'"{command}"'})


def ran(stdout: str, code: int | None = 0, **more: object) -> ToolFinished:
    output = json.dumps({"stdout": stdout, "exit_code": code, **more})
    return ToolFinished(1, "shell", output, ok=True, seconds=0.5)


def test_the_last_lines_of_a_running_command_show_and_fold_when_it_is_done() -> None:
    chat = Chat()
    chat.hear(shell(), *progress("a\nb\nc\n", "d\ne\nf\ng\nh"))
    assert chat.rows()[1:] == [
        "$ make  running …",
        "│ … 2 lines above: /expand",
        *[f"│ {letter}" for letter in "cdefgh"],
    ]
    chat.hear(ran("a\nb\n"))
    assert chat.rows()[1] == "$ make  2 lines  0.50 s"
    assert "│" not in "".join(chat.rows())


def test_a_progress_bar_is_one_line_however_often_it_is_written() -> None:
    chat, sanitizer = Chat(), EventSanitizer()
    bars = [f"\r\x1b[2K\x1b[32m{percent} %\x1b[0m" for percent in range(100)]
    for event in (shell(), *progress("fetching\n", *bars, "\r\n", "done\n")):
        chat.hear(sanitizer.safe(event))
    assert chat.rows()[2:] == ["│ fetching", "│ 99 %", "│ done"]


def test_an_escape_sequence_that_comes_in_two_pieces_is_none_of_the_text() -> None:
    sanitizer = EventSanitizer()
    pieces = [sanitizer.safe(event) for event in progress("red \x1b[3", "1mtext\x1b]0;title", "\x07 end")]
    assert "".join(piece.text for piece in pieces) == "red text end"


@given(st.lists(st.text(alphabet=st.sampled_from("ab\r\n\x1b[2K1m]0;\x07\b\x85\u202e"), max_size=12), max_size=12))
def test_whatever_a_command_writes_nothing_of_it_reaches_the_terminal(pieces: list[str]) -> None:
    chat, sanitizer = Chat(), EventSanitizer()
    for event in (shell(), *progress(*pieces)):
        chat.hear(sanitizer.safe(event))
    for row in chat.rows():
        assert_harmless(row)
        assert "\r" not in row


def test_a_command_that_fails_says_its_exit_code() -> None:
    chat = Chat()
    chat.hear(shell(), ran("no rule\n", 2, note="look at the Makefile"))
    assert chat.rows()[1] == "$ make  exit code 2  0.50 s"
    (entry,) = [entry for entry in chat.document.entries if isinstance(entry, CommandEntry)]
    assert entry.source() == "$ make\nno rule\nlook at the Makefile"


def test_what_json_spells_out_is_sanitised_too() -> None:
    chat = Chat()
    chat.hear(shell(), EventSanitizer().safe(ran("\x1b]52;c;eA==\x07")))
    (entry,) = [entry for entry in chat.document.entries if isinstance(entry, CommandEntry)]
    assert_harmless(entry.source())


def test_a_background_command_says_where_it_goes_on() -> None:
    chat = Chat()
    chat.hear(shell("npm start"), ran("", None, job=3))
    assert chat.rows()[1] == "$ npm start  runs as job 3: /jobs  0.50 s"


def test_the_list_of_steps_is_one_entry_that_follows_the_work() -> None:
    chat = Chat()
    chat.hear(TodoChanged((TodoItem("look", TodoState.ACTIVE), TodoItem("fix"))), *call(1, "read", "x"))
    chat.hear(TodoChanged((TodoItem("look", TodoState.DONE), TodoItem("fix", TodoState.ACTIVE))))
    assert [kind for kind in chat.kinds() if kind is TodoEntry] == [TodoEntry]
    assert chat.rows()[-3:] == ["1 of 2 steps done", "● look", "◐ fix"]
    assert chat.kinds()[-1] is TodoEntry


def test_the_call_that_writes_the_list_does_not_show_it_again() -> None:
    chat = Chat()
    chat.hear(*call(1, "todo", "noted", items="[ ] look\n[ ] fix"))
    assert chat.rows()[1] == "todo  1 line  0.01 s"


def test_a_command_that_put_out_nothing_says_so_when_it_is_opened() -> None:
    chat = Chat()
    chat.hear(shell("make"), ran(""))
    (entry,) = [entry for entry in chat.document.entries if isinstance(entry, CommandEntry)]
    entry.toggle()
    chat.document.flush()
    assert "│ no output" in chat.rows()


def test_a_compaction_says_what_went_and_how_to_see_it() -> None:
    chat = Chat()
    chat.hear(Compacting(7900, 8192))
    assert chat.rows()[1] == "compacting the context: 7,900 of 8,192 tokens are used …"
    chat.hear(Compacted(7900, 3000, 3, 0, 2800))
    text = " ".join(chat.rows())
    assert "3 old blocks shortened" in text
    assert "/context shows what was left out" in text


def test_a_summary_can_be_read_where_it_replaced_messages() -> None:
    chat = Chat()
    chat.hear(Compacting(7900, 8192), Compacted(7900, 2000, 0, 12, 1900, "The user builds a shop."))
    (entry,) = [entry for entry in chat.document.entries if isinstance(entry, CompactionEntry)]
    assert "builds a shop" not in " ".join(chat.rows())
    entry.toggle()
    chat.document.flush()
    assert "│ The user builds a shop." in chat.rows()


def test_a_compaction_that_was_stopped_says_so() -> None:
    chat = Chat()
    chat.hear(Compacting(7900, 8192), TurnFinished(TurnEnd.CANCELLED))
    assert "Compaction was stopped. The context is unchanged." in chat.rows()


def test_what_a_rule_allows_is_said_in_a_line() -> None:
    chat = Chat()
    chat.hear(shell(), PermissionAnswered(1, PermissionAnswer(Decision.YES), "shell(make …)"), ran("ok"))
    assert "allowed by the rule shell(make …)" in chat.rows()


def test_an_exported_chat_has_commands_steps_and_compactions(tmp_path: Path) -> None:
    chat = Chat()
    chat.hear(shell("make test"), ran("2 passed"), TodoChanged((TodoItem("fix", TodoState.DONE),)))
    chat.hear(Compacting(7900, 8192), Compacted(7900, 2000, 0, 12, 1900, "The user builds a shop."))
    text = chat_text(chat.document, "chat")
    assert "<summary><code>$ make test</code></summary>" in text
    for part in ("2 passed", "- [x] fix", "12 messages replaced", "The user builds a shop."):
        assert part in text


@pytest.mark.parametrize("kind", [ChangeKind.CREATE, ChangeKind.DELETE, ChangeKind.MOVE])
def test_changes_of_every_kind_say_what_they_are(kind: ChangeKind, tmp_path: Path) -> None:
    chat, workspace = Chat(), Workspace(Project(tmp_path).root)
    change = {
        ChangeKind.CREATE: lambda: propose_write(workspace, "new.py", "a = 1\n"),
        ChangeKind.DELETE: lambda: propose_delete(workspace, "shop/cart.py"),
        ChangeKind.MOVE: lambda: propose_move(workspace, "shop/cart.py", "shop/basket.py"),
    }[kind]()
    chat.hear(ToolStarted(1, "x", {}), ChangeMade(1, change))
    wanted = {
        ChangeKind.CREATE: "new.py  new  +1",
        ChangeKind.DELETE: "shop/cart.py  deleted  −14",
        ChangeKind.MOVE: "shop/cart.py → shop/basket.py  moved",
    }
    assert wanted[kind] in chat.rows()

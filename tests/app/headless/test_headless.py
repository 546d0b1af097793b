"""`ask` on events written by hand: what reaches stdout, what reaches stderr, which exit code."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.errors import NativeAbort
from laguna_engine.events import DrafterFailed, Round, Stats
from laguna_tui.agent.tools.mcp.mcp_config import ConfiguredServers
from laguna_tui.base import progress
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.events import (
    AnswerCorrected,
    CallRejected,
    ChangeMade,
    Choosing,
    DraftRound,
    PermissionAnswered,
    PermissionAsked,
    StepFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from laguna_tui.base.exit_codes import ExitCode
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.base.permission_request import (
    CommandProposal,
    Decision,
    PermissionAnswer,
    PermissionRequest,
)
from laguna_tui.base.settings import Settings
from laguna_tui.compose import run_ask
from laguna_tui.headless.run import OutputFormat, run
from laguna_tui.session.session import Chat, Session
from laguna_tui.session.values import SessionInfo
from tests.app.hunks import hunks_of

FIRST = Stats(prompt_tokens=600, cached_tokens=0, prefill_s=0.5, generated_tokens=21, decode_s=0.2)
SECOND = Stats(prompt_tokens=700, cached_tokens=620, prefill_s=0.1, generated_tokens=11, decode_s=0.1)
TURN = (
    TurnStarted(600, 0),
    ToolStarted(0, "search", {"pattern": "main"}),
    StepFinished(FIRST, 621, 4096),
    ToolFinished(0, "search", "main a.py:1: def main():\nmain b.py:2: main()", ok=True, seconds=0.01),
    TextDelta("`main` is in "),
    TextDelta("`a.py:1`."),
    StepFinished(SECOND, 711, 4096),
    TurnFinished(TurnEnd.ANSWERED),
)


def test_text_goes_to_stdout_and_everything_about_it_to_stderr(capsys):
    assert run(iter(TURN), OutputFormat.TEXT, "Nano", stats=True) is ExitCode.ANSWERED
    out, err = capsys.readouterr()
    assert out == "`main` is in `a.py:1`.\n"
    assert "search(pattern='main')  2 lines" in err
    # 680 new tokens in 0.6 s; 30 tokens after the first ones in 0.3 s.
    assert "prefill 680 tokens at 1,133 tok/s (620 reused)" in err
    assert "decode 32 tokens at 100 tok/s" in err


def test_json_is_one_object_with_answer_tools_and_rates(capsys):
    run(iter(TURN), OutputFormat.JSON, "Nano", stats=False)
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    value = json.loads(out)
    assert value["answer"] == "`main` is in `a.py:1`."
    assert value["end"] == "answered"
    assert value["tools"][0]["arguments"] == {"pattern": "main"}
    assert value["tools"][0]["ok"] is True
    assert value["stats"]["decode_tokens_per_second"] == 100.0


def test_stream_json_is_one_object_per_event(capsys):
    run(iter(TURN), OutputFormat.STREAM_JSON, "Nano", stats=False)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["type"] for line in lines][:3] == ["turn_started", "tool_started", "step_finished"]
    assert lines[-1] == {"type": "turn_finished", "end": "answered", "detail": "", "error": None}


def test_a_round_is_one_short_line(capsys):
    turned = DraftRound(Round(DFlash.source, 4, 2, 0.0011, 0.012, 0.0003, 0.0141, " not", "it pays"), "so it", " is")
    run(iter((TextDelta("so it", DFlash.source), turned, *TURN)), OutputFormat.STREAM_JSON, "Nano", stats=False)
    text, turned, *_ = map(json.loads, capsys.readouterr().out.splitlines())
    assert text == {"type": "text_delta", "text": "so it", "source": "dflash"}
    assert turned == {
        "type": "draft_round",
        "drafter": "dflash",
        "drafted": 4,
        "accepted": 2,
        "ms": {"draft": 1.1, "verify": 12.0, "sample": 0.3, "total": 14.1},
        "reason": "it pays",
        "accepted_text": "so it",
        "rejected": " not",
        "instead": " is",
    }


ROUNDS = (
    DraftRound(Round(DFlash.source, 4, 3, 0.001, 0.012, 0.0, 0.014, "x", "it pays"), "so it is", " not"),
    DraftRound(Round(None, 0, 0, 0.0, 0.01, 0.0, 0.010, "", "off: would cost 12 % here"), "", " so"),
    DraftRound(Round(SuffixDrafter.source, 4, 1, 0.0, 0.012, 0.0, 0.012, "y", "copying"), "is", " it"),
)


def test_the_statistics_say_what_speculation_brought(capsys):
    run(iter((*ROUNDS, *TURN)), OutputFormat.TEXT, "Nano", stats=True)
    # 4 of 8 drafted are accepted; with the target's own in each of 3 rounds that makes 7 tokens.
    assert (
        "speculation 2.33 tokens per round in 3 rounds · 50% of 8 drafted tokens accepted"
        " · dflash 43%, target 43%, suffix 14%" in capsys.readouterr().err
    )


def test_the_statistics_say_how_the_model_was_opened(capsys):
    run(iter(TURN), OutputFormat.TEXT, "Nano", stats=True, opened="64 K tokens of context, q8_0 cache")
    assert "opened with 64 K tokens of context, q8_0 cache\n" in capsys.readouterr().err


def test_the_statistics_say_why_nothing_was_drafted(capsys):
    run(iter((ROUNDS[1], *TURN)), OutputFormat.TEXT, "Nano", stats=True)
    assert "speculation: nothing was drafted (off: would cost 12 % here)" in capsys.readouterr().err


def test_json_sums_speculation_up_and_has_a_row_for_each_round(capsys):
    run(iter((*ROUNDS, *TURN)), OutputFormat.JSON, "Nano", stats=False)
    value = json.loads(capsys.readouterr().out)
    assert value["stats"]["speculation"] == {
        "rounds": 3,
        "tokens_per_round": 2.333,
        "drafted": 8,
        "accepted": 4,
        "acceptance": 0.5,
        "acceptance_by_position": [1.0, 0.5, 0.5, 0.0],
        "shares": {"dflash": 0.429, "suffix": 0.143, "target": 0.429},
    }
    assert value["rounds"] == [["dflash", 4, 3, 14.0], [None, 0, 0, 10.0], ["suffix", 4, 1, 12.0]]
    run(iter(TURN), OutputFormat.JSON, "Nano", stats=False)
    assert json.loads(capsys.readouterr().out)["stats"]["speculation"] is None


def test_a_corrected_answer_is_reported_in_every_format(capsys):
    corrected = AnswerCorrected("`main` is in `b.py`.")
    events = (*TURN[:-1], corrected, TURN[-1])
    run(iter(events), OutputFormat.TEXT, "Nano", stats=False)
    out, err = capsys.readouterr()
    assert out == "`main` is in `a.py:1`.\n"
    assert err.endswith(f"· {corrected.sentence}\n")
    run(iter(events), OutputFormat.JSON, "Nano", stats=False)
    value = json.loads(capsys.readouterr().out)
    assert (value["answer"], value["corrected"]) == ("`main` is in `a.py:1`.", "`main` is in `b.py`.")
    run(iter(events), OutputFormat.STREAM_JSON, "Nano", stats=False)
    assert json.loads(capsys.readouterr().out.splitlines()[-2]) == {
        "type": "answer_corrected",
        "said": "`main` is in `b.py`.",
    }


def test_an_answer_of_the_models_own_was_not_corrected(capsys):
    run(iter(TURN), OutputFormat.JSON, "Nano", stats=False)
    assert json.loads(capsys.readouterr().out)["corrected"] is None


FAILED = DrafterFailed(DFlash.source, "GraphError - the device failed")
FAILED_SENTENCE = (
    "The drafter failed (GraphError - the device failed) and is switched off; answers are the same, only slower."
)


def test_a_failed_drafter_is_reported_on_stderr_with_what_to_do(capsys):
    run(iter((FAILED, *TURN)), OutputFormat.TEXT, "Nano", stats=False)
    out, err = capsys.readouterr()
    assert out == "`main` is in `a.py:1`.\n"
    assert f"· {FAILED_SENTENCE} If it happens again, use --speculation off.\n" in err


def test_a_drafter_that_failed_is_a_note_in_json_and_a_line_of_the_stream(capsys):
    run(iter((FAILED, *TURN)), OutputFormat.JSON, "Nano", stats=False)
    assert json.loads(capsys.readouterr().out)["notes"] == [FAILED_SENTENCE]
    run(iter((FAILED, *TURN)), OutputFormat.STREAM_JSON, "Nano", stats=False)
    told = json.loads(capsys.readouterr().out.splitlines()[0])
    assert told == {"type": "drafter_failed", "drafter": "dflash", "problem": "GraphError - the device failed"}


@pytest.mark.parametrize("form", list(OutputFormat))
def test_no_escape_sequence_of_a_model_reaches_a_terminal(form, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    hostile = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202eevil"
    events = (
        ToolStarted(0, hostile, {hostile: hostile}),
        ToolFinished(0, hostile, hostile, ok=False, seconds=0.0),
        CallRejected(hostile, hostile),
        AnswerCorrected(hostile),
        TextDelta(hostile),
        DraftRound(Round(None, 0, 0, 0.0, 0.0, 0.0, 0.0, hostile, hostile), hostile, hostile),
        DrafterFailed(FileDrafter.source, hostile),
        TurnFinished(TurnEnd.MALFORMED_CALL, hostile),
    )
    assert run(iter(events), form, "Nano", stats=True) is ExitCode.UNFINISHED
    out, err = capsys.readouterr()
    for character in "\x1b\x07\x9b\u202e":
        assert character not in out + err


def test_into_a_pipe_the_answer_is_as_the_model_wrote_it(capsys):
    answer = "\u200d\x1b[2J\r\n\u00ad\u2028\tend\n"
    run(iter((*map(TextDelta, answer), TurnFinished(TurnEnd.ANSWERED))), OutputFormat.TEXT, "Nano", stats=False)
    assert capsys.readouterr().out == answer


def test_a_character_that_cannot_be_encoded_is_a_question_mark(capfd):
    run(iter((TextDelta("a\ud800b"), TurnFinished(TurnEnd.ANSWERED))), OutputFormat.TEXT, "Nano", stats=False)
    assert capfd.readouterr().out == "a?b\n"


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (TurnEnd.ANSWERED, 0),
        (TurnEnd.CANCELLED, 130),
        (TurnEnd.CONTEXT_FULL, 4),
        (TurnEnd.MAX_TOKENS, 4),
        (TurnEnd.TOO_MANY_STEPS, 4),
        (TurnEnd.EMPTY_ANSWER, 4),
    ],
)
def test_the_exit_code_tells_how_it_ended(end, code, capsys):
    assert run(iter((TurnFinished(end, "why"),)), OutputFormat.TEXT, "Nano", stats=False) == code
    assert "laguna-tui: why" in capsys.readouterr().err


def edit_events(*, asks, line="+def amount\x1b[2J(items):"):
    hunks = hunks_of("@@ -1 +1 @@", "-def total(items):", line)
    where = Path("/shop"), b"a", b"b", FolderIdentity(0, 0)
    proposal = ChangeProposal("shop/cart.py", "before", "after", 1, hunks, "It no longer parses.", *where)
    answered = PermissionAnswered(0, PermissionAnswer(Decision.YES), "user")
    asking = (PermissionAsked(0, PermissionRequest("edit", proposal, why="You are asked first.")), answered)
    asking = asking if asks else ()
    return (
        ToolStarted(0, "edit", {"path": "shop/cart.py", "old": "x" * 500, "new": "y"}),
        *asking,
        ChangeMade(0, proposal),
        ToolFinished(0, "edit", "Changed `shop/cart.py` in 1 place.", ok=True, seconds=0.01),
        TurnFinished(TurnEnd.ANSWERED),
    )


def test_an_edit_made_without_asking_is_shown_as_a_diff_on_stderr(capsys):
    run(iter(edit_events(asks=False)), OutputFormat.TEXT, "Nano", stats=False)
    out, err = capsys.readouterr()
    assert out == ""
    assert "edit of shop/cart.py in 1 place:\n  @@ -1 +1 @@\n  -def total(items):\n  +def amount␛[2J(items):\n" in err
    assert "It no longer parses.\n" in err
    # The diff says it better.
    assert "x" * 100 not in err


def test_the_diff_of_an_edit_is_not_shown_again_after_the_question(capsys):
    run(iter(edit_events(asks=True)), OutputFormat.TEXT, "Nano", stats=False)
    assert "@@" not in capsys.readouterr().err


def test_the_reason_of_a_failed_edit_is_on_stderr(capsys):
    failed = ToolFinished(0, "edit", "error: edits are not allowed here", ok=False, seconds=0.01)
    run(
        iter((edit_events(asks=True)[0], failed, TurnFinished(TurnEnd.ANSWERED))),
        OutputFormat.TEXT,
        "Nano",
        stats=False,
    )
    assert "failed, error: edits are not allowed here" in capsys.readouterr().err


def test_json_tells_of_the_edits_that_were_made(capsys):
    run(iter(edit_events(asks=False)), OutputFormat.JSON, "Nano", stats=False)
    (edit,) = json.loads(capsys.readouterr().out)["edits"]
    assert (edit["path"], edit["places"]) == ("shop/cart.py", 1)
    assert edit["diff"][1] == "-def total(items):"


def test_stream_json_tells_of_an_edit_before_and_after(capsys):
    run(iter(edit_events(asks=True)), OutputFormat.STREAM_JSON, "Nano", stats=False)
    _, asked, answered, made, *_ = map(json.loads, capsys.readouterr().out.splitlines())
    change = {
        "kind": "edit",
        "path": "shop/cart.py",
        "target": None,
        "places": 1,
        "diff": ["@@ -1 +1 @@", "-def total(items):", "+def amount\x1b[2J(items):"],
        "warning": "It no longer parses.",
    }
    about = {"call_id": 0, "tool": "edit", "why": "You are asked first.", "sandbox": "", "rule": ""}
    assert asked == {"type": "permission_asked", **about, **change}
    said = {"decision": "yes", "message": "", "edited": False, "hunks": None, "by": "user"}
    assert answered == {"type": "permission_answered", "call_id": 0, **said}
    assert made == {"type": "change_made", "call_id": 0, **change}


def test_stream_json_has_the_command_of_a_permission_request(capsys):
    asked = PermissionAsked(3, PermissionRequest("shell", CommandProposal("make", Path("/shop"), 60.0)))
    run(iter((asked, TurnFinished(TurnEnd.CANCELLED))), OutputFormat.STREAM_JSON, "Nano", stats=False)
    told = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (told["command"], told["folder"], told["timeout_s"]) == ("make", "/shop", 60.0)


def test_calls_that_run_side_by_side_have_a_line_each(capsys):
    started = [ToolStarted(number, "read", {"path": f"{number}.py"}) for number in (1, 2)]
    finished = [ToolFinished(number, "read", "a\nb", ok=True, seconds=0.01) for number in (1, 2)]
    run(iter((*started, *finished, TurnFinished(TurnEnd.ANSWERED))), OutputFormat.TEXT, "Nano", stats=False)
    assert capsys.readouterr().err.splitlines() == [
        "· read(path='1.py')  2 lines, 0.01 s",
        "· read(path='2.py')  2 lines, 0.01 s",
    ]


def test_json_gives_each_call_its_own_result(capsys):
    started = [ToolStarted(number, "read", {"path": f"{number}.py"}) for number in (1, 2)]
    finished = [ToolFinished(number, "read", f"it is {number}", ok=True, seconds=0.01) for number in (1, 2)]
    run(iter((*started, *finished, TurnFinished(TurnEnd.ANSWERED))), OutputFormat.JSON, "Nano", stats=False)
    tools = json.loads(capsys.readouterr().out)["tools"]
    assert [(tool["id"], tool["output"]) for tool in tools] == [(1, "it is 1"), (2, "it is 2")]


def interrupted(*events):
    yield from events
    raise KeyboardInterrupt


def test_an_answer_that_is_interrupted_in_the_middle_of_a_word_leaves_its_line_ended(capsys):
    with pytest.raises(KeyboardInterrupt):
        run(interrupted(TextDelta("`main` is in `a.")), OutputFormat.TEXT, "Nano", stats=False)
    assert capsys.readouterr().out == "`main` is in `a.\n"


def test_a_tool_that_is_interrupted_leaves_its_line_ended(capsys):
    with pytest.raises(KeyboardInterrupt):
        run(interrupted(TURN[1]), OutputFormat.TEXT, "Nano", stats=False)
    assert capsys.readouterr().err == "· search(pattern='main')\n"


def test_a_cancelled_tool_leaves_its_line_ended(capsys):
    assert run(iter((TURN[1], TurnFinished(TurnEnd.CANCELLED))), OutputFormat.TEXT, "Nano", stats=False) == 130
    assert capsys.readouterr().err.startswith("· search(pattern='main')\n")


def test_what_is_written_as_json_is_not_added_to_when_it_is_interrupted(capsys):
    with pytest.raises(KeyboardInterrupt):
        run(interrupted(TextDelta("`main` is in `a.")), OutputFormat.JSON, "Nano", stats=False)
    assert capsys.readouterr().out == ""


def failing(*events):
    yield from events
    raise NativeAbort("llama.cpp gave up; open the model again")


def test_json_has_the_text_and_edits_before_the_engine_failed(capsys):
    with pytest.raises(NativeAbort):
        run(failing(*edit_events(asks=False)[:-1], TextDelta("I renamed ")), OutputFormat.JSON, "Nano", stats=False)
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    told = json.loads(out)
    assert (told["end"], told["error"]) == ("failed", "llama.cpp gave up; open the model again")
    assert told["answer"] == "I renamed "
    assert [edit["path"] for edit in told["edits"]] == ["shop/cart.py"]


def test_a_stream_whose_engine_failed_ends_with_a_turn_finished_that_names_the_error(capsys):
    with pytest.raises(NativeAbort):
        run(failing(TextDelta("I renamed ")), OutputFormat.STREAM_JSON, "Nano", stats=False)
    text, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert text["type"] == "text_delta"
    error = "llama.cpp gave up; open the model again"
    assert last == {"type": "turn_finished", "end": "failed", "detail": "", "error": error}


def test_a_stream_that_is_interrupted_is_not_added_to(capsys):
    with pytest.raises(KeyboardInterrupt):
        run(interrupted(TextDelta("`main` is in `a.")), OutputFormat.STREAM_JSON, "Nano", stats=False)
    assert capsys.readouterr().out.count("\n") == 1


def test_json_of_a_turn_that_came_to_its_end_has_no_error(capsys):
    run(iter(TURN), OutputFormat.JSON, "Nano", stats=False)
    assert json.loads(capsys.readouterr().out)["error"] is None


class FailingChat(Chat):
    def ask(self, message):
        return failing(TextDelta("Half"))


class FailingSession(Session):
    """A session whose engine fails in the middle of the answer, without a model."""

    def open(self, progress):
        self.chat = FailingChat(self)
        return SessionInfo(4096, "", plan=("",))

    def opened(self):
        return SimpleNamespace(servers=ConfiguredServers())


def test_ask_with_json_exits_with_1_and_has_written_its_object_when_the_engine_fails(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("laguna_tui.compose.Session", FailingSession)
    assert run_ask(Settings(), tmp_path, "Where?", OutputFormat.JSON) is ExitCode.FAILED
    out, err = capsys.readouterr()
    assert json.loads(out)["answer"] == "Half"
    assert err == "laguna-tui: llama.cpp gave up; open the model again\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("form", list(OutputFormat))
def test_how_far_the_choice_of_what_to_keep_is_shows_on_a_terminal_and_leaves_nothing(form, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_REDRAW_S", 0.0)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    run(iter([Choosing(40, "parsing", 0.5), Choosing(40, "scoring", 0.25, 20.0), *TURN]), form, "Nano", stats=False)
    _, parsing, scoring, after, *_ = terminal.getvalue().split("\x1b[K")
    assert parsing == "choosing what to keep of 40 files: parsing 50%\r"
    assert scoring == "choosing what to keep of 40 files: scoring 25%, at most 20 s; or --scorer none\r"
    assert "choosing" not in after
    if form is not OutputFormat.STREAM_JSON:
        assert "choosing" not in capsys.readouterr().out


def test_progress_is_not_shown_without_a_terminal(capsys):
    run(iter([Choosing(1, "parsing", 0.5), *TURN]), OutputFormat.TEXT, "Nano", stats=False)
    assert "choosing" not in "".join(capsys.readouterr())

"""Calls of tools on worker threads: what runs side by side, what is told when, and that nothing is left running."""

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from laguna_engine.errors import NativeAbort
from laguna_tui.agent.loop import Agent
from laguna_tui.agent.tool_run import ToolError
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.events import (
    PermissionAnswered,
    PermissionAsked,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnEnd,
    TurnFinished,
)
from laguna_tui.base.permission_request import (
    CommandProposal,
    Decision,
    Mode,
    PermissionAnswer,
    PermissionRequest,
)
from laguna_tui.base.schema import declared
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace
from tests.app.agent.scripted_engine import answer, backend, call, text
from tests.app.approvers import NO, YES, always, gate_for

PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Arguments:
    about: str = declared()


class Bench:
    """An agent with the tools that a test gives it, and what they noted."""

    def __init__(self, vocabulary, codebase):
        self.vocabulary, self.codebase = vocabulary, codebase
        self.noted = []
        self.before = set(threading.enumerate())

    def ask(self, tools, *script, approver=None, mode=Mode.ASK):
        profile = replace(FULL, tools=tuple(tools))
        workspace = Workspace(self.codebase.root)
        gate = gate_for(workspace.root, approver, mode)
        toolbox = Toolbox(profile, workspace, codebase=self.codebase, permissions=gate)
        scripted = backend(self.vocabulary, script, 16384)
        self.engine = scripted.engine
        self.agent = Agent(scripted, toolbox, opening=lambda: "")
        return self.agent.run("Go")

    @property
    def text(self):
        return text(self.agent.conversation).partition("</system>\n")[2]

    @property
    def workers(self):
        return [each for each in threading.enumerate() if each not in self.before and each.name.startswith("tool")]


@pytest.fixture
def bench(tiny_model, tmp_path):
    (tmp_path / "shop").mkdir()
    codebase = Codebase(tmp_path / "shop", tmp_path / "index")
    yield Bench(tiny_model.vocab, codebase)
    codebase.close()


def tool(name, run, *, read_only=True):
    def called(services, call, wanted):
        return run(call, wanted)

    return Tool(name, f"It is {name}.", Arguments, called, read_only=read_only)


def calls(*pairs):
    """Several calls in one step."""
    texts = [call(name, about=argument) for name, argument in pairs]
    return "".join(text.removesuffix("\n</assistant>") for text in texts[:-1]) + texts[-1]


def outputs(events):
    return [event.output for event in events if isinstance(event, ToolFinished)]


def test_read_only_calls_that_stand_side_by_side_run_at_the_same_time(bench):
    together = threading.Barrier(4, timeout=PATIENCE_S)

    def meet(run, wanted):
        together.wait()
        return ToolResult(f"met {wanted.about}")

    step = calls(*(("meet", letter) for letter in "abcd"))
    events = list(bench.ask([tool("meet", meet)], step, answer("Done.")))
    assert outputs(events) == ["met a", "met b", "met c", "met d"]


def test_no_more_than_four_run_at_the_same_time(bench):
    running, most, lock = [0], [0], threading.Lock()
    full = threading.Barrier(4, timeout=PATIENCE_S)

    def count(run, wanted):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        full.wait()
        with lock:
            running[0] -= 1
        return ToolResult("counted")

    list(bench.ask([tool("count", count)], calls(*(("count", letter) for letter in "abcdefgh")), answer("Done.")))
    assert most == [4]


def test_answers_stand_in_the_order_of_the_calls_whichever_ends_first(bench):
    second_ended = threading.Event()

    def read(run, wanted):
        if wanted.about == "first":
            assert second_ended.wait(PATIENCE_S)
        else:
            second_ended.set()
        return ToolResult(f"it is {wanted.about}")

    events = list(bench.ask([tool("read", read)], calls(("read", "first"), ("read", "second")), answer("Done.")))
    kinds = [type(event) for event in events if isinstance(event, ToolStarted | ToolFinished)]
    assert kinds == [ToolStarted, ToolStarted, ToolFinished, ToolFinished]
    assert [event.call_id for event in events if isinstance(event, ToolFinished)] == [1, 2]
    assert bench.text.index("it is first") < bench.text.index("it is second")


def test_a_call_that_changes_something_runs_alone_and_in_its_turn(bench):
    order, alone = [], threading.Lock()

    def look(run, wanted):
        order.append(f"look {wanted.about}")
        return ToolResult("looked")

    def write(run, wanted):
        with alone:
            order.append(f"write {wanted.about}")
            assert not [each for each in order if each == "look after"]
        return ToolResult("written")

    tools = [tool("look", look), tool("write", write, read_only=False)]
    step = calls(("look", "before"), ("write", "one"), ("write", "two"), ("look", "after"))
    events = list(bench.ask(tools, step, answer("Done."), approver=always))
    assert order == ["look before", "write one", "write two", "look after"]
    shown = [(type(event).__name__, event.call_id) for event in events if isinstance(event, ToolStarted | ToolFinished)]
    assert shown == [(kind, number) for number in (1, 2, 3, 4) for kind in ("ToolStarted", "ToolFinished")]


def test_the_same_call_twice_in_a_step_is_answered_one_after_the_other(bench):
    seen = []

    def count(run, wanted):
        seen.append(wanted.about)
        return ToolResult("the same")

    events = list(bench.ask([tool("count", count)], calls(*[("count", "a")] * 3), answer("Done.")))
    assert outputs(events)[:2] == ["the same", "the same"]
    assert outputs(events)[2].startswith("error: this same call was made 2 times already")
    assert seen == ["a", "a"]


def test_what_a_tool_puts_out_arrives_while_it_runs(bench):
    seen = threading.Event()

    def talk(run, wanted):
        run.emit(ToolProgress(run.call_id, "half"))
        return ToolResult(f"{seen.wait(PATIENCE_S)}")

    events = bench.ask([tool("talk", talk)], calls(("talk", "a")), answer("Done."))
    told = []
    for event in events:
        told.append(event)
        if isinstance(event, ToolProgress):
            seen.set()
    assert [event.text for event in told if isinstance(event, ToolProgress)] == ["half"]
    assert outputs(told) == ["True"]


def asking(run, wanted):
    answered = run.ask(PermissionRequest("shell", CommandProposal(wanted.about, Path("/"), 1.0)))
    return ToolResult(f"ran {answered.edited or wanted.about}")


def test_the_user_is_asked_on_the_thread_that_iterates(bench):
    threads = []

    def approver(request, cancelled):
        threads.append(threading.current_thread())
        return YES

    step = calls(("shell", "make"))
    events = list(bench.ask([tool("shell", asking, read_only=False)], step, answer("Done."), approver=approver))
    assert threads == [threading.current_thread()]
    asked = next(event for event in events if isinstance(event, PermissionAsked))
    assert (asked.call_id, asked.request.proposal.command) == (1, "make")
    assert PermissionAnswered(1, YES, "user") in events
    assert outputs(events) == ["ran make"]


def test_a_command_that_the_user_edited_is_the_one_that_runs(bench):
    edited = PermissionAnswer(Decision.YES, edited="make test")
    tools = [tool("shell", asking, read_only=False)]
    events = list(bench.ask(tools, calls(("shell", "make")), answer("Done."), approver=lambda request, stop: edited))
    assert outputs(events) == ["ran make test"]


def test_what_the_user_says_with_a_no_is_told_to_the_model(bench):
    no = PermissionAnswer(Decision.NO, message="use the venv")
    tools = [tool("shell", asking, read_only=False)]
    events = list(bench.ask(tools, calls(("shell", "make")), answer("Done."), approver=lambda request, stop: no))
    assert outputs(events) == ["error: the user declined this command and says: use the venv"]
    assert "the user declined this command and says: use the venv" in bench.text


def test_side_by_side_questions_are_asked_one_after_the_other(bench):
    open_questions = []

    def approver(request, cancelled):
        assert not open_questions
        open_questions.append(request)
        time.sleep(0.01)
        open_questions.clear()
        return YES

    step = calls(*(("shell", letter) for letter in "abc"))
    events = list(bench.ask([tool("shell", asking)], step, answer("Done."), approver=approver))
    assert outputs(events) == ["ran a", "ran b", "ran c"]
    assert len([event for event in events if isinstance(event, PermissionAsked)]) == 3


def test_a_stop_is_noticed_by_all_that_run(bench):
    running = threading.Barrier(3, timeout=PATIENCE_S)

    def wait(run, wanted):
        running.wait()
        begun = time.monotonic()
        while not run.cancelled():
            assert time.monotonic() < begun + PATIENCE_S
            time.sleep(0.005)
        return ToolResult("stopped")

    events = bench.ask([tool("wait", wait)], calls(("wait", "a"), ("wait", "b")), answer("Done."))
    threading.Thread(target=lambda: (running.wait(), bench.agent.cancel()), daemon=True).start()
    told = list(events)
    assert told[-1] == TurnFinished(TurnEnd.CANCELLED)
    assert bench.text.count("<tool_response>") == 2
    assert not bench.workers


@pytest.mark.parametrize("kind", [ToolStarted, ToolProgress, PermissionAsked, PermissionAnswered])
def test_a_front_end_that_goes_away_leaves_no_thread_and_no_call_without_an_answer(bench, kind):
    def talk(run, wanted):
        run.emit(ToolProgress(run.call_id, "half"))
        run.ask(PermissionRequest("shell", CommandProposal("make", Path("/"), 1.0)))
        while not run.cancelled():
            time.sleep(0.005)
        return ToolResult("ended")

    step = calls(("talk", "a"), ("talk", "b"))
    events = bench.ask([tool("talk", talk)], step, answer("Two."), approver=always)
    while not isinstance(next(events), kind):
        pass
    events.close()
    assert not bench.workers
    assert bench.text.count("<tool_response>") == 2
    assert list(bench.agent.run("And now?"))[-1].end is TurnEnd.ANSWERED


def test_an_approver_that_fails_ends_the_turn_and_leaves_no_thread(bench):
    def approver(request, cancelled):
        raise KeyboardInterrupt

    tools = [tool("shell", asking, read_only=False)]
    with pytest.raises(KeyboardInterrupt):
        list(bench.ask(tools, calls(("shell", "make"), ("shell", "test")), answer("Two."), approver=approver))
    assert not bench.workers
    assert bench.text.count("<tool_response>") == 2
    assert "ran" not in bench.text
    assert list(bench.agent.run("And now?"))[-1].end is TurnEnd.ANSWERED


def test_an_engine_that_fails_in_one_call_leaves_the_answers_of_those_before_it(bench):
    def read(run, wanted):
        if wanted.about == "b":
            raise NativeAbort("GGML_ASSERT; open the model again")
        return ToolResult(f"it is {wanted.about}")

    with pytest.raises(NativeAbort):
        list(bench.ask([tool("read", read)], calls(*(("read", letter) for letter in "abc")), answer("Two.")))
    assert "it is a" in bench.text
    assert bench.text.count("<tool_response>") == 3
    assert not bench.workers


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ToolError("there is no make here; use ninja"), "error: there is no make here; use ninja"),
        (ValueError("/home/me"), "error: shell failed (ValueError); try other arguments, or go on without it"),
    ],
)
def test_what_a_tool_raises_is_its_answer(bench, error, sentence):
    def fail(run, wanted):
        raise error

    events = list(bench.ask([tool("shell", fail)], calls(("shell", "make")), answer("Then not.")))
    assert outputs(events) == [sentence]
    assert events[-1] == TurnFinished(TurnEnd.ANSWERED)


def test_wrong_arguments_never_reach_the_tool(bench):
    def fail(run, wanted):
        raise AssertionError

    events = list(bench.ask([tool("shell", fail)], call("shell", about=" "), answer("Then not.")))
    assert outputs(events) == ["error: about is empty; call again with about as text"]


def test_in_plan_mode_only_tools_that_read_are_begun_and_the_model_is_told_to_end_in_a_plan(bench):
    begun = []

    def note(run, wanted):
        begun.append(wanted.about)
        return ToolResult("noted")

    tools = [tool("write", note, read_only=False), tool("look", note)]
    script = calls(("write", "a"), ("look", "b")), answer("The plan.")
    events = list(bench.ask(tools, *script, approver=always, mode=Mode.PLAN))
    written, looked = outputs(events)
    assert "plan mode" in written and "end with a plan" in written
    assert (looked, begun) == ("noted", ["b"])
    assert not [event for event in events if isinstance(event, PermissionAsked)]


def test_where_nobody_can_be_asked_the_model_hears_which_flag_would_allow_it(bench):
    tools = [tool("shell", asking, read_only=False)]
    events = list(bench.ask(tools, calls(("shell", "make test")), answer("Then not.")))
    (output,) = outputs(events)
    assert output.startswith("error: no sandbox works on this machine")
    assert "nobody can be asked here" in output


def test_a_declined_question_does_not_end_what_runs_beside_it(bench):
    def either(run, wanted):
        if wanted.about == "ask":
            return asking(run, wanted)
        return ToolResult("beside")

    step = calls(("either", "ask"), ("either", "other"))
    events = list(bench.ask([tool("either", either)], step, answer("Done."), approver=lambda request, stop: NO))
    assert outputs(events) == ["error: the user declined this command; ask what to do instead", "beside"]

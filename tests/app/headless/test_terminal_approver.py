"""A plain terminal asks about an edit: what is shown, what counts as an answer, and how it ends."""

import io
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from msgspec import structs

from laguna_tui.base.change_proposal import ChangeKind, ChangeProposal
from laguna_tui.base.paths import FolderIdentity
from laguna_tui.base.permission_request import (
    CallProposal,
    CommandProposal,
    Decision,
    PermissionAnswer,
    PermissionRequest,
)
from laguna_tui.headless.terminal_approver import TerminalApprover, terminal_approver
from tests.app.hunks import hunks_of

DIFF = hunks_of("@@ -1 +1 @@", "-def total(items):", "+def amount\x1b]0;x\x07(items):")
PROPOSAL = ChangeProposal(
    "cart.py", "", "", 1, DIFF, "It no longer parses.", Path("/shop"), b"", b"", FolderIdentity(0, 0)
)
EDIT = PermissionRequest("edit", PROPOSAL, rule="edit(cart.py)")


@pytest.fixture
def terminal():
    """The user's end of a terminal and the program's."""
    user, program = pty.openpty()
    yield user, program
    for end in (user, program):
        os.close(end)


def asked(terminal, *typed, cancelled=lambda: False, request=EDIT):
    """What is decided, and what was shown, when each of these is typed once it is asked for."""
    user, program = terminal
    done, log = [], io.StringIO()
    approver = TerminalApprover(program, log)
    thread = threading.Thread(target=lambda: done.append(approver(request, cancelled).decision))
    thread.start()
    for number, keys in enumerate(typed, 1):
        while log.getvalue().count("? [y]es") < number:
            time.sleep(0.005)
        os.write(user, keys)
    thread.join(10)
    return done[0], log.getvalue()


@pytest.mark.parametrize(
    ("keys", "decision"),
    [
        (b"y\n", Decision.YES),
        (b" YES \n", Decision.YES),
        (b"n\n", Decision.NO),
        (b"\n", Decision.NO),
        (b"a\n", Decision.ALWAYS),
        (b"\x04", Decision.NO),
    ],
)
def test_an_answer_is_a_decision(terminal, keys, decision):
    assert asked(terminal, keys)[0] is decision


def test_the_diff_is_shown_with_nothing_in_it_that_a_terminal_obeys(terminal):
    _, shown = asked(terminal, b"n\n")
    assert "edit of cart.py in 1 place:\n  @@ -1 +1 @@\n  -def total(items):\n  +def amount␛]0;x␇(items):\n" in shown
    assert "It no longer parses." in shown


def test_a_command_is_shown_line_by_line_with_the_reason_for_asking(terminal):
    command = CommandProposal("make\nrm -r \x1b[2Jout", Path("/shop"), 60.0)
    request = PermissionRequest("shell", command, why="It removes files.", sandbox="It has no network.")
    decision, shown = asked(terminal, b"y\n", request=request)
    assert decision is Decision.YES
    assert "command in /shop, for at most 60 s:\n  make\n  rm -r ␛[2Jout\n" in shown
    assert "It has no network.\nIt removes files.\nRun this command? [y]es" in shown


def a_command(text, **more):
    return PermissionRequest("shell", CommandProposal(text, Path("/shop"), 60.0), **more)


def test_the_end_of_a_command_is_right_above_the_question(terminal):
    decision, shown = asked(terminal, b"n\n", request=a_command("ls" + "\n" * 301 + "rm -rf ~"))
    assert decision is Decision.NO
    assert "for at most 60 s:\n  ls\n[300 blank lines]\n  rm -rf ~\nRun this command? [y]es" in shown
    assert "[s]how" not in shown


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("\n".join(f"echo {number}" for number in range(300)), "  echo 299\n"),
        ("echo " + "a" * 50_000 + "; rm -rf ~", "rm -rf ~\n"),
    ],
)
def test_head_and_tail_of_a_long_command_are_shown_and_all_of_it_on_demand(terminal, text, last):
    decision, shown = asked(terminal, b"s\n", b"y\n", request=a_command(text))
    assert decision is Decision.YES
    first, second, rest = shown.split("Run this command? [y]es")
    assert first.count("\n") < 20
    assert first.endswith(last)
    assert "rows not shown]\n" in first
    assert ", [s]how all" in second.splitlines()[0]
    assert second.endswith(last)
    assert "not shown" not in second
    assert "[s]how" not in rest
    assert "".join(line.strip() for line in second.splitlines()[2:]) == "".join(map(str.strip, text.splitlines()))


def test_hidden_characters_and_what_is_destroyed_are_named(terminal):
    request = a_command("rm -r bui\u200bld\x85", destructive="rm -r deletes folders.", unusual="It hides U+200B.")
    _, shown = asked(terminal, b"n\n", request=request)
    assert (
        "DESTRUCTIVE command in /shop, for at most 60 s:\n  rm -r bui<U+200B>ld<U+0085>\n"
        "WARNING: rm -r deletes folders.\nWARNING: It hides U+200B.\nRun this command?" in shown
    )


def test_hidden_characters_of_a_diff_are_named(terminal):
    change = structs.replace(PROPOSAL, path="c\u0430rt.py", hunks=hunks_of("@@ -1 +1 @@", "-a\r", "+a\u200b\r"))
    _, shown = asked(terminal, b"n\n", request=PermissionRequest("edit", change))
    assert "edit of c\u0430<U+0430>rt.py in 1 place:\n  @@ -1 +1 @@\n  -a\n  +a<U+200B>\n" in shown


def test_a_call_of_somebody_elses_tool_is_shown_with_its_arguments(terminal):
    request = PermissionRequest("mcp", CallProposal("tickets.close", ("number=7",)))
    decision, shown = asked(terminal, b"n\n", request=request)
    assert decision is Decision.NO
    assert "call of tickets.close\n  number=7\nMake this call? [y]es" in shown


def test_any_other_answer_repeats_the_question(terminal):
    decision, shown = asked(terminal, b"what?\n", b"y\n")
    assert decision is Decision.YES
    assert shown.count("Make this edit?") == 2


def test_input_typed_before_the_question_is_dropped(terminal):
    os.write(terminal[0], b"y\n")
    assert select.select([terminal[1]], [], [], 30)[0]
    assert asked(terminal, b"n\n")[0] is Decision.NO


def test_a_stop_ends_the_question(terminal):
    stopped = threading.Event()
    threading.Timer(0.2, stopped.set).start()
    done = TerminalApprover(terminal[1], io.StringIO())(EDIT, stopped.is_set)
    assert done.decision is Decision.NO


def test_nobody_is_asked_without_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert terminal_approver() is None


COMMAND = PermissionRequest("shell", CommandProposal("make", Path("/shop"), 60.0), network=True)


def answered(terminal, *typed, request=COMMAND):
    """The whole answer when each of these is typed once something is asked."""
    user, program = terminal
    done, log = [], io.StringIO()
    approver = TerminalApprover(program, log)
    thread = threading.Thread(target=lambda: done.append(approver(request, lambda: False)))
    thread.start()
    for number, keys in enumerate(typed, 1):
        while log.getvalue().count(": ") - log.getvalue().count("rule: ") < number:
            time.sleep(0.005)
        os.write(user, keys)
    thread.join(30)
    return done[0], log.getvalue()


@pytest.mark.parametrize("typed", [(b"m use make test\n",), (b"m\n", b"use make test\n")])
def test_a_no_may_bring_a_message_to_the_model(terminal, typed):
    answer, _ = answered(terminal, *typed)
    assert (answer.decision, answer.message) == (Decision.NO, "use make test")


TWO_HUNKS = hunks_of("@@ -1 +1 @@", "-one", "+1", "@@ -9 +9 @@", "-two", "+2", "@@ -19 +19 @@", "-three", "+3")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ((b"y\n", b"n\n", b"y\n"), PermissionAnswer(Decision.YES, hunks=(0, 2))),
        ((b"n\n", b"a\n"), PermissionAnswer(Decision.YES, hunks=(1, 2))),
        ((b"y\n", b"d\n"), PermissionAnswer(Decision.YES, hunks=(0,))),
        ((b"a\n",), PermissionAnswer(Decision.YES)),
        ((b"d\n",), PermissionAnswer(Decision.NO)),
        ((b"y\n", b"\x04"), PermissionAnswer(Decision.NO)),
    ],
)
def test_hunks_are_decided_about_one_by_one(terminal, typed, answer):
    request = PermissionRequest("edit", structs.replace(PROPOSAL, hunks=TWO_HUNKS, warning=""))
    decided, shown = answered(terminal, b"h\n", *typed, request=request)
    assert decided == answer
    assert ", [h]unk by hunk" in shown
    assert "  @@ -1 +1 @@\n  -one\n  +1\nAccept hunk 1 of 3? [y]es, [N]o, [a]ll the rest, [d]ecline the rest: " in shown


def test_an_edit_of_one_hunk_has_no_hunks_to_choose(terminal):
    assert "[h]unk" not in asked(terminal, b"n\n")[1]


def test_a_command_may_have_the_network(terminal):
    answer, shown = answered(terminal, b"w\n")
    assert answer.decision is Decision.YES_WITH_NETWORK
    assert "yes [w]ith network" in shown


def test_network_for_a_change_repeats_the_question(terminal):
    decision, shown = asked(terminal, b"w\n", b"n\n")
    assert (decision, shown.count("Make this edit?")) == (Decision.NO, 2)
    assert "network" not in shown


def test_nothing_is_always_allowed_where_no_rule_would(terminal):
    answer, shown = answered(terminal, b"a\n", b"n\n")
    assert answer.decision is Decision.NO
    assert (shown.count("Run this command?"), "always" in shown) == (2, False)


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Makes an editor of a shell script that gets the file as $1."""

    def made(script):
        program = tmp_path / "editor"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("VISUAL", f"{program} --wait")

    return made


def test_a_command_is_run_as_the_user_edited_it_and_the_file_is_private_and_gone(terminal, editor, tmp_path):
    editor(
        f'test -t 0 && test -t 1 && stat -c %a "$2" >{tmp_path}/mode; echo "$2" >{tmp_path}/name; echo make -n >"$2"'
    )
    answer, _ = answered(terminal, b"e\n")
    assert (answer.decision, answer.edited) == (Decision.YES, "make -n")
    assert (tmp_path / "mode").read_text() == "600\n"
    assert not Path((tmp_path / "name").read_text().strip()).exists()


def test_a_change_is_made_as_the_user_edited_it(terminal, editor):
    editor('echo "$2" | grep -q "\\.py$" && printf "x = 2\\r\\n" >"$2"')
    answer, _ = answered(terminal, b"e\n", request=EDIT)
    assert (answer.decision, answer.edited) == (Decision.YES, "x = 2\r\n")


@pytest.mark.parametrize(
    ("script", "sentence"),
    [("true", "Nothing was changed"), ("exit 3", "exited with code 3"), (": >$2", "Nothing was changed")],
)
def test_an_editor_that_is_left_without_a_text_decides_nothing(terminal, editor, script, sentence):
    editor(script)
    answer, shown = answered(terminal, b"e\n", b"n\n")
    assert (answer.decision, answer.edited) == (Decision.NO, None)
    assert sentence in shown


def test_an_editor_that_is_not_installed_is_a_sentence(terminal, monkeypatch):
    monkeypatch.setenv("VISUAL", "no-such-editor")
    answer, shown = answered(terminal, b"e\n", b"n\n")
    assert answer.decision is Decision.NO
    assert "no-such-editor cannot be started" in shown


def test_a_move_names_both_paths(terminal):
    change = structs.replace(PROPOSAL, kind=ChangeKind.MOVE, target="basket.py", hunks=())
    _, shown = asked(terminal, b"n\n", request=PermissionRequest("move", change))
    assert "move of cart.py to basket.py\n" in shown
    assert "[e]dit" not in shown


ASK = """
import sys
from pathlib import Path
from laguna_tui import compose
from laguna_tui.base.events import TurnEnd, TurnFinished
from laguna_tui.headless.run import OutputFormat
from laguna_tui.base.settings import Settings
from laguna_engine.chat.messages import ToolCall
from laguna_tui.agent.tool_calls import CallRun, ToolCallRunner
from laguna_tui.session.session import Chat

def ask(chat, question):
    session = chat._session
    # What a model would do that was asked to rename something.
    agent = session.parts.agent
    run = CallRun(ToolCall("edit", {"path": "cart.py", "old": "total", "new": "amount"}), 1)
    calls = ToolCallRunner(session.parts.toolbox, lambda call, proposal: "", lambda: agent._cancelled)
    yield from (event for event in calls.run([run]) if event is not run)
    print(run.result.result().output, flush=True)
    yield TurnFinished(TurnEnd.CANCELLED if agent._cancelled else TurnEnd.ANSWERED)

Chat.ask = ask
settings = Settings(model=sys.argv[1], context=4096, threads=1)
sys.exit(compose.run_ask(settings, Path(sys.argv[2]), "Rename it.", OutputFormat.TEXT))
"""


@pytest.fixture
def asking(terminal, tiny_model_path, tmp_path):
    """`ask` on a terminal, about to be told whether to make an edit."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/cart.py").write_text("total = 1\n")
    command = [sys.executable, "-c", ASK, str(tiny_model_path), str(tmp_path / "shop")]
    user, program = terminal
    with subprocess.Popen(command, stdin=program, stdout=subprocess.PIPE, stderr=program) as process:
        shown = b""
        while b"Make this edit?" not in shown:
            shown += os.read(user, 4096)
        yield process
        process.kill()


@pytest.mark.parametrize(("keys", "text"), [(b"y\n", "amount = 1\n"), (b"n\n", "total = 1\n")])
def test_ask_makes_the_edit_that_the_user_agrees_to(terminal, asking, tmp_path, keys, text):
    os.write(terminal[0], keys)
    out, _ = asking.communicate(timeout=120)
    assert (asking.returncode, (tmp_path / "shop/cart.py").read_text()) == (0, text)
    assert out.startswith(b"Changed" if keys == b"y\n" else b"error: the user declined")


def test_ctrl_c_at_the_question_makes_no_edit(asking, tmp_path):
    asking.send_signal(signal.SIGINT)
    asking.communicate(timeout=120)
    assert (asking.returncode, (tmp_path / "shop/cart.py").read_text()) == (130, "total = 1\n")


# Stdin is a pipe to `ask`, which belongs to the terminal all the same.
PIPED = """
import fcntl, os, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
"""


def test_with_a_pipe_on_stdin_it_asks_on_the_terminal(terminal, tiny_model_path, tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/cart.py").write_text("total = 1\n")
    command = [sys.executable, "-c", PIPED + ASK, str(tiny_model_path), str(tmp_path / "shop")]
    user, program = terminal
    with subprocess.Popen(command, stdin=program, stdout=subprocess.PIPE, stderr=program) as process:
        shown = b""
        while b"Make this edit?" not in shown:
            shown += os.read(user, 4096)
        os.write(user, b"y\n")
        process.communicate(timeout=60)
    assert (process.returncode, (tmp_path / "shop/cart.py").read_text()) == (0, "amount = 1\n")

"""The user's own commands: run as in their shell, streamed, stopped, and told to the model where they ask for it."""

import os
import shutil
import sys
import threading
import time

import pytest

from laguna_tui.base.errors import UserError
from laguna_tui.base.events import Attached
from laguna_tui.base.messages import BlockKind, Place
from laguna_tui.base.paths import data_root
from laguna_tui.base.settings import Settings
from laguna_tui.session.commands import Commands
from laguna_tui.session.session import NOT_OPEN, Session
from laguna_tui.session.values import SessionOptions
from tests.app.agent.scripted_engine import text

PATIENCE_S = 60.0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SHELL", "/bin/sh")
    (tmp_path / "shop").mkdir()
    return tmp_path / "shop"


@pytest.fixture
def told():
    return []


@pytest.fixture
def commands(folder, told):
    made = Commands(folder, lambda piece: told.append(piece) or "")
    yield made
    made.close()


def output(events):
    return "".join(event for event in events if isinstance(event, str))


def wait_for(done, what):
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.02)


def test_a_command_is_streamed_and_ends(commands, folder):
    (folder / "here.txt").touch()
    *streamed, last = commands.run("ls; exit 3")
    assert output(streamed) == "here.txt\n"
    assert (last.exit_code, last.attached) == (3, False)
    assert last.sentence.startswith("Exit code 3 after 0.")


def test_it_has_the_users_environment_and_no_sandbox(commands, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "geheim")
    assert output(commands.run(f"echo $MY_TOKEN > {tmp_path}/outside; cat {tmp_path}/outside")) == "geheim\n"


def test_what_it_writes_comes_while_it_runs(commands, folder):
    events = commands.run("echo one; while ! [ -e go ]; do sleep 0.01; done; echo two")
    assert next(events) == "one\n"
    (folder / "go").touch()
    assert output(events) == "two\n"


def test_cancelled_it_is_stopped(commands):
    events = commands.run("echo one; sleep 60")
    next(events)
    commands.cancel()
    [last] = events
    assert last.exit_code == 130
    assert last.sentence.startswith("Stopped after ")


def test_cancelled_before_its_first_event_it_is_stopped_too(commands):
    events = commands.run("sleep 60")
    commands.cancel()
    assert [event.exit_code for event in events] == [130]


def test_iteration_that_is_given_up_stops_the_command(commands, folder):
    events = commands.run("echo $$ > pid; echo one; exec sleep 60")
    next(events)
    process = int((folder / "pid").read_text())
    events.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_another_one_waits_its_turn(commands):
    events = commands.run("echo one; sleep 60")
    next(events)
    with pytest.raises(UserError) as error:
        list(commands.run("true"))
    assert str(error.value) == "Your last command is still running. Wait for it, or stop it."
    events.close()
    assert [event.exit_code for event in commands.run("true")] == [0]


@pytest.mark.parametrize("command", ["", "  "])
def test_without_a_command_the_error_says_what_to_type(commands, command):
    with pytest.raises(UserError) as error:
        commands.run(command)
    assert str(error.value) == "There is no command. Type one after the !, such as: !git status"


def test_a_command_that_cannot_run_says_why(commands, folder):
    shutil.rmtree(folder)
    with pytest.raises(UserError, match=r"^The command was not run: its folder no longer exists\.$"):
        list(commands.run("true"))


def test_a_long_output_is_saved_and_its_file_named(commands):
    *_, last = commands.run("seq 100000")
    assert " All of its output is in " in last.sentence


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not count what is left")
def test_processes_left_running_are_reported(commands, folder):
    *_, last = commands.run("sleep 60 & echo $! > pid")
    os.kill(int((folder / "pid").read_text()), 9)
    assert "1 process that it started is still running." in last.sentence


def test_an_attached_command_is_part_of_the_next_message(commands, told):
    *_, last = commands.run("printf '\\33[31mred'; exit 4", attach=True)
    assert last.attached
    [piece] = told
    assert (piece.kind, piece.title, piece.place) == (BlockKind.TOOL, "$ printf '\\33[31mred'; exit 4", Place.KEPT)
    assert piece.text == (
        "The user ran this command in the folder (exit code 4):\n```\n$ printf '\\33[31mred'; exit 4\nred\n```\n"
    )


def test_a_command_that_is_not_attached_is_not_in_the_prompt(commands, told):
    list(commands.run("true"))
    assert not told


def test_a_model_that_reads_no_attachments_is_reported(folder):
    commands = Commands(folder, lambda piece: "It does not read.")
    *_, last = commands.run("true", attach=True)
    commands.close()
    assert not last.attached
    assert last.sentence.endswith(" It does not read.")


def test_background_commands_are_listed_and_stopped(commands, folder):
    assert not commands.background()
    number = commands.runner().start_background("sleep 60", folder=folder)
    assert [(each.number, each.command, each.exit_code) for each in commands.background()] == [(1, "sleep 60", None)]
    assert commands.stop(number) == "Background command 1 is stopped."
    assert commands.stop(number) == "Background command 1 had already ended."
    assert commands.stop(7) == "There is no background command 7."


def test_closed_it_stops_what_runs(folder):
    commands = Commands(folder, lambda piece: "")
    commands.runner().start_background("echo $$ > background; exec sleep 60", folder=folder)
    wait_for((folder / "background").exists, "the background command")
    events = commands.run("echo one; sleep 60")
    next(events)
    ended = []
    reader = threading.Thread(target=lambda: ended.extend(events))
    reader.start()
    commands.close()
    reader.join(PATIENCE_S)
    assert [event.exit_code for event in ended] == [130]


@pytest.fixture
def session(folder, tmp_path):
    """With the bundled model under a name that the catalogue does not know, so that it reads what a message brings."""
    model = shutil.copy(data_root() / "assets/nano/laguna-nano.gguf", tmp_path / "any.gguf")
    settings = Settings(model=str(model), threads=1, max_tokens=4, temperature=0.0, pack=0)
    made = Session(settings, folder)
    yield made
    made.close()


def test_the_model_reads_it_with_the_next_message_alone(session):
    *_, last = session.commands.run("echo before", attach=True)
    assert last.sentence.endswith(NOT_OPEN)
    session.open(lambda progress: None)
    list(session.commands.run("echo 4711", attach=True))
    assert session.prompt.cost("what is it?").new > 0
    first = list(session.chat.ask("what is it?"))
    assert next(event for event in first if isinstance(event, Attached)).titles == ("$ echo 4711",)
    read = text(session.opened().agent.conversation)
    assert read.count("(exit code 0):\n```\n$ echo 4711\n4711\n```\nwhat is it?") == 1
    assert "echo before" not in read
    assert [block.title for block in session.prompt.blocks() if block.kind is BlockKind.TOOL] == ["$ echo 4711"]
    assert not [event for event in session.chat.ask("and now?") if isinstance(event, Attached)]


def test_a_new_chat_has_no_commands_of_the_previous_one(session):
    session.open(lambda progress: None)
    list(session.commands.run("echo 4711", attach=True))
    session.chat.new_chat()
    assert not [event for event in session.chat.ask("what is it?") if isinstance(event, Attached)]


def test_rules_about_files_apply_to_the_models_commands_too(folder, tmp_path):
    from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox

    if probe_sandbox().kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(probe_sandbox().sentence)
    for name in ("private", "fixed"):
        (folder / name).mkdir()
        (folder / name / "a.txt").write_text("mine")
    session = Session(
        Settings(), folder, tmp_path / "state", SessionOptions(deny=["read(private/**)", "edit(fixed/**)"])
    )
    try:
        runner = session.commands.runner()
        result = runner.run("cat */a.txt; echo x > fixed/a.txt", folder=folder, timeout_s=PATIENCE_S)
        assert result.stdout.startswith("mine")
        assert "Read-only file system" in result.stdout
        assert "minemine" not in result.stdout
    finally:
        session.close()

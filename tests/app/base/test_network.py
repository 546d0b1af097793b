"""Offline means offline: no command opens a connection, whichever way that was asked for.

Every command of the parser runs in a process where an audit hook sees, and refuses, every look-up of a name, every
connection and every pip that would fetch something.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from laguna_tui.cli.arguments import commands_of
from laguna_tui.cli.main import command_parser
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.app.models import published
from tests.engine import drafters

# Nothing listens there, and nothing may be asked whether something does.
NOWHERE = "http://127.0.0.1:9"
CATALOGUE = """
[models.away]
title = "Away"
summary = "a model that is not here"
repository = "somebody/Away-GGUF"
file = "away.gguf"
license = "MIT"
template = "XS_2"
thinking = false
context = 2048
sampling = {}
match = []
"""
CODES = {
    "eval": 2 if probe_sandbox().kind is SandboxKind.NONE else 0,
    "selfcheck": 2,
    "serve": 2,
    "sessions rename": 2,
    "sessions fork": 2,
    "sessions search": 1,
    "sessions delete": 2,
    "sessions export": 2,
    "ask": 4,
    "models download": 1,
    "models others": 1,
    "models path": 1,
    "setup gpu": 2,
}
"""Of an answer cut short, of commands whose files are not here, and of one that needs a sandbox; all others succeed, if
the doctor likes it here."""

WATCHED = """
import json, os, socket, sys
commands, log = json.loads(sys.argv[1]), os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
name = ""
def hook(event, arguments):
    touched = event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
    if event == "socket.connect":
        touched = arguments[0].family != socket.AF_UNIX
    if event == "subprocess.Popen":
        # What pip fetches with, and the child that makes all requests of downloads.
        touched = "download" in arguments[1] or "laguna_tui.models.hub_requests" in arguments[1]
    if touched:
        os.write(log, f"{name}: {event}\\n".encode())
        raise OSError("no connection was to be opened")
sys.addaudithook(hook)
from laguna_tui.cli.main import main
for name, arguments in commands.items():
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = leaving.code
    print(json.dumps([name, code]), flush=True)
"""


def _leaves(parser, names=()) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, command in commands_of(parser).items():
        if commands_of(command):
            yield from _leaves(command, (*names, name))
        else:
            yield (*names, name), command


LEAVES = {" ".join(names): command for names, command in _leaves(command_parser())}


@pytest.fixture(scope="module")
def files(tmp_path_factory, tiny_model_path) -> dict[str, Path]:
    """What the commands are run on."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / "code").mkdir()
    (folder / "code" / "hello.py").write_text("def hello():\n    return 'hello'\n")
    return {
        "folder": folder,
        "code": folder / "code",
        "model": tiny_model_path,
        "drafter": drafters.make(drafters.Variant(n_ff=72)).write(folder / "drafter.gguf"),
        "published": published.laguna().write(folder / "published"),
    }


@pytest.fixture
def home(tmp_path, files) -> dict[str, str]:
    """The environment of a user of their own, who has a model in the catalogue that is not here."""
    config = tmp_path / "config" / "laguna-tui"
    config.mkdir(parents=True)
    (config / "models.toml").write_text(CATALOGUE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    folders = {
        "HOME": tmp_path,
        "XDG_CONFIG_HOME": tmp_path / "config",
        "XDG_STATE_HOME": tmp_path / "state",
        "XDG_CACHE_HOME": tmp_path / "cache",
        "LAGUNA_TUI_MODELS": tmp_path / "store",
        "HF_HOME": tmp_path / "hf",
    }
    return {**kept, **{name: str(path) for name, path in folders.items()}, "HF_ENDPOINT": NOWHERE}


def commands(files: dict[str, Path], target: Path) -> dict[str, list[str]]:
    """Arguments for every command, so that it does what it is for."""
    code, model = str(files["code"]), str(files["model"])
    bench = ["--model", model, "--drafter", "none", "--tokens", "2", "--repeats", "1", "--quiet"]
    bench += ["--prompts", str(files["code"] / "hello.py"), "--threads", "1"]
    return {
        "ask": ["--model", model, "--folder", code, "--max-tokens", "2", "--threads", "1", "hello"],
        "quantize-drafter": [str(files["drafter"]), str(target / "smaller.gguf")],
        "bench ab": bench,
        "eval": ["--task", "run_lengths", "--model", model, "--max-tokens", "2", "--threads", "1"],
        "models list": [],
        "models info": ["away"],
        "models download": ["away"],
        "models verify": [],
        "models remove": ["away"],
        "models others": [],
        "models path": ["away"],
        "models convert": [str(files["published"]), str(target / "converted.gguf")],
        "fit": ["nano"],
        "doctor": [],
        "completions": ["bash"],
        "keys": [],
        "selfcheck": ["--report", "nowhere/at/all.md"],
        "sessions list": [],
        "sessions search": ["total"],
        "sessions rename": ["none", "other"],
        "sessions fork": ["none"],
        "sessions delete": ["none"],
        "sessions export": ["none"],
        "sessions prune": [],
        "index": ["--folder", code],
        "search": ["--folder", code, "hello"],
        "map": ["--folder", code],
        "compress": [code, "--query", "hello"],
        "trust": [code],
        "permissions list": [],
        "permissions allow": ["edit(src/**)"],
        "permissions deny": ["delete"],
        "permissions check": ["make"],
        "setup gpu": ["--yes", "--tag", "vulkan", "--index-url", NOWHERE],
        "mcp": ["list", code],
        "acp": ["--print", "zed"],
        "help": [],
        # It would run until Ctrl-C; that it may not listen for others without --expose is seen before.
        "serve": ["--host", "0.0.0.0"],
    }


def walked(lines: dict[str, list[str]], environment: dict[str, str], folder: Path) -> tuple[dict[str, int], list[str]]:
    """Exit codes by command, and what was tried to connect."""
    log = folder / "connections"
    log.touch()
    program = [sys.executable, "-c", WATCHED, json.dumps(lines), str(log)]
    run = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=170, check=False)
    codes = dict(json.loads(line) for line in run.stdout.splitlines() if line.startswith('["'))
    assert codes.keys() == lines.keys(), run.stderr[-2000:]
    return codes, log.read_text().splitlines()


def test_every_command_is_walked(files, tmp_path):
    assert commands(files, tmp_path).keys() == LEAVES.keys()


SLOW = ("bench", "eval", "selfcheck")


@pytest.mark.parametrize("way", ["before", "after", "setting", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
@pytest.mark.sampled(2)
def test_no_command_opens_a_connection_offline(files, home, tmp_path, way):
    lines = {name: [*name.split(), *rest] for name, rest in commands(files, tmp_path).items()}
    if way == "before":
        lines = {name: ["--offline", *line] for name, line in lines.items()}
    elif way == "after":
        has = {name for name, command in LEAVES.items() if "--offline" in command.format_usage()}
        assert has >= {"ask", "models download", "models others", "setup gpu"}
        lines = {name: [*line, "--offline"] for name, line in lines.items() if name in has}
    elif way == "setting":
        (tmp_path / "config" / "laguna-tui" / "config.toml").write_text("offline = true\n")
    else:
        home[way] = "1"
    if way != "before":
        # One way is enough for those that run a model for long.
        lines = {name: line for name, line in lines.items() if not name.startswith(SLOW)}
    codes, connections = walked(lines, home, tmp_path)
    assert connections == []
    codes.pop("doctor", None)
    assert codes == {name: CODES.get(name, 0) for name in codes}


def test_online_the_same_walk_sees_the_commands_that_connect(files, home, tmp_path):
    lines = {name: [*name.split(), *rest] for name, rest in commands(files, tmp_path).items()}
    connecting = {"models download", "models others", "setup gpu"}
    chosen = {name: lines[name] for name in ("models list", "doctor", *connecting)}
    _, connections = walked(chosen, home, tmp_path)
    assert {line.split(":")[0] for line in connections} == connecting


F7, END, ESCAPE, CTRL_Q = b"\x1b[18~", b"\x1b[F", b"\x1b", b"\x11"
WAYS = {"before": (["--offline"], ""), "setting": ([], "offline = true\n"), "online": ([], "")}


@pytest.mark.parametrize("way", WAYS)
def test_the_tui_connects_only_online(files, home, tmp_path, way):
    """Set up is opened for a model that is not here, and the key that downloads it is pressed."""
    flags, setting = WAYS[way]
    (tmp_path / "config" / "laguna-tui" / "config.toml").write_text(setting)
    log = tmp_path / "connections"
    line = [*flags, "--model", str(files["model"]), "--folder", str(files["code"]), "--threads", "1"]
    child = pexpect.spawn(
        sys.executable,
        ["-c", WATCHED, json.dumps({"tui": line}), str(log)],
        env={**home, "TERM": "xterm-256color"},
        dimensions=(30, 100),
        timeout=20,
    )
    try:
        child.expect(b"Ask")
        child.send(F7)
        child.expect(b"Laguna XS")
        child.send(END)
        child.expect(b"Away")
        child.send(b"\r")
        child.expect(b"Offline" if way != "online" else b"download it")
        child.send(b"\r")
        if way == "online":
            child.expect(b"back")
            child.send(b"y")
            child.expect(b"later")
        else:
            child.send(b"pxd")
        child.send(ESCAPE)
        child.send(CTRL_Q)
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)
    assert bool(log.read_text()) is (way == "online")

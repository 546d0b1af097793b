"""No text reaches the terminal as a command for it, and no text in an argument leads out of the folder."""

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from laguna_tui.agent.permission_gate import PermissionGate
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.tools.full.profile import FULL
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.permission_request import Mode
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace
from tests.app.approvers import run_tool
from tests.hostile.case import Case, Refusing
from tests.hostile.file_cases import read
from tests.hostile.test_hostile_repositories import entered
from tests.scripted_model import Raw, call, say, think
from tests.scripted_model.ask import TOP, command, run

# A clipboard, a title, a link, a cleared screen, an answerback, a bell, a C1 sequence, a carriage return.
ESCAPES = "\x1b]52;c;b3duZWQ=\x07\x1b]0;owned\x07\x1b]8;;file:///x\x1b\\\x1b[2J\x05\x07\x9b31m\rowned\x1bPq\x1b\\\x08"
SAID = {
    "a file": [call("read", path="evil.txt")],
    "a file's name": [call("list", path="."), call("find", pattern="*"), call("read", path=f"name{ESCAPES}.txt")],
    "a command's output": [call("shell", cmd="cat evil.txt; cat evil.txt >&2")],
    "a command": [call("shell", cmd=f"echo '{ESCAPES}'")],
    "the steps": [call("todo", items=f"[ ] a{ESCAPES}\n[x] b{ESCAPES}")],
    "the answer": [f"It is {ESCAPES} done."],
    "the reasoning": [think(f"So {ESCAPES} be it.")],
    "a tool's name": [call(f"tool{ESCAPES}", path="a")],
    "an argument's name": [call("read", **{f"path{ESCAPES}": "a"})],
    "a new file": [call("write", path="new.txt", content=ESCAPES)],
    "a change": [call("edit", path="evil.txt", old="plain", new=f"x{ESCAPES}")],
    "a path": [call("write", path=f"../a{ESCAPES}", content="x")],
    "a new path": [call("move", path="evil.txt", new_path=f"b{ESCAPES}")],
    "a pattern": [call("search", pattern=f"({ESCAPES}")],
    "a broken call": [Raw(f"<tool_call>read{ESCAPES}\n<arg_key>path{ESCAPES}")],
}  # fmt: skip
FORMS = ((), ("--json",), ("--stream-json",), ("--mode", "auto"))


def _plain(text: str) -> bool:
    return all(letter in "\n\t" or (letter.isprintable() or letter == " ") for letter in text)


@pytest.fixture
def evil(monkeypatch):
    def plant(world):
        world.plant("evil.txt", f"plain {ESCAPES}\n")
        world.plant(f"name{ESCAPES.replace('/', '')}.txt", ESCAPES)

    with entered(Case("terminal", [[read("evil.txt")]], plant), monkeypatch) as world:
        yield world


@pytest.mark.parametrize("said", SAID)
@pytest.mark.sampled(4)
def test_nothing_that_a_terminal_obeys_is_printed(said, evil, capsys, monkeypatch):
    assert not _plain(ESCAPES)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for form in FORMS:
        arguments = ["ask", "--folder", str(evil.folder), *form, "go on"]
        run([say(*SAID[said]), f"Done {ESCAPES}.", "That is all."], arguments, evil.app)
        printed = capsys.readouterr()
        assert printed.out
        assert _plain(printed.out), form
        assert _plain(printed.err), form


def test_into_a_pipe_goes_the_answer_itself_and_nothing_else_that_a_terminal_obeys(evil):
    script = evil.app / "script.py"
    script.write_text(
        "from tests.scripted_model import call, say\n"
        f"SCRIPT = [say(call('read', path='evil.txt'), call('shell', cmd='cat evil.txt')), {ESCAPES!r}]\n"
    )
    done = subprocess.run(
        command(script, "ask", "--mode", "auto", "--folder", str(evil.folder), "go on"),
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == f"{ESCAPES}\n"
    assert _plain(done.stderr.decode())


PIECES = st.sampled_from(
    (
        *("..", "/", "a.txt", ".git", "hooks", "x", "\0", "\n", "out", "link", "~", "@OUT@", "/proc/self/cwd", "*", ""),
        *(
            " ",
            "a" * 300,
            ".env",
            "\udcff",
            "\\x2e",
            "CON",
            "-rf",
            "$(touch owned)",
            "é",
            "\u202e",
            "pipe",
            "sub",
            ".GIT",
        ),
        *("[", "(", "\\"),
    )
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=6).map("".join), st.lists(PIECES, max_size=5).map("/".join), st.text(max_size=30)
)
VALUES = st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats(), st.lists(TEXTS, max_size=2))
NAMES = tuple(spec.name for spec in FULL.specs)
FIELDS = {tool.name: tuple(tool.arguments.__dataclass_fields__) for tool in FULL.tools}


@st.composite
def calls(draw):
    """A call of a tool: mostly its own arguments, mostly texts."""
    name = draw(st.sampled_from(NAMES))
    fields = {field: draw(draw(st.sampled_from((TEXTS, TEXTS, TEXTS, VALUES)))) for field in FIELDS[name]}
    return name, {**fields, **draw(st.dictionaries(TEXTS, VALUES, max_size=1))}


@pytest.fixture
def toolbox(monkeypatch):
    """All tools over a real folder, in a mode that lets files be changed; the user says no to the rest."""

    def plant(world):
        world.plant("a.txt", "a\n")
        world.plant("sub/x", "x\n")
        world.plant(".env", "A=1\n")
        world.link("link", world.outside)
        world.link("out", world.outside / "mine.txt")
        os.mkfifo(world.folder / "pipe")

    with entered(Case("arguments", [[read("a.txt")]], plant), monkeypatch) as world:
        codebase = Codebase(world.folder)
        gate = PermissionGate(Permissions(world.folder, mode=Mode.ACCEPT_EDITS), Refusing())
        made = Toolbox(FULL, Workspace(world.folder), codebase=codebase, permissions=gate, state=world.app)
        yield world, made
        made.close()
        codebase.close()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.lists(calls(), min_size=1, max_size=3))
@example(made=[("write", {"path": "link/owned", "content": "x"}), ("move", {"path": "a.txt", "new_path": "link/b"})])
@example(made=[("write", {"path": "a\0b", "content": "x"}), ("delete", {"path": ".git"}), ("read", {"path": "pipe"})])
@example(made=[("move", {"path": "sub", "new_path": ".git/hooks"}), ("delete", {"path": "@OUT@/mine.txt"})])
def test_no_argument_raises_or_leads_out_of_the_folder(toolbox, made):
    world, tools = toolbox
    for name, arguments in made:
        filled = {key: world.filled(value) if isinstance(value, str) else value for key, value in arguments.items()}
        result = run_tool(tools, name, filled)
        assert "failed (" not in result.output[:60], (name, arguments, result.output)
    assert world.harm("", inside=False, guarded=(".git", ".env")) == []

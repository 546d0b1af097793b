"""No command runs what lies in the folder it is started in, whatever the files there are called.

The folder has a module of every name that Python, a child of ours or a library could import, and what else decides
where Python and the system's loader find code. Each leaves a mark when it runs. Where strace is installed, the
system calls show besides that nothing ever looked there for a module, and how each child was started.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pytest

from laguna_tui.cli.main import command_parser

NANO = Path(__file__).parents[2] / "assets" / "nano" / "laguna-nano.gguf"
PACKAGES = (
    "laguna_tui laguna_engine llama_cpp numpy textual rich tree_sitter tree_sitter_python huggingface_hub psutil"
    " pathspec filelock platformdirs pygments markdown_it pip sitecustomize usercustomize"
).split()
LIBRARIES = ("libllama.so", "libggml-cuda.so", "libggml-cpu-haswell.so", "libcudart.so.12", "_struct.so")
QUESTION = "where is fetch_orders defined?"
FAST = ("--tokens", "4", "--repeats", "1", "--quiet", "--threads", "1", "--prompts", "prompts.txt")
# Every command that there is: `test_every_command_is_walked` compares.
COMMANDS = {
    "ask": ("ask", "--folder", ".", "--max-tokens", "8", QUESTION),
    "quantize-drafter": ("quantize-drafter", "drafter.gguf", "{out}/drafter.gguf"),
    "bench ab": ("bench", "ab", *FAST),
    "eval": ("eval", "--task", "run_lengths", "--max-tokens", "8"),
    "models list": ("models", "list"),
    "models info": ("models", "info", "xs-2.1"),
    "models download": ("models", "download", "xs-2.1"),
    "models verify": ("models", "verify"),
    "models remove": ("models", "remove", "xs-2.1"),
    "models others": ("models", "others"),
    "models path": ("models", "path", "nano"),
    "models convert": ("models", "convert", ".", "{out}/converted.gguf"),
    "fit": ("fit",),
    "doctor": ("doctor",),
    "completions": ("completions", "bash"),
    "keys": ("keys",),
    "selfcheck": ("selfcheck", "--report", "nowhere/at/all.md"),
    "sessions list": ("sessions", "list"),
    "sessions search": ("sessions", "search", "total"),
    "sessions rename": ("sessions", "rename", "none", "other"),
    "sessions fork": ("sessions", "fork", "none"),
    "sessions delete": ("sessions", "delete", "none"),
    "sessions export": ("sessions", "export", "none"),
    "sessions prune": ("sessions", "prune"),
    "index": ("index", "--folder", "."),
    "search": ("search", "--folder", ".", "fetch", "orders"),
    "map": ("map", "--folder", "."),
    "compress": ("compress", ".", "--query", "who fetches orders?", "--scorer", "none"),
    "trust": ("trust",),
    "permissions list": ("permissions", "list"),
    "permissions allow": ("permissions", "allow", "edit(src/**)"),
    "permissions deny": ("permissions", "deny", "delete"),
    "permissions check": ("permissions", "check", "make test"),
    "setup gpu": ("setup", "gpu", "--yes", "--index-url", "http://127.0.0.1:9"),
    "mcp": ("mcp", "list"),
    "acp": ("acp",),
    "help": ("help", "remote"),
    # It would run until Ctrl-C; that it may not listen for others without --expose is seen before anything is opened.
    "serve": ("serve", "--host", "0.0.0.0"),
}


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    """Where what runs leaves its name."""
    return tmp_path_factory.mktemp("marks")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, marks):
    """A folder that would run as soon as anything is imported from it, with some code to ask about."""
    folder = tmp_path_factory.mktemp("poisoned")
    body = f"open({str(marks)!r} + '/' + __name__, 'w').close()\n"
    for name in {*sys.stdlib_module_names, *PACKAGES, "regex_worker", "loading", "pool"} - {"__main__"}:
        (folder / f"{name}.py").write_text(body)
    (folder / "startup.py").write_text(body)
    (folder / "poison.pth").write_text(f"import sys; {body}")
    (folder / "pyvenv.cfg").write_text(f"home = {folder}\ninclude-system-site-packages = true\n")
    (folder / "python311._pth").write_text(".\nimport site\n")
    for name in LIBRARIES:
        (folder / name).write_bytes(b"\x7fELF no library")
    (folder / "orders.py").write_text("def fetch_orders():\n    return []\n")
    (folder / "prompts.txt").write_text("def fetch")
    # Longer than what is parsed without a worker.
    (folder / "long.py").write_text("".join(f"def handler_{n}():\n    return fetch_orders()\n\n" for n in range(2000)))
    shutil.copy(NANO.with_name("laguna-nano-dflash.gguf"), folder / "drafter.gguf")
    # Under another name it is a model like any other, with all tools and a first look at the code.
    shutil.copy(NANO, folder / "other.gguf")
    return folder


@pytest.fixture
def environment(tmp_path):
    """A home of its own."""
    places = {"HOME": tmp_path, "TMPDIR": tmp_path} | {
        f"XDG_{kind}_HOME": tmp_path / kind.lower() for kind in ("CONFIG", "CACHE", "DATA", "STATE")
    }
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    return kept | {name: str(value) for name, value in places.items()}


@pytest.fixture
def app(tmp_path, folder):
    """Makes the command that starts the app as its entry point does, with variables that lead children astray.

    They are set when Python has started: what it is told about the app's own process is the user's affair.
    """
    poison = {
        "PYTHONPATH": f"{folder}{os.pathsep}.{os.pathsep}",
        "PYTHONSTARTUP": str(folder / "startup.py"),
        "PYTHONUSERBASE": str(folder),
    }
    script = tmp_path / "laguna-tui"
    start = f"import os, sys; os.environ.update({poison}); from laguna_tui.cli.main import main; sys.exit(main())"
    script.write_text(f"if __name__ == '__main__':\n    {start}\n")
    return lambda *arguments: [sys.executable, str(script), *arguments]


def leaves(parser: argparse.ArgumentParser, name: str = "") -> list[str]:
    """The names of all commands that have no commands below them."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        return [name]
    return [leaf for word, each in below[0].choices.items() for leaf in leaves(each, f"{name} {word}".strip())]


def traced(tmp_path, command):
    """The command under strace where there is one, and the file its calls go to."""
    log = tmp_path / "strace"
    strace = shutil.which("strace")
    if strace is None:
        return command, log
    calls = "trace=execve,chdir,open,openat,stat,lstat,newfstatat,access,faccessat,faccessat2,readlink"
    return [strace, "-f", "-qq", "-s", "8192", "-e", calls, "-o", str(log), *command], log


def run(command, folder, environment):
    how = {"input": "", "capture_output": True, "text": True, "timeout": 150}
    done = subprocess.run(command, cwd=folder, env=environment, check=False, **how)
    assert "Traceback" not in done.stderr
    return done


def check(folder, marks, log):
    """Nothing ran, nothing was searched for there, and every Python child is isolated and stands elsewhere."""
    assert sorted(path.name for path in marks.iterdir()) == []
    assert not list(folder.rglob("__pycache__"))
    if not log.exists():
        return
    searched, children = [], []
    for line in log.read_text(errors="replace").splitlines():
        found = re.search(rf'"{re.escape(str(folder))}/([^"]*)"', line)
        # What an import or the loader tries, one after the other: names that no listing of the folder could give.
        if found and "ENOENT" in line and re.search(r"\.(so|py|pyc)$|__init__|\.so\.\d", found.group(1)):
            searched.append(line)
        if " execve(" in line and re.search(r'execve\("[^"]*python[^"/]*"', line) and line.endswith("= 0"):
            children.append(line)
    assert not searched
    # The first is the app.
    assert not [line for line in children[1:] if '"-I"' not in line and '"-E", "-P"' not in line]


def test_every_command_is_walked():
    assert sorted(leaves(command_parser())) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.sampled(3)
def test_a_command_runs_nothing_of_the_folder(name, app, folder, marks, environment, tmp_path):
    arguments = [part.replace("{out}", str(tmp_path)) for part in COMMANDS[name]]
    command, log = traced(tmp_path, app(*arguments))
    done = run(command, folder, environment)
    assert done.returncode in (0, 1, 2, 4), done.stderr
    check(folder, marks, log)


def test_a_model_with_all_tools_runs_nothing_of_the_folder(app, folder, marks, environment, tmp_path):
    command, log = traced(tmp_path, app("ask", "--model", "other.gguf", "--max-tokens", "4", QUESTION))
    done = run(command, folder, environment)
    assert done.returncode in (0, 4), done.stderr
    check(folder, marks, log)
    if log.exists():
        assert "laguna_tui.repo.search.parse_pool" in log.read_text(errors="replace")


def test_opening_the_tui_runs_nothing_of_the_folder(app, folder, marks, environment, tmp_path):
    command, log = traced(tmp_path, app("--model", "other.gguf"))
    size = {"env": {**environment, "TERM": "xterm"}, "dimensions": (24, 100)}
    child = pexpect.spawn(command[0], command[1:], cwd=str(folder), timeout=60, **size)
    child.expect("1049h")
    # Behind the screen the index is made; workers parse for it.
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("*.sqlite")) or (
        log.exists() and "laguna_tui.repo.search.parse_pool" not in log.read_text()
    ):
        assert time.monotonic() < deadline, child.before
        child.expect([pexpect.TIMEOUT, r"\x1b"], timeout=0.2)
    child.send("\x11")
    child.expect(pexpect.EOF)
    child.close()
    check(folder, marks, log)


def test_a_module_path_that_leads_into_the_folder_is_forgotten_before_more_is_imported(tmp_path, environment):
    (tmp_path / "mine").mkdir()
    # A module that the start of Python and of the app do not need yet.
    (tmp_path / "mine" / "colorsys.py").write_text("raise SystemExit('hostile')")
    start = "import sys; from laguna_tui.cli.main import main; main(['models', 'path', 'nano']); import colorsys"
    variables = {**environment, "PYTHONPATH": os.pathsep.join(["", str(tmp_path / "mine")])}
    done = run([sys.executable, "-c", start], tmp_path / "mine", variables)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(NANO)

"""Children are isolated from the user's folder, answer in frames, and do not outlive their parent."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from laguna_engine.native import child
from laguna_engine.native.child import Worker, environment, outside_python, python_command, run

PARENT = """
    import sys, time
    from laguna_engine.native.child import Worker
    worker = Worker(sys.argv[1])
    print(worker.process.pid, flush=True)
    if sys.argv[2] == "busy":
        worker.send(b"sleep")
    time.sleep(60)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module that only a child can import, from our own packages' folders."""

    def write(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        monkeypatch.setattr(child, "_own_folders", lambda: [str(tmp_path), *folders])
        return name

    folders = child._own_folders()
    return write


@pytest.fixture
def poisoned(tmp_path, monkeypatch):
    """A working directory whose modules end the process that imports them, and the variables that point to it."""
    folder = tmp_path / "poisoned"
    folder.mkdir()
    for name in ("struct", "json", "runpy", "sitecustomize", "usercustomize", "laguna_engine"):
        (folder / f"{name}.py").write_text("raise SystemExit(77)")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}.")
    monkeypatch.setenv("PYTHONSTARTUP", str(folder / "json.py"))
    return folder


def test_a_child_imports_nothing_from_the_folder_or_from_python_variables(poisoned, module):
    name = module("looks", "import json, struct, sys, os; print(json.dumps([sys.path, os.getcwd(), struct.__file__]))")
    answer = run(python_command(name))
    assert answer.code == 0, answer.errors
    path, folder, struct = json.loads(answer.text)
    assert folder == child.FOLDER
    assert not [entry for entry in (*path, struct) if str(poisoned) in entry or entry in ("", ".")]


def test_pip_is_run_without_the_folder_and_without_python_variables(poisoned):
    assert run((*outside_python(sys.executable), "-c", "import json, struct")).code == 0


def test_a_child_finds_our_packages_and_their_dependencies(poisoned, module):
    name = module("finds", "import laguna_engine, laguna_tui, tree_sitter; print(laguna_engine.__file__)")
    assert run(python_command(name)).text.strip() == str(Path(child.__file__).parents[1] / "__init__.py")


def test_our_own_folders_never_hide_the_standard_library(module):
    module("struct", "raise SystemExit(77)")
    name = module("uses", "import struct; print(struct.calcsize('i'))")
    assert run(python_command(name)).text == "4\n"


def test_what_is_tried_first_wins_over_what_is_installed(tmp_path, module):
    (tmp_path / "tried").mkdir()
    (tmp_path / "tried" / "psutil.py").write_text("")
    name = module("asks", "import psutil; print(psutil.__file__)")
    assert run(python_command(name, first=(tmp_path / "tried",))).text.strip() == str(tmp_path / "tried" / "psutil.py")


def test_arguments_arrive_as_they_were_given(module):
    name = module("tells", "import json, sys; print(json.dumps(sys.argv[1:]))")
    given = ["a b", "-c", "", "größe"]
    assert json.loads(run(python_command(name, *given)).text) == given


def test_the_environment_loses_what_python_reads_and_nothing_else():
    assert environment({"PYTHONPATH": ".", "PYTHONHOME": "/x", "PATH": "/bin"}) == {"PATH": "/bin"}


def test_a_worker_answers_in_order_whatever_its_module_prints(module):
    name = module(
        "echoes",
        """
        from laguna_engine.native.child import serve
        print("noise")
        def answer(request):
            print("more noise", flush=True)
            return request[::-1]
        serve(answer)
        """,
    )
    worker = Worker(name)
    try:
        sent = [b"one", b"two", bytes(range(256)) * 4096]
        for request in sent:
            worker.send(request)
        assert [worker.receive() for _ in sent] == [request[::-1] for request in sent]
    finally:
        worker.close()


def test_a_worker_that_dies_answers_none(module):
    worker = Worker(
        module("dies", "import os; from laguna_engine.native.child import serve; serve(lambda _: os._exit(3))")
    )
    try:
        worker.send(b"x")
        assert worker.receive() is None
        worker.send(b"y")
    finally:
        worker.close()


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_a_worker_ends_with_its_parent(tmp_path, state):
    (tmp_path / "naps.py").write_text(
        "import time; from laguna_engine.native.child import serve; serve(lambda _: time.sleep(60) or b'x')"
    )
    parent = (
        "from laguna_engine.native import child; folders = child._own_folders(); "
        f"child._own_folders = lambda: [{str(tmp_path)!r}, *folders]\n" + textwrap.dedent(PARENT)
    )
    command = [sys.executable, "-c", parent, "naps", state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        watched = os.pidfd_open(pid)
        process.kill()
    try:
        import select

        assert select.select([watched], [], [], 60)[0]
    finally:
        os.close(watched)


def test_programs_are_not_taken_from_parts_of_the_path_that_mean_the_folder(poisoned, monkeypatch):
    program = poisoned / "git"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "relative"]))
    assert child.find_program("git") is None
    assert child.find_program("git", str(poisoned)) == str(program)
    assert child.find_program("git", path=str(poisoned)) == str(program)

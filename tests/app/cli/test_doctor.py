"""`laguna-tui doctor` on the machine that is here: real programs, a real llama.cpp, a real exit code."""

import json
import os
import subprocess
import sys
import threading

import pytest

from laguna_engine.native.child import python_command, run
from laguna_tui.machine.doctor.findings import Finding, FindingStatus, page, summary
from laguna_tui.machine.doctor.host import Host, with_time_limit


def doctor(*arguments, **environment):
    command = [sys.executable, "-m", "laguna_tui", "doctor", *arguments]
    whole = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=whole, timeout=100, check=False)


@pytest.fixture
def script(tmp_path):
    """Makes a program of this name that does what it is told, in a folder for PATH."""

    def make(name, body):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return make


def test_this_machine_has_findings_and_its_llama_cpp_loads():
    ran = doctor("--json")
    told = json.loads(ran.stdout)
    by_name = {finding["check"]: finding for finding in told["findings"]}
    assert by_name["llama.cpp"]["status"] == "ok" or "cannot use" in by_name["llama.cpp"]["found"]
    assert "backends: " in by_name["llama.cpp"]["found"] or "cannot use" in by_name["llama.cpp"]["found"]
    assert told["summary"]["fail"] == 0
    assert (ran.returncode, ran.stderr) == (0, "")


def test_no_connection_is_opened():
    program = (
        "import socket\n"
        "def refuse(*_, **__): raise SystemExit('a socket was opened')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from laguna_tui.machine.doctor.checks import examine\n"
        "from laguna_tui.machine.doctor.host import Host\n"
        "print(len(examine(Host())) > 10)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert (ran.stdout, ran.stderr) == ("True\n", "")


def test_a_folder_that_cannot_be_used_is_exit_code_1(tmp_path):
    (tmp_path / "file").write_text("in the way")
    ran = doctor(LAGUNA_TUI_MODELS=str(tmp_path / "file" / "models"))
    assert ran.returncode == 1
    assert "fail" in ran.stdout


def test_a_file_of_the_folder_it_is_started_in_is_never_imported(tmp_path, monkeypatch):
    (tmp_path / "laguna_engine.py").write_text("raise SystemExit('hostile')")
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')")
    monkeypatch.chdir(tmp_path)
    probe = Host().run(python_command("laguna_tui.machine.doctor.llama_build"))
    assert json.loads(probe.text)["devices"]


def test_a_program_that_never_ends_is_killed_with_its_children(script, tmp_path):
    os.mkfifo(tmp_path / "gate")
    path = script("sleeper", f"echo started; cat {tmp_path}/gate & wait")
    gate = []

    def waiting():
        """The time that it takes until its child is there does not count."""
        if not gate:
            gate.append(os.open(tmp_path / "gate", os.O_WRONLY))

    output = run([str(path)], 0.5, waiting=waiting)
    assert output.timed_out
    assert output.text == "started\n"
    # Nobody reads it: the child is gone, too.
    with pytest.raises(BrokenPipeError):
        while True:
            os.write(gate[0], b"x")
    os.close(gate[0])


def test_a_child_that_outlives_its_parent_is_not_waited_for(script, tmp_path):
    os.mkfifo(tmp_path / "gate")
    path = script("parent", f"cat {tmp_path}/gate & echo done")
    output = run([str(path)], 60)
    assert (output.text, output.timed_out) == ("done\n", False)
    # It still waits for something to read.
    os.close(os.open(tmp_path / "gate", os.O_WRONLY))


def test_a_disk_that_hangs_is_given_up():
    answered = threading.Event()
    assert with_time_limit(0.1, lambda: answered.wait(60)) is None
    answered.set()


def test_programs_are_not_taken_from_folders_that_are_not_absolute(script, monkeypatch):
    path = script("surely-no-such-program", "true")
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "/bin"]))
    assert Host().program("surely-no-such-program") is None
    monkeypatch.setenv("PATH", str(path.parent))
    assert Host().program("surely-no-such-program") == str(path)


FINDINGS = [
    Finding("disk", FindingStatus.OK, "plenty"),
    Finding("llama.cpp", FindingStatus.WARN, "a GPU is there, but " + "so " * 30, "run: laguna-tui setup gpu"),
    Finding("state folder", FindingStatus.FAIL, "evil \x1b]52;c;AAAA\x07 name", "mend it"),
]


def test_the_page_puts_what_to_do_below_what_was_found_and_fits_the_width():
    lines = page(FINDINGS, 60, colours=False).splitlines()
    assert lines[0] == "ok    disk          plenty"
    assert max(map(len, lines)) <= 60
    assert "                    -> run: laguna-tui setup gpu" in lines
    assert lines[-1] == "1 thing does not work; 1 thing could be better."


def test_a_path_stays_in_one_piece():
    long = "/home/somebody/.local/share/laguna-tui/models-on-a-disk-with-a-long-name"
    assert long in page([Finding("disk", FindingStatus.OK, f"free in {long}")], 60, colours=False)


def test_nothing_that_was_found_reaches_the_terminal_as_an_escape():
    assert "\x1b" not in page(FINDINGS, 80, colours=False)
    assert page(FINDINGS, 80, colours=True).count("\x1b") == 2 * len(FINDINGS)


def test_the_summary_counts():
    assert summary(FINDINGS[:1]) == "Everything is as it should be."
    assert summary(FINDINGS[:2]) == "Everything works; 1 thing could be better."


def test_broken_settings_are_found_and_are_the_exit_code(tmp_path):
    folder = tmp_path / "laguna-tui"
    folder.mkdir()
    (folder / "config.toml").write_text("context = 12\n")
    ran = doctor(XDG_CONFIG_HOME=str(tmp_path))
    assert ran.returncode == 1
    assert "context = 12; it must be at least 1024" in " ".join(ran.stdout.split())
    assert "Everything works" not in ran.stdout

"""The command line as a user meets it: a real process, real exit codes, plain sentences."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from laguna_engine.native.build_info import describe_build
from laguna_tui import __version__
from tests.engine import tiny


def cli(*arguments: str, stdin: bytes = b"", cwd=None, env=None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "laguna_tui", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, env=env, timeout=120, check=False)


def test_help_names_the_commands_and_the_exit_codes():
    assert b"ask" in cli("--help").stdout
    text = cli("ask", "--help").stdout
    for code in (b"0   answered", b"3   the model could not be opened", b"130 interrupted"):
        assert code in text


def test_the_version_names_the_build_of_llama_cpp_and_its_kernels():
    run = cli("--version")
    assert (run.returncode, run.stderr) == (0, b"")
    first, second = run.stdout.decode().splitlines()
    assert first == f"laguna-tui {__version__}"
    assert second == f"llama.cpp: {describe_build()}"
    assert re.fullmatch(r"llama-cpp-python [\d.]+ \(ggml [\d.]+\), kernels .+, no GPU plug-in", describe_build())


def test_help_imports_neither_textual_nor_llama_cpp():
    program = (
        "import sys\nfrom laguna_tui.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('textual', 'llama_cpp', 'numpy', 'rich') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert run.stdout.splitlines()[-1] == b"[]"


def test_an_answer_on_the_command_line_imports_no_toolkit_of_the_screen(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "cart.py").write_text("def total_price(items):\n    return sum(items)\n")
    program = (
        "import sys\nfrom laguna_tui.cli.main import main\n"
        "code = main(['ask', '--model', 'nano', 'where is total_price defined?'])\n"
        "print(code, [name for name in ('textual', 'rich', 'laguna_tui.tui') if name in sys.modules])"
    )
    homes = {name: str(tmp_path) for name in ("HOME", *(f"XDG_{kind}_HOME" for kind in ("CACHE", "CONFIG", "STATE")))}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, cwd=tmp_path / "shop", env=os.environ | homes, check=True)
    assert b"`total_price cart.py:1`" in run.stdout
    assert run.stdout.splitlines()[-1] == b"0 []"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("ask", "--kv", "q9", "x"), b"--kv q9; it must be one of f16, q8_0, q4_0"),
        (("ask", "--model", "nope.gguf", "x"), b"no such file"),
        (("ask", "--folder", "/nowhere", "x"), b"not a folder"),
        (("ask", "   "), b"the question is empty"),
        ((), b"needs a terminal"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(arguments, part):
    run = cli(*arguments)
    assert run.returncode == 2
    assert run.stdout == b""
    assert part in run.stderr
    assert b"Traceback" not in run.stderr


def test_flags_may_stand_before_or_after_the_command():
    for arguments in (("--kv", "q9", "ask", "x"), ("ask", "x", "--kv", "q9")):
        assert b"--kv q9; it must be" in cli(*arguments).stderr


def shell(line: str) -> subprocess.CompletedProcess[bytes]:
    program = f'"{sys.executable}" -m laguna_tui'
    command = ["bash", "-c", line.replace("laguna-tui", program)]
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)


@pytest.mark.parametrize("line", ["ask hi", "index", "search x", "map", "map --folder .", "trust"])
def test_a_working_folder_that_was_deleted_is_one_sentence(tmp_path, line):
    run = shell(f"mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && laguna-tui {line}")
    said = b"laguna-tui: the current folder was deleted; change to another one and try again\n"
    assert (run.returncode, run.stdout) == (2, b"")
    # The shell may complain, too.
    assert run.stderr.endswith(said)
    assert b"Traceback" not in run.stderr


def test_another_folder_can_be_named_from_one_that_was_deleted(tmp_path):
    (tmp_path / "code").mkdir()
    run = shell(
        f"mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone"
        f" && XDG_CACHE_HOME={tmp_path}/cache laguna-tui index --folder {tmp_path}/code"
    )
    assert run.returncode == 0


@pytest.mark.parametrize("line", ["models list", "models list --json", "fit nano"])
def test_a_full_disk_behind_the_output_is_one_sentence(line):
    run = shell(f"laguna-tui {line} > /dev/full")
    assert run.returncode == 1
    assert run.stderr == b"laguna-tui: No space left on device; free some space and try again\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_is_not_there_any_more_ends_it_quietly(stream):
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["models", *(["list"] if stream == "stdout" else ["info", "nope"])]
    other = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writing}
    run = subprocess.run([sys.executable, "-m", "laguna_tui", *arguments], **other, timeout=120, check=False)
    os.close(writing)
    assert run.returncode == 141
    assert not run.stdout
    assert not run.stderr


@pytest.mark.parametrize(("line", "code"), [("models list >&-", 0), ("models info nope 2>&-", 2), ("ask '' <&-", 2)])
def test_streams_that_are_closed_are_no_traceback(line, code):
    run = shell(f"laguna-tui {line}")
    assert run.returncode == code
    assert b"Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("content", "part"),
    [(b"", b"empty"), (b"<html>404</html>" * 99, b"not a GGUF"), (b"GGUF\x03\0\0\0", b"")],
)
def test_a_file_that_is_not_a_model_is_refused_by_name(tmp_path, content, part):
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    run = cli("ask", "--model", str(file), "x")
    assert run.returncode == 3
    assert b"model.gguf" in run.stderr
    assert part in run.stderr
    assert b"Traceback" not in run.stderr


@pytest.fixture(scope="session")
def slow_path(tmp_path_factory):
    """A model of random weights that reads and talks for about a second, whatever it says."""
    shape = tiny.Shape(n_embd=768, n_layer=4, n_ff=1024, expert_ff=512, n_ctx=8192)
    return tiny.laguna(shape).write(tmp_path_factory.mktemp("models") / "slow.gguf")


@pytest.fixture
def talking(slow_path, tmp_path):
    """`ask` on a model that talks on and on; its first event has been read."""
    command = [sys.executable, "-m", "laguna_tui", "ask", "--model", str(slow_path), "--threads", "1"]
    command += ["--temperature", "1", "--seed", "3", "--folder", str(tmp_path), "--stream-json", "tell me everything"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert b"turn_started" in process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_answer_with_its_exit_code_and_without_a_traceback(talking, number, code):
    talking.send_signal(number)
    out, err = talking.communicate(timeout=120)
    assert talking.returncode == code
    assert b"Traceback" not in err
    assert number is not signal.SIGINT or json.loads(out.splitlines()[-1])["end"] == "cancelled"


def test_a_second_interrupt_ends_it_at_once_and_without_a_traceback(talking):
    for _ in range(2):
        talking.send_signal(signal.SIGINT)
    _, err = talking.communicate(timeout=120)
    # Dead of it, where the shell says 130 as well, if there was nothing left to do.
    assert talking.returncode in (130, -signal.SIGINT)
    assert b"Traceback" not in err


def test_what_is_ignored_by_who_started_it_is_ignored(slow_path, tmp_path):
    """A script's `laguna-tui ask … &`: the Ctrl-C is for what is in the foreground."""
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "laguna_tui", "ask"]
    command += ["--model", str(slow_path), "--threads", "1", "--max-tokens", "8", "--folder", str(tmp_path)]
    with subprocess.Popen([*command, "--stream-json", "hi"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert b"turn_started" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 4
    assert json.loads(out.splitlines()[-1])["end"] != "cancelled"


def test_an_interrupt_that_a_callback_from_c_code_turns_into_another_error_is_an_interrupt():
    """tree-sitter asks Python for the next piece of a file, and gives SystemError when that raises."""
    program = """
import os, signal, sys
from laguna_tui.cli import main as cli
def broken(arguments):
    try:
        os.kill(os.getpid(), signal.{name})
    except BaseException:
        raise SystemError("returned a result with an exception set")
cli._tui = broken
sys.exit(cli.main([]))
"""
    for name, code in (("SIGINT", 130), ("SIGTERM", 143)):
        run = subprocess.run([sys.executable, "-c", program.format(name=name)], capture_output=True, check=False)
        assert (run.returncode, run.stderr) == (code, b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_command_that_is_terminated_ends_its_children(number, code, tmp_path):
    """`doctor` looks at programs that are not its own; here one of them hangs."""
    tool = tmp_path / "git"
    # A second, because Python cannot end what it is just starting.
    tool.write_text("#!/bin/sh\nsleep 1\necho $$ > " + str(tmp_path / "pid") + "\nexec sleep 60\n")
    tool.chmod(0o755)
    command = [sys.executable, "-m", "laguna_tui", "doctor"]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        while not (tmp_path / "pid").exists() or not (pid := (tmp_path / "pid").read_text().strip()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert b"Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_a_reader_that_goes_away_ends_it_quietly(talking):
    talking.stdout.close()
    assert talking.wait(timeout=120) == 141
    assert talking.stderr.read() == b""


def test_windows_itself_is_one_sentence(capsys):
    from laguna_tui.__main__ import main

    assert main("win32") == 2
    assert capsys.readouterr().err == (
        "laguna-tui: Windows is not supported; install WSL (in PowerShell: wsl --install), then install laguna-tui "
        "inside it\n"
    )

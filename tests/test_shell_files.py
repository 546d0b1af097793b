"""Completions and the man page say what the command line takes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from laguna_tui.cli.arguments import commands_of
from laguna_tui.cli.main import command_parser, main
from tests.test_manual import TOP, script

SHELL = TOP / "assets" / "shell"
COMMANDS = sorted(commands_of(command_parser()))
OLDEST = sys.version_info[:2] == (3, 11)
"""Newer versions of argparse word usage lines in another way."""


@pytest.mark.skipif(not OLDEST, reason="they are made with the oldest Python that is supported")
def test_they_are_those_of_the_command_line():
    made = script(TOP / "packaging/shell_files.py").made()
    for name, text in made.items():
        assert (SHELL / name).read_text(encoding="utf-8") == text, "run: python packaging/shell_files.py"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_is_told_every_command(shell: str, capsys: pytest.CaptureFixture[str]):
    assert main(["completions", shell]) == 0
    text = capsys.readouterr().out
    assert not [command for command in COMMANDS if command not in text]


def completed(line: str, folder: Path) -> list[str]:
    """What bash offers for the last word of a line, in a folder."""
    words = line.split(" ")
    program = f"""
        source {SHELL / "laguna-tui.bash"}
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)}) COMP_CWORD={len(words) - 1}
        _shtab_laguna_tui
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    run = subprocess.run(["bash", "-c", program], capture_output=True, text=True, cwd=folder, check=True)
    return run.stdout.split()


def test_bash_completes_commands_options_and_files(tmp_path: Path):
    (tmp_path / "model.gguf").touch()
    assert completed("laguna-tui self", tmp_path) == ["selfcheck"]
    assert completed("laguna-tui selfcheck --rep", tmp_path) == ["--report"]
    assert completed("laguna-tui --kv x ask --mod", tmp_path) == ["--model", "--mode"]
    assert completed("laguna-tui --model mod", tmp_path) == ["model.gguf"]


@pytest.mark.parametrize(
    ("shell", "name"), [("zsh", "_laguna-tui"), ("fish", "laguna-tui.fish"), ("bash", "laguna-tui.bash")]
)
def test_the_shell_can_read_its_file(shell: str, name: str):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    option = "--no-execute" if shell == "fish" else "-n"
    assert subprocess.run([program, option, SHELL / name], check=False).returncode == 0


def test_the_man_page_has_every_command():
    text = (SHELL / "laguna-tui.1").read_text(encoding="utf-8").replace("\\-", "-")
    assert not [command for command in COMMANDS if command not in text]

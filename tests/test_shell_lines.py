"""Every shell block of the README and the manual is run by a shell, in a small project.

`laguna-tui` is the real program, with the bundled model, wherever that takes seconds and no network; elsewhere its real
parser reads the arguments. Other programs are stand-ins that do nothing, and `make` makes a dry run; the line that
installs is run by `tests/test_installer.py`.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_manual import DOCS, README, TOP

RUN = "acp --print|ask|doctor|eval --list|fit|index|map|models list|permissions|search|--version".split("|")
"""What is run: the beginnings of command lines. The rest opens a screen or a port, downloads, or takes minutes.

Nor is there an earlier session that -c could continue.
"""
STAND_INS = "aider curl docker evalplus.evaluate harbor inspect jq keyring lm_eval pip python vllm".split()
BLOCKS = [
    (page, block)
    for page in (README, *sorted(DOCS.glob("*.md")))
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
]

LAGUNA = """#!{python}
import json, sys
sys.path.insert(0, {top!r})
from laguna_tui.cli.main import command_parser, main, split_message
words = sys.argv[1:]
if " ".join(words).startswith({run!r}) and "-c" not in words:
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
else:
    parser = command_parser(words)
    parser.parse(split_message(parser, words)[0])
    code = 0
with open({log!r}, "a") as log:
    log.write(json.dumps([words, code]) + "\\n")
sys.exit(code)
"""
STAND_IN = """#!/bin/sh
case $0 in */jq | */curl) cat > /dev/null ;; esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with what the examples name, and a folder of programs beside it."""
    folder, programs = tmp_path / "your/project", tmp_path / "bin"
    (folder / "src").mkdir(parents=True)
    programs.mkdir()
    (folder / "src/config.py").write_text("def parse_config(text):\n    return text.split()\n\n\nparse_config('a b')\n")
    (folder / "src/net.py").write_text("def retry_with_backoff(call):\n    return call()\n")
    (folder / "bug.md").write_text("`parse_config` drops the last word\n")
    (folder / "issue.schema.json").write_text(
        json.dumps({"type": "object", "properties": {"severity": {"type": "string"}}})
    )
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    values = {"python": sys.executable, "top": str(TOP), "run": tuple(RUN), "log": str(tmp_path / "log")}
    texts = dict.fromkeys(STAND_INS, STAND_IN) | {
        "laguna-tui": LAGUNA.format(**values),
        "make": f'#!/bin/sh\nexec /usr/bin/env -i PATH=/usr/bin:/bin make --dry-run -C {TOP} "$@" > /dev/null\n',
    }
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return folder


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{page.stem}-{block[:30]}" for page, block in BLOCKS])
def test_a_shell_runs_every_line(page: Path, block: str, project: Path):
    programs, home = project.parent.parent / "bin", project.parent.parent / "home"
    home.mkdir()
    own = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home), "LAGUNA_API_KEY": "x", "LANG": "C.UTF-8"}
    # A block that does not go into the project is run in it.
    folder = project.parent.parent if block.startswith("cd your/project") else project
    run = subprocess.run(
        ["sh", "-u", "-c", block], cwd=folder, env=own, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    log = project.parent.parent / "log"
    calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    wanted = len(re.findall(r"(?:^|\| |&& )laguna-tui\b", block, re.MULTILINE))
    assert len(calls) == wanted, run.stderr
    # The machine of the test may have a defect that `doctor` reports.
    assert [call for call in calls if call[1] and call != [["doctor"], 1]] == [], run.stderr
    assert "not found" not in run.stderr

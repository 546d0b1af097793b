"""The report of a selfcheck: its findings and a verdict, without the paths and names of this machine's user."""

import getpass
import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import laguna_tui
from laguna_tui.base.paths import config_path, state_dir, store_folder
from laguna_tui.base.redact import redact
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.machine.doctor.findings import Finding, summary
from laguna_tui.machine.selfcheck.check_runner import SelfCheck

_PATH = re.compile(
    r"(?<![\w.~>/])/(?!(?:usr|lib|lib64|bin|sbin|etc|proc|sys|dev)/)(?:[^\s/'\":;,()]+/)+([^\s/'\":;,()]*)"
)
"""An absolute path of more than one part, but for the system's own folders, which are the same everywhere."""

_COMMON = ("root", "user", "admin", "runner")
"""Names of accounts that say nothing about a person, and are words as well."""

WORKS = "laguna-tui computes correctly on this machine."
WRONG = "laguna-tui does not compute correctly on this machine."
UNFINISHED = "The check was interrupted; the results so far are listed."


def verdict(result: SelfCheck) -> str:
    """Return the verdict as a sentence."""
    if not result.works:
        return WRONG
    return UNFINISHED if result.interrupted else WORKS


def anonymous(text: str) -> str:
    """Return a text without paths of this machine's user, their name, this machine's name, and secrets."""
    for folder, name in sorted(_folders(), key=lambda pair: -len(pair[0])):
        text = text.replace(folder, name)
    text = _PATH.sub(r".../\1", text)
    for word in _names():
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "<name>", text)
    return redact(text)


def anonymous_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, each made anonymous."""
    return [
        replace(each, check=anonymous(each.check), found=anonymous(each.found), todo=anonymous(each.todo))
        for each in findings
    ]


def markdown(result: SelfCheck) -> str:
    """Return the report as Markdown to attach to an issue."""
    rows = [
        f"| {each.status} | {_cell(each.check)} | {_cell(each.found)} | {_cell(each.todo)} |"
        for each in anonymous_findings(result.findings)
    ]
    times = [f"{anonymous(label)} {seconds:.1f} s" for label, seconds in result.seconds.items()]
    lines = [
        f"## laguna-tui {laguna_tui.__version__} selfcheck",
        "",
        f"{verdict(result)} {summary(result.findings)}",
        "",
        "|  | check | found | to do |",
        "|---|---|---|---|",
        *rows,
        "",
        f"Took: {', '.join(times)}.",
    ]
    return sanitize("\n".join(lines)) + "\n"


def _cell(text: str) -> str:
    return sanitize_line(text).replace("|", "\\|")


def _folders() -> list[tuple[str, str]]:
    found = [
        (store_folder(), "<models>"),
        (config_path().parent, "<config>"),
        (state_dir(), "<state>"),
        (Path(laguna_tui.__file__).resolve().parents[1], "<laguna-tui>"),
        (Path(sys.prefix), "<python>"),
        (Path(tempfile.gettempdir()), "<tmp>"),
    ]
    for place, name in ((Path.home, "~"), (Path.cwd, "<folder>")):
        with suppress(OSError, RuntimeError):
            found.append((place(), name))
    return [(str(path), name) for path, name in found if path != Path(path.anchor)]


def _names() -> list[str]:
    words = [platform.node().partition(".")[0]]
    with suppress(OSError, KeyError, ImportError):
        words.append(getpass.getuser())
    return [word for word in words if len(word) > 2 and word not in _COMMON]

"""The table of modes: what each does about a request that no rule decides, with and without a sandbox and a user."""

from pathlib import Path

import pytest

from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.base.change_proposal import ChangeKind
from laguna_tui.base.permission_request import Mode
from tests.app.agent.permissions.requests import call, change, command

REQUESTS = {
    "change": change("a.py"),
    "move": change("a.py", ChangeKind.MOVE, target="b.py"),
    "delete": change("a.py", ChangeKind.DELETE),
    "command": command("make"),
    "other": call(),
}
# request, whether a sandbox holds, whether somebody can be asked: the effect in each mode.
TABLE = """
          sandbox  user    ask    accept-edits  plan   auto
change    yes      yes     ask    allow         deny   allow
change    yes      no      deny   allow         deny   allow
change    no       yes     ask    allow         deny   allow
change    no       no      deny   allow         deny   allow
move      yes      yes     ask    allow         deny   allow
move      yes      no      deny   allow         deny   allow
move      no       yes     ask    allow         deny   allow
move      no       no      deny   allow         deny   allow
delete    yes      yes     ask    ask           deny   allow
delete    yes      no      deny   deny          deny   allow
delete    no       yes     ask    ask           deny   allow
delete    no       no      deny   deny          deny   allow
command   yes      yes     ask    ask           deny   allow
command   yes      no      deny   deny          deny   allow
command   no       yes     ask    ask           deny   ask
command   no       no      deny   deny          deny   deny
other     yes      yes     ask    ask           deny   ask
other     yes      no      deny   deny          deny   deny
other     no       yes     ask    ask           deny   ask
other     no       no      deny   deny          deny   deny
"""
ROWS = [line.split() for line in TABLE.strip().splitlines()[1:]]


@pytest.mark.parametrize(
    ("kind", "sandbox", "user", "mode", "effect"),
    [
        (kind, sandbox, user, mode, effect)
        for kind, sandbox, user, *effects in ROWS
        for mode, effect in zip(Mode, effects, strict=True)
    ],
)
def test_each_mode_does_what_the_table_says(kind: str, sandbox: str, user: str, mode: Mode, effect: str):
    here = Permissions(Path("/home/me/shop"), mode=mode, sandboxed=lambda: sandbox == "yes", headless=user == "no")
    assert here.decide(REQUESTS[kind]).effect.value == effect


def test_the_table_has_every_case():
    assert len({tuple(row[:3]) for row in ROWS}) == len(REQUESTS) * 2 * 2


@pytest.mark.parametrize("mode", Mode)
def test_reading_is_allowed_in_every_mode(mode: Mode):
    assert Permissions(Path("/home/me/shop"), mode=mode).readable("a.py") == ""

"""What the user should look at twice is in the question, and is never allowed for good."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from laguna_tui.agent.permission_gate import PermissionGate
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.permission_request import (
    CallProposal,
    Decision,
    PermissionAnswer,
    PermissionRequest,
)
from tests.app.agent.permissions.requests import change, command
from tests.app.hunks import hunks_of

HIDDEN = "It contains hidden or look-alike characters, marked where they are: U+200B ZERO WIDTH SPACE."


def question(request: PermissionRequest) -> PermissionRequest:
    permissions = Permissions(Path("/srv/shop"), sandboxed=lambda: True)
    asked = PermissionGate(permissions, lambda request, cancelled: PermissionAnswer(Decision.NO)).question(request)
    assert asked is not None
    return asked


def edit(path: str, *diff: str) -> PermissionRequest:
    request = change(path)
    assert isinstance(request.proposal, ChangeProposal)
    return replace(request, proposal=structs.replace(request.proposal, hunks=hunks_of("@@ -1 +1 @@", *diff)))


@pytest.mark.parametrize(
    ("request_", "destructive", "unusual", "rule"),
    [
        (command("make test"), "", "", "shell(make test)"),
        (command("rm -r x"), "rm -r deletes folders with everything in them.", "", ""),
        (command("make te\u200bst"), "", HIDDEN, ""),
        (PermissionRequest("mcp__a", CallProposal("a", ("x: 1",))), "", "", "mcp__a"),
        (PermissionRequest("mcp__a", CallProposal("a", ("x: \u200b1",))), "", HIDDEN, ""),
        (edit("a.py", "-a", "+b"), "", "", "edit(a.py)"),
        (edit("a\u200b.py", "-a", "+b"), "", HIDDEN, ""),
        (edit("a.py", "-a", "+b\u200b"), "", HIDDEN, ""),
        (edit("a.py", "-a\u200b", "+b"), "", "", "edit(a.py)"),
    ],
)
def test_a_question_has_its_warnings_and_a_rule_only_without_any(
    request_: PermissionRequest, destructive: str, unusual: str, rule: str
) -> None:
    asked = question(request_)
    assert (asked.destructive, asked.unusual, asked.rule) == (destructive, unusual, rule)


def test_a_look_alike_of_a_known_program_is_not_allowed_for_good() -> None:
    asked = question(command("\u0440ytest -q"))
    assert asked.rule == ""
    assert "U+0440 CYRILLIC SMALL LETTER ER" in asked.unusual


def test_a_request_that_says_what_for_is_asked_with_that():
    assert question(command("ruff check .")).why == "Commands need approval in ask mode."
    linting = replace(command("ruff check ."), why="The project's own linter.")
    assert question(linting).why == "The project's own linter."

"""Approvers that know what they want, whatever is asked; and what a call works with outside of a turn."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from laguna_tui.agent.changes import Changes
from laguna_tui.agent.permission_gate import PermissionGate
from laguna_tui.agent.permissions.policy import Permissions
from laguna_tui.agent.tool_run import PermissionDenied, ToolRun
from laguna_tui.agent.tools.base.results import ToolResult
from laguna_tui.agent.tools.base.tool import Tool, ToolServices, read_arguments
from laguna_tui.agent.tools.registry import Toolbox
from laguna_tui.base.events import PermissionAnswered, PermissionAsked, ToolEvent
from laguna_tui.base.permission_request import Approver, Decision, Mode, PermissionAnswer, PermissionRequest
from laguna_tui.context.codebase import Codebase
from laguna_tui.repo.files.workspace import Workspace

YES, NO = PermissionAnswer(Decision.YES), PermissionAnswer(Decision.NO)


def never(request: PermissionRequest, cancelled: Callable[[], bool]) -> PermissionAnswer:
    return NO


def always(request: PermissionRequest, cancelled: Callable[[], bool]) -> PermissionAnswer:
    return YES


def gate_for(root: Path, approver: Approver | None = None, mode: Mode = Mode.ASK) -> PermissionGate:
    """What lets calls through in a folder without any rules."""
    return PermissionGate(Permissions(root.resolve(), mode=mode), approver)


def answer_of(
    tool: Tool[Any],
    workspace: Workspace,
    cancelled: Callable[[], bool] = lambda: False,
    *,
    codebase: Codebase | None = None,
    **arguments: object,
) -> str:
    """What a tool answers, on this thread."""
    run = ToolRun(workspace, 1, lambda event: None, lambda request: YES, cancelled)
    return tool.run(ToolServices(Changes(), codebase), run, read_arguments(tool.arguments, arguments)).output


def run_tool(
    toolbox: Toolbox,
    name: str,
    arguments: dict[str, object],
    cancelled: Callable[[], bool] = lambda: False,
    told: Callable[[ToolEvent], None] = lambda event: None,
) -> ToolResult:
    """The result of one call on this thread; its session's approver is asked where it has to be."""

    def ask(request: PermissionRequest) -> PermissionAnswer:
        gate = toolbox.permissions
        question = gate.question(request)
        if question is None:
            return YES
        if gate.approver is None:
            raise PermissionDenied("nobody can be asked here")
        told(PermissionAsked(1, question))
        answer = gate.approver(question, cancelled)
        told(PermissionAnswered(1, answer, "user"))
        gate.take(question, answer)
        return answer

    readable = toolbox.permissions.permissions.readable
    return toolbox.run(name, arguments, ToolRun(toolbox.workspace, 1, told, ask, cancelled, readable))

"""Asks for permission in the client: shows what a tool wants to do, and takes the user's answer from the editor."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from acp import schema
from acp.helpers import text_block, tool_content
from acp.interfaces import Client

from laguna_tui.acp.session_updates import diff_of, location_of
from laguna_tui.base.change_proposal import ChangeProposal
from laguna_tui.base.permission_request import (
    CallProposal,
    CommandProposal,
    Decision,
    PermissionAnswer,
    PermissionRequest,
)
from laguna_tui.base.review_text import ReviewLine, head_and_tail, review_line, review_lines
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.base.units import plural

_POLL_S = 0.1
_TITLE_CHARS = 160
"""Clients cut a title after a line or two."""
_NO = PermissionAnswer(Decision.NO)


class ClientApprover:
    """An `Approver`. session, call: Return the IDs of the session and of the tool call that asks, in the protocol."""

    def __init__(
        self, client: Client, session: Callable[[], str], call: Callable[[], str], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._client, self._session, self._call, self._loop = client, session, call, loop

    def __call__(self, request: PermissionRequest, cancelled: Callable[[], bool]) -> PermissionAnswer:
        """Return the user's answer; NO if the turn is stopped, the client cannot ask, or the option is unknown."""
        options = _options(request)
        offered = {option.option_id for option in options}
        asked = self._client.request_permission(self._session(), _shown(request, self._call()), options)
        future: Future[schema.RequestPermissionResponse] = asyncio.run_coroutine_threadsafe(asked, self._loop)
        while True:
            try:
                outcome = future.result(_POLL_S).outcome
            except FutureTimeout:
                if cancelled():
                    future.cancel()
                    return _NO
            except Exception as error:
                return PermissionAnswer(Decision.NO, f"the user could not be asked ({sanitize_line(str(error))})")
            else:
                chosen = isinstance(outcome, schema.AllowedOutcome) and outcome.option_id in offered
                return PermissionAnswer(Decision(outcome.option_id)) if chosen else _NO


def _options(request: PermissionRequest) -> list[schema.PermissionOption]:
    """Return the possible answers; the name of ALWAYS has the rule."""
    options = [schema.PermissionOption(option_id=Decision.YES.value, name="Yes", kind="allow_once")]
    if request.network:
        name = "Yes, with network"
        options.append(schema.PermissionOption(option_id=Decision.YES_WITH_NETWORK.value, name=name, kind="allow_once"))
    if request.rule:
        name = f"Always in this folder: {sanitize_line(request.rule)}"
        options.append(schema.PermissionOption(option_id=Decision.ALWAYS.value, name=name, kind="allow_always"))
    return [*options, schema.PermissionOption(option_id=Decision.NO.value, name="No", kind="reject_once")]


def _shown(request: PermissionRequest, call: str) -> schema.ToolCallUpdate:
    """Return what the client shows: a title with both ends of a command, the warnings, and the whole text."""
    content: list[Any] = []
    locations: list[schema.ToolCallLocation] | None = None
    lines: list[ReviewLine] = []
    match request.proposal:
        case ChangeProposal() as change:
            kind: Any = "edit"
            title = review_line(f"{change.kind.value} {change.path}")
            content.append(diff_of(change))
            locations = [location_of(change)]
            about = [sanitize(change.warning)]
        case CommandProposal(command=command):
            lines = review_lines(command)
            kind, title, about = "execute", _both_ends(lines), [f"in {review_line(str(request.proposal.folder))}"]
        case CallProposal(summary=summary, details=details, action=action):
            lines = [ReviewLine(review_line(line)) for line in details]
            kind, title, about = "other", review_line(action or summary), []
    if request.destructive:
        title = f"DESTRUCTIVE: {title}"
    warnings = [f"WARNING: {each}" for each in (request.destructive, request.unusual) if each]
    text = "\n".join([*map(review_line, warnings), *(line.text for line in lines)])
    reasons = "\n".join(filter(None, [*about, sanitize(request.why), sanitize(request.sandbox)]))
    content += [tool_content(text_block(each)) for each in (text, reasons) if each]
    return schema.ToolCallUpdate(
        tool_call_id=call, title=title, kind=kind, status="pending", content=content, locations=locations
    )


def _both_ends(lines: Sequence[ReviewLine]) -> str:
    """Return a command as one line; for a long one its two ends, and the number of characters between them."""
    whole = " ".join(line.text for line in lines if line.text)
    head, hidden, tail = head_and_tail(whole, _TITLE_CHARS)
    return f"{head} … {hidden:,} more {plural(hidden, 'character')} … {tail}" if hidden else whole

"""Checks that run in a process of their own: the child's answer, and its parent's reading of it.

A build of llama.cpp for another processor crashes its process, one with a hung driver never ends, and speculation is
chosen before anything is computed. A check is a module that calls `answer` when it is run as a program.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import msgspec

from laguna_engine.native.child import Output
from laguna_tui.base.errors import UserError

_T = TypeVar("_T")

UNSUPPORTED = "it uses instructions that this processor does not have"


class CheckFailed(Exception):
    """The check could not be done; the message says why."""


class _Refusal(msgspec.Struct):
    error: str = ""


def answer(check: Callable[..., object]) -> int:
    """Print the result of `check` for this program's arguments, or its error, as JSON; return the exit code."""
    from laguna_engine.errors import EngineError

    try:
        found = check(*sys.argv[1:])
    except (EngineError, UserError) as error:
        found = _Refusal(str(error))
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    return 0


def read_answer(output: Output, kind: type[_T]) -> _T:
    """Return the answer of a check, which may have printed something else before.

    Raises:
        CheckFailed: There is none.
    """
    text = output.text.strip().rpartition("\n")[2]
    with suppress(msgspec.DecodeError):
        if reason := msgspec.json.decode(text, type=_Refusal).error:
            raise CheckFailed(reason)
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise CheckFailed(_explain_exit(output)) from error


def _explain_exit(output: Output) -> str:
    if output.timed_out:
        return "it did not respond in time; the graphics driver may be hanging"
    if output.signal:
        if output.signal == "SIGILL":
            return UNSUPPORTED
        return f"it crashed with {output.signal}"
    last = [line for line in output.errors.splitlines() if line.strip()][-1:]
    return last[0].strip() if last else "it ended without an error message"

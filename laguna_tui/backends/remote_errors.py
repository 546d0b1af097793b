"""Failures of an endpoint, each with a sentence that says what happened and what to do."""

import json
import os
import socket
import ssl
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import httpx2

from laguna_engine.errors import EngineError
from laguna_tui.base.units import plural

_QUOTED_CHARS = 300
"""Of an endpoint's own error message: enough to find the cause."""


class RemoteProblem(StrEnum):
    """Kind of a failure.

    Attributes:
        UNREACHABLE: No connection.
        TLS: The host's identity cannot be verified.
        URL: Something answers that is not an endpoint.
        KEY: The key is missing or wrong.
        MODEL: It has no such model.
        BUSY: It accepts no more requests now.
        CONTEXT: The conversation is longer than its context.
        REFUSED: It rejects the request.
        FAILED: It reports an error of its own.
        LOST: The connection ended in the middle of an answer.
        SILENT: It stopped sending.
        GARBAGE: What it sends is not an answer.
    """

    UNREACHABLE = "unreachable"
    TLS = "tls"
    URL = "url"
    KEY = "key"
    MODEL = "model"
    BUSY = "busy"
    CONTEXT = "context"
    REFUSED = "refused"
    FAILED = "failed"
    LOST = "lost"
    SILENT = "silent"
    GARBAGE = "garbage"


_TO_DO: Mapping[RemoteProblem, str] = {
    RemoteProblem.UNREACHABLE: "Start it or correct the URL, then /retry; or choose another model with /model.",
    RemoteProblem.TLS: "Check the URL and the host's certificate; for your own CA, set SSL_CERT_FILE.",
    RemoteProblem.URL: "Give the URL up to its /v1: --model https://HOST/v1#NAME, or /model.",
    RemoteProblem.KEY: "Put the key into {variable} or the keyring (laguna-tui help remote), then restart laguna-tui.",
    RemoteProblem.MODEL: "Choose one that it serves: --model URL#NAME, or /model.",
    RemoteProblem.BUSY: "The request was not repeated. Later: /retry.",
    RemoteProblem.CONTEXT: "Make room with /compact, or set its context with --context N.",
    RemoteProblem.REFUSED: "Change what it complains about, then /retry.",
    RemoteProblem.FAILED: "Its log says why. The request was not repeated. To try again: /retry.",
    RemoteProblem.LOST: "What arrived is kept. To continue: /retry.",
    RemoteProblem.SILENT: "What arrived is kept. To continue: /retry.",
    RemoteProblem.GARBAGE: "Check that the URL is an OpenAI-compatible endpoint. To try again: /retry.",
}


class RemoteError(EngineError):
    """An endpoint cannot answer.

    Attributes:
        problem: The kind of failure.
        what: What happened, a sentence without a full stop.
        n_ctx: Tokens of its context, if the error names them.
        wait_s: Seconds that it asks to wait; 0 if it does not.
    """

    def __init__(
        self, problem: RemoteProblem, what: str, variable: str = "", n_ctx: int | None = None, wait_s: int = 0
    ) -> None:
        """variable: The environment variable of the key."""
        super().__init__(f"{what}. {_TO_DO[problem].format(variable=variable)}")
        self.problem, self.what, self.n_ctx, self.wait_s = problem, what, n_ctx, wait_s


def of_exception(error: Exception, host: str, *, begun: bool) -> RemoteError:
    """Return the error for a request that was not completed. begun: Whether an answer had begun."""
    cause = _root(error)
    if isinstance(cause, ssl.SSLError):
        why = getattr(cause, "verify_message", "") or cause.reason or "TLS failed"
        return RemoteError(RemoteProblem.TLS, f"The connection to {host} is not secure ({why})")
    if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError) and not begun:
        why = "no connection"
        if isinstance(cause, socket.gaierror):
            why = str(cause.strerror)
        elif isinstance(cause, OSError) and cause.errno:
            why = os.strerror(cause.errno)
        return RemoteError(RemoteProblem.UNREACHABLE, f"Cannot connect to {host} ({why})")
    if isinstance(error, httpx2.TimeoutException):
        return RemoteError(RemoteProblem.SILENT, f"{host} stopped sending")
    where = "in the middle of the answer" if begun else "before the answer began"
    return RemoteError(RemoteProblem.LOST, f"The connection to {host} was lost {where}")


def of_status(status: int, body: bytes, headers: Mapping[str, str], host: str, variable: str) -> RemoteError:
    """Return the error for an unsuccessful response. body: Its beginning, without the key."""
    said, code, n_ctx = _said(body)
    quoted = f": “{said}”" if said else ""
    if 300 <= status < 400:
        return RemoteError(RemoteProblem.URL, f"{host} redirects to {headers.get('location', 'another URL')}")
    if code in _CONTEXT_CODES:
        return RemoteError(RemoteProblem.CONTEXT, f"The conversation is too long for {host}{quoted}", n_ctx=n_ctx)
    match status:
        case 401 | 403:
            return RemoteError(RemoteProblem.KEY, f"{host} does not accept the key ({status}){quoted}", variable)
        case 404 if code in _MODEL_CODES or "model" in said.lower():
            return RemoteError(RemoteProblem.MODEL, f"{host} has no such model{quoted}")
        case 404 | 405:
            return RemoteError(RemoteProblem.URL, f"{host} has no chat endpoint at this URL ({status}){quoted}")
        case 429 | 503:
            wait_s = _wait_s(headers.get("retry-after", ""))
            wait = f"; it asks to wait {wait_s} {plural(wait_s, 'second')}" if wait_s else ""
            said = f"{host} accepts no more requests now ({status}){wait}{quoted}"
            return RemoteError(RemoteProblem.BUSY, said, wait_s=wait_s)
        case _ if 400 <= status < 500:
            return RemoteError(RemoteProblem.REFUSED, f"{host} refused the request ({status}){quoted}")
        case _:
            return RemoteError(RemoteProblem.FAILED, f"{host} failed ({status}){quoted}")


def of_stream(error: Any, host: str) -> RemoteError:
    """Return the error that an endpoint reports in the middle of a stream."""
    said, code, n_ctx = _said(json.dumps({"error": error}).encode())
    if code in _CONTEXT_CODES:
        return RemoteError(RemoteProblem.CONTEXT, f"The conversation is too long for {host}: “{said}”", n_ctx=n_ctx)
    return RemoteError(RemoteProblem.FAILED, f"{host} failed in the middle of the answer: “{said}”")


# OpenAI's and vLLM's code, llama.cpp's type.
_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_MODEL_CODES = frozenset({"model_not_found", "NotFoundError"})
# vLLM before it had a code.
_CONTEXT_WORDS = ("maximum context length", "context window", "longer than the model's context")


def _said(body: bytes) -> tuple[str, str, int | None]:
    """Return the message of an error's body, its code, and the context that it names."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
        return ("" if "<" in text[:100] else _short(text)), "", None
    error = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return _short(str(error)), "", None
    said = _short(str(error.get("message") or error.get("detail") or ""))
    codes = [str(error.get(key, "")) for key in ("code", "type")]
    code = next((each for each in codes if each in _CONTEXT_CODES | _MODEL_CODES), "")
    if not code and any(words in said for words in _CONTEXT_WORDS):
        code = "context_length_exceeded"
    n_ctx = error.get("n_ctx")
    return said, code, n_ctx if isinstance(n_ctx, int) and n_ctx > 0 else None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED_CHARS else f"{line[:_QUOTED_CHARS]}…"


def _wait_s(header: str) -> int:
    return int(header[:6]) if header.isascii() and header.isdigit() else 0


def _root(error: BaseException) -> BaseException:
    """Return the first error of a chain of causes."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error

"""Opens a model behind an endpoint: its key, its request options, and what a front end shows of it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from laguna_engine.events import LoadProgress
from laguna_tui.backends.endpoint import RemoteOptions
from laguna_tui.backends.endpoint_key import KEY_VARIABLE, find_key
from laguna_tui.backends.remote import RemoteBackend
from laguna_tui.base.errors import UserError
from laguna_tui.base.network import Network
from laguna_tui.base.settings import Settings
from laguna_tui.models.entry import ModelEntry
from laguna_tui.models.model_selection import ModelSelection
from laguna_tui.models.remote_entry import is_loopback
from laguna_tui.session.opening_report import OpenedAs, OpeningReport
from laguna_tui.session.values import SessionInfo

if TYPE_CHECKING:
    from laguna_tui.backends.local.backend import LocalBackend

# The settings' names in requests. The last three are not OpenAI's; llama.cpp has the same name for the last one.
_SAMPLING: Mapping[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "seed": ("seed",),
    "top_k": ("top_k",),
    "min_p": ("min_p",),
    "repeat_penalty": ("repeat_penalty", "repetition_penalty"),
}
_WHERE = "{model} at {host}: {context:,} tokens of context, as the endpoint runs it"
_SENT = "sent: Your messages, the files that they mention and the results of tools go to {host}; tools run here."
NOT_SHOWN = "Drafts, rejections and the cache are not shown for a remote model, because only its endpoint knows them."
NOT_REMOTE = "{what} is not possible with a remote model; only an engine in this process knows its tokens. See: /model"


def remote_options(settings: Settings, entry: ModelEntry) -> RemoteOptions:
    """Return which endpoint is asked, and how.

    Raises:
        UserError: the key cannot be valid.
        OfflineError: connections are switched off, and it is not on this machine.
    """
    host, loopback = urlsplit(entry.url).netloc, is_loopback(entry.url)
    if not loopback:
        Network(offline=settings.offline).require(f"The model is at {host}")
    sampling: dict[str, float] = {}
    for key, names in _SAMPLING.items():
        chosen = getattr(settings, key)
        value = entry.sampling.get(key) if chosen is None else chosen
        sampling |= {name: value for name in names if value is not None}
    thinking = settings.thinking if settings.thinking is not None else (entry.thinking or None)
    return RemoteOptions(
        url=entry.url,
        model=entry.served,
        key=find_key(host, entry.key_variable),
        key_variable=entry.key_variable or KEY_VARIABLE,
        context=settings.context or entry.context or None,
        sampling=sampling,
        thinking=thinking,
        max_tokens=settings.max_tokens,
        loopback=loopback,
    )


def open_remote(selected: ModelSelection, progress: Callable[[LoadProgress], None]) -> tuple[RemoteBackend, OpenedAs]:
    """Open a model behind an endpoint.

    Raises:
        UserError, EngineError: the endpoint cannot be used; says why and what to do.
    """
    backend = RemoteBackend.open(remote_options(selected.settings, selected.entry), progress)
    host = backend.options.host
    lines = (
        _WHERE.format(model=backend.model, host=host, context=backend.n_ctx),
        _SENT.format(host=host),
        f"speed: {NOT_SHOWN}",
    )
    return backend, OpenedAs(None, OpeningReport(lines, backend.warnings))


def remote_info(backend: "LocalBackend | RemoteBackend", report: OpeningReport) -> SessionInfo:
    """Return what a front end shows of an open session."""
    assert isinstance(backend, RemoteBackend), "the model is behind an endpoint"
    details = f"{backend.model} at {backend.options.host}"
    strict = NOT_REMOTE.format(what="Strict speculation")
    return SessionInfo(
        backend.n_ctx, details, report.warnings, plan=report.lines, no_strict=strict, not_shown=NOT_SHOWN
    )


def in_process(backend: "LocalBackend | RemoteBackend", what: str) -> "LocalBackend":
    """Return the backend of a model in this process.

    Args:
        backend: what generates.
        what: what needs it, as the beginning of a sentence.

    Raises:
        UserError: the model is behind an endpoint.
    """
    if isinstance(backend, RemoteBackend):
        raise UserError(NOT_REMOTE.format(what=what))
    return backend

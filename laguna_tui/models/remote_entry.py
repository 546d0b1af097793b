"""Models behind an endpoint elsewhere: `https://host/v1#name`, as an entry of the catalogue."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from laguna_tui.base.errors import UserError
from laguna_tui.models.entry import ModelEntry, ModelKind

_SCHEMES = ("http://", "https://")
_FORM = "write https://HOST/v1#NAME"


def is_url(wanted: str) -> bool:
    """Return whether a model's name is the URL of an endpoint."""
    return wanted.lower().startswith(_SCHEMES)


def url_problem(url: str) -> str:
    """Return what is wrong with an endpoint's URL, as the end of a sentence; empty if nothing is."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return f"is not a URL; {_FORM}"
    if parts.username is not None or parts.password is not None:
        return "contains a name or password, which would be saved in sessions and logs; put the key into LAGUNA_API_KEY"
    if parts.query:
        return f"has a query, which no endpoint needs; {_FORM}"
    if not is_url(url) or not parts.hostname or port == 0 or not url.isprintable() or " " in url:
        return f"is not the URL of an endpoint; {_FORM}"
    return ""


def remote_entry(wanted: str, catalogue: Mapping[str, ModelEntry]) -> ModelEntry:
    """Return the entry of an endpoint given by its URL: the catalogue's if it has one.

    Raises:
        UserError: It is not the URL of an endpoint; says how one is written.
    """
    # A password in it is not shown again.
    problem = url_problem(wanted)
    shown = wanted if "@" not in wanted else "the URL"
    if problem:
        raise UserError(f"--model {shown}: {problem}")
    url, _, served = wanted.partition("#")
    url = url.rstrip("/")
    for entry in catalogue.values():
        if entry.kind is ModelKind.REMOTE and (entry.url.rstrip("/"), entry.served) == (url, served):
            return entry
    host = urlsplit(url).netloc
    return ModelEntry(
        name=wanted,
        title=f"{served.rpartition('/')[2] or 'the model'} at {host}",
        summary=f"a model behind {host}",
        kind=ModelKind.REMOTE,
        url=url,
        served=served,
    )


def is_loopback(url: str) -> bool:
    """Return whether an endpoint is on this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

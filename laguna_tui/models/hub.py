"""The Hugging Face hub: what a repository holds, and the bytes of its files. The only file that opens sockets.

Names, revisions, authentication, proxies and offline mode are huggingface_hub's; it is imported when it is needed.
"""

import os
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit

from laguna_tui import __version__
from laguna_tui.models.answers import refusal
from laguna_tui.models.digest import SHA256, Fingerprint
from laguna_tui.models.entry import Source
from laguna_tui.models.faults import DownloadError, OfflineError, Unsteady
from laguna_tui.models.record import Listing, Remote
from laguna_tui.models.rules import safe_path
from laguna_tui.models.stream import Stream

_TIMEOUT_S = 30.0
"""For one answer about a repository, and for one silence in a transfer (which is noticed long before)."""
_TRUE = ("1", "ON", "YES", "TRUE")


class Hub:
    """The hub, or what HF_ENDPOINT says is one.

    Methods that ask it may hang as long as a network can; call them through a `Brake`.
    """

    def __init__(self, endpoint: str | None = None, *, offline: bool = False) -> None:
        """Nothing is asked yet. offline: never ask anything (HF_HUB_OFFLINE says the same)."""
        wishes = (os.environ.get("HF_HUB_OFFLINE"), os.environ.get("TRANSFORMERS_OFFLINE"))
        self.offline = offline or any((wish or "").upper() in _TRUE for wish in wishes)
        self._endpoint = endpoint

    def listing(self, source: Source) -> Listing:
        """What the source consists of now.

        Raises:
            DownloadError: it cannot be had, and what to do about that. Unsteady: not at the moment.
        """
        self._allowed(source)
        information = self._asked(source)
        siblings = {sibling.rfilename: sibling for sibling in information.siblings or ()}
        chosen = source.chosen(siblings)
        if chosen is None or not all(map(safe_path, chosen)):
            raise DownloadError(_not_there(source, sorted(siblings)))
        return Listing(str(information.sha or source.revision), tuple(_remote(siblings[name]) for name in chosen))

    def stream(self, source: Source, commit: str, name: str, start: int) -> Stream:
        """The file's bytes from `start` on; the answer may begin elsewhere, look at its headers."""
        self._allowed(source)
        library = _library()
        url = library.hf_hub_url(source.repository, name, revision=commit, endpoint=self._endpoint)
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})

        def connect() -> AbstractContextManager[Any]:
            known = library.utils.build_hf_headers(library_name="laguna-tui", library_version=__version__)
            session: Any = library.utils.get_session()
            return session.stream("GET", url, headers=known | headers, timeout=_TIMEOUT_S)  # type: ignore[no-any-return]

        return Stream(connect)

    def is_at(self, url: str) -> bool:
        """Whether an answer from there is the hub's own, and not that of a storage server it sent us on to."""
        return _origin(url) == _origin(self._endpoint or _library().constants.ENDPOINT)

    def _allowed(self, source: Source) -> None:
        if self.offline:
            raise OfflineError(
                f"{source.repository}: is not on this machine, and offline is on; go online and try again, or put its "
                "file anywhere and pass its path: --model FILE.gguf"
            )

    def _asked(self, source: Source) -> Any:
        library = _library()
        api = library.HfApi(endpoint=self._endpoint, library_name="laguna-tui", library_version=__version__)
        try:
            return api.model_info(source.repository, revision=source.revision, files_metadata=True, timeout=_TIMEOUT_S)
        except library.errors.OfflineModeIsEnabled as error:
            raise OfflineError(
                f"{source.repository}: offline is on (HF_HUB_OFFLINE); go online and try again"
            ) from error
        except library.errors.HfHubHTTPError as error:
            raise refusal(error.response.status_code, error.response.headers, source.repository) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unsteady(
                "what answered is not the hub (a log-in page of this network, or a wrong HF_ENDPOINT)"
            ) from error
        except Exception as error:
            raise Unsteady(trouble(error)) from error


def trouble(error: Exception) -> str:
    """What a network error means, as part of a sentence."""
    name = type(error).__name__
    kinds = (
        ("Proxy", f"the proxy refused ({error})"),
        ("ConnectTimeout", "nothing answers"),
        ("Connect", f"the hub cannot be reached ({error})"),
        ("Timeout", "the server went silent"),
        ("Protocol", "the connection was cut"),
        ("Read", "the connection was cut"),
        ("Redirect", "the server sends us around in circles"),
    )
    return next((words for part, words in kinds if part in name), f"{name}: {error}")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)


def _library() -> Any:
    """huggingface_hub, without its question of who is running it, which would be asked at every first use.

    It also prints what servers want said, as they said it, on a screen that may be drawn on: that is turned off.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import huggingface_hub
    import huggingface_hub.constants
    import huggingface_hub.errors
    import huggingface_hub.utils

    library: Any = huggingface_hub
    library.utils.logging.set_verbosity_error()
    return library


def _remote(sibling: Any) -> Remote:
    if not isinstance(sibling.size, int) or sibling.size < 0:
        raise Unsteady(f"the hub did not say how large {sibling.rfilename} is")
    if sibling.lfs is not None:
        return Remote(sibling.rfilename, sibling.size, Fingerprint(SHA256, str(sibling.lfs.sha256).lower()))
    return Remote(sibling.rfilename, sibling.size, Fingerprint.of(sibling.blob_id))


def _not_there(source: Source, names: list[str]) -> str:
    wanted = ", ".join(source.files)
    there = ", ".join(names[:20]) or "nothing"
    return (
        f"{source.repository}: {wanted} names no single file in it (there is: {there}); name one in your own "
        "models.toml, or update laguna-tui"
    )

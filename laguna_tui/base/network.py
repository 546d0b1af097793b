"""Whether connections are allowed: asked before every connection, which is refused while laguna-tui is offline."""

import os
from collections.abc import Mapping

from laguna_tui.base.errors import UserError

_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_TRUE = ("1", "ON", "YES", "TRUE")


class OfflineError(UserError):
    """Something needs a connection, and the user allows none."""


def offline_variable(environment: Mapping[str, str]) -> str | None:
    """Return the environment variable that sets Hugging Face's tools, and so this one, offline; None if none does."""
    return next((name for name in _VARIABLES if environment.get(name, "").upper() in _TRUE), None)


class Network:
    """Whether connections may be opened, by the setting `offline` and the environment."""

    def __init__(self, *, offline: bool = False) -> None:
        self._variable = offline_variable(os.environ)
        self._setting = offline

    @property
    def offline(self) -> bool:
        """Whether every connection is refused."""
        return self._setting or self._variable is not None

    def require(self, need: str) -> None:
        """Raise unless connections are allowed.

        Args:
            need: why one is needed, as the beginning of a sentence: "a wheel must be fetched".

        Raises:
            OfflineError: they are not allowed.
        """
        if self._setting:
            raise OfflineError(f"{need}, and offline is on; run it again with --no-offline")
        if self._variable is not None:
            raise OfflineError(f"{need}, and {self._variable} is set; unset it and run it again")

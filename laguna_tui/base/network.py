"""The gate to the network: every connection of laguna-tui is asked for here first, and refused while it is offline.

Opens nothing itself. `Hub` asks before every request and `setup gpu` before pip fetches anything.
"""

import os
from collections.abc import Mapping

from laguna_tui.base.errors import UserError

_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_TRUE = ("1", "ON", "YES", "TRUE")


class OfflineError(UserError):
    """Something needs a connection, and the user said that none may be opened."""


def offline_variable(environment: Mapping[str, str]) -> str | None:
    """The variable of the environment that switches Hugging Face's tools, and so this one, offline; None without."""
    return next((name for name in _VARIABLES if environment.get(name, "").upper() in _TRUE), None)


class Network:
    """Whether connections may be opened: the setting `offline` (with the command line's flag over it) may say no, and
    so may the environment.
    """

    def __init__(self, *, offline: bool = False) -> None:
        self._variable = offline_variable(os.environ)
        self._setting = offline

    @property
    def offline(self) -> bool:
        """Whether every connection is refused."""
        return self._setting or self._variable is not None

    def require(self, need: str) -> None:
        """Pass when connections are allowed.

        Args:
            need: what needs one, as the beginning of a sentence: "a wheel must be fetched".

        Raises:
            OfflineError: they are not; says why and what to do.
        """
        if self._setting:
            raise OfflineError(f"{need}, and offline is on; run it again with --no-offline")
        if self._variable is not None:
            raise OfflineError(f"{need}, and {self._variable} is set; unset it and run it again")

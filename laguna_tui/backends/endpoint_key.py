"""The key of an endpoint: from the environment or the system's keyring, and kept out of everything that is written."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from laguna_tui.base.errors import UserError

KEY_VARIABLE = "LAGUNA_API_KEY"
"""The variable for an endpoint whose entry names no other. Keys of other programs are never sent anywhere."""
SERVICE = "laguna-tui"
"""The name in the keyring, beside the endpoint's host."""
_HIDDEN = "[key]"
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class EndpointKey:
    """A key, or none.

    Attributes:
        secret: the key; empty for none.
        source: where it is from, for a sentence.
    """

    secret: str = field(default="", repr=False)
    source: str = ""

    def __str__(self) -> str:
        return _HIDDEN if self.secret else ""

    @property
    def headers(self) -> dict[str, str]:
        """What authorises a request."""
        return {"Authorization": f"Bearer {self.secret}"} if self.secret else {}

    def hidden_in(self, text: str) -> str:
        """A text of the endpoint's without the key, which some repeat in their errors."""
        return text.replace(self.secret, _HIDDEN) if len(self.secret) >= _SHORTEST else text


NO_KEY = EndpointKey()


def find_key(host: str, variable: str = "", environment: Mapping[str, str] | None = None) -> EndpointKey:
    """The key for an endpoint: of the environment, else of the keyring, where that is installed.

    Args:
        host: with its port, as in the URL.
        variable: that holds it; empty for the usual one.
        environment: None for this process's.

    Raises:
        UserError: it holds what no header may.
    """
    name = variable or KEY_VARIABLE
    secret = (os.environ if environment is None else environment).get(name, "").strip()
    source = f"the variable {name}"
    if not secret:
        secret, source = _of_keyring(host), "the keyring"
    if not secret:
        return NO_KEY
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UserError(f"the key from {source} holds characters that no key has; set it again")
    return EndpointKey(secret, source)


def _of_keyring(host: str) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return ""
    try:
        return (keyring.get_password(SERVICE, host) or "").strip()
    except (KeyringError, RuntimeError, OSError):
        # A keyring that is locked or has no backend holds no key for us.
        return ""

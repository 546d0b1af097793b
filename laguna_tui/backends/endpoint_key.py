"""The API key of an endpoint: read from the environment or the system's keyring, and never written anywhere."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from laguna_tui.base.errors import UserError

KEY_VARIABLE = "LAGUNA_API_KEY"
"""The variable of an endpoint whose entry names no other. Keys of other programs are never sent anywhere."""
SERVICE = "laguna-tui"
"""The name in the keyring, beside the endpoint's host."""
_HIDDEN = "[key]"
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class EndpointKey:
    """A key, or none.

    Attributes:
        secret: Empty for none.
        source: Where it was found, for messages.
    """

    secret: str = field(default="", repr=False)
    source: str = ""

    def __str__(self) -> str:
        return _HIDDEN if self.secret else ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"} if self.secret else {}

    def hidden_in(self, text: str) -> str:
        """Return a text of the endpoint without the key, which some repeat in their errors."""
        return text.replace(self.secret, _HIDDEN) if len(self.secret) >= _SHORTEST else text


NO_KEY = EndpointKey()


def find_key(host: str, variable: str = "", environment: Mapping[str, str] | None = None) -> EndpointKey:
    """Return the key for an endpoint, from the environment or else from the keyring, if that is installed.

    Args:
        host: With its port, as in the URL.
        variable: The environment variable; empty for `LAGUNA_API_KEY`.
        environment: None for this process's.

    Raises:
        UserError: It has characters that are not allowed in a header.
    """
    name = variable or KEY_VARIABLE
    secret = (os.environ if environment is None else environment).get(name, "").strip()
    source = f"the variable {name}"
    if not secret:
        secret, source = _of_keyring(host), "the keyring"
    if not secret:
        return NO_KEY
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UserError(f"the key from {source} has characters that cannot be part of a key; set it again")
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
        # Locked, or without a backend.
        return ""

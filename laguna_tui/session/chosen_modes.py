"""Proves that a session's mode was chosen on this machine, so that a session from elsewhere brings no mode along.

A mode that changes files or runs commands unasked is written to a session with a code: an HMAC, with a key from the
state folder, of when the session began, its folder and the mode. A session that was copied here from another machine
has no such code; a copy that was made here has that of its original.
"""

import hashlib
import hmac
import json
import secrets
from contextlib import suppress
from pathlib import Path

from laguna_engine.files import read_small_file, write_atomically
from laguna_tui.base.errors import UserError
from laguna_tui.base.permission_request import Mode
from laguna_tui.session.permissions import PermissionSettings
from laguna_tui.session.saved_state import SavedState
from laguna_tui.store.events import Began, ModeChosen

KEY = "mode-key"
"""The file's name in the state folder, outside the folders of the sessions."""
_KEY_BYTES = 32

NOT_CHOSEN = (
    "The mode {mode} was not chosen for this session on this machine, so it asks before changes. To use the mode here: "
    "/mode {mode}, or --mode {mode} at the start."
)
NO_MODE = "Its mode {mode} is not available now: {why}"


class ChosenModes:
    """The modes that were chosen for sessions."""

    def __init__(self, state: Path) -> None:
        """Read nothing yet.

        Args:
            state: the user's state folder; it need not be there.
        """
        self._path = state / KEY

    def event(self, began: Began, mode: Mode) -> ModeChosen:
        """Return the event that the user chose a mode for the session that began so."""
        proof = ""
        if mode.changes_unasked:
            # Without a key the mode is not restored, and the user is told why.
            with suppress(OSError):
                proof = self._code(self._key() or self._new_key(), began, mode)
        return ModeChosen(mode=mode.value, proof=proof)

    def restore(self, state: SavedState, permissions: PermissionSettings) -> list[str]:
        """Restore the mode of a session if it was chosen here; returns sentences about what is not restored."""
        mode, notices, proof = permissions.mode, list[str](), ""
        if state.mode is not None:
            proof = state.mode.proof
            try:
                mode = Mode(state.mode.mode)
            except ValueError as error:
                notices.append(NO_MODE.format(mode=state.mode.mode, why=error))
        if mode.changes_unasked and not self._is_proven(state.began, mode, proof):
            notices.append(NOT_CHOSEN.format(mode=mode.value))
            mode = Mode.ASK
        try:
            permissions.mode = mode
        except UserError as error:
            notices.append(NO_MODE.format(mode=mode.value, why=error))
        return notices

    def _is_proven(self, began: Began | None, mode: Mode, proof: str) -> bool:
        """Return whether a mode was chosen here for the session that began so."""
        if began is None:
            return False
        try:
            key = self._key()
        except OSError:
            return False
        return bool(key) and hmac.compare_digest(self._code(key, began, mode).encode(), proof.encode())

    def _code(self, key: bytes, began: Began, mode: Mode) -> str:
        chosen = [began.time, began.folder, mode.value]
        return hmac.new(key, json.dumps(chosen).encode(), hashlib.sha256).hexdigest()

    def _key(self) -> bytes:
        """Return the key; empty if there is none. OSError if it cannot be read."""
        try:
            key = read_small_file(self._path, _KEY_BYTES, follow=False)
        except FileNotFoundError:
            return b""
        return key if len(key) == _KEY_BYTES else b""

    def _new_key(self) -> bytes:
        write_atomically(self._path, secrets.token_bytes(_KEY_BYTES), durable=True)
        # Another process may have written its own meanwhile.
        return self._key()

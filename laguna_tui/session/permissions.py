"""What the model may do in a session's folder; known before the session is open."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.permission_request import Approver, Mode
from laguna_tui.base.settings import Settings

if TYPE_CHECKING:
    from laguna_tui.agent.permission_gate import PermissionGate


class PermissionSettings:
    """What the model may do in the folder without approval; also before the session is open.

    Attributes:
        gate: decides about calls; None before the session is opened.
        changed: called with each mode that is set. Any thread.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        rules: Path | None,
        allow: Sequence[str],
        deny: Sequence[str],
    ) -> None:
        self.gate: PermissionGate | None = None
        self.changed: Callable[[Mode], None] = lambda mode: None
        self._folder, self._rules, self._allow, self._deny = folder, rules, allow, deny
        self._mode = Mode(settings.mode)
        self._approver: Approver | None = None

    @property
    def mode(self) -> Mode:
        """What needs no approval. May be set from any thread; UserError while a rule file is broken."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        if self.gate is not None:
            self.gate.permissions.mode = mode
        self._mode = mode
        self.changed(mode)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the rule files, as sentences."""
        return () if self.gate is None else self.gate.permissions.notes

    def shows(self, path: str) -> bool:
        """Return whether a rule of the user's lets the model read a file with secrets."""
        return not self.opened().permissions.readable(path)

    def command_path_rules(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return globs of what rules keep commands from reading, and from changing, relative to the folder."""
        return self.opened().permissions.command_path_rules()

    def use_approver(self, approver: Approver) -> None:
        """Set who is asked, before the session is opened. Whoever iterates `Chat.ask` waits for the answer."""
        self._approver = approver
        if self.gate is not None:
            self.gate.approver = approver

    def opened(self) -> "PermissionGate":
        """Return the permission gate; the rule files are read the first time.

        Raises:
            UserError: a rule is invalid, or a rule file is broken.
        """
        if self.gate is None:
            from laguna_tui.agent.permission_gate import PermissionGate
            from laguna_tui.agent.permissions.policy import Permissions

            permissions = Permissions(
                self._folder.resolve(),
                mode=self._mode,
                rules_path=self._rules,
                allow=self._allow,
                deny=self._deny,
                sandboxed=_is_sandboxed,
            )
            self.gate = PermissionGate(permissions, self._approver)
        return self.gate


def _is_sandboxed() -> bool:
    """Return whether a sandbox confines commands on this machine."""
    from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox

    return probe_sandbox().kind is not SandboxKind.NONE

"""Commands made ready to start inside the sandbox."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from laguna_tui.sandbox.policy import SandboxPolicy, scrubbed
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus


@dataclass
class Prepared:
    """A command as it is to be started, with its own process group, no terminal and no input.

    Close it after the command has ended, also after a kill.

    Attributes:
        argv: Program and arguments.
        env: Its whole environment.
        cwd: Folder to start it in.
        pass_fds: Descriptors that it inherits.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    pass_fds: tuple[int, ...] = ()
    _undo: list[Callable[[], None]] = field(default_factory=list)

    def watch(self, pid: int) -> None:
        """Kill everything in the sandbox when it has too many processes.

        Args:
            pid: The process that was started, which leads its own process group.
        """

    def cleanup(self) -> tuple[str, ...]:
        """Remove what was made for the command; idempotent.

        Returns:
            Files that the command created and that git, assistants or editors would execute, relative to the workspace.
        """
        while self._undo:
            self._undo.pop()()
        return ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.cleanup()


def prepare(
    status: SandboxStatus,
    policy: SandboxPolicy,
    argv: Sequence[str],
    *,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Prepared:
    """Make a command ready to start inside the sandbox.

    Args:
        status: The sandbox that works here.
        policy: What the command may do.
        argv: Program and arguments; a shell command is `("/bin/sh", "-c", command)`.
        folder: Where it runs; the workspace by default.
        env: Environment to take the allowed variables from; by default this process's.

    Raises:
        OSError: The sandbox cannot be made.
    """
    where = str(folder or policy.workspace)
    if status.kind is SandboxKind.NONE:
        return Prepared(tuple(argv), scrubbed(env), where)
    raise OSError("no such sandbox")

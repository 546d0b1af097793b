"""What a command may do: the folders it writes to, what it cannot read or change, and its environment."""

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class SandboxPolicy:
    """What a command may do.

    Attributes:
        workspace: The folder it works in, writable except for what git, assistants and editors execute there.
        network: Whether it may open connections.
        writable: Further folders it may write to.
        tmp: Folder that it sees as its temporary folder, kept from one command to the next; a new one if None.
        state: Folder of the records of mount points made in the workspace (see `stubs`).
        homes: The user's home folders, whose credentials are hidden; by default $HOME and the account's.
    """

    workspace: Path
    network: bool = False
    writable: tuple[Path, ...] = ()
    tmp: Path | None = None
    state: Path | None = None
    homes: tuple[Path, ...] | None = None

    @cached_property
    def root(self) -> Path:
        """The workspace without links in its path."""
        return Path(os.path.realpath(self.workspace))


_PASSED_ON = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ COLUMNS LINES NO_COLOR VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT
    CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOPATH GOROOT GOFLAGS JAVA_HOME NVM_DIR NODE_ENV DOTNET_ROOT
    """.split()
)
"""Variables that a command may see. An allow-list: names of tokens cannot be enumerated."""


def scrubbed(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that a command may see: no tokens, no agents' sockets, nothing that loads code into it."""
    given = os.environ if environment is None else environment
    kept = {name: value for name, value in given.items() if name in _PASSED_ON or name.startswith("LC_")}
    return {**kept, "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def home_folders() -> tuple[Path, ...]:
    """Return the user's home folders without links: $HOME, and the one of the account."""
    named = [os.environ.get("HOME", "")]
    try:
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        pass
    found = (Path(os.path.realpath(name)) for name in named if os.path.isabs(name))
    return tuple(dict.fromkeys(home for home in found if home != home.parent))

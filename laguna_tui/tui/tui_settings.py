"""Settings of the TUI. Imports no Textual."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from laguna_tui.session.values import ClientUse

if TYPE_CHECKING:
    from laguna_tui.tui.keys import OwnKeys

AUTO_THEME = "auto"
NOTICES = "notices"
"""The folder in the state folder with an empty file for each notice that is shown once in a folder."""


class ModelServer(Protocol):
    """Lets other programs use the open model. Any thread. The HTTP server is one; the screen does not import it."""

    @property
    def running(self) -> bool:
        """Whether it listens."""
        ...

    @property
    def url(self) -> str:
        """Where it listens."""
        ...

    @property
    def token(self) -> str:
        """What other programs have to show."""
        ...

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        ...

    def start(self) -> None:
        """Listen from now on; UserError if it cannot."""
        ...

    def stop(self) -> None:
        """End all answers, and listen no more. Idempotent."""
        ...

    def clients(self) -> Sequence[ClientUse]:
        """Who used it, the latest first."""
        ...


@dataclass(frozen=True, slots=True)
class TuiSettings:
    """Settings of the TUI.

    Attributes:
        state_dir: folder of the input history, crash files and which notices were shown; None remembers nothing.
        theme: name of a Textual theme, or "auto".
        notify: whether the terminal notifies the user of an answer or a question while it is not looked at.
        prune_sessions: deletes old sessions where the user's settings say so, and returns sentences about it; any
            thread. None never deletes any.
        make_server: makes the HTTP server, not listening yet; raises UserError if it cannot. None where there is none.
        keys: the user's keys; None for the default ones.
        sidebar: whether wide screens have a sidebar.
        editor: the command that opens a file, as in the settings; None for the editor of the environment.
        vim: whether the input has vim's keys.
    """

    state_dir: Path | None = None
    theme: str = AUTO_THEME
    notify: bool = True
    prune_sessions: Callable[[], Sequence[str]] | None = None
    make_server: Callable[[], ModelServer] | None = None
    keys: "OwnKeys | None" = None
    sidebar: bool = True
    editor: str | None = None
    vim: bool = False

    def is_first_notice(self, name: str, folder: Path) -> bool:
        """Note that a notice is shown in a folder; whether it is the first of its name there. May wait for a disk."""
        if self.state_dir is None:
            return True
        # Imported late: most sessions show none.
        from hashlib import sha256

        digest = sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
        shown = self.state_dir / NOTICES / f"{name}-{digest}"
        try:
            shown.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shown.touch(exist_ok=False)
        except FileExistsError:
            return False
        except OSError:
            # It is shown again in the next session then.
            return True
        return True

"""The parts of a session that are not measured: they know nothing."""

from pathlib import Path
from typing import Self

from laguna_tui.base.permission_request import Approver, Mode


class QuietSession:
    """The part of a `LocalSession` that says nothing; the session plays all its parts itself."""

    title, path, mode = "bench", Path("/"), Mode.ASK
    current, open_id, failing = None, "", ""

    @property
    def chat(self) -> Self:
        return self

    prompt = models = permissions = commands = folder = history = commits = sessions = chat

    def use_approver(self, approver: Approver) -> None: ...

    def cost(self, message: str) -> None:
        return None

    def complete(self, text: str, cursor: int) -> tuple[()]:
        return ()

    def prefetch(self, message: str) -> None: ...

    def background(self) -> tuple[()]:
        return ()

    def blocks(self) -> tuple[()]:
        return ()

    def cancel(self) -> None: ...

    def new_chat(self) -> None: ...

    def close(self, reason: str = "") -> None: ...

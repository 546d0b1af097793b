"""What llama.cpp and ggml say, kept in a bounded ring instead of on stderr, where it would tear the screen.

The ring is read when something failed: the last lines before a NULL are the reason.
"""

from collections import deque

from laguna_engine.native.structs import LogCallback

RING_LINES = 512
"""A model load writes about 200 lines; two loads and their errors fit."""

LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR, LEVEL_CONTINUE = 2, 3, 4, 5
"""`ggml_log_level`."""


class LogRing:
    """The last lines of the native log; written from any native thread, read from any Python thread."""

    def __init__(self) -> None:
        self._lines: deque[tuple[int, str]] = deque(maxlen=RING_LINES)
        # Kept here because ggml holds only the bare function pointer.
        self.callback = LogCallback(self._write)

    def _write(self, level: int, text: bytes | None, _data: object) -> None:
        # One append and nothing else: two native threads may log at once.
        self._lines.append((level, (text or b"").decode("utf-8", "replace")))

    def recent(self, count: int = RING_LINES, *, at_least: int = 0) -> list[str]:
        """The last `count` lines of level `at_least` or worse, oldest first, without blank ones."""
        joined: list[tuple[int, str]] = []
        for level, text in list(self._lines):
            if level == LEVEL_CONTINUE and joined:
                joined[-1] = (joined[-1][0], joined[-1][1] + text)
            else:
                joined.append((level, text))
        lines = [text.strip() for level, text in joined if level >= at_least]
        return [line for line in lines if line][-count:]

    def clear(self) -> None:
        """Forget everything, so that the next failure quotes only itself."""
        self._lines.clear()

"""A model file's own chat template: conversations in, text out.

A template is code from a stranger, so it runs in a child process of its own (`jinja_worker`), which is started when it
is first needed, serves one model and may be killed at any time.
"""

import json
import selectors
import threading
import weakref
from collections.abc import Mapping
from datetime import date

from laguna_engine.errors import EngineError
from laguna_engine.native.child import Worker

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + (message.content or '') + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""For files without a template, and in place of one that fails."""

RENDER_S = 2.0
"""Processor time of one rendering; that of 61 messages takes 3 ms."""

START_S = 20.0
"""Until a child answers for the first time; importing Jinja takes 0.1 s on an idle machine."""

FAILURES = 2
"""After this many in a row the template is given up."""


class TemplateFailed(EngineError):
    """A template could not render; the message says why, such as "it took too much time or memory"."""


class ChatTemplate:
    """One model's template. Thread-safe.

    Attributes:
        source: the template's text.
        failed: why it was given up and ChatML is used; empty while it works.
    """

    def __init__(self, source: str, today: date) -> None:
        """Take a template; empty for ChatML. today: the date where a rendering has none."""
        self.source = source or CHATML
        self.failed = "" if source else "the file has no chat template"
        self._day = today
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._end: weakref.finalize[[], ChatTemplate] | None = None

    def render(self, values: Mapping[str, object], most: int, day: date | None = None) -> str:
        """Render a conversation.

        Args:
            values: what templates read: `messages`, `tools`, `add_generation_prompt`, …
            most: characters of the text besides those of the conversation.
            day: when the conversation began.

        Raises:
            TemplateFailed: ChatML fails too: no child can be started, or the text is too long.
        """
        with self._lock:
            reason = ""
            for _ in range(FAILURES):
                try:
                    return self._rendered(values, most, day)
                except TemplateFailed as error:
                    reason = str(error)
            if self.source == CHATML:
                raise TemplateFailed(f"The conversation cannot be written for the model: {reason}. Send it again.")
            self._give_up(reason)
            return self._rendered(values, most, day)

    def attempt(self, values: Mapping[str, object], most: int, day: date | None = None) -> str:
        """Render a conversation that the template may refuse, once and without giving it up.

        Raises:
            TemplateFailed: it did.
        """
        with self._lock:
            return self._rendered(values, most, day)

    def give_up(self, reason: str) -> None:
        """Use ChatML from now on."""
        with self._lock:
            self._give_up(reason)

    def close(self) -> None:
        """End the child; a later rendering starts another one."""
        with self._lock:
            self._close()

    def _rendered(self, values: Mapping[str, object], most: int, day: date | None) -> str:
        if self._worker is None:
            try:
                self._worker = Worker("laguna_engine.chat.jinja_worker")
            except OSError as error:
                raise TemplateFailed(f"no process could be started for it ({error.strerror})") from error
            self._end = weakref.finalize(self, self._worker.close)
            self._ask({"template": self.source}, START_S)
        # The child stops itself after RENDER_S of its own time; a busy machine gives it less than that.
        request = {"values": values, "date": (day or self._day).isoformat(), "most": most}
        return self._ask(request, 5 * RENDER_S)

    def _ask(self, request: Mapping[str, object], limit_s: float) -> str:
        worker = self._worker
        assert worker is not None
        worker.send(json.dumps(request).encode())
        with selectors.DefaultSelector() as selector:
            selector.register(worker, selectors.EVENT_READ)
            answered = selector.select(limit_s)
        frame = worker.receive() if answered else None
        if frame is None:
            self._close()
            raise TemplateFailed("it took too much time or memory")
        answer = json.loads(frame)
        if "error" in answer:
            raise TemplateFailed(str(answer["error"]))
        return str(answer["text"])

    def _give_up(self, reason: str) -> None:
        self.source, self.failed = CHATML, reason
        self._close()

    def _close(self) -> None:
        if self._end is not None:
            self._end()
        self._worker = self._end = None

"""Abort handling: a failed assertion in llama.cpp loses one thread, not the process; a flag stops a computation.

`GGML_ASSERT` ends in `abort()`, which Python cannot catch, but ggml calls a hook first. Ours never returns: it records
the message, wakes all watchers, and blocks the calling thread permanently. The objects of that thread (a model, a
context) are leaked and must never be used again; a new engine on a new thread works. SIGSEGV and out-of-memory kills
are not contained: the supervising parent process handles them.

llama.cpp calls its abort callback before every graph node, thousands of times a second, from its own threads; a Python
function would take the GIL each time. The C library's `strlen` has the right signature instead: it returns 0 for an
empty string and 1 for a one-byte string, so writing one byte stops the computation and clearing it allows the next.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from laguna_engine.errors import NativeAbort
from laguna_engine.native.library import lib
from laguna_engine.native.structs import AbortHook


class AbortWatch:
    """Watches the threads of one engine, so that waiting for them ends on an abort.

    Attributes:
        message: ggml's message (file, line and assertion) after an abort, else None.
    """

    def __init__(self) -> None:
        self.message: str | None = None
        self._listeners: list[Callable[[], None]] = []

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Register the calling thread; all native calls of the engine run inside."""
        ident = threading.get_ident()
        with _lock:
            before = _guarded.get(ident)
            _guarded[ident] = self
        try:
            yield
        finally:
            with _lock:
                if before is None:
                    del _guarded[ident]
                else:
                    _guarded[ident] = before

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` once on an abort, from the aborting thread (at once if it has already happened).

        It may only wake another thread: no native calls, nothing that blocks.
        """
        with _lock:
            aborted = self.message is not None
            if not aborted:
                self._listeners.append(listener)
        if aborted:
            listener()

    def forget(self, listener: Callable[[], None]) -> None:
        """Remove `listener`; unknown ones are ignored."""
        with _lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def check(self) -> None:
        """Raise NativeAbort if an abort has happened."""
        if self.message is not None:
            raise NativeAbort(
                f"llama.cpp stopped on a failed check ({self.message}); "
                "this engine is lost: open the model again, and report the message if it returns"
            )

    def wait(self, done: threading.Event, timeout: float | None = None) -> bool:
        """Wait for `done`: True, or False after `timeout` seconds; raises NativeAbort as soon as one happens."""
        self.listen(done.set)
        try:
            finished = done.wait(timeout)
        finally:
            self.forget(done.set)
        self.check()
        return finished

    def _notify(self, message: str) -> None:
        with _lock:
            self.message = self.message or message
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()


# Reentrant: the garbage collector may close a dropped engine, which waits here, while this thread holds it.
_lock = threading.RLock()
_guarded: dict[int, AbortWatch] = {}
_for_ever = threading.Lock()


def _on_abort(message: bytes | None) -> None:
    text = (message or b"unknown assertion").decode("utf-8", "replace").strip()
    # The file's name begins with the folder of the machine that built the wheel.
    text = text.rpartition("/vendor/llama.cpp/")[2]
    try:
        with _lock:
            own = _guarded.get(threading.get_ident())
            # The owner of one of ggml's worker threads is unknown: every watch is notified.
            watches = [own] if own is not None else list(dict.fromkeys(_guarded.values()))
        for watch in watches:
            watch._notify(text)
    finally:
        # Waiting for a lock neither holds the GIL nor wakes up, so the interpreter can still exit normally.
        while True:
            _for_ever.acquire()


# Keeps the hook alive: ggml holds only the function pointer.
_hook = AbortHook(_on_abort)


def install() -> None:
    """Install the hook. Idempotent."""
    lib.ggml_set_abort_callback(_hook)


_for_ever.acquire()


def _strlen_address() -> int:
    library = ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)
    address = ctypes.cast(library.strlen, ctypes.c_void_p).value
    if address is None:
        raise OSError("the C library has no strlen")
    return address


class AbortFlag:
    """A stop flag for native computations; setting and clearing are single byte writes, safe from any thread.

    Attributes:
        callback: address for `llama_context_params.abort_callback`.
        data: address for `abort_callback_data`; valid while the flag exists.
    """

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(2)
        self.callback = _strlen_address()
        self.data = ctypes.addressof(self._text)

    def set(self) -> None:
        """Stop the running computation and any later one."""
        self._text[0] = b"\x01"

    def clear(self) -> None:
        """Allow computations again."""
        self._text[0] = b"\x00"

    def is_set(self) -> bool:
        return self._text[0] != b"\x00"

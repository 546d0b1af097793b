"""Abort handling: a failed assertion in llama.cpp loses one thread, not the process; a flag stops a computation.

`GGML_ASSERT` ends in `abort()`, which no Python code can catch, but ggml calls a hook first. Ours never returns: it
notes the message, wakes everyone who watches, and parks the calling thread for ever. What that thread held (a model,
a context) is leaked and must never be touched again; a fresh engine on a fresh thread works. SIGSEGV and out-of-memory
kills are not contained: that is what the supervising parent process is for.

llama.cpp asks its abort callback before every graph node, thousands of times a second, from its own threads: a Python
function there would take the GIL each time. The C library's `strlen` has the right shape instead: it returns 0 for an
empty string and 1 for a one-byte string, so writing one byte stops the computation and clearing it allows the next.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

from laguna_engine.errors import NativeAbort
from laguna_engine.native.library import lib
from laguna_engine.native.structs import AbortHook

T = TypeVar("T")


class AbortWatch:
    """Looks after the threads of one engine: whoever waits for them learns of an abort instead of waiting for ever.

    `message` is ggml's own text (file, line and assertion) once an abort has happened, else None.
    """

    def __init__(self) -> None:
        self.message: str | None = None
        self._listeners: list[Callable[[], None]] = []

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Register the calling thread; everything native this engine does runs inside."""
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
        """Have `listener` called once, from the dying thread, when an abort happens (at once if it has already).

        It must only wake somebody up: nothing native, nothing that blocks.
        """
        with _lock:
            aborted = self.message is not None
            if not aborted:
                self._listeners.append(listener)
        if aborted:
            listener()

    def forget(self, listener: Callable[[], None]) -> None:
        """Stop calling `listener`; unknown ones are ignored."""
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
        """Wait until `done` is set: True, or False after `timeout` seconds; NativeAbort as soon as one happens."""
        self.listen(done.set)
        try:
            finished = done.wait(timeout)
        finally:
            self.forget(done.set)
        self.check()
        return finished

    def _tell(self, message: str) -> None:
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
        for watch in _watches_of_this_thread():
            watch._tell(text)
    finally:
        # A lock is waited for without the GIL and without waking up, so the interpreter can still exit normally.
        while True:
            _for_ever.acquire()


def _watches_of_this_thread() -> list[AbortWatch]:
    """The watch of the calling thread; for one of ggml's own worker threads every watch, as any may be its owner."""
    with _lock:
        own = _guarded.get(threading.get_ident())
        return [own] if own is not None else list(dict.fromkeys(_guarded.values()))


# Kept in the module because ggml holds only the bare function pointer.
_hook = AbortHook(_on_abort)


def install() -> None:
    """Put the hook in place; harmless when repeated."""
    lib.ggml_set_abort_callback(_hook)


def run_guarded(function: Callable[[], T], watch: AbortWatch | None = None) -> T:
    """Run `function` on a fresh daemon thread and return its result or raise its error; NativeAbort if it aborts."""
    install()
    watch = watch or AbortWatch()
    done = threading.Event()
    outcome: Future[T] = Future()

    def body() -> None:
        with watch.guard():
            try:
                outcome.set_result(function())
            except BaseException as error:
                outcome.set_exception(error)
        done.set()

    threading.Thread(target=body, name="laguna-guarded", daemon=True).start()
    watch.wait(done)
    return outcome.result()


_for_ever.acquire()


def _strlen_address() -> int:
    library = ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)
    address = ctypes.cast(library.strlen, ctypes.c_void_p).value
    if address is None:
        raise OSError("the C library has no strlen")
    return address


class AbortFlag:
    """One flag; setting and clearing are single byte writes, safe from any thread.

    `callback` and `data` are the two addresses for `llama_context_params.abort_callback` and its data; they stay valid
    while the flag lives.
    """

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(2)
        self.callback = _strlen_address()
        self.data = ctypes.addressof(self._text)

    def set(self) -> None:
        """Ask the running computation, and any later one, to stop."""
        self._text[0] = b"\x01"

    def clear(self) -> None:
        """Allow computation again."""
        self._text[0] = b"\x00"

    def is_set(self) -> bool:
        """Whether a stop has been asked for."""
        return self._text[0] != b"\x00"

"""A stop flag that llama.cpp can read without Python.

llama.cpp asks its abort callback before every graph node, thousands of times a second, from its own threads: a Python
function there would take the GIL each time. The C library's `strlen` has the right shape instead: it returns 0 for an
empty string and 1 for a one-byte string, so writing one byte stops the computation and clearing it allows the next.
"""

import ctypes
import sys


def _strlen_address() -> int:
    library = ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)
    address = ctypes.cast(library.strlen, ctypes.c_void_p).value
    if address is None:
        raise OSError("the C library has no strlen")
    return address


class StopFlag:
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

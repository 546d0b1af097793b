"""Loads llama.cpp once, at import: opens the library, binds its functions, runs the self-test and redirects its log.

The shared libraries come from the installed `llama_cpp` package, but that package is never imported: it would import
numpy, jinja2 and its own bindings (170 ms) for nothing. All native calls go through `lib`, because a wheel holds
several copies of each ggml file, and opening a second one maps a second ggml with its own, empty registry.

The log of llama.cpp and ggml goes to a bounded ring instead of stderr, where it would corrupt the screen. It is read
after a failure: the last lines before a NULL result give the reason.
"""

import ctypes
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from laguna_engine.errors import LibraryError
from laguna_engine.native import child, plugins, selftest
from laguna_engine.native.prototypes import PROTOTYPES, QUICK
from laguna_engine.native.structs import LogCallback

RING_LINES = 512
"""Lines in the ring: a model load logs about 200; two loads and their errors fit."""

LEVEL_DEBUG, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR, LEVEL_CONTINUE = 1, 2, 3, 4, 5
"""`ggml_log_level`."""


class LogRing:
    """The last lines of the native log; written by any native thread, read by any Python thread."""

    def __init__(self) -> None:
        self._lines: deque[tuple[int, str]] = deque(maxlen=RING_LINES)
        # Keeps the callback alive: ggml holds only the function pointer.
        self.callback = LogCallback(self._write)

    def _write(self, level: int, text: bytes | None, _data: object) -> None:
        # llama.cpp debugs in thousands of lines, which would push out all others.
        if level != LEVEL_DEBUG:
            # A single append: two native threads may log at once.
            self._lines.append((level, (text or b"").decode("utf-8", "replace")))

    def recent(self, count: int = RING_LINES, *, at_least: int = 0) -> list[str]:
        """Return the last `count` non-blank lines of level `at_least` or higher, oldest first."""
        joined: list[tuple[int, str]] = []
        for level, text in list(self._lines):
            if level == LEVEL_CONTINUE and joined:
                joined[-1] = (joined[-1][0], joined[-1][1] + text)
            else:
                joined.append((level, text))
        lines = [text.strip() for level, text in joined if level >= at_least]
        return [line for line in lines if line][-count:]

    def clear(self) -> None:
        """Clear the ring, so that the next error quotes only its own lines."""
        self._lines.clear()


_INSTALL = f"install it: pip install llama-cpp-python=={selftest.BINDING_VERSION}"
_UNKNOWN_ARCHITECTURE = re.compile("unknown model architecture: '([^']*)'")
_OUT_OF_MEMORY = re.compile(r"alloc|out of memory|insufficient memory|enough (free )?memory", re.IGNORECASE)
"""Matches the log messages of llama.cpp, ggml and CUDA about failed allocations."""

_FAILURE_LINES = 4
"""Log lines quoted in an error: llama.cpp's reason is in the last two or three."""


class Library:
    """The bound functions as attributes, by their C names."""

    def __init__(self, handles: Sequence[ctypes.CDLL]) -> None:
        """Bind every prototype to the first handle that exports it."""
        quick = [ctypes.PyDLL(handle._name, handle=handle._handle) for handle in handles]
        for name, (result, arguments) in PROTOTYPES.items():
            function = _find(quick if name in QUICK else handles, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name} has no prototype; add it to laguna_engine.native.prototypes")


def _find(handles: Sequence[ctypes.CDLL], name: str) -> Any:
    for handle in handles:
        function = getattr(handle, name, None)
        if function is not None:
            return function
    raise LibraryError(f"the installed llama.cpp has no {name}; {selftest.REINSTALL}")


def _package_folder() -> Path:
    found = importlib.util.find_spec("llama_cpp")
    if found is None or found.origin is None:
        raise LibraryError(f"llama-cpp-python is not installed; {_INSTALL}")
    version = importlib.metadata.version("llama-cpp-python")
    # Local builds have a suffix (0.3.36+cu130); the release before it determines the layout.
    if version.split("+")[0] != selftest.BINDING_VERSION:
        wanted = selftest.BINDING_VERSION
        raise LibraryError(f"llama-cpp-python is {version}, this engine needs {wanted}; {selftest.REINSTALL}")
    return Path(found.origin).parent


def _open_handles(folder: Path) -> list[ctypes.CDLL]:
    """Open one handle, or one per DLL on Windows, where the loader does not search a library's dependencies."""
    if sys.platform == "win32":
        os.add_dll_directory(str(folder))
        return [ctypes.CDLL(str(folder / f"{name}.dll")) for name in ("llama", "ggml", "ggml-base")]
    names = ("libllama.dylib", "libllama.so") if sys.platform == "darwin" else ("libllama.so",)
    path = next((folder / name for name in names if (folder / name).exists()), None)
    if path is None:
        raise LibraryError(f"no {' or '.join(names)} in {folder}; {selftest.REINSTALL}")
    return [ctypes.CDLL(str(path))]


def library_folders() -> tuple[Path, ...]:
    """Return the folders of the library and of its plug-ins."""
    package = _package_folder()
    return package / "lib", package.parent / "bin", package.parent / "lib"


def trial_command(module: str, argument: str) -> tuple[str, ...]:
    """Return the command of a trial in a child process that uses the same library as this process."""
    return child.python_command(module, argument, first=(_package_folder().parent,))


def _open() -> Library:
    # Otherwise a failed assertion forks a debugger for a backtrace before it calls the abort hook.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    package = _package_folder()
    plugins.preload(package / "lib")
    try:
        library = Library(_open_handles(package / "lib"))
    except OSError as error:
        raise LibraryError(f"llama.cpp cannot be loaded ({error}); {selftest.REINSTALL}") from error
    library.ggml_log_set(log.callback, None)
    library.llama_log_set(log.callback, None)
    selftest.check(library)
    plugins.load(library, library_folders())
    if not library.ggml_backend_dev_count():
        raise LibraryError(f"llama.cpp found no device to compute on, not even the CPU; {selftest.REINSTALL}")
    library.llama_backend_init()
    return library


log = LogRing()
lib = _open()


def recent_log(count: int = _FAILURE_LINES) -> str:
    """Return llama.cpp's last errors in one line; its last warnings if there are none, else "no reason given"."""
    lines = log.recent(count, at_least=LEVEL_ERROR) or log.recent(count, at_least=LEVEL_WARN)
    return "; ".join(lines) or "no reason given"


def log_reports_out_of_memory() -> bool:
    """Return whether llama.cpp's last errors are failed allocations, for which it has no error code."""
    return _OUT_OF_MEMORY.search(recent_log()) is not None


def unknown_architecture() -> str:
    """Return the architecture that llama.cpp's last errors say it does not know; empty for none."""
    found = _UNKNOWN_ARCHITECTURE.search(recent_log())
    return "" if found is None else found[1]


def device_descriptions() -> tuple[str, ...]:
    """Return the drivers' names of the devices ggml can compute on, best first."""
    handles = [lib.ggml_backend_dev_get(index) for index in range(lib.ggml_backend_dev_count())]
    return tuple(lib.ggml_backend_dev_description(handle).decode("utf-8", "replace") for handle in handles)


def backend_names() -> tuple[str, ...]:
    """Return the names of the registered backends, such as "CPU" and "CUDA"."""
    registries = [lib.ggml_backend_reg_get(index) for index in range(lib.ggml_backend_reg_count())]
    return tuple(lib.ggml_backend_reg_name(registry).decode("utf-8", "replace") for registry in registries)


def system_info() -> str:
    """Return `llama_print_system_info`, such as "CPU : SSE3 = 1 | AVX2 = 1 | …"."""
    text: str = lib.llama_print_system_info().decode("utf-8", "replace")
    return text


def ggml_version() -> str:
    text: str = lib.ggml_version().decode()
    return text

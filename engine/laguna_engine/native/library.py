"""The one llama.cpp in this process: found, opened, bound, tested and made quiet, once, at import.

The shared libraries come from the installed `llama_cpp` package, but that package itself is never imported: it would
bring numpy, jinja2 and its own bindings (170 ms) for nothing. Everything native goes through `lib`, because a wheel
holds several copies of each ggml file and opening a second one maps a second ggml with its own, empty registry.

Prebuilt CUDA wheels of llama-cpp-python leave libcudart and libcublas out. The `nvidia-*` packages hold them, but in
folders that no loader searches; a library that is already open is found all the same, so they are opened first.

What llama.cpp and ggml say is kept in a bounded ring instead of on stderr, where it would tear the screen. The ring is
read when something failed: the last lines before a NULL are the reason.
"""

import contextlib
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
from laguna_engine.native import child, selftest
from laguna_engine.native.prototypes import PROTOTYPES, QUICK
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


# In the order in which they need each other.
_NAMES = ("libcudart", "libcublasLt", "libcublas")


def preload(libraries: Path) -> None:
    """Open what the CUDA build in the folder `libraries` may need; nothing for other builds.

    What cannot be opened is left to llama.cpp's own loader, whose complaint names the library.
    """
    if not any(libraries.glob("libggml-cuda.*")):
        return
    for name in _NAMES:
        for path in packaged(name):
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(path))


def packaged(name: str) -> list[Path]:
    """The files of a library (`libcudart`) inside installed `nvidia-*` packages."""
    found = importlib.util.find_spec("nvidia")
    folders = [] if found is None else [Path(folder) for folder in found.submodule_search_locations or ()]
    return sorted(path for folder in folders for path in folder.glob(f"*/lib/{name}.so.*"))


_INSTALL = f"install it: pip install llama-cpp-python=={selftest.BINDING_VERSION}"
_OUT_OF_MEMORY = re.compile(r"alloc|out of memory|insufficient memory|enough (free )?memory", re.IGNORECASE)
"""What llama.cpp, ggml and CUDA say when they do not get the memory they ask for."""

_FAILURE_LINES = 4
"""How many log lines an error quotes: llama.cpp's reason is in the last two or three."""


class Library:
    """The bound functions, as attributes, under their C names."""

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
    # Local builds carry a suffix (0.3.36+cu130); the release before it is what fixes the layout.
    if version.split("+")[0] != selftest.BINDING_VERSION:
        wanted = selftest.BINDING_VERSION
        raise LibraryError(f"llama-cpp-python is {version}, this engine needs {wanted}; {selftest.REINSTALL}")
    return Path(found.origin).parent


def _open_handles(folder: Path) -> list[ctypes.CDLL]:
    """One handle where the loader searches a library's dependencies; one per DLL on Windows, where it does not."""
    if sys.platform == "win32":
        os.add_dll_directory(str(folder))
        return [ctypes.CDLL(str(folder / f"{name}.dll")) for name in ("llama", "ggml", "ggml-base")]
    names = ("libllama.dylib", "libllama.so") if sys.platform == "darwin" else ("libllama.so",)
    path = next((folder / name for name in names if (folder / name).exists()), None)
    if path is None:
        raise LibraryError(f"no {' or '.join(names)} in {folder}; {selftest.REINSTALL}")
    return [ctypes.CDLL(str(path))]


def library_folders() -> tuple[Path, ...]:
    """Where the library's files lie: its own folder, and those of plug-ins."""
    package = _package_folder()
    return package / "lib", package.parent / "bin", package.parent / "lib"


def trial_command(module: str, argument: str) -> tuple[str, ...]:
    """The command of a child that tries something with the very library that this process uses."""
    return child.python_command(module, argument, first=(_package_folder().parent,))


def _load_backends(library: Library) -> None:
    """Register devices: linked in by stock wheels; plug-ins beside the package in GGML_BACKEND_DL builds."""
    for folder in library_folders():
        if library.ggml_backend_dev_count():
            return
        if folder.is_dir():
            library.ggml_backend_load_all_from_path(os.fsencode(folder))
    if not library.ggml_backend_dev_count():
        raise LibraryError(f"llama.cpp found no device to compute on, not even the CPU; {selftest.REINSTALL}")


def _open() -> Library:
    # Without it a failed assertion forks a debugger to print a backtrace, before the abort hook is asked.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    package = _package_folder()
    preload(package / "lib")
    try:
        library = Library(_open_handles(package / "lib"))
    except OSError as error:
        raise LibraryError(f"llama.cpp cannot be loaded ({error}); {selftest.REINSTALL}") from error
    library.ggml_log_set(log.callback, None)
    library.llama_log_set(log.callback, None)
    selftest.check(library)
    _load_backends(library)
    library.llama_backend_init()
    return library


log = LogRing()
lib = _open()


def recent_log(count: int = _FAILURE_LINES) -> str:
    """llama.cpp's last errors in one line; its last warnings if there was no error, or "no reason given"."""
    lines = log.recent(count, at_least=LEVEL_ERROR) or log.recent(count, at_least=LEVEL_WARN)
    return "; ".join(lines) or "no reason given"


def log_says_out_of_memory() -> bool:
    """Whether llama.cpp's last errors are about memory that it did not get: it has no error code for that."""
    return _OUT_OF_MEMORY.search(recent_log()) is not None


def device_descriptions() -> tuple[str, ...]:
    """The devices ggml can compute on, as their drivers describe them, best first."""
    handles = [lib.ggml_backend_dev_get(index) for index in range(lib.ggml_backend_dev_count())]
    return tuple(lib.ggml_backend_dev_description(handle).decode("utf-8", "replace") for handle in handles)


def backend_names() -> tuple[str, ...]:
    """What ggml computes with here: "CPU", "CUDA" and so on."""
    registries = [lib.ggml_backend_reg_get(index) for index in range(lib.ggml_backend_reg_count())]
    return tuple(lib.ggml_backend_reg_name(registry).decode("utf-8", "replace") for registry in registries)


def system_info() -> str:
    """What llama.cpp was built with, in its own words: "CPU : SSE3 = 1 | AVX2 = 1 | …"."""
    text: str = lib.llama_print_system_info().decode("utf-8", "replace")
    return text


def ggml_version() -> str:
    """The release of ggml that is loaded."""
    text: str = lib.ggml_version().decode()
    return text

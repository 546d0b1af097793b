"""The one llama.cpp in this process: found, opened, bound, tested and made quiet, once, at import.

The shared libraries come from the installed `llama_cpp` package, but that package itself is never imported: it would
bring numpy, jinja2 and its own bindings (170 ms) for nothing. Everything native goes through `lib`, because a wheel
holds several copies of each ggml file and opening a second one maps a second ggml with its own, empty registry.
"""

import ctypes
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from laguna_engine import child
from laguna_engine.errors import LibraryError
from laguna_engine.native import cuda_runtime, selftest
from laguna_engine.native.log import LEVEL_ERROR, LEVEL_WARN, LogRing
from laguna_engine.native.prototypes import PROTOTYPES, QUICK

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
    cuda_runtime.preload(package / "lib")
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

"""Backends of ggml that are not linked into llama.cpp: plug-ins for the processor and for graphics cards.

A build with GGML_BACKEND_DL knows no device, not even the CPU, until its plug-ins are loaded. The portable wheel has
one for each generation of processors, and ggml takes the best that this one can run. A plug-in for cards (CUDA's, for
one generation of NVIDIA's; Vulkan's, for all vendors') comes as a package of its own, and works beside any build of the
same ggml. Both are loaded here, before the first call that needs a device.

The CUDA backend needs libcudart and libcublas. The `nvidia-*` packages have them, but in folders that no loader
searches. The loader accepts a library that is already open, so they are opened first.
"""

import contextlib
import ctypes
import importlib.metadata
import importlib.util
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from laguna_engine.native.selftest import BINDING_VERSION

PACKAGE = "laguna_ggml_plugins"
"""Where packages with plug-ins put their libraries: `laguna-ggml-cuda-sm86` has `libggml-cuda-sm86.so` there."""

# In order of dependency.
_NAMES = ("libcudart", "libcublasLt", "libcublas")
_CARDS = (1, 2)
"""`GGML_BACKEND_DEVICE_TYPE_GPU` and `_IGPU`."""


def preload(libraries: Path) -> None:
    """Open the libraries that a CUDA backend in the folder `libraries` may need; does nothing where there is none.

    A library that cannot be opened is left to llama.cpp's own loader, whose error names it.
    """
    if not any(libraries.glob("libggml-cuda*")):
        return
    for name in _NAMES:
        for path in packaged_files(name):
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(path))


def packaged_files(name: str) -> list[Path]:
    """Return the files of a library such as `libcudart` in installed `nvidia-*` packages."""
    return sorted(path for folder in _package_folders("nvidia") for path in folder.glob(f"*/lib/{name}.so.*"))


def load(library: Any, folders: Iterable[Path]) -> None:
    """Register the devices of plug-ins: those of the build in `folders`, then those of an installed one for cards.

    A plug-in that cannot be loaded, or finds no card, costs its speed and not the start: ggml's log has the reason.
    """
    for folder in folders:
        if library.ggml_backend_dev_count():
            break
        if folder.is_dir():
            library.ggml_backend_load_all_from_path(os.fsencode(folder))
    for path in card_plugins():
        # A second backend would show every card twice.
        devices = (library.ggml_backend_dev_get(index) for index in range(library.ggml_backend_dev_count()))
        if any(library.ggml_backend_dev_type(device) in _CARDS for device in devices):
            break
        preload(path.parent)
        library.ggml_backend_load(os.fsencode(path))


def card_plugins() -> Iterator[Path]:
    """Yield the installed plug-ins for cards that belong to this release of llama.cpp, the fastest (CUDA) first.

    Another release's structs may differ.
    """
    for folder in _package_folders(PACKAGE):
        for path in sorted(folder.glob("libggml-*.so")):
            distribution = path.stem.replace("libggml-", "laguna-ggml-")
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                if importlib.metadata.version(distribution) == BINDING_VERSION:
                    yield path


def _package_folders(name: str) -> list[Path]:
    found = importlib.util.find_spec(name)
    return [] if found is None else [Path(folder) for folder in found.submodule_search_locations or ()]

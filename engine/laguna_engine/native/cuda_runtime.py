"""NVIDIA's CUDA runtime out of Python packages: opened before llama.cpp, which then finds it by name.

Prebuilt CUDA wheels of llama-cpp-python leave libcudart and libcublas out. The `nvidia-*` packages hold them, but in
folders that no loader searches; a library that is already open is found all the same.
"""

import contextlib
import ctypes
import importlib.util
from pathlib import Path

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

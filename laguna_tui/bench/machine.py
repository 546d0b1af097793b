"""What a benchmark ran on: numbers without it mean nothing."""

import hashlib
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import psutil

from laguna_engine.native.library import device_descriptions, lib
from laguna_tui import __version__
from laguna_tui.base.units import memory

_PIECE = 1 << 24
"""Bytes hashed between two reports of progress."""


@dataclass(frozen=True, slots=True)
class Machine:
    """memory: bytes. cores: physical ones, of which each may run several threads. devices: as llama.cpp sees them."""

    cpu: str
    cores: int
    threads: int
    memory: int
    system: str
    python: str
    devices: tuple[str, ...]
    llama_cpp_python: str
    ggml: str
    app: str

    @classmethod
    def here(cls) -> "Machine":
        """This machine. Loads llama.cpp, which alone knows the devices."""
        logical = psutil.cpu_count() or 1
        return cls(
            cpu=_cpu_name(),
            cores=psutil.cpu_count(logical=False) or logical,
            threads=logical,
            memory=psutil.virtual_memory().total,
            system=f"{platform.system()} {platform.release()}",
            python=platform.python_version(),
            devices=device_descriptions(),
            llama_cpp_python=version("llama-cpp-python"),
            ggml=lib.ggml_version().decode(),
            app=__version__,
        )

    def fields(self) -> dict[str, object]:
        """As JSON-able values."""
        return asdict(self)

    def line(self) -> str:
        """As one line of a report."""
        cores = f"{self.cores} cores" if self.cores == self.threads else f"{self.cores} cores, {self.threads} threads"
        return (
            f"{self.cpu}, {cores}, {memory(self.memory, 0)}; {', '.join(self.devices)}; "
            f"llama-cpp-python {self.llama_cpp_python} (ggml {self.ggml}), laguna-tui {self.app}"
        )


def load_average() -> float | None:
    """How many programs wanted to compute in the last minute; None where the system does not say."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def sha256(path: Path, progress: Callable[[str], None]) -> str:
    """The file's hash, in hexadecimal."""
    digest, size, done = hashlib.sha256(), path.stat().st_size, 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            done += len(piece)
            progress(f"hashing {path.name}: {done / size:.0%}")
    return digest.hexdigest()


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()

"""Machines that are not here: their programs' answers, files and environment, as the real ones give them."""

import fnmatch
import json
from pathlib import Path

from laguna_engine.native.child import MISSING, Output, python_command
from laguna_tui.machine.doctor.host import FolderAccess, Host, TerminalFacts
from laguna_tui.machine.doctor.llama_build import MODULE
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus

GIB = 1 << 30
SITE = "/app/lib/python3.12/site-packages"

CPU_ONLY = {f"{SITE}/llama_cpp/lib/libggml-{kind}.so": "" for kind in ("base", "cpu")}
CUDA_BUILD = {**CPU_ONLY, f"{SITE}/llama_cpp/lib/libggml-cuda.so": ""}

AVX2 = {"/proc/cpuinfo": "model name\t: Some Processor 9000\nflags\t\t: fpu sse2 avx avx2 fma\n"}
AMX = {"/proc/cpuinfo": "model name\t: Some Xeon\nflags\t\t: fpu sse2 avx avx2 fma amx_bf16 amx_tile amx_int8\n"}
NO_AVX2 = {"/proc/cpuinfo": "model name\t: Old Processor 3770\nflags\t\t: fpu sse2 avx\n"}

HEADER = "| NVIDIA-SMI 550.54.14    Driver Version: 550.54.14    CUDA Version: 12.4 |"
RTX_3090 = "NVIDIA GeForce RTX 3090, 550.54.14, 24576, 23012, 8.6"
RTX_3060 = "NVIDIA GeForce RTX 3060, 550.54.14, 12288, 11800, 8.6"
LDCONFIG = {"ldconfig -p": "\tlibvulkan.so.1 (libc6,x86-64) => /usr/lib/libvulkan.so.1"}

LOAD = python_command(MODULE, python="/app/bin/python")

PCI_NVIDIA = {
    "/sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n",
    "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
    "/sys/bus/pci/devices/0000:01:00.0/device": "0x2204\n",
}
PCI_AMD = {
    "/sys/bus/pci/devices/0000:03:00.0/class": "0x030000\n",
    "/sys/bus/pci/devices/0000:03:00.0/vendor": "0x1002\n",
    "/sys/bus/pci/devices/0000:03:00.0/device": "0x744c\n",
    "/sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total": f"{24 * GIB}\n",
    "/sys/bus/pci/devices/0000:03:00.0/mem_info_vram_used": f"{1 * GIB}\n",
}
PCI_INTEL = {
    "/sys/bus/pci/devices/0000:00:02.0/class": "0x030000\n",
    "/sys/bus/pci/devices/0000:00:02.0/vendor": "0x8086\n",
    "/sys/bus/pci/devices/0000:00:02.0/device": "0x46a6\n",
}
PCI_ARC = {
    "/sys/bus/pci/devices/0000:03:00.0/class": "0x030000\n",
    "/sys/bus/pci/devices/0000:03:00.0/vendor": "0x8086\n",
    "/sys/bus/pci/devices/0000:03:00.0/device": "0xe20b\n",
}
DRIVER = {
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 2024\n",
}


def answer(
    devices=(("Some Processor 9000", "cpu"),), backends=("CPU",), features="CPU : AVX2 = 1 | FMA = 1 | ", faults=None
):
    """What a llama.cpp that loads says."""
    told = [{"name": name, "kind": kind} for name, kind in devices]
    build = {"release": "llama-cpp-python 0.3.36, ggml 0.25.3", "backends": backends, "features": features}
    return json.dumps({**build, "devices": told, "faults": faults or {}})


def nvidia(*rows, header=HEADER):
    """An nvidia-smi that lists these cards."""
    return {"nvidia-smi": header, "nvidia-smi --query-gpu": "\n".join(rows)}


class Simulated(Host):
    """A machine. Programs that have no answer are not there; the longest beginning of a command counts.

    An answer is text, an Output, or None for one that never comes.
    """

    def __init__(self, commands=None, files=None, environment=None, *, system="Linux", processor="x86_64", memory=32):
        self.system, self.processor, self.python = system, processor, "/app/bin/python"
        self.commands = {"git --version": "git version 2.45.0\n", **LDCONFIG, **(commands or {})}
        self.commands.setdefault(" ".join(LOAD), answer())
        self.files = {**AVX2, **(CPU_ONLY if files is None else files)}
        self.environment = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})}
        self.memory, self.cores, self.processors = memory * GIB, 8, 16
        self.memory_limit = None
        self.screen = TerminalFacts(True, 120, 40, "utf-8")
        self.rooms = {}
        self.shown_sandbox = SandboxStatus(SandboxKind.BUBBLEWRAP, "Commands run under bubblewrap.")

    @property
    def terminal(self):
        return self.screen

    @property
    def sandbox(self):
        return self.shown_sandbox

    @property
    def bindings(self):
        folder = f"{SITE}/llama_cpp"
        return folder if any(path.startswith(folder) for path in self.files) else None

    def program(self, name):
        return f"/bin/{name}" if any(key.split()[0] == name for key in self.commands) else None

    def run(self, command, limit_s=0.0):
        words = " ".join(command)
        fitting = [key for key in self.commands if words.startswith(key)]
        if not fitting:
            return MISSING
        said = self.commands[max(fitting, key=len)]
        if said is None:
            return Output(None, timed_out=True)
        return said if isinstance(said, Output) else Output(0, said)

    def read(self, path):
        return self.files.get(path)

    def find(self, pattern):
        return sorted(path for path in self.files if fnmatch.fnmatchcase(path, pattern))

    def folder_access(self, folder: Path):
        return self.rooms.get(str(folder), self.rooms.get("*", FolderAccess(str(folder), True, True, 200 * GIB)))


def loads(said):
    """The answer of the program that loads llama.cpp, as a command of a Simulated."""
    return {" ".join(LOAD): said}

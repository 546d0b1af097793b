"""What llama.cpp takes to open a target, and how far its taps are from those of the eval callback."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

import psutil

from laguna_engine.config import EngineOptions
from laguna_engine.fit.devices import devices
from laguna_engine.llama.context import Context
from laguna_engine.llama.model import Model
from laguna_engine.llama.taps_check import TapsAgreement, compare_taps
from laguna_engine.loader import SpeculatorFactory, context_options, usable_context
from laguna_engine.native.library import log

_BUFFER = re.compile(r":\s+(\S+)\s+(model|KV|compute|output) buffer size =\s+([\d.]+) MiB")
"""llama.cpp's lines on what it allocates, such as "llama_kv_cache:      CUDA0 KV buffer size =   640.00 MiB"."""

_PARTS = {"model": "weights", "KV": "kv", "compute": "compute", "output": "output"}
"""Their names in `laguna_engine.fit.memory.DeviceMemory`."""

_GPU = re.compile(r"(?:CUDA|ROCm|Vulkan|MTL|SYCL|MUSA)\d+")
HOST = "CPU"
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """A target as it was opened.

    Attributes:
        buffers: bytes by part, of each device; host memory of any kind is "CPU".
        taken: bytes less that each device but the CPU has free.
        resident: bytes that the process grew by, mapped weights included as far as they were touched.
        taps: the taps beside those of the eval callback.
    """

    buffers: Mapping[str, Mapping[str, int]]
    taken: Mapping[str, int]
    resident: int
    taps: TapsAgreement

    def total(self, device: str) -> int:
        return sum(self.buffers.get(device, {}).values())


def check_target(options: EngineOptions) -> TargetCheck:
    """Open a target with taps, as the engine does, and close it.

    Raises:
        EngineError: it cannot be opened.
    """
    process = psutil.Process()
    free, resident = {facts.name: facts.free for facts in devices()}, process.memory_info().rss
    buffers: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    with _model(options) as (model, factory):
        _add_buffers(buffers)
        wanted = context_options(options, usable_context(model.header, options.n_ctx)[0])
        taps = factory.taps(wanted)
        with closing(Context(model, wanted, taps)) as context:
            _add_buffers(buffers)
            taken = {facts.name: free[facts.name] - facts.free for facts in devices() if facts.kind != "cpu"}
            resident = process.memory_info().rss - resident
            return TargetCheck(buffers, taken, resident, compare_taps(model, wanted, context, taps))


@contextmanager
def _model(options: EngineOptions) -> Iterator[tuple[Model, SpeculatorFactory]]:
    log.clear()
    model = Model.open(
        options.model,
        gpu_layers=options.gpu_layers,
        extra_bufts=options.repack,
        tensors_in_ram=options.tensors_in_ram,
        split=options.split,
    )
    with closing(model):
        factory = SpeculatorFactory(model, options)
        factory.check()
        yield model, factory


def _add_buffers(buffers: dict[str, dict[str, int]]) -> None:
    """Count the buffers that llama.cpp has logged, and clear its log."""
    for line in log.recent():
        found = _BUFFER.search(line)
        if found is not None:
            name, part, size = found.groups()
            card = _GPU.fullmatch(name)
            buffers[card[0] if card else HOST][_PARTS[part]] += round(float(size) * _MIB)
    log.clear()

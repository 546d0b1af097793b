"""How fast a model would decode on this machine, from measured rates of its devices.

A token reads every weight that is active for it once, and each operation of the graph costs a fixed time besides:
threads meet, or a kernel is launched. Both are measured for each device with ggml's own matrix product, in a child
process, because a driver may crash. The rates are stored for one build and machine (`native.verdicts`). So is the speed
at which a model really answered, which replaces the computed one.

Run as a program with the number of threads, this module is that child: it writes the rates as JSON.
"""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from laguna_engine.errors import EngineError
from laguna_engine.fit.devices import Machine
from laguna_engine.fit.memory import ALL, HOST
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.fit.plan_search import PlanCandidate
from laguna_engine.ggml.device import ComputeBackend, Device
from laguna_engine.ggml.graph import Graph
from laguna_engine.ggml.tensor import TensorContext, Type
from laguna_engine.native import child
from laguna_engine.native.library import trial_command
from laguna_engine.native.verdicts import verdicts

PROBE = __name__
_LIMIT_S = 30.0
_MEASURED_S = 0.8
"""Seconds for each of the two rates of a device: with starting the child, two seconds on a machine without a GPU."""

_LARGE, _MATRICES = 4096, 32
"""32 square matrices of 9 MiB as Q4_K, 288 MiB in all: more than the caches of common processors."""

_SMALL, _CHAIN = 256, 64
"""A chain of products so small that only the fixed cost of an operation counts."""

_OPERATIONS_PER_LAYER = 30
"""Nodes of a layer with experts in llama.cpp's graph that are launched by themselves (`src/models/laguna.cpp`)."""

_WARM_UP = 2
_DISTURBED = 3
"""Exit code: the threads had less than `_SHARE` of the processor. As they wait for each other at every operation, the
rates may then be a hundred times too low."""

_SHARE = 0.85


@dataclass(frozen=True, slots=True)
class DeviceRate:
    """Measured rates of a device.

    Attributes:
        bytes_per_s: bytes of weights that it reads and multiplies in a second.
        operation_s: seconds that an operation takes besides.
    """

    bytes_per_s: float
    operation_s: float


def measured_rates(machine: Machine) -> Mapping[str, DeviceRate]:
    """Return the rates of this machine's devices by name; takes two seconds once.

    They are empty if the measurement failed or other programs disturbed it; the next call tries again.

    machine: this one; of a simulated one nothing is measured.
    """
    if machine.name:
        return {}
    if known := known_rates(machine):
        return known
    ended = child.run(trial_command(PROBE, str(_threads(machine))), _LIMIT_S)
    if not ended.good:
        return {}
    verdicts.put(_subject(machine), ended.text)
    return _parsed(ended.text)


def known_rates(machine: Machine) -> Mapping[str, DeviceRate]:
    """Return the rates that were measured before; empty if none were."""
    return _parsed(verdicts.get(_subject(machine)) or "") if not machine.name else {}


_ENOUGH = 32
"""Tokens of an answer that are enough to measure."""

_CHANGED = 0.1
"""Relative difference from which a new measurement is stored."""


def measured_rate(model: Path) -> float | None:
    """Return the tokens per second of the newest answer of a model file on this machine, drafts included."""
    try:
        return float(verdicts.get(_answers(model)) or "")
    except ValueError:
        return None


def record_rate(model: Path, tokens: int, rate: float | None) -> None:
    """Store how fast a model wrote an answer of so many tokens; too short a one says little."""
    if rate is None or tokens < _ENOUGH:
        return
    known = measured_rate(model)
    if known is None or abs(rate - known) > _CHANGED * known:
        verdicts.put(_answers(model), f"{rate:.3g}")


def _answers(model: Path) -> str:
    try:
        return f"answers {model.stat().st_size} {model.name}"
    except OSError:
        return f"answers {model.name}"


def _parsed(text: str) -> Mapping[str, DeviceRate]:
    try:
        pairs = msgspec.json.decode(text, type=dict[str, tuple[float, float]])
    except msgspec.DecodeError:
        return {}
    return {name: DeviceRate(*pair) for name, pair in pairs.items() if min(pair) > 0}


def expected_rate(shape: ModelShape, plan: PlanCandidate, rates: Mapping[str, DeviceRate]) -> float | None:
    """Return the tokens per second at the start of a conversation, without drafts; None if that is unknown.

    It is unknown for a model that is read from disk, and on a device that was not measured.
    """
    gpus = [device for device in plan.memory.gpus if device.weights]
    if plan.paged or any(device.name not in rates for device in gpus) or HOST not in rates:
        return None
    # llama.cpp places the last layers on the GPUs, and then the output.
    layers, placed = len(shape.layers), plan.load.gpu_layers
    on_gpu = layers if placed == ALL else min(placed, layers)
    parts = {HOST: [0.0, 0], "": [0.0, 0]}
    for number, layer in enumerate(shape.layers):
        place = "" if gpus and number >= layers - on_gpu else HOST
        experts = HOST if number in plan.load.experts_in_ram else place
        active = layer.experts_size * layer.experts_used / layer.experts if layer.experts else 0.0
        parts[place][0] += layer.size
        parts[experts][0] += active
        parts[place][1] += _OPERATIONS_PER_LAYER
    parts["" if gpus and (placed == ALL or placed > layers) else HOST][0] += shape.output_size
    seconds = _seconds(rates[HOST], *parts[HOST])
    total = sum(device.weights for device in gpus)
    for device in gpus:
        share = device.weights / total
        seconds += share * _seconds(rates[device.name], *parts[""])
    return 1 / seconds if seconds > 0 else None


def _seconds(rate: DeviceRate, size: float, operations: float) -> float:
    return size / rate.bytes_per_s + operations * rate.operation_s


def _threads(machine: Machine) -> int:
    """Return how many threads a model computes with as a rule (`explanation.threads_for`)."""
    return max(1, machine.cores - 1)


def _subject(machine: Machine) -> str:
    devices = " ".join(f"{device.name}={device.description}" for device in (*machine.gpus, *machine.devices[-1:]))
    return f"rates of {_threads(machine)} threads {devices}"


def _measure(device: Device, threads: int) -> DeviceRate:
    backend = ComputeBackend(device, threads)
    try:
        operation = _shortest(backend, _SMALL, 1, _CHAIN) / _CHAIN
        # Each by itself, so that one is hardly ever disturbed; to start a graph on a GPU takes as long as a matrix.
        matrices = 1 if device.is_cpu else _MATRICES
        seconds = _shortest(backend, _LARGE, _MATRICES // matrices, matrices)
    finally:
        backend.close()
    size = Type.Q4_K.row_bytes(_LARGE) * _LARGE * matrices
    return DeviceRate(size / max(seconds - matrices * operation, seconds / 2), operation)


def _shortest(backend: ComputeBackend, width: int, graphs: int, products: int) -> float:
    """Return the shortest time of a graph of matrix-vector products, in seconds; each has a square matrix of its own.

    The graphs are run in turn, so that none finds its matrices in a cache.
    """
    count = graphs * products
    arena, built = TensorContext(count), [Graph(backend, 2 * products) for _ in range(graphs)]
    try:
        matrices = [arena.new(f"matrix{number}", Type.Q4_K, width, width) for number in range(count)]
        arena.allocate(backend.buffer_type, weights=True)
        arena.clear()
        for at, graph in enumerate(built):
            x = graph.input("x", Type.F32, width, 1)
            for matrix in matrices[at * products : (at + 1) * products]:
                graph.output(f"y{matrix.name}", graph.mul_mat(matrix, x))
            graph.finish()
            graph.write("x", np.ones((1, width), np.float32))
        best, end, rounds = float("inf"), time.perf_counter() + _MEASURED_S, 0
        while rounds <= _WARM_UP or time.perf_counter() < end:
            for graph in built:
                began = time.perf_counter()
                graph.compute()
                backend.synchronize()
                if rounds >= _WARM_UP:
                    best = min(best, time.perf_counter() - began)
            rounds += 1
        return best
    finally:
        for graph in built:
            graph.close()
        arena.close()


def main(threads: int) -> int:
    """Write the rates of the CPU and of every GPU that can be measured; returns the exit code."""
    rates: dict[str, tuple[float, float]] = {}
    share = 1.0
    for device in (*Device.gpus(), Device.cpu()):
        began, used = time.perf_counter(), time.process_time()
        try:
            rate = _measure(device, threads)
        except EngineError:
            continue
        if device.is_cpu:
            share = (time.process_time() - used) / (time.perf_counter() - began) / threads
        rates[device.name] = (float(f"{rate.bytes_per_s:.3g}"), float(f"{rate.operation_s:.3g}"))
    sys.stdout.write(json.dumps(rates))
    # A single thread waits for no other, and the shortest time is one in which it was not interrupted.
    return 0 if share > _SHARE or threads == 1 else _DISTURBED


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))

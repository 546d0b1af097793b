"""Extra buffer types of the CPU are tried in a child process first, and not used if that dies."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from laguna_engine.compress.scorer import Scorer
from laguna_engine.engine import Engine, EngineOptions, Request
from laguna_engine.ggml import extra_buffers
from laguna_engine.ggml.device import ComputeBackend
from laguna_engine.ggml.gguf_writer import quantized
from laguna_engine.ggml.tensor import Type
from laguna_engine.ggml.weights import Weights
from laguna_engine.gguf import header
from laguna_engine.llama import model as model_module
from laguna_engine.llama.model import Model
from laguna_engine.native import child
from laguna_engine.native.verdicts import Verdicts
from tests.engine import drafters, scorers, tiny
from tests.engine.runs import gather

SEGFAULT = "import ctypes; ctypes.string_at(0)"
WRONG_PRODUCTS = "raise SystemExit(3)"
BROKEN = "raise SystemExit(1)"
MATRIX = "blk.0.attn_q.weight"


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Verdicts:
    """A process without any verdicts."""
    fresh = Verdicts()
    monkeypatch.setattr(extra_buffers, "verdicts", fresh)
    monkeypatch.setattr(extra_buffers, "_untried", set())
    return fresh


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch, verdicts: Verdicts) -> Callable[[str], list[str]]:
    """Replaces the trial by another program, and lists the buffer types tried with it."""
    real = child.python_command

    def replaced(program: str) -> list[str]:
        asked: list[str] = []

        def command(module: str, name: str, **other: object) -> tuple[str, ...]:
            if module != extra_buffers.TRIAL:
                return real(module, name, **other)
            asked.append(name)
            return (sys.executable, "-c", program)

        monkeypatch.setattr(child, "python_command", command)
        return asked

    return replaced


@pytest.fixture
def kinds() -> list[str]:
    """The extra buffer types on this machine."""
    backend = ComputeBackend.cpu()
    names = [extra_buffers.name_of(kind) for kind in backend.extra_buffer_types()]
    backend.close()
    if not names:
        pytest.skip("this llama.cpp was built without any")
    return names


@pytest.fixture
def quantized_path(tmp_path: Path) -> Path:
    """The tiny model with matrices in Q4_0, which every extra buffer type supports."""
    return in_blocks(tiny.laguna(tiny.Shape(n_ff=128))).write(tmp_path / "quantized.gguf")


def in_blocks(file: tiny.GgufFile) -> tiny.GgufFile:
    for name, array in file.tensors.items():
        if array.ndim == 2 and array.dtype == np.float16 and name != "token_embd.weight":
            data = quantized(array.astype(np.float32).ravel(), array.shape[1], Type.Q4_0)
            file.tensors[name] = tiny.Quantized(Type.Q4_0, array.shape, data)
    return file


def places(path: Path) -> set[str]:
    """The buffer types that hold a matrix of the file."""
    backend = ComputeBackend.cpu()
    weights = Weights(header.check(path), [MATRIX], backend)
    buffer = weights[MATRIX].buffer
    found = {extra_buffers.name_of(extra_buffers.lib.ggml_backend_buffer_get_type(buffer))}
    weights.close()
    backend.close()
    return found


def test_the_real_trial_says_whether_the_kinds_of_this_machine_work(kinds: list[str], verdicts: Verdicts) -> None:
    for name in kinds:
        found = extra_buffers.verdict(name)
        assert found == extra_buffers.WORKS or found.startswith("it crashes with SIG")
        assert verdicts.get(extra_buffers.subject(name)) == found


def test_a_kind_that_works_is_used(kinds: list[str], quantized_path: Path, trials: Callable[[str], list[str]]) -> None:
    trials("")
    assert places(quantized_path) <= set(kinds)


def test_a_kind_whose_trial_dies_is_left_out(
    kinds: list[str], quantized_path: Path, trials: Callable[[str], list[str]]
) -> None:
    tried = trials(SEGFAULT)
    assert places(quantized_path) == {"CPU"}
    assert set(tried) <= set(kinds)
    assert extra_buffers.faults() == dict.fromkeys(kinds, "it crashes with SIGSEGV")


@pytest.mark.parametrize(
    ("program", "why"), [(WRONG_PRODUCTS, "its products are wrong"), (BROKEN, "it could not be tested")]
)
def test_so_is_one_whose_products_are_wrong_or_that_cannot_be_tried(
    kinds: list[str], quantized_path: Path, trials: Callable[[str], list[str]], program: str, why: str
) -> None:
    tried = trials(program)
    assert places(quantized_path) == {"CPU"}
    assert set(extra_buffers.faults().values()) == {why}
    count = len(tried)
    extra_buffers.faults()
    assert len(tried) == count


def test_each_kind_is_tried_once(kinds: list[str], quantized_path: Path, trials: Callable[[str], list[str]]) -> None:
    tried = trials(SEGFAULT)
    for _ in range(3):
        extra_buffers.faults()
        places(quantized_path)
    assert tried == kinds


def test_a_remembered_verdict_starts_no_child(
    kinds: list[str], tmp_path: Path, trials: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = trials(SEGFAULT)
    for _ in range(2):
        remembering = Verdicts()
        remembering.store_in(tmp_path / "native.json")
        monkeypatch.setattr(extra_buffers, "verdicts", remembering)
        assert extra_buffers.faults() == dict.fromkeys(kinds, "it crashes with SIGSEGV")
    assert tried == kinds


def test_weights_in_plain_formats_need_no_trial(tiny_model_path: Path, trials: Callable[[str], list[str]]) -> None:
    tried = trials(SEGFAULT)
    with Engine.open(EngineOptions(tiny_model_path, n_ctx=256, threads=1)):
        pass
    assert tried == []


@pytest.mark.parametrize(("program", "expected"), [(SEGFAULT, False), ("", True)])
def test_a_target_is_opened_without_repacking_where_a_kind_dies(
    kinds: list[str],
    quantized_path: Path,
    trials: Callable[[str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    expected: bool,
) -> None:
    trials(program)
    seen: list[bool] = []
    load = model_module.lib.llama_model_load_from_file

    def loading(path: bytes, params: object) -> object:
        seen.append(params.use_extra_bufts)
        return load(path, params)

    monkeypatch.setattr(model_module.lib, "llama_model_load_from_file", loading)
    Model.open(quantized_path).close()
    assert seen == [expected]


def test_everything_that_computes_with_quantized_weights_does_without(
    kinds: list[str], quantized_path: Path, tmp_path: Path, trials: Callable[[str], list[str]]
) -> None:
    trials(SEGFAULT)
    drafter = in_blocks(drafters.make(drafters.Variant(half=True))).write(tmp_path / "drafter.gguf")
    with Engine.open(EngineOptions(quantized_path, n_ctx=256, threads=1, drafter=drafter)) as engine:
        assert engine.info.drafter != ""
        assert len(gather(engine.generate(Request([5, 6, 7], max_tokens=4))).tokens) == 4
    scorer_path = in_blocks(scorers.make(scorers.Variant())).write(tmp_path / "scorer.gguf")
    with Scorer.open(scorer_path, threads=1) as scorer:
        assert len(scorer.score(["def add(a, b):"], "where is it?")) == 1


def test_the_trial_is_a_program_that_ends_well_or_dies(kinds: list[str]) -> None:
    for name in kinds:
        ended = child.run(child.python_command(extra_buffers.TRIAL, name), 60)
        assert ended.good or ended.signal


@pytest.mark.skipif(sys.platform != "linux", reason="core files are looked for as Linux leaves them")
def test_a_child_that_dies_leaves_no_core_file(tmp_path: Path) -> None:
    program = f"from laguna_engine.native.child import confine; confine(1 << 30, 30); {SEGFAULT}"
    environment = {**os.environ, "PYTHONPATH": str(Path(child.FOLDER).parent)}
    command = ["bash", "-c", f"ulimit -c unlimited; exec {sys.executable} -c '{program}'"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True)
    assert ended.returncode == -11
    assert list(tmp_path.iterdir()) == []

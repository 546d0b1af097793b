"""Fallback with a real engine, in a process that cannot allocate the planned memory."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from laguna_engine.errors import ContextOutOfMemory, ModelFileError
from laguna_engine.fit.devices import installed_build
from laguna_engine.fit.fallback import FailedPlans, open_with_fallback
from tests.engine import tiny
from tests.engine.fit import plans

CHILD = Path(__file__).with_name("short_of_memory.py")
MORE = 1700 << 20


def run(path: Path, notes: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, CHILD, path, notes, str(MORE)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses memory by address space")
def test_when_memory_runs_out_a_smaller_plan_is_opened_told_and_remembered(tmp_path: Path):
    shape = tiny.Shape(head=64, kv_heads=4, full_heads=4, sliding_heads=4, n_ctx=1 << 20)
    path = tiny.laguna(shape).write(tmp_path / "long.gguf")
    first, again = (run(path, tmp_path / "notes.json") for _ in range(2))
    for tries in (first, again):
        assert tries["found"] != tries["first"] and tries["got"] == tries["asked"]
    assert first["told"][0] == "Memory ran out now; trying micro-batches of 256."
    # What failed is known now, so the first try is already a smaller one.
    assert again["told"][0].startswith("Memory ran out the last time; trying micro-batches of")


def test_what_fails_for_another_reason_is_not_tried_again():
    tried: list[str] = []

    def damaged(plan: plans.Plan) -> None:
        tried.append(plan.key)
        raise ModelFileError("the file is damaged: download it again")

    plan = plans.plan_for("24GB desktop")
    with pytest.raises(ModelFileError) as error:
        open_with_fallback(plan, FailedPlans(None, "xs", plan.machine, "test"), damaged, print)
    assert str(error.value) == "the file is damaged: download it again"
    assert tried == [plan.key]


def test_when_nothing_can_be_opened_the_last_failure_is_raised():
    tried: list[str] = []

    def refuse(plan: plans.Plan) -> None:
        tried.append(plan.key)
        raise ContextOutOfMemory(f"failed to allocate {len(tried)}")

    plan = plans.plan_for("24GB desktop")
    with pytest.raises(ContextOutOfMemory, match="allocate 6"):
        open_with_fallback(plan, FailedPlans(None, "xs", plan.machine, "test"), refuse, lambda line: None)
    assert len(tried) == len(set(tried)) == 6


def test_the_build_names_the_binding_and_its_backends():
    assert installed_build().startswith("llama-cpp-python 0.3.") and "CPU" in installed_build()

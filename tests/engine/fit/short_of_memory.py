"""A process with limited memory: prints as JSON which plan opened the given model."""

import json
import resource
import sys
from pathlib import Path

import psutil

from laguna_engine.config import EngineOptions
from laguna_engine.engine import Engine
from laguna_engine.fit.devices import simulated_machine
from laguna_engine.fit.fallback import FailedPlans, open_with_fallback
from laguna_engine.fit.plan import Plan, choose_plan
from laguna_engine.fit.plan_search import PlanConstraints, Priority
from laguna_engine.gguf import header


def opened(plan: Plan, path: Path) -> int:
    load = plan.load
    options = EngineOptions(path, n_ctx=load.n_ctx, n_ubatch=load.n_ubatch, kv_type=load.kv, threads=1)
    with Engine.open(options) as engine:
        return engine.info.n_ctx


def main(path: Path, notes: Path, more: int) -> None:
    plan = choose_plan(
        header.check(path), None, simulated_machine("cpu-64GB"), PlanConstraints(priority=Priority.QUALITY)
    )
    limit = psutil.Process().memory_info().vms + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    told: list[str] = []
    found, n_ctx = open_with_fallback(
        plan, FailedPlans(notes, "tiny", plan.machine, "test"), lambda step: opened(step, path), told.append
    )
    print(json.dumps({"first": plan.key, "found": found.key, "asked": found.load.n_ctx, "got": n_ctx, "told": told}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))

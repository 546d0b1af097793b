"""A process that may take only so much more memory than it has: which plan opens the model it is given, as JSON."""

import json
import resource
import sys
from pathlib import Path

import psutil

from laguna_engine.engine import Engine
from laguna_engine.fit.ladder import Notes, climb
from laguna_engine.fit.plan import Plan, choose_plan
from laguna_engine.fit.simulated import simulated
from laguna_engine.fit.wishes import First, Wishes
from laguna_engine.gguf import header
from laguna_engine.options import EngineOptions


def opened(plan: Plan, path: Path) -> int:
    load = plan.load
    options = EngineOptions(path, n_ctx=load.n_ctx, n_ubatch=load.n_ubatch, kv_type=load.kv, threads=1)
    with Engine.open(options) as engine:
        return engine.info.n_ctx


def main(path: Path, notes: Path, more: int) -> None:
    plan = choose_plan(header.check(path), None, simulated("cpu-64GB"), Wishes(first=First.QUALITY))
    limit = psutil.Process().memory_info().vms + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    told: list[str] = []
    found, n_ctx = climb(plan, Notes(notes, "tiny", plan.machine, "test"), lambda rung: opened(rung, path), told.append)
    print(json.dumps({"first": plan.key, "found": found.key, "asked": found.load.n_ctx, "got": n_ctx, "told": told}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))

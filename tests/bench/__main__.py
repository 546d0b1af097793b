"""Runs every benchmark: `make bench`. Prints tables and asserts nothing."""

import subprocess
import sys

BENCHMARKS = (
    "cold_start",
    "engine_overhead",
    "tui_engine",
    "tui_stream",
    "spec_memory_bound",
    "spec_overhead",
    "scorer_cost",
)

for name in BENCHMARKS:
    print(f"\n## {name}\n", flush=True)
    subprocess.run([sys.executable, "-m", f"tests.bench.{name}"], check=True)

"""Plans as readable text: `python -m tests.engine.fit.plans` rewrites the reviewed table, plans.txt."""

from functools import cache
from pathlib import Path

from laguna_engine.fit.devices import simulated_machine
from laguna_engine.fit.known_models import XS_DRAFTER, known_model
from laguna_engine.fit.model_shape import ModelShape
from laguna_engine.fit.plan import DoesNotFit, Plan, choose_plan
from laguna_engine.fit.plan_search import budgets

REVIEWED = Path(__file__).with_name("plans.txt")

MACHINES = {
    "RTX 3090": "24GB",
    "RTX 3090 with a desktop": "24GB desktop",
    "RTX 4090 and 64 GB of RAM": "24GB ram-64GB 16cores",
    "2 x RTX 3060": "2x12GB",
    "2 x RTX 3060 with a desktop": "2x12GB desktop",
    "16 GB card": "16GB",
    "12 GB card with a desktop": "12GB desktop",
    "8 GB card": "8GB",
    "8 GB card and 16 GB of RAM": "8GB ram-16GB",
    "80 GB card": "80GB ram-128GB 32cores",
    "Apple, 32 GB": "apple-32GB",
    "Apple, 64 GB": "apple-64GB",
    "CPU, 32 GB": "cpu-32GB",
    "CPU, 16 GB": "cpu-16GB",
    "CPU, 4 GB": "cpu-4GB 2cores",
}


@cache
def laguna_xs() -> ModelShape:
    """The published XS-2.1."""
    facts = {"block_count": 40, "embedding_length": 2048, "expert_count": 256}
    shape = known_model("Laguna XS 2.1", facts, 262_144, 20_274_300_032)
    assert shape is not None
    return shape


@cache
def plan_for(machine: str) -> Plan:
    """Plan of Laguna XS 2.1 with its drafter on a machine; raises DoesNotFit."""
    return choose_plan(laguna_xs(), XS_DRAFTER, simulated_machine(machine))


def told(plan: Plan) -> str:
    """A plan as text."""
    room = budgets(plan.machine)
    lines = [f"  {reason.subject:<12} {reason.choice}: {reason.text}" for reason in plan.reasons]
    lines += [
        f"  {device.name:<12} {device.total / 2**30:.2f} of {room[device.name] / 2**30:.2f} GiB"
        for device in plan.memory.devices
    ]
    lines += [f"  given up     {line}" for line in plan.given_up]
    lines += [f"  next         {plan.next_step}"] if plan.next_step else []
    return "\n".join(lines)


def table() -> str:
    """Plans of Laguna XS 2.1 for all machines, as text."""
    found = []
    for name, specification in MACHINES.items():
        try:
            text = told(plan_for(specification))
        except DoesNotFit as error:
            text = f"  refused      {error}"
        found.append(f"{name} ({specification})\n{text}\n")
    return "\n".join(found)


if __name__ == "__main__":
    REVIEWED.write_text(table(), encoding="utf-8")

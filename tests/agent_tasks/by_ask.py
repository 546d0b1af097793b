"""Runs a task through `laguna-tui ask`, in this process, by the command line's own arguments."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent_tasks.task import Outcome, Task, ToolCallRecord
from tests.scripted_model import Script
from tests.scripted_model.ask import run


def arguments(task: Task, folder: Path) -> list[str]:
    """The command line of a task, without the model."""
    rules = [word for rule in task.allow for word in ("--allow", rule)]
    rules += [word for rule in task.deny for word in ("--deny", rule)]
    where = ("--folder", str(folder), "--context", str(task.context), "--mode", task.mode)
    return ["ask", "--stream-json", *where, *rules, task.question]


def run_by_ask(task: Task, folder: Path, home: Path, output: Callable[[], str]) -> tuple[int, Outcome]:
    """Run the task in a folder that holds its files; the exit code, and what came of it.

    Args:
        home: an empty folder for the model.
        output: gives what was printed since it was last asked.
    """
    script = task.script(folder)
    code = run(script, arguments(task, folder), home)
    events = [json.loads(line) for line in output().splitlines()]
    return code, outcome_of(events, folder, script)


def outcome_of(events: list[dict[str, Any]], folder: Path, script: Script) -> Outcome:
    """The outcome that a stream of events tells of."""
    started = {event["call_id"]: event for event in events if event["type"] == "tool_started"}
    calls = [
        ToolCallRecord(event["name"], started[event["call_id"]]["arguments"], event["output"], event["ok"])
        for event in events
        if event["type"] == "tool_finished"
    ]
    answer = "".join(event["text"] for event in events if event["type"] == "text_delta")
    ends = [event["end"] for event in events if event["type"] == "turn_finished"]
    return Outcome(folder, answer, ends[-1] if ends else "", calls, script, [event["type"] for event in events])

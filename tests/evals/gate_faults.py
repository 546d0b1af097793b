"""Whether `laguna-tui eval --compare` catches faults in the engine: `python -m tests.evals.gate_faults [TASKS]`.

Laguna Nano does look-ups plainly, with drafts, and with drafts and one fault at a time. The first two have to be equal;
no run with a fault may pass beside the one with drafts. Drafts have a fixed length: left alone, a drafter seldom
right rests. For faults in what the DFlash drafter reads it drafts alone, in both runs: which one drafts is chosen by
measured times, so that acceptance varies from run to run.
"""

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest import mock

from laguna_engine.constrain.base import FREE, Constraints, RowMask
from laguna_engine.draft import dflash_kv
from laguna_engine.events import Source
from laguna_engine.llama.context import Context
from laguna_engine.llama.taps import HiddenStates
from laguna_engine.speculate import speculator
from laguna_tui.cli import main as cli
from laguna_tui.evals.task import TaskSet, load_tasks

_OPTIONS = ("--draft-length", "4", "--temperature", "0", "--quiet")
TASKS, POINTS = 20, 15
"""Twenty tasks that never differ have an interval of 13 points on either side."""
_LOST, _SHIFT = 96, 64
"""Positions that are removed too many, but for the last; and rows by which hidden states are moved."""


def wrong_accept(draft: Sequence[int], pick: Callable[[int], int]) -> list[int]:
    """As `speculator.accept`, but what is rejected first is committed in the place of the target's own token."""
    committed: list[int] = []
    for row, proposed in enumerate(draft):
        committed.append(proposed)
        if pick(row) != proposed:
            return committed
    committed.append(pick(len(draft)))
    return committed


def shifted_rows(self: HiddenStates, start: int, count: int) -> Any:
    """As `HiddenStates.rows_of`, which the graph hook writes by, some rows further."""
    return _rows_of(self, start + _SHIFT, count)


def shifted_upload(self: HiddenStates, start: int, values: Any) -> None:
    """As `HiddenStates.upload`, which the callback writes by, some rows further."""
    _upload(self, start + _SHIFT, values)


def blind_look(self: dflash_kv.Mask, length: int) -> None:
    """As `Mask.look`, but a drafter's block sees nothing of what was computed before it."""
    _look(self, length)
    self._positions[:] = dflash_kv._HIDDEN


def wide_remove(self: Context, start: int, end: int | None = None) -> None:
    """As `Context.remove`, but what was accepted just before a rejected draft goes too."""
    _remove(self, start, end)
    if end is None and start > _LOST:
        _remove(self, start - _LOST, start - 1)


def late_mask(self: Constraints) -> RowMask:
    """As `Constraints.mask`, but of the row before."""
    before, self.__dict__["late"] = self.__dict__.get("late", FREE), _mask(self)
    return before


_remove = Context.remove
_rows_of, _upload = HiddenStates.rows_of, HiddenStates.upload
_look, _mask = dflash_kv.Mask.look, Constraints.mask
FAULTS: Mapping[str, Callable[[], AbstractContextManager[object]]] = {
    "acceptance: a rejected token committed": lambda: mock.patch.object(speculator, "accept", wrong_accept),
    "taps: hidden states in the wrong rows": lambda: mock.patch.multiple(
        HiddenStates, rows_of=shifted_rows, upload=shifted_upload
    ),
    "drafter's mask: it sees nothing before": lambda: mock.patch.object(dflash_kv.Mask, "look", blind_look),
    "KV cache: accepted tokens removed": lambda: mock.patch.object(Context, "remove", wide_remove),
    "masks of constraints: one row late": lambda: mock.patch.object(Constraints, "mask", late_mask),
}


_OF_DFLASH = {title for title in FAULTS if title.startswith(("taps", "drafter's"))}


def _alone() -> AbstractContextManager[object]:
    return mock.patch.object(speculator.Speculator, "_asked", _only_dflash)


def _only_dflash(_speculator: speculator.Speculator, source: Source) -> bool:
    return source == Source("dflash")


def main(arguments: Sequence[str]) -> int:
    """Run all and compare; returns how many comparisons come out wrong."""
    lookups = [task.name for task in load_tasks().values() if task.set is TaskSet.LOOKUPS]
    # Nano finds places; it does not read what a function returns.
    lookups = [name for name in lookups if not name.startswith("number_")]
    number = int(arguments[0]) if arguments else TASKS
    names = lookups[:: len(lookups) // number][:number]
    with tempfile.TemporaryDirectory() as folder:

        def answered(title: str, speculation: str = "fast") -> str:
            print(f"running: {title}", file=sys.stderr, flush=True)
            out = str(Path(folder, title.partition(":")[0]))
            chosen = [word for name in names for word in ("--task", name)]
            with contextlib.redirect_stdout(io.StringIO()):
                code = cli.main(["eval", *chosen, "--out", out, "--speculation", speculation, *_OPTIONS])
            assert code == 0, f"{title} ended with {code}"
            return out

        def compared(title: str, first: str, second: str) -> int:
            print(f"\n## {title}\n", flush=True)
            return cli.main(["eval", "--compare", first, second, "--points", str(POINTS)])

        with _alone():
            alone = answered("drafts of DFlash alone")
        drafted, plain = answered("drafts"), answered("plain", "off")
        wrong = sum(
            compared(f"plain, then {name}", plain, run) for name, run in (("drafts", drafted), ("DFlash", alone))
        )
        for title, fault in FAULTS.items():
            reads = title in _OF_DFLASH
            with fault(), _alone() if reads else contextlib.nullcontext():
                faulty = answered(title)
            wrong += compared(f"drafts, then with a fault in {title}", alone if reads else drafted, faulty) != 1
    print("\nas expected" if not wrong else f"\n{wrong} comparisons came out otherwise")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The table of a reduced vocabulary: which of the target's tokens each of the drafter's tokens is.

Speculators stores offsets (target = draft + table[draft]), llama.cpp's converter writes the targets themselves. Both
lists name every target once, so a table that names one twice is of the other kind.
"""

import numpy as np
from numpy.typing import NDArray

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf.drafter import DrafterHeader


def read(drafter: DrafterHeader, vocabulary: int) -> NDArray[np.int32] | None:
    """The target's token for each of the drafter's; None if they are the same. ModelFileError if it cannot be that."""
    info = drafter.tensors.get("d2t")
    if info is None:
        return None
    kind = {"i32": np.int32, "i64": np.int64}[info.format]
    with drafter.path.open("rb") as file:
        file.seek(info.offset)
        data = file.read(info.size)
    if len(data) != info.size:
        raise ModelFileError(f"{drafter.path}: it became shorter while it was read; download it again")
    table = np.frombuffer(data, kind).astype(np.int64)
    for targets in (table, table + np.arange(len(table))):
        if _names_each_once(targets, vocabulary):
            return targets.astype(np.int32)
    raise ModelFileError(
        f"{drafter.path}: its table d2t names tokens twice or outside the model's {vocabulary}; "
        "choose the drafter that was made for this model, or download it again"
    )


def _names_each_once(targets: NDArray[np.int64], vocabulary: int) -> bool:
    inside = int(targets.min()) >= 0 and int(targets.max()) < vocabulary
    return inside and len(np.unique(targets)) == len(targets)

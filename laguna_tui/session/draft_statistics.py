"""What an engine learned about which drafts pay off, saved between sessions: a small JSON file for each combination.

The file only saves time: a damaged or missing one is as good as none.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from laguna_engine.files import read_small_file, write_atomically

# What is learned takes a few kilobytes; a larger file is not ours.
LIMIT_BYTES = 1 << 20
_HASH_LETTERS = 16


def draft_statistics_path(folder: Path, name: str, parts: Iterable[str]) -> Path:
    """Return the file for a model.

    Args:
        folder: the user's state folder.
        name: the model's.
        parts: everything that its speed depends on.
    """
    mark = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:_HASH_LETTERS]
    plain = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in name)
    return folder / "economy" / f"{plain}-{mark}.json"


def load_draft_statistics(path: Path) -> dict[str, object] | None:
    """Return what was learned; None if there is nothing usable."""
    try:
        value = json.loads(read_small_file(path, LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def save_draft_statistics(path: Path, value: Mapping[str, object]) -> None:
    """Save what was learned, atomically. If the disk refuses, it is learned again."""
    with contextlib.suppress(OSError):
        write_atomically(path, json.dumps(value))

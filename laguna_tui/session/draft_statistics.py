"""What an engine learned about which drafts pay, kept between sessions: one small JSON file for each combination.

Deals in plain JSON values. The file only saves time: a damaged, strange or missing one is as good as none.
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
    """Where it is kept for a model of this name; `parts` is everything that speed depends on."""
    mark = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:_HASH_LETTERS]
    plain = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in name)
    return folder / "economy" / f"{plain}-{mark}.json"


def load_draft_statistics(path: Path) -> dict[str, object] | None:
    """What was learned, or None when nothing usable is there."""
    try:
        value = json.loads(read_small_file(path, LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def save_draft_statistics(path: Path, value: Mapping[str, object]) -> None:
    """Keep it, all or nothing. A disk that refuses costs nothing but learning it again."""
    with contextlib.suppress(OSError):
        write_atomically(path, json.dumps(value))

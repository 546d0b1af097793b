"""What an engine learned about which drafts pay, kept between sessions: one small JSON file for each combination.

Deals in plain JSON values. The file only saves time: a damaged, strange or missing one is as good as none.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from laguna_engine.small_file import read_small_file

# What is learned takes a few kilobytes; a larger file is not ours.
LIMIT_BYTES = 1 << 20
_HASH_LETTERS = 16


def economy_path(folder: Path, name: str, parts: Iterable[str]) -> Path:
    """Where it is kept for a model of this name; `parts` is everything that speed depends on."""
    mark = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:_HASH_LETTERS]
    plain = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in name)
    return folder / "economy" / f"{plain}-{mark}.json"


def load_economy(path: Path) -> dict[str, object] | None:
    """What was learned, or None when nothing usable is there."""
    try:
        value = json.loads(read_small_file(path, LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def save_economy(path: Path, value: Mapping[str, object]) -> None:
    """Keep it, all or nothing. A disk that refuses costs nothing but learning it again."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".new")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(value, file)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

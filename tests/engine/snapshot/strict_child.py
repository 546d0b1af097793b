"""Run in a process of its own: `strict_child.py TINY DFLASH NANO FOLDER`.

Prints a line for every restored conversation that did not go on as the one that had not stopped, then how many were
tried.
"""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from laguna_engine.config import PLAIN, Drafting, KvType, Speculation
from laguna_engine.engine import Engine
from tests.engine.snapshot.chats import EARLIER, MESSAGES, options, say


def tried(model: Path, drafter: Path | None, kv: KvType, drafting: Drafting, folder: Path) -> int:
    """Behind the snapshot, a rewind to it, in a copy of its folder, and behind a compaction."""
    opened = options(model, kv, drafter, speculation=Speculation.STRICT)
    with Engine.open(opened) as engine, Engine.open(opened) as other:
        chat = [*EARLIER, *say(engine, EARLIER, 90, drafting).tokens]
        engine.snapshot(folder)
        copy = Path(shutil.copytree(folder, folder.with_name(f"{folder.name}-copy")))
        compacted = [*EARLIER[:100], *MESSAGES[4]]
        places = {"snapshot": (folder, chat, 0), "rewind": (folder, chat, 1), "copy": (copy, chat, 2)}
        for place, (where, before, message) in {**places, "compaction": (folder, compacted, 3)}.items():
            if before is compacted:
                compacted += say(engine, compacted, 90, drafting).tokens
                engine.snapshot(folder, last=True)
            if place != "rewind":
                other.clear()
            prompt = [*before, *MESSAGES[message]]
            expected = say(engine, prompt, 60, drafting).tokens
            restored = other.restore(where, prompt).tokens
            if place != "rewind" and restored != len(before) - 1:
                print(place, model, kv, drafting, f"restored {restored}")
            for kind in (drafting, PLAIN):
                if say(other, prompt, 60, kind).tokens != expected:
                    print(place, model, kv, drafting, kind)
    return len(places) + 1


def main() -> None:
    tiny, dflash, nano, folder = map(Path, sys.argv[1:])
    count = 0
    for kv in KvType:
        count += tried(tiny, None, kv, Drafting(length=3), folder / f"copy-{kv.value}")
        count += tried(tiny, dflash, kv, Drafting(length=4), folder / f"dflash-{kv.value}")
    count += tried(nano, None, KvType.F16, Drafting(), folder / "nano")
    print(count)


if __name__ == "__main__":
    main()

"""Run in a process of its own: `strict_child.py TINY DFLASH NANO FOLDER`.

Prints a line for every restored conversation that did not go on as the one that had not stopped, then how many were
tried.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from laguna_engine.config import PLAIN, Drafting, KvType, Speculation
from laguna_engine.engine import Engine
from tests.engine.snapshot.chats import EARLIER, MESSAGES, options, say


def tried(model: Path, drafter: Path | None, kv: KvType, drafting: Drafting, folder: Path) -> int:
    """Twice: right behind the snapshot, and behind a rewind to it."""
    opened = options(model, kv, drafter, speculation=Speculation.STRICT)
    with Engine.open(opened) as engine, Engine.open(opened) as other:
        chat = [*EARLIER, *say(engine, EARLIER, 90, drafting).tokens]
        engine.snapshot(folder)
        for message in MESSAGES[:2]:
            prompt = [*chat, *message]
            expected = say(engine, prompt, 60, drafting).tokens
            restored = other.restore(folder, prompt).tokens
            if message is MESSAGES[0] and restored != len(chat) - 1:
                print(model, kv, drafting, f"restored {restored}")
            for kind in (drafting, PLAIN):
                if say(other, prompt, 60, kind).tokens != expected:
                    print(model, kv, drafting, kind)
    return 2


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

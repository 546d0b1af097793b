"""Run in a process of its own, in which nothing was computed before: `strict_child.py MODEL FOLDER`.

Prints, for every type of KV cache, how many answers were the plain ones byte for byte, drafted by copying and behind a
restored snapshot, and how many drafted tokens were accepted.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from laguna_engine.chat.messages import Role
from laguna_engine.config import PLAIN, Drafting, EngineOptions, KvType, Speculation
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Finished, Token
from laguna_tui.backends.base import Message, Options, Prompt
from laguna_tui.backends.local.backend import LocalBackend

QUESTIONS = ("List the days of the week.", "Repeat them in capital letters.")
COUNT = 16


def answer(engine: Engine, prompt: list[int], drafting: Drafting) -> tuple[list[int], Finished]:
    """The tokens of an answer, and its end."""
    *events, last = engine.generate(Request(prompt, max_tokens=COUNT, drafting=drafting))
    assert isinstance(last, Finished)
    return [event.id for event in events if isinstance(event, Token)], last


def tried(model: Path, kv: KvType, folder: Path) -> tuple[int, int]:
    """Equal answers, and accepted drafts."""
    options = EngineOptions(model, n_ctx=512, threads=1, kv_type=kv, speculation=Speculation.STRICT)
    equal = accepted = 0
    with Engine.open(options) as engine, Engine.open(options) as other:
        prompt: list[int] = []
        for question in QUESTIONS:
            asked = Prompt("Be brief.", (), (Message(Role.USER, (question,)),))
            prompt = [*prompt, *LocalBackend(engine, None).request(asked, Options()).tokens]
            plain, _ = answer(engine, prompt, PLAIN)
            # What is copied is what comes, and what does not.
            for source in (plain, [*plain[:8], *plain[16:]]):
                drafted, ended = answer(engine, prompt, Drafting(length=4, files=(source,)))
                equal += drafted == plain
                accepted += ended.stats.accepted
            engine.snapshot(folder, last=True)
            restored = other.restore(folder, prompt).tokens
            resumed, ended = answer(other, prompt, Drafting(length=4))
            equal += resumed == plain and (restored, ended.stats.cached_tokens) == (len(prompt), len(prompt) - 1)
            other.clear()
            prompt += plain
    return equal, accepted


def main() -> None:
    model, folder = map(Path, sys.argv[1:])
    for kv in KvType:
        print(kv.value, *tried(model, kv, folder / kv.value))


if __name__ == "__main__":
    main()

"""The target's own answers, as token ids: what the drafter is trained on and what it is measured on.

    python drafter_answers.py WORK ../laguna-nano.gguf --minutes 12

Runs in the app's environment , after `drafter_questions.py`. Writes `drafter/held.jsonl` (packages
never trained on, wordings never trained on, the app's real tools) and `drafter/train.jsonl`, a sequence a line: token
ids after the header, the spans that the target wrote, and how. A quarter of the sequences is sampled at temperature
0.7, the others are greedy. A sixth is plain code, without the header, that the target continues.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from apptools import OWN, Tools, copies
from cases import EDITS, SEED, Case, Cases, converse, pairs, parsed
from sources import unpacked
from speaker import LONGEST_CODE, Chat, Speaker, sampled

from laguna_engine.config import GREEDY, Sampling

SAMPLED, CODE = 0.25, 0.16
TEMPERATURE = 0.7
CODE_PROMPT = (400, 2400)  # characters
EOS = 2
NOTHING = "Nothing matches what was asked for."


@dataclass(slots=True)
class Sequence:
    """`spans` are the [start, stop) of what the target wrote in `ids`; `bare`: no header before it."""

    kind: str
    temperature: float
    bare: bool
    ids: list[int] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)


def drawn(rng: random.Random, temperature: float) -> Sampling:
    """Greedy at 0, else with a seed of its own."""
    return sampled(rng.randrange(1 << 30)) if temperature else GREEDY


def recorded(chat: Chat, kind: str = "chat") -> Sequence:
    """What was said in a chat, after the header."""
    spans = [(start - chat.header, stop - chat.header) for start, stop in chat.spans]
    return Sequence(kind, chat.sampling.temperature, bare=False, ids=chat.ids[chat.header :], spans=spans)


def answered(chat: Chat, turns: list[dict[str, Any]]) -> Sequence:
    """A chat of the generator's questions; a call that is not the expected one finds nothing."""
    for turn in turns:
        reply = chat.ask(turn["question"])
        for expected, result in turn["steps"]:
            call = parsed(reply)
            if call is None:
                break
            if call != parsed(expected):
                chat.give(NOTHING)
                break
            reply = chat.give(result)
    return recorded(chat)


def excerpt(files: list[Path], rng: random.Random) -> str:
    """A stretch of a source file from a line's start."""
    text = rng.choice(files).read_text(encoding="utf-8", errors="replace")
    start = text.rfind("\n", 0, rng.randrange(max(1, len(text) - 200))) + 1
    return text[start : start + rng.randint(*CODE_PROMPT)]


def continued(speaker: Speaker, text: str, sampling: Sampling) -> Sequence:
    """Code, without the header, that the target continues."""
    ids = [EOS, *speaker.vocab.tokenize(text, special=False)]
    said = speaker.write(ids, LONGEST_CODE, sampling)
    return Sequence("code", sampling.temperature, bare=True, ids=ids + said, spans=[(len(ids), len(ids) + len(said))])


def source_files(repositories: Path, names: list[str]) -> list[Path]:
    """Python files of the named packages that are long enough to continue."""
    files = [path for name in names for path in sorted((repositories / name).rglob("*.py"))]
    return [path for path in files if path.stat().st_size > CODE_PROMPT[1]]


def sorted_pairs(group: list[Case]) -> Iterator[tuple[str, Case, Case]]:
    """The cases of a group in twos: kind of chat, first and second; edits stay among themselves."""
    edits = [case for case in group if case.kind in EDITS]
    others = [case for case in group if case.kind not in EDITS]
    yield from (("edit", first, second) for first, second in pairs(edits))
    yield from (("chat", first, second) for first, second in pairs(others))


def held(speaker: Speaker, work: Path, names: list[str], number: int) -> Iterator[Sequence]:
    """Chats of two questions about held-out packages through the app's tools, of two edits, and code of theirs."""
    rng, files = random.Random(11), source_files(work / "repos", names)
    with copies({name: work / "repos" / name for name in names}) as repositories:
        tools = {name: Tools(path) for name, path in repositories.items()}
        cases = Cases(SEED, repositories, OWN)
        for index in range(number):
            temperature = TEMPERATURE if index % 2 else 0.0
            for kind, first, second in sorted_pairs(cases.group(index)):
                chat = Chat(speaker, drawn(rng, temperature))
                list(converse(chat, first, second, tools))
                yield recorded(chat, kind)
            yield continued(speaker, excerpt(files, rng), drawn(rng, temperature))


def training(speaker: Speaker, work: Path, names: list[str]) -> Iterator[Sequence]:
    """The generator's chats and the code of the packages that the target was trained on."""
    rng, files = random.Random(12), source_files(work / "repos", names)
    with (work / "drafter" / "asked.jsonl").open(encoding="utf-8") as asked:
        for line in asked:
            sampling = drawn(rng, TEMPERATURE if rng.random() < SAMPLED else 0.0)
            if rng.random() < CODE:
                yield continued(speaker, excerpt(files, rng), sampling)
            else:
                yield answered(Chat(speaker, sampling), json.loads(line))


def main() -> None:
    """Write the held-out sequences, then training sequences until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--groups", type=int, default=14, help="of eleven held-out chats and one piece of code")
    options = parser.parse_args()
    names = {kind: unpacked(options.work, held_out=kind) for kind in (True, False)}
    speaker = Speaker(options.model)
    folder = options.work / "drafter"
    header = {"header": Chat(speaker).ids}
    (folder / "header.json").write_text(json.dumps(header))
    with (folder / "held.jsonl").open("w") as out:
        for sequence in held(speaker, options.work, names[True], options.groups):
            out.write(json.dumps(asdict(sequence)) + "\n")
    end = time.monotonic() + 60 * options.minutes
    with (folder / "train.jsonl").open("w") as out:
        for sequence in training(speaker, options.work, names[False]):
            out.write(json.dumps(asdict(sequence)) + "\n")
            if time.monotonic() > end:
                break


if __name__ == "__main__":
    main()

"""Sessions about one repository, in the target's own words: what an adapter of the drafter is trained and measured on.

    python drafter_lora_sessions.py WORK ../laguna-nano.gguf --repository httpx

Runs in the app's environment. Chats of two questions through the app's real tools, as `drafter_answers.py` records
them, into `drafter/lora-NAME/`: `train.jsonl` and `test.jsonl` about the repository, `other.jsonl` about the other
packages that were never trained on. No name or file that is asked about in `train` is asked about in `test`. A quarter
of `train` is sampled, all else is greedy, so that an engine says it again word for word.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count, islice
from pathlib import Path
from zlib import crc32

from apptools import OWN, Tools, copies
from cases import Call, Case, Cases, converse, pairs
from drafter_answers import SAMPLED, TEMPERATURE, drawn, recorded
from drafter_lora_gain import SETS
from sources import unpacked
from speaker import Chat, Speaker

SEED = 31
TESTED = 3  # one in so many names is for the test

Pair = tuple[Case, Case]


def about(case: Case) -> str:
    """The name or the file that a case asks for; all of the question where it needs no tool."""
    call = case.next(())
    if not isinstance(call, Call):
        return case.question
    return call.arguments["old"] if call.tool == "edit" else call.arguments["pattern"].split("/")[-1]


def is_test(case: Case) -> bool:
    """Whether what a case is about is kept for the test: always the same for the same name."""
    return crc32(about(case).encode()) % TESTED == 0


def asked(seed: int, repositories: dict[str, Path]) -> Iterator[list[Case]]:
    """Endless groups of cases, each wholly about one of the repositories."""
    cases = Cases(seed, repositories, "")
    for index in count():
        cases.tested = cases.held[index % len(cases.held)]
        yield cases.group(index)


def pairs_of(name: str, repository: str, repositories: dict[str, Path]) -> Iterator[Pair]:
    """Endless pairs of questions of one of the sets."""
    if name == "other":
        groups = asked(SEED, {other: path for other, path in repositories.items() if other not in (repository, OWN)})
    else:
        groups = asked(SEED, {repository: repositories[repository]})
    for group in groups:
        chosen = [case for case in group if name == "other" or is_test(case) == (name == "test")]
        yield from ((first, second) for first, second in pairs(chosen) if first is not second)


def record(speaker: Speaker, path: Path, source: Iterator[Pair], tools: dict[str, Tools]) -> None:
    """Write the sessions of a set."""
    rng, share = random.Random(f"{SEED}{path.stem}"), SAMPLED if path.stem == "train" else 0.0
    with path.open("w") as out:
        for first, second in source:
            chat = Chat(speaker, drawn(rng, TEMPERATURE if rng.random() < share else 0.0))
            list(converse(chat, first, second, tools))
            out.write(json.dumps(asdict(recorded(chat))) + "\n")


def main() -> None:
    """Read the command line and write the three sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--repository", default="httpx", help=f"a package of WORK/repos, or {OWN}")
    parser.add_argument("--sessions", type=int, default=200, help="to train on; a fifth as many in each other set")
    options = parser.parse_args()
    speaker = Speaker(options.model)
    folder = options.work / "drafter" / f"lora-{options.repository}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "header.json").write_text(json.dumps({"header": Chat(speaker).ids}))
    names = {*unpacked(options.work, held_out=True), options.repository} - {OWN}
    with copies({name: options.work / "repos" / name for name in sorted(names)}) as repositories:
        tools = {name: Tools(path) for name, path in repositories.items()}
        for name in SETS:
            number = options.sessions // (1 if name == "train" else 5)
            source = islice(pairs_of(name, options.repository, repositories), number)
            record(speaker, folder / f"{name}.jsonl", source, tools)
            print(f"{name}: {number} sessions", flush=True)


if __name__ == "__main__":
    main()

"""The target's own answers, as token ids: what the drafter is trained on and what it is measured on.

    python drafter_answers.py WORK ../laguna-nano.gguf --minutes 12

Runs in the app's environment (llama-cpp-python), after `drafter_questions.py`. Writes `drafter/held.jsonl` (packages
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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from apptools import open_tools
from evaluate import CALL, CONTEXT, OPENING, Chat, LlamaVocabulary, groups, run
from llama_cpp import Llama

LONGEST_TURN, LONGEST_CODE = 200, 160
SAMPLED, CODE = 0.25, 0.16
TEMPERATURE = 0.7
CODE_PROMPT = (400, 2400)  # characters
EOS = 2


@dataclass(slots=True)
class Sequence:
    """`spans` are the [start, stop) of what the target wrote in `ids`; `bare`: no header before it."""

    kind: str
    temperature: float
    bare: bool
    ids: list[int] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)


class Recorder(Chat):
    """A chat that remembers which tokens the target wrote."""

    def __init__(self, model: Llama, kind: str, temperature: float) -> None:
        super().__init__(model)
        self.header = len(self.ids)
        self.sequence = Sequence(kind, temperature, bare=False)

    def reply(self, turn: list[int]) -> str:
        """Append a turn and the target's reply, its stop token included."""
        self.ids += turn + self.renderer.generation_prompt()
        start = len(self.ids) - self.header
        said = write(self.model, self.ids, self.sequence.temperature, LONGEST_TURN, set(self.renderer.stop_tokens))
        self.sequence.spans.append((start, start + len(said)))
        text = [token for token in said if token not in self.renderer.stop_tokens]
        closing = self.renderer.close_assistant(text)
        self.ids += text + closing
        self.sequence.ids = self.ids[self.header :]
        return self.encoder.decode(text)


def write(model: Llama, ids: list[int], temperature: float, longest: int, stops: set[int]) -> list[int]:
    """What the target says after `ids`, with the stop token if it came to one."""
    said: list[int] = []
    top_k = 20 if temperature else 1
    for token in model.generate(ids, temp=temperature, top_k=top_k, top_p=1.0, min_p=0.0, repeat_penalty=1.0):
        said.append(token)
        if token in stops or len(said) == longest:
            break
    return said


def answered(model: Llama, turns: list[dict[str, str]], temperature: float) -> Sequence:
    """A chat of the generator's questions; a call that is not the expected one finds nothing."""
    chat = Recorder(model, "chat", temperature)
    for turn in turns:
        found = CALL.match(chat.ask(turn["question"]))
        if found:
            expected = (found[1], found[2]) == (turn["tool"], turn["pattern"])
            missing = "no matches for {}" if found[1] == "search" else "no files match {}"
            chat.give(turn["result"] if expected else missing.format(found[2]))
    return chat.sequence


def continued(model: Llama, files: list[Path], rng: random.Random, temperature: float) -> Sequence:
    """A stretch of a source file from a line's start, continued."""
    text = rng.choice(files).read_text(encoding="utf-8", errors="replace")
    start = text.rfind("\n", 0, rng.randrange(max(1, len(text) - 200))) + 1
    ids = [EOS, *LlamaVocabulary(model).tokenize(text[start : start + rng.randint(*CODE_PROMPT)], special=False)]
    said = write(model, ids, temperature, LONGEST_CODE, {EOS})
    return Sequence("code", temperature, bare=True, ids=ids + said, spans=[(len(ids), len(ids) + len(said))])


def source_files(repositories: Path, names: list[str]) -> list[Path]:
    """Python files of the named packages that are long enough to continue."""
    files = [path for name in names for path in sorted((repositories / name).rglob("*.py"))]
    return [path for path in files if path.stat().st_size > CODE_PROMPT[1]]


def held(model: Llama, work: Path, names: list[str], number: int) -> Iterator[Sequence]:
    """Chats of two questions about held-out packages through the app's tools, and code of theirs."""
    tools = {n: dict(zip(("search", "find"), open_tools(work / "repos" / n), strict=True)) for n in names}
    rng, files = random.Random(11), source_files(work / "repos", names)
    for index, group in enumerate(groups(work / "repos", names, number)):
        for first, second in zip(group, group[1:] + group[:1], strict=True):
            chat = Recorder(model, "chat", TEMPERATURE if index % 2 else 0.0)
            for turn, case in enumerate((first, second)):
                opening = OPENING.format(case.repository) if turn == 0 else ""
                run(chat, replace(case, question=opening + case.question), tools[first.repository])
            yield chat.sequence
        yield continued(model, files, rng, TEMPERATURE if index % 2 else 0.0)


def training(model: Llama, work: Path, names: list[str]) -> Iterator[Sequence]:
    """The generator's chats and the code of the packages that the target was trained on."""
    rng, files = random.Random(12), source_files(work / "repos", names)
    with (work / "drafter" / "asked.jsonl").open(encoding="utf-8") as asked:
        for line in asked:
            temperature = TEMPERATURE if rng.random() < SAMPLED else 0.0
            if rng.random() < CODE:
                yield continued(model, files, rng, temperature)
            else:
                yield answered(model, json.loads(line), temperature)


def main() -> None:
    """Write the held-out sequences, then training sequences until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--groups", type=int, default=24, help="of six held-out chats and one piece of code")
    options = parser.parse_args()
    packages = json.loads((Path(__file__).parent / "sources.json").read_text())["packages"]
    names = {kind: [p["name"] for p in packages if p["held_out"] is kind] for kind in (True, False)}
    model = Llama(str(options.model), n_ctx=CONTEXT, n_threads=1, n_threads_batch=1, swa_full=True, verbose=False)
    folder = options.work / "drafter"
    header = {"header": Chat(model).ids}
    (folder / "header.json").write_text(json.dumps(header))
    with (folder / "held.jsonl").open("w") as out:
        for sequence in held(model, options.work, names[True], options.groups):
            out.write(json.dumps(asdict(sequence)) + "\n")
    end = time.monotonic() + 60 * options.minutes
    with (folder / "train.jsonl").open("w") as out:
        for sequence in training(model, options.work, names[False]):
            out.write(json.dumps(asdict(sequence)) + "\n")
            if time.monotonic() > end:
                break


if __name__ == "__main__":
    main()

"""Ask the finished model about packages it never saw, through llama.cpp and the app's real tools, and count.

    python evaluate.py WORK MODEL.gguf [--questions 100] [--show]

Runs in the app's environment (llama-cpp-python), not in the training one. Two counts per skill: the call is exactly
right, and the whole chat ends in exactly the right answer. Wordings are those that training never used.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from answers import ANSWER, text_of
from apptools import open_tools
from chatter import TALK_HELD_OUT
from collect import defined_names, file_patterns
from llama_cpp import LLAMA_TOKEN_ATTR_CONTROL, Llama, llama_vocab_get_attr
from questions import HELD_OUT, TALK_ANSWERS, TOOL, Skill

from laguna_engine.chat.template import Family, Renderer
from laguna_engine.chat.vocabulary import SafeEncoder
from laguna_tui.agent.prompt import system_prompt
from laguna_tui.agent.tools import TOOL_SPECS

CONTEXT, LONGEST_TURN = 4096, 200
SEED = 7
CALL = re.compile(
    r"^\n<tool_call>(\w+)\n<arg_key>pattern</arg_key>\n<arg_value>(.*)</arg_value>\n</tool_call>\n$", re.S
)
OPENING = "[folder {} · 2026-11-20 · git main, 2 changed]\n\n"
MISSING_NAMES = (
    "frobnicate",
    "QuantumToaster",
    "_load_penguin",
    "parse_everything_twice",
    "MoonLander",
    "xyzzy_handler",
)

NOT_THERE = "about what is not there"
KINDS = [*(skill.value for skill in Skill), NOT_THERE]


@dataclass(frozen=True, slots=True)
class Case:
    """One question with the call it needs (None for talk); `answer` turns the tool's result into the right answer."""

    kind: str
    repository: str
    question: str
    call: tuple[str, str] | None
    answer: Callable[[str], str]


class LlamaVocabulary:
    """The app's `Tokenizer` protocol over llama-cpp-python."""

    def __init__(self, model: Llama) -> None:
        self.model = model
        self.vocab = model._model.vocab

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Token ids without a BOS."""
        ids: list[int] = self.model.tokenize(text.encode(), add_bos=False, special=special)
        return ids

    def id_of(self, text: str) -> int | None:
        """The id of a special token's exact text."""
        ids = self.tokenize(text, special=True)
        return ids[0] if len(ids) == 1 and self.is_control(ids[0]) else None

    def is_control(self, token: int) -> bool:
        """Whether llama.cpp calls the token a control token."""
        return bool(llama_vocab_get_attr(self.vocab, token) & LLAMA_TOKEN_ATTR_CONTROL)

    def piece(self, token: int) -> bytes:
        """The token's bytes."""
        piece: bytes = self.model.detokenize([token], special=True)
        return piece


class Chat:
    """One conversation with the model, as the app would hold it."""

    def __init__(self, model: Llama) -> None:
        self.model = model
        self.encoder = SafeEncoder(LlamaVocabulary(model))
        self.renderer = Renderer(self.encoder, Family.XS_2_1, thinking=False)
        self.ids = self.renderer.system(system_prompt(), TOOL_SPECS)

    def reply(self, turn: list[int]) -> str:
        """Append a turn and the model's greedy reply; returns the reply without its end token."""
        self.ids += turn + self.renderer.generation_prompt()
        said: list[int] = []
        for token in self.model.generate(self.ids, top_k=1, temp=0.0):
            if token in self.renderer.stop_tokens or len(said) == LONGEST_TURN:
                break
            said.append(token)
        self.ids += said + self.renderer.close_assistant(said)
        return self.encoder.decode(said)

    def ask(self, question: str) -> str:
        """The user speaks."""
        return self.reply(self.renderer.user(question))

    def give(self, result: str) -> str:
        """A tool has answered."""
        return self.reply(self.renderer.tool_response(result))


def quoted(rng: random.Random, wording: str, name: str) -> str:
    """The wording about the name, in backticks or bare."""
    shown = rng.choice([f"`{name}`", name])
    return wording.replace("{n}", shown).replace("{f}", shown)


def lookup(rng: random.Random, kind: str, skill: Skill, repository: str, name: str) -> Case:
    """A case of one of the look-up skills."""
    question = quoted(rng, rng.choice(HELD_OUT[skill]), name)
    return Case(kind, repository, question, (TOOL[skill], name), lambda result: text_of(ANSWER[skill](name, result)))


def talk(rng: random.Random, repository: str, name: str) -> Case:
    """A case that needs no tool."""
    kind = rng.choices(list(TALK_HELD_OUT), [1, 1, 1, 1, 1, 4])[0]
    question = quoted(rng, rng.choice(TALK_HELD_OUT[kind]), name)
    return Case(Skill.TALK.value, repository, question, None, lambda _: TALK_ANSWERS[kind])


def groups(repositories: Path, held_out: list[str], number: int) -> Iterator[list[Case]]:
    """`number` groups with one case of every kind, each group about one held-out package."""
    rng = random.Random(SEED)
    names = {r: sorted({n for n in defined_names(repositories / r) if n[:2] != "__"}) for r in held_out}
    files = {r: file_patterns(repositories / r, rng) for r in held_out}
    for index in range(number):
        here, there = held_out[index % len(held_out)], held_out[(index + 1) % len(held_out)]
        name, other = rng.choice(names[here]), rng.choice(sorted(set(names[there]) - set(names[here])))
        yield [
            *(lookup(rng, s.value, s, here, rng.choice(names[here])) for s in (Skill.WHERE, Skill.TAKES, Skill.USES)),
            lookup(rng, Skill.OUTLINE.value, Skill.OUTLINE, here, rng.choice(files[here])),
            lookup(rng, NOT_THERE, Skill.WHERE, here, rng.choice([*MISSING_NAMES, other])),
            talk(rng, here, name),
        ]


def run(chat: Chat, case: Case, tools: dict[str, Callable[[str], str]]) -> tuple[bool, bool, str]:
    """Whether the call and the final answer are right, and what the model said last."""
    reply = chat.ask(case.question)
    found = CALL.match(reply)
    called = (found[1], found[2]) if found else None
    result = ""
    if called and called[0] in tools:
        result = tools[called[0]](called[1])
        reply = chat.give(result)
    right_call = called == case.call
    return right_call, right_call and reply.strip() == case.answer(result), reply


def converse(
    model: Llama, first: Case, second: Case, tools: dict[str, Callable[[str], str]]
) -> list[tuple[bool, bool]]:
    """Two cases as one chat; whether call and answer were right, for each."""
    chat = Chat(model)
    outcomes = []
    for turn, case in enumerate((first, second), start=1):
        opening = OPENING.format(case.repository) if turn == 1 else ""
        right_call, right, reply = run(chat, replace(case, question=opening + case.question), tools)
        if not right:
            logging.info("%s, turn %d: %s\n    %r", case.kind, turn, case.question, reply.strip())
        outcomes.append((right_call, right))
    return outcomes


def count(share: int, options: argparse.Namespace) -> Counter[tuple[str, str]]:
    """What was right in every `--processes`-th group, by kind and column."""
    logging.basicConfig(level=logging.INFO if options.show else logging.WARNING, format="%(message)s")
    manifest = json.loads((Path(__file__).parent / "sources.json").read_text())
    held_out = [source["name"] for source in manifest["packages"] if source["held_out"]]
    model = Llama(str(options.model), n_ctx=CONTEXT, n_threads=1, n_threads_batch=1, swa_full=True, verbose=False)
    tools = {r: dict(zip(("search", "find"), open_tools(options.work / "repos" / r), strict=True)) for r in held_out}
    counts: Counter[tuple[str, str]] = Counter()
    for index, group in enumerate(groups(options.work / "repos", held_out, options.questions)):
        if index % options.processes != share:
            continue
        for first, second in zip(group, group[1:] + group[:1], strict=True):
            outcomes = converse(model, first, second, tools[first.repository])
            for turn, (case, (right_call, right)) in enumerate(zip((first, second), outcomes, strict=True), start=1):
                counts[case.kind, f"call {turn}"] += right_call
                counts[case.kind, f"answer {turn}"] += right
    return counts


def main() -> None:
    """Print the table: a row per kind; calls and answers right, as first and as second question of a chat."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--questions", type=int, default=100, help="of each kind")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.processes) as pool:
        parts = list(pool.map(partial(count, options=options), range(options.processes)))
    total = sum(parts, Counter())
    columns = ["call 1", "answer 1", "call 2", "answer 2"]
    print(f"| {options.questions} questions each | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for kind in KINDS:
        print(f"| {kind} | " + " | ".join(f"{100 * total[kind, c] / options.questions:.0f} %" for c in columns) + " |")


if __name__ == "__main__":
    main()

"""Checks that an answer depends on its tokens alone, whatever was drafted, cut, forked or saved before.

Also a program, for the strict mode, which has to be chosen before anything is computed:
`memory_checks.py NAME PART KV_TYPE FOLDER` prints a line for everything that is wrong, then how many answers were
compared.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest.mock import patch

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from laguna_engine import checkpoints
from laguna_engine.config import PLAIN, Drafting, EngineOptions, KvType, Speculation
from laguna_engine.draft.base import MAX_DRAFT
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Finished, Token
from laguna_engine.ggml.tensor import Type
from tests.engine import families, tiny
from tests.engine.drafting import quantized
from tests.engine.runs import NEAR_TIE

PROMPT = [40 + (11 * index) % 400 for index in range(150)]
MESSAGES = [[tiny.EOS, *(50 + (7 * index + 13 * turn) % 380 for index in range(40))] for turn in range(4)]
LENGTH = 24
"""Tokens of an answer."""

STEPS = 40
"""Of a random history."""


@dataclass
class Checks:
    """Compares the answers of one engine with those of another that has read nothing before.

    Attributes:
        name: of the model.
        used: the engine with a history.
        fresh: the other one.
        exact: whether answers must be equal; otherwise they may part where two tokens are nearly as likely.
        folder: for snapshots.
        tie: the margin of two tokens that are nearly as likely.
        wrong: sentences.
        count: answers compared.
        cached: tokens of the last prompt that were cached.
    """

    name: str
    used: Engine
    fresh: Engine
    exact: bool
    folder: Path
    tie: float = NEAR_TIE
    wrong: list[str] = field(default_factory=list)
    count: int = 0
    cached: int = 0

    def ask(self, engine: Engine, prompt: Sequence[int], drafting: Drafting = PLAIN, **more: object) -> list[int]:
        found: list[int] = []
        request = Request(prompt, max_tokens=LENGTH, drafting=drafting, **more)  # type: ignore[arg-type]
        for event in engine.generate(request):
            if isinstance(event, Token):
                found.append(event.id)
            elif isinstance(event, Finished):
                self.cached = event.stats.cached_tokens
        return found

    def compare(self, what: str, prompt: Sequence[int], drafting: Drafting = PLAIN, **more: object) -> list[int]:
        """Ask the used engine and compare; returns what it answered."""
        self.fresh.clear()
        expected = self.ask(self.fresh, prompt)
        found = self.ask(self.used, prompt, drafting, **more)
        self.count += 1
        if found != expected and not self._nearly(prompt, expected, found):
            self.wrong.append(f"{self.name} {what}: {found} instead of {expected}")
        return found

    def _nearly(self, prompt: Sequence[int], expected: list[int], found: list[int]) -> bool:
        if self.exact or len(found) != len(expected):
            return False
        at = next(place for place, pair in enumerate(zip(expected, found, strict=True)) if len(set(pair)) > 1)
        margin = self.fresh._margin([*prompt, *expected[:at]], found[at], expected[at])
        return abs(margin) < self.tie


def scripts(answer: list[int]) -> Iterator[tuple[str, Drafting]]:
    """Yield drafts of several lengths that are wrong, half right and right."""
    for length in (1, 3, 7, 16):
        for kind, right in (("wrong", 0), ("half right", (length + 1) // 2), ("right", length)):
            script, at = [], 1
            while at < len(answer):
                coming = answer[at : at + right]
                draft = [*coming, *[(answer[min(at + right, len(answer) - 1)] + 1) % 500] * (length - len(coming))]
                script.append(draft)
                at += len(coming) + 1
            yield f"{kind} drafts of {length}", Drafting(script=tuple(script))


def check_drafts(checks: Checks) -> None:
    answer = checks.compare("from nothing", PROMPT)
    for kind, drafting in scripts(answer):
        checks.used.clear()
        checks.compare(kind, PROMPT, drafting)
        checks.compare(f"a question after {kind}", [*PROMPT, *answer, *MESSAGES[0]], drafting)
    for length in (1, 5):
        checks.compare(f"copies of {length}", [*PROMPT, *PROMPT, *MESSAGES[1]], Drafting(length=length))


def check_rewinds(checks: Checks) -> None:
    answer = checks.compare("before a rewind", PROMPT)
    whole = [*PROMPT, *answer]
    for at in (0, 1, 60, len(PROMPT) - 1, len(PROMPT), len(PROMPT) + 1, len(whole) - 2, len(whole)):
        for drafting in (PLAIN, Drafting(length=4)):
            checks.compare(f"rewound to {at}", [*whole[:at], *MESSAGES[1]], drafting)
            checks.compare("the whole again", [*whole, *MESSAGES[0]], drafting)
    checks.compare("the same again", [*whole, *MESSAGES[0]])
    checks.compare("an aside", [*whole, *MESSAGES[2]], aside=True)
    checks.compare("after an aside", [*whole, *MESSAGES[0], 77])


def check_cancels(checks: Checks) -> None:
    engine = checks.used
    for events in (0, 1, 2, 5, 12):
        engine.clear()
        stream = engine.generate(Request([*PROMPT, *PROMPT, *MESSAGES[0]], max_tokens=200, drafting=Drafting()))
        for _ in range(events):
            next(stream, None)
        engine.cancel()
        for _ in stream:
            pass
        checks.compare(f"after a stop at event {events}", [*PROMPT, *PROMPT, *MESSAGES[0]])


def check_forks(checks: Checks) -> None:
    checks.used.hold_conversations(64 << 20)
    first, second = [*PROMPT, *MESSAGES[0]], [*PROMPT[:70], *MESSAGES[1], *PROMPT]
    for turn in range(3):
        for name, chat in (("first", first), ("second", second)):
            before = checks.used.held.swapped
            answer = checks.compare(f"the {name} of two in turn {turn}", chat, Drafting(length=3))
            chat += [*answer, *MESSAGES[turn]]
            if turn and checks.used.held.swapped == before:
                checks.wrong.append(f"{checks.name} turn {turn}: the {name} was not brought back from memory")
    checks.used.hold_conversations(0)


def check_snapshots(checks: Checks) -> None:
    chat = list(PROMPT)
    for turn in range(2):
        chat += checks.compare(f"turn {turn} before saving", chat, Drafting(length=3))
        checks.used.snapshot(checks.folder, last=True)
        saved = len(chat) - 1
        checks.used.clear()
        chat += MESSAGES[turn]
        restored = checks.used.restore(checks.folder, chat)
        if restored.tokens != saved or restored.refused:
            checks.wrong.append(f"{checks.name}: restored {restored.tokens} of {saved}, {restored.refused}")
        checks.compare(f"turn {turn} from a snapshot", chat, Drafting(length=3))
        if checks.cached != saved:
            checks.wrong.append(f"{checks.name}: {checks.cached} of {saved} were cached after a restore")


def check_histories(checks: Checks) -> None:
    """Do what a session may do in any order, up to the end of the context; a failure is the same in the next run."""
    random, used, chat = Random(checks.name), checks.used, list(PROMPT)
    # A checkpoint wherever one may be: how long the last one took says nothing here.
    with patch.object(checkpoints, "_SHARE", float("inf")):
        for step in range(STEPS):
            _do_anything(checks, random, chat)
            if random.random() < 0.5:
                # Anywhere, or within the longest draft.
                back = random.choice((max(2, len(chat)), MAX_DRAFT + 2))
                del chat[max(1, len(chat) - random.randrange(1, back)) :]
            chat += [random.randrange(30, 400) for _ in range(random.choice((0, 1, 2, 17, 18, 40, 90)))]
            del chat[used.n_ctx - random.choice((2, 3, 9, 18, 40)) :]
            answer = checks.compare(f"step {step} at {len(chat)}", chat, _any_drafting(random, chat))
            chat += answer[: random.choice((0, 1, LENGTH - 4, LENGTH))]
    used.hold_conversations(0)


def _do_anything(checks: Checks, random: Random, chat: list[int]) -> None:
    """Stop an answer, ask aside, read ahead, save and restore, or let another conversation take its turn."""
    used, other = checks.used, [*chat[: random.randrange(len(chat))], *MESSAGES[random.randrange(4)]]
    match random.randrange(8):
        case 0:
            stream = used.generate(Request(other, max_tokens=200, drafting=Drafting(length=random.randrange(20))))
            for _ in range(random.choice((0, 0, 1, 2, 4, 9))):
                next(stream, None)
            used.cancel()
            list(stream)
        case 1:
            checks.compare("aside", other[: used.n_ctx - 2], _any_drafting(random, chat), aside=True)
        case 2:
            list(used.generate(Request(other, max_tokens=0)))
        case 3:
            used.snapshot(checks.folder, last=True)
            if random.random() < 0.5:
                used.clear()
            used.restore(checks.folder, random.choice((chat, other)))
        case 4:
            used.hold_conversations(random.choice((0, 64 << 20, 64 << 20)))


def _any_drafting(random: Random, chat: list[int]) -> Drafting:
    script = [[random.randrange(30, 400) for _ in range(random.randrange(20))] for _ in range(3)]
    return random.choice((PLAIN, Drafting(), Drafting(length=16, files=(chat[::-1],)), Drafting(script=tuple(script))))


CHECKS: dict[str, Callable[[Checks], None]] = {
    "drafts": check_drafts,
    "rewinds": check_rewinds,
    "cancels": check_cancels,
    "forks": check_forks,
    "snapshots": check_snapshots,
    "histories": check_histories,
}


def run(name: str, part: str, kv: KvType, speculation: Speculation, folder: Path) -> Checks:
    """Run one of `CHECKS` on one family's tiny model."""
    file, n_ctx, n_ubatch = tiny.never_ends(families.model(name)), 1024, 64
    experts = any("_exps." in each for each in file.tensors)
    if part == "histories":
        # They meet the end of the context, micro-batches hardly larger than the longest draft, and repacked weights.
        n_ctx, n_ubatch = 512, MAX_DRAFT + 2
        file = file if experts else quantized(file, Type.Q4_0)
    path = file.write(folder / f"{name}.gguf")
    options = EngineOptions(path, n_ctx, n_ubatch=n_ubatch, kv_type=kv, threads=1, speculation=speculation)
    with Engine.open(options) as used, Engine.open(options) as fresh:
        # A state that cannot go back has no strict mode.
        exact = used.info.speculation is Speculation.STRICT
        # Other experts are chosen where blocks are rounded otherwise.
        tie = 3 * NEAR_TIE if experts and kv is KvType.Q4_0 else NEAR_TIE
        checks = Checks(name, used, fresh, exact, folder / "snapshots", tie)
        CHECKS[part](checks)
        return checks


def main() -> None:
    name, part, kv, folder = sys.argv[1:]
    checks = run(name, part, KvType(kv), Speculation.STRICT, Path(folder))
    for sentence in checks.wrong:
        print(sentence)
    print(checks.count)


if __name__ == "__main__":
    main()

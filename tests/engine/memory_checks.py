"""Checks that an answer depends on its tokens alone, whatever was drafted, cut, forked or saved before.

Also a program, for the strict mode, which has to be chosen before anything is computed:
`memory_checks.py FOLDER PART NAME…` prints a line for everything that is wrong, then how many answers were compared.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from laguna_engine.config import PLAIN, Drafting, EngineOptions, Speculation
from laguna_engine.engine import Engine, Request
from laguna_engine.events import Finished, Token
from tests.engine import families, tiny
from tests.engine.runs import NEAR_TIE

PROMPT = [40 + (11 * index) % 400 for index in range(150)]
MESSAGES = [[tiny.EOS, *(50 + (7 * index + 13 * turn) % 380 for index in range(40))] for turn in range(4)]
LENGTH = 24
"""Tokens of an answer."""


@dataclass
class Checks:
    """Compares the answers of one engine with those of another that has read nothing before.

    Attributes:
        name: of the model.
        used: the engine with a history.
        fresh: the other one.
        exact: whether answers must be equal; otherwise they may part where two tokens are nearly as likely.
        folder: for snapshots.
        wrong: sentences.
        count: answers compared.
        cached: tokens of the last prompt that were cached.
    """

    name: str
    used: Engine
    fresh: Engine
    exact: bool
    folder: Path
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
        """Ask the used engine and compare; returns the right answer."""
        self.fresh.clear()
        expected = self.ask(self.fresh, prompt)
        found = self.ask(self.used, prompt, drafting, **more)
        self.count += 1
        if found != expected and not self._nearly(prompt, expected, found):
            self.wrong.append(f"{self.name} {what}: {found} instead of {expected}")
        return expected

    def _nearly(self, prompt: Sequence[int], expected: list[int], found: list[int]) -> bool:
        if self.exact or len(found) != len(expected):
            return False
        at = next(place for place, pair in enumerate(zip(expected, found, strict=True)) if len(set(pair)) > 1)
        margin = self.fresh._margin([*prompt, *expected[:at]], found[at], expected[at])
        return abs(margin) < NEAR_TIE


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


CHECKS: dict[str, Callable[[Checks], None]] = {
    "drafts": check_drafts,
    "rewinds": check_rewinds,
    "cancels": check_cancels,
    "forks": check_forks,
    "snapshots": check_snapshots,
}


def run(name: str, speculation: Speculation, folder: Path, only: Sequence[str] = tuple(CHECKS)) -> Checks:
    """Check one family's tiny model."""
    folder.mkdir(parents=True, exist_ok=True)
    path = tiny.never_ends(families.model(name)).write(folder / f"{name}.gguf")
    options = EngineOptions(path, n_ctx=1024, n_ubatch=64, threads=1, speculation=speculation)
    with Engine.open(options) as used, Engine.open(options) as fresh:
        checks = Checks(name, used, fresh, speculation is Speculation.STRICT, folder / f"{name}-{speculation.value}")
        for part in only:
            used.clear()
            CHECKS[part](checks)
        return checks


def main() -> None:
    folder, part, *names = sys.argv[1:]
    count = 0
    for name in names:
        checks = run(name, Speculation.STRICT, Path(folder), [part])
        count += checks.count
        for sentence in checks.wrong:
            print(sentence)
    print(count)


if __name__ == "__main__":
    main()

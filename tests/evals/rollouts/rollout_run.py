"""Makes rollouts, group after group, and keeps each as soon as it has its reward."""

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from laguna_engine.config import MAX_SEED
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.evals.attempt import EvaluatedModel, ask_without_tools, token_turns
from laguna_tui.evals.evaluation import DECISIVE
from laguna_tui.evals.samples import RunFacts
from laguna_tui.evals.verdict import require_sandbox
from laguna_tui.models.entry import ModelKind
from laguna_tui.models.model_selection import select_model
from laguna_tui.session.remote_opening import remote_options
from tests.evals.rollouts.rollout import Answer, Draw, Group, Prompt, Rollout, RolloutFile, key_of
from tests.evals.rollouts.rollout_endpoint import RolloutEndpoint
from tests.evals.rollouts.verifier import Verifier, digest_of

_ALWAYS_THE_SAME = "--samples {size}: at temperature 0 every rollout is the same; give --temperatures 1 too"


@dataclass(frozen=True, slots=True)
class RolloutRun:
    """What is to be made.

    Attributes:
        settings: the user's, with what the model is.
        prompts: in their order.
        groups: likewise; made one after another.
        verifier: gives the rewards.
        concurrency: most rollouts at a time at an endpoint; a model in this process makes one.
        retries: how often a request is sent again.
        limit_s: seconds of an answer.
    """

    settings: Settings
    prompts: Sequence[Prompt]
    groups: Sequence[Group]
    verifier: Verifier
    concurrency: int
    retries: int
    limit_s: float

    @classmethod
    def chosen(
        cls,
        settings: Settings,
        prompts: Sequence[Prompt],
        temperatures: Sequence[float],
        sizes: Sequence[int],
        verifier: Verifier,
        *,
        concurrency: int,
        retries: int,
        limit_s: float,
    ) -> "RolloutRun":
        """Pair temperatures and sizes of groups.

        Args:
            temperatures: none for the settings' or the model's own.

        Raises:
            UserError: rollouts would all be the same, or something is to be run and no sandbox works here.
        """
        if verifier.command or any(prompt.task is not None for prompt in prompts):
            require_sandbox()
        entry = select_model(settings).entry
        remote = entry.kind is ModelKind.REMOTE
        own = settings.temperature if settings.temperature is not None else entry.sampling.get("temperature")
        chosen: list[float | None] = [*dict.fromkeys(temperatures)] or [own if remote else own or 0.0]
        groups = [Group(temperature, size) for temperature in chosen for size in dict.fromkeys(sizes)]
        for group in groups:
            if group.size > 1 and group.temperature == 0 and not remote:
                raise UserError(_ALWAYS_THE_SAME.format(size=group.size))
        return cls(settings, prompts, groups, verifier, concurrency, retries, limit_s)

    @property
    def facts(self) -> RunFacts:
        """Return how the rollouts are made; temperatures and groups may be added to a file."""
        named = {key: getattr(self.settings, key) for key in DECISIVE if key != "temperature"}
        named |= {"prompts": digest_of(self.prompts), "verifier": self.verifier.digest or None}
        kept = {key: value for key, value in named.items() if value is not None}
        return RunFacts(select_model(self.settings).entry.title, kept, self._seed)

    @property
    def draws(self) -> list[Draw]:
        """Return all of them, in the order of the result."""
        return [
            Draw(prompt, group, index, self._seed_of(prompt, index))
            for group in self.groups
            for prompt in self.prompts
            for index in range(group.size)
        ]

    def run(self, file: Path | None, told: Callable[[int, int], None]) -> Iterator[Rollout]:
        """Yield all rollouts in the order in which they end, those of the file first; each is in the file before that.

        A file that then holds all of them is put into their order.

        Args:
            file: that keeps them; None keeps none.
            told: how many are done, and how many there are.

        Raises:
            UserError, EngineError: the file, the verifier, or the model; what is in the file stays.
        """
        draws = self.draws
        places = {key_of(draw): at for at, draw in enumerate(draws)}
        kept = None if file is None else RolloutFile.open(file, self.facts, Rollout, "rollouts")
        writing = threading.Lock()

        def keep(rollout: Rollout) -> None:
            with writing:
                if kept is not None:
                    kept.add(rollout)

        try:
            before = [] if kept is None else [each for each in kept.records if each.key in places]
            yield from before
            known = {each.key for each in before}
            done = len(known)
            told(done, len(draws))
            for group in self.groups:
                todo = [draw for draw in draws if draw.group == group and key_of(draw) not in known]
                with closing(self._made(group, todo, keep)) as rollouts:
                    for rollout in rollouts:
                        done += 1
                        told(done, len(draws))
                        yield rollout
            if kept is not None:
                # Those of other groups that an earlier run asked for stay behind.
                kept.sort(lambda each: places.get(each.key, len(places)))
        finally:
            with writing:
                if kept is not None:
                    kept.close()

    def _made(self, group: Group, todo: Sequence[Draw], keep: Callable[[Rollout], None]) -> Generator[Rollout]:
        """Make these, each kept before the next one is begun in its place."""
        if not todo:
            return
        entry = select_model(self.settings).entry
        ended = threading.Event()

        def made(draw: Draw, answer: Answer) -> Rollout:
            rollout = self._judged(draw, answer, ended.is_set)
            # A check that was cut short because the run ends says nothing.
            if not ended.is_set():
                keep(rollout)
            return rollout

        try:
            if entry.kind is ModelKind.REMOTE:
                options = remote_options(self.settings, entry)
                endpoint = RolloutEndpoint(options, self.concurrency, self.retries, self.limit_s)
                yield from endpoint.rollouts(todo, made)
                return
            with closing(EvaluatedModel(self.settings.merged({"temperature": group.temperature}))) as model:
                for draw in todo:
                    yield made(draw, _answered(model, draw, self.limit_s))
        finally:
            ended.set()

    def _judged(self, draw: Draw, answer: Answer, cancelled: Callable[[], bool]) -> Rollout:
        ended = time.time()
        reward, check = self.verifier.reward(draw.prompt, answer.text, cancelled)
        return Rollout(
            prompt=draw.prompt.name,
            temperature=draw.group.temperature,
            group=draw.group.size,
            index=draw.index,
            seed=draw.seed,
            reward=reward,
            end=answer.end,
            answer=answer.text,
            reasoning=answer.reasoning,
            check=check,
            prompt_tokens=answer.prompt_tokens,
            generated_tokens=answer.generated_tokens,
            drafted=answer.drafted,
            accepted=answer.accepted,
            retries=answer.retries,
            ended=round(ended, 3),
            seconds=round(answer.seconds, 3),
            tokens=answer.tokens,
        )

    @property
    def _seed(self) -> int:
        return 1 if self.settings.seed is None else self.settings.seed

    def _seed_of(self, prompt: Prompt, index: int) -> int:
        return (self._seed + crc32(f"{prompt.name} {index}".encode("utf-8", "replace"))) % (MAX_SEED + 1)


def _answered(model: EvaluatedModel, draw: Draw, limit_s: float) -> Answer:
    """Let the model of this process answer; EngineError or UserError where it fails."""
    with model.session(draw.seed) as (session, _):
        begun = time.monotonic()
        found = ask_without_tools(draw.prompt.system, draw.prompt.question, session, begun + limit_s)
        seconds = time.monotonic() - begun
    steps = found.steps
    return Answer(
        text=found.answer,
        reasoning=found.reasoning,
        end=found.end,
        prompt_tokens=sum(step.prompt_tokens for step in steps),
        generated_tokens=sum(step.generated_tokens for step in steps),
        drafted=sum(step.drafted for step in steps),
        accepted=sum(step.accepted for step in steps),
        seconds=seconds,
        tokens=tuple(token_turns(found.records)),
    )

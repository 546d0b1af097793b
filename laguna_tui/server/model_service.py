"""The server's one model: chats and texts in, answers out, one at a time."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from laguna_engine.config import Request
from laguna_engine.constrain.base import ConstraintSpec
from laguna_engine.snapshot.state_pool import PoolFigures
from laguna_tui.server.api_error import ApiError, context_exceeded, model_changed, server_stopping
from laguna_tui.server.chat_answer import ChatAnswer
from laguna_tui.server.chat_prompts import ChatPrompt, ChatPrompts, chat_prompts
from laguna_tui.server.chat_request import AnswerOptions, ChatRequest
from laguna_tui.server.fair_queue import FairQueue
from laguna_tui.server.generation_run import EngineTurns, GenerationRun
from laguna_tui.server.server_metrics import ServerMetrics
from laguna_tui.session.shared_model import SharedModel

Shared = Callable[[], SharedModel | None]

_REOPEN_S, _POLL_S = 300.0, 0.2
"""How long a request waits until a lost model is open again, and how often it checks."""
_MOST_UNKNOWN, _NAME_CHARS = 200, 60
"""How many names of unknown fields are logged, and how much of each."""


class ModelService:
    """Answers requests on one event loop. The model may change meanwhile.

    Attributes:
        queue: Whose turn it is.
        metrics: What was done.
    """

    def __init__(self, shared: Shared, held_bytes: int, waiting: int, log: Callable[[str], None]) -> None:
        """Serve a model.

        Args:
            shared: Returns the open model; None while none is open.
            held_bytes: Memory for conversations that wait.
            waiting: Maximum number of waiting requests.
            log: Takes lines for whoever runs the server.
        """
        self.queue = FairQueue(waiting)
        self.metrics = ServerMetrics()
        self._shared, self._held_bytes = shared, held_bytes
        self._turns = EngineTurns()
        self._log = log
        self._unknown: set[tuple[str, str]] = set()
        self._prompts: tuple[SharedModel, ChatPrompts] | None = None

    @property
    def model(self) -> SharedModel:
        """The open model; raises ApiError while there is none."""
        model = self._shared()
        if model is None:
            raise server_stopping()
        if self._prompts is None or self._prompts[0].engine is not model.engine:
            model.engine.hold_conversations(self._held_bytes)
            self._turns.watch(model)
            self._prompts = model, chat_prompts(model)
        return model

    async def opened(self, name: str) -> SharedModel:
        """Return the model of this name, once it is open again if it was lost. ApiError if that does not happen."""
        for _ in range(int(_REOPEN_S / _POLL_S)):
            if self._shared() is not None:
                break
            await asyncio.sleep(_POLL_S)
        model = self.model
        if model.name != name:
            raise model_changed()
        return model

    @property
    def prompts(self) -> ChatPrompts:
        """What renders chats for the open model."""
        _ = self.model
        assert self._prompts is not None, "made with the model"
        return self._prompts[1]

    @property
    def held(self) -> PoolFigures:
        """The conversations that wait in memory."""
        model = self._shared()
        return PoolFigures() if model is None else model.engine.held

    def report_unknown(self, path: str, names: Sequence[str]) -> None:
        """Log the fields of a request that are unknown here, each once."""
        new = [name for name in names if (path, name) not in self._unknown][: _MOST_UNKNOWN - len(self._unknown)]
        if new:
            self._unknown.update((path, name) for name in new)
            self._log(f"{path} does not use: {', '.join(name[:_NAME_CHARS] for name in new)}")

    async def answer(self, model: SharedModel, request: ChatRequest, client: str) -> ChatAnswer:
        """Answer a chat with the model that it was parsed for; it waits for its turn once it is rendered.

        Raises:
            ApiError: It does not fit, too many requests wait, or the server cannot do what it wants.
        """
        prompts = self.prompts

        def prepared() -> tuple[ChatPrompt, tuple[ConstraintSpec, ...]]:
            prompt = prompts.prompt(request)
            return prompt, prompts.constraints(request, prompt)

        prompt, constraints = await asyncio.to_thread(prepared)
        limit = model.thinking_limit if request.thinking_limit is None else request.thinking_limit
        run = self.run(
            model,
            prompt.tokens,
            request.options,
            client,
            prompts.stop_tokens,
            limit if prompt.thinking else None,
            constraints,
            breaks_first=True,
        )
        return ChatAnswer(request, prompts, prompt, run, model.engine.vocab)

    def run(
        self,
        model: SharedModel,
        tokens: Sequence[int],
        options: AnswerOptions,
        client: str,
        stop_tokens: frozenset[int] = frozenset(),
        thinking_limit: int | None = None,
        constraints: tuple[ConstraintSpec, ...] = (),
        *,
        breaks_first: bool = False,
    ) -> GenerationRun:
        """Continue tokens of a model. breaks_first: As for `GenerationRun`. Errors as for `answer`."""
        if len(tokens) + 1 > model.engine.n_ctx:
            raise context_exceeded(len(tokens), model.engine.n_ctx)
        if not tokens:
            raise ApiError(400, "The prompt has no tokens; send some text.", param="prompt")
        request = Request(
            tokens,
            options.sampling.seeded(),
            stop_tokens=stop_tokens,
            max_tokens=options.max_tokens,
            drafting=model.drafting,
            thinking_budget=thinking_limit,
            thinking_tags=self.prompts.turn.thinking_tokens,
            logprobs=options.logprobs,
            constraints=constraints,
        )

        run = GenerationRun(
            lambda: self.opened(model.name),
            request,
            options.stops,
            client,
            self.queue,
            self._turns,
            partial(self.metrics.generated, client),
            breaks_first=breaks_first,
        )
        run.start()
        return run

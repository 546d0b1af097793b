"""How the agent has answers generated."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from laguna_engine.config import DRAFTING, GREEDY, Drafting, Sampling

if TYPE_CHECKING:
    from laguna_engine.constrain.json_schema import JsonSchema

# Longer thinking was seen to loop endlessly, from about 10,000 tokens on.
_THINKING_BUDGET = 8192
# Leaves room for the answer and later turns in a small context.
_THINKING_SHARE = 1 / 4
# A quarter of a small context, at most what a long answer takes.
_RESERVE_SHARE, _RESERVE_MOST = 1 / 4, 8192


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How answers are generated.

    Attributes:
        sampling: How tokens are drawn.
        thinking: Whether the model thinks before it answers.
        max_tokens: Token limit of one generation; None: until the context is full.
        drafting: How answers are drafted; the files to copy from are added to it.
        thinking_budget: Token limit of the thinking of one generation, 0 for none; None for 8,192 and at most a quarter
            of the context.
        max_steps: Limit of generations in a turn; None for the agent's own.
        schema: What the last answer of a turn must be as JSON; None for any text.
        constrain: Whether tool calls are held to what can run; None as the model's profile wants.
    """

    sampling: Sampling = GREEDY
    thinking: bool = False
    max_tokens: int | None = None
    drafting: Drafting = DRAFTING
    thinking_budget: int | None = None
    max_steps: int | None = None
    schema: "JsonSchema | None" = None
    constrain: bool | None = None

    def thinking_limit(self, n_ctx: int) -> int | None:
        """Return the limit of thinking tokens in a context of `n_ctx`; None for no limit, or no thinking."""
        if not self.thinking or self.thinking_budget == 0:
            return None
        return self.thinking_budget or min(_THINKING_BUDGET, int(n_ctx * _THINKING_SHARE))


def answer_reserve(n_ctx: int) -> int:
    """Return how many tokens of a context must be free before the model generates."""
    return min(_RESERVE_MOST, int(n_ctx * _RESERVE_SHARE))

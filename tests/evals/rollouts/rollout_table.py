"""The figures of rollouts as a table: a row for each temperature and size of a group."""

from collections.abc import Iterable, Sequence

from laguna_tui.base.markdown_table import markdown_table
from laguna_tui.base.units import count, duration, plural, rate, share
from laguna_tui.evals.samples import RunFacts
from tests.evals.rollouts.rollout import Group, Rollout

_HEAD = ("temperature", "group", "rollouts", "reward", "best of group", "tokens", "wall time", "speed", "acceptance")
_NOTES = (
    "Reward and tokens are of a rollout, best of group is of a prompt, all on average. The wall time is that with a"
    " request under way; speed is tokens per second of it."
)


def rollout_report(facts: RunFacts, groups: Sequence[Group], rollouts: Sequence[Rollout]) -> str:
    """Return what the rollouts of these groups came to, in Markdown."""
    rows = []
    for group in groups:
        found = [each for each in rollouts if (each.temperature, each.group) == (group.temperature, group.size)]
        if found:
            rows.append(_row(group, found))
    retries = sum(each.retries for each in rollouts)
    ends: dict[str, int] = {}
    for each in rollouts:
        ends[each.end] = ends.get(each.end, 0) + 1
    ended = ", ".join(f"{end} {number}" for end, number in sorted(ends.items()))
    lines = [
        f"# {facts.model}: {count(len(rollouts))} {plural(len(rollouts), 'rollout')}",
        "",
        *markdown_table(_HEAD, rows),
        "",
        _NOTES,
        f"Answers ended: {ended}. Requests sent again: {count(retries)}.",
    ]
    return "\n".join(lines) + "\n"


def _row(group: Group, rollouts: Sequence[Rollout]) -> list[str]:
    tokens = sum(each.generated_tokens for each in rollouts)
    wall_s = wall_seconds((each.ended - each.seconds, each.ended) for each in rollouts)
    best: dict[str, float] = {}
    rewards = [(each.prompt, each.reward) for each in rollouts if each.reward is not None]
    for prompt, reward in rewards:
        best[prompt] = max(reward, best.get(prompt, reward))
    return [
        "its own" if group.temperature is None else f"{group.temperature:g}",
        count(group.size),
        count(len(rollouts)),
        f"{sum(reward for _, reward in rewards) / len(rewards):.3f}" if rewards else "–",
        f"{sum(best.values()) / len(best):.3f}" if best else "–",
        f"{tokens / len(rollouts):,.0f}",
        duration(wall_s),
        rate(tokens / wall_s) if tokens and wall_s > 0 else "–",
        share(sum(each.accepted for each in rollouts), sum(each.drafted for each in rollouts)),
    ]


def wall_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """Return how long at least one of the spans lasts, which also holds for a run that was interrupted and resumed."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total

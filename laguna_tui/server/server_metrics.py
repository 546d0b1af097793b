"""What the server counts, for `/metrics` in Prometheus' text format and for `/serve` in the TUI."""

import time
from collections import Counter
from dataclasses import dataclass, field

from laguna_engine.events import Stats
from laguna_engine.snapshot.state_pool import PoolFigures
from laguna_tui.session.values import ClientUse

_PREFIX = "laguna_tui_"


@dataclass(slots=True)
class _Client:
    requests: int = 0
    generated: int = 0
    seen: float = 0.0


@dataclass(slots=True)
class ServerMetrics:
    """Counters since the server was started. Used on the event loop's thread; `clients` on any."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    prefill_s: float = 0.0
    decode_s: float = 0.0
    _clients: dict[str, _Client] = field(default_factory=dict)

    def answered(self, path: str, status: int) -> None:
        """Count a request by its status."""
        self.requests[path, status] += 1

    def generated(self, client: str, stats: Stats, recomputed: int) -> None:
        """Count a client's generation that ended."""
        self.tokens["prompt"] += stats.prompt_tokens
        self.tokens["prompt_cached"] += stats.cached_tokens
        self.tokens["prompt_read_again"] += recomputed
        self.tokens["generated"] += stats.generated_tokens
        self.tokens["drafted"] += stats.drafted
        self.tokens["accepted"] += stats.accepted
        self.prefill_s += stats.prefill_s
        self.decode_s += stats.decode_s
        known = self._clients.setdefault(client, _Client())
        known.requests += 1
        known.generated += stats.generated_tokens
        known.seen = time.monotonic()

    def clients(self, now: str) -> tuple[ClientUse, ...]:
        """Return who used it, the latest first. now: The client being answered; empty for none."""
        if now and now not in self._clients:
            self._clients[now] = _Client(seen=time.monotonic())
        at = time.monotonic()
        known = sorted(dict(self._clients).items(), key=lambda found: -found[1].seen)
        return tuple(
            ClientUse(name, each.requests, each.generated, name == now, at - each.seen) for name, each in known
        )

    def text(self, waiting: int, busy: bool, held: PoolFigures) -> str:
        """Return all counters as Prometheus reads them."""
        lines: list[str] = []

        def put(name: str, kind: str, about: str, values: list[tuple[str, float]]) -> None:
            lines.extend((f"# HELP {_PREFIX}{name} {about}", f"# TYPE {_PREFIX}{name} {kind}"))
            lines.extend(f"{_PREFIX}{name}{labels} {value:g}" for labels, value in values)

        found = sorted(self.requests.items())
        answered = [(f'{{path="{path}",status="{status}"}}', float(count)) for (path, status), count in found]
        put("requests_total", "counter", "Requests by path and status.", answered)
        for name, about in _TOKENS.items():
            put(f"{name}_tokens_total", "counter", about, [("", self.tokens[name])])
        put("prefill_seconds_total", "counter", "Time spent reading prompts.", [("", self.prefill_s)])
        put("decode_seconds_total", "counter", "Time spent generating.", [("", self.decode_s)])
        drafted = self.tokens["drafted"]
        put(
            "draft_acceptance", "gauge", "Accepted per drafted token.", [("", self.tokens["accepted"] / (drafted or 1))]
        )
        put("requests_waiting", "gauge", "Requests waiting for their turn.", [("", waiting)])
        put("requests_running", "gauge", "Requests being answered.", [("", int(busy))])
        put("held_conversations", "gauge", "Conversations waiting in memory.", [("", held.held)])
        put("held_bytes", "gauge", "Bytes of the conversations waiting in memory.", [("", held.nbytes)])
        put("held_swaps_total", "counter", "Conversations brought back from memory.", [("", held.swapped)])
        put("held_dropped_total", "counter", "Conversations dropped for lack of memory.", [("", held.dropped)])
        return "\n".join(lines) + "\n"


_TOKENS = {
    "prompt": "Tokens of prompts.",
    "prompt_cached": "Tokens of prompts that were in the KV cache.",
    "prompt_read_again": "Tokens computed twice because others had their turn.",
    "generated": "Tokens generated.",
    "drafted": "Tokens that drafters proposed.",
    "accepted": "Drafted tokens that the target accepted.",
}

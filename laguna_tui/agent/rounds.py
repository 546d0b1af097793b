"""Rounds of speculative decoding with the words they are about: a round comes before its tokens, and is told after."""

from laguna_engine.events import Round, Token
from laguna_tui.events import DraftRound


class RoundTeller:
    """Holds a round until its tokens were there. Words that are no answer (tool calls) count as well."""

    def __init__(self) -> None:
        self._round: Round | None = None
        self._texts: list[str] = []

    def begin(self, new: Round) -> DraftRound | None:
        """A round begins; the one before it, if it is not told yet (it may commit fewer tokens at the very end)."""
        told = self.finish()
        self._round = new
        return told

    def take(self, token: Token) -> DraftRound | None:
        """A token of the round; the round, when it was the last."""
        if self._round is None:
            return None
        self._texts.append(token.text)
        return self.finish() if len(self._texts) > self._round.accepted else None

    def finish(self) -> DraftRound | None:
        """The round that is not told yet, if there is one."""
        told, texts = self._round, self._texts
        self._round, self._texts = None, []
        if told is None:
            return None
        return DraftRound(told, "".join(texts[: told.accepted]), "".join(texts[told.accepted :]))

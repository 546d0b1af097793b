"""The drafters of one engine, by what they are needed for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from laguna_engine.draft.base import Drafter
from laguna_engine.draft.dflash import DFlash
from laguna_engine.draft.dflash_kv import FeatureBuffer
from laguna_engine.draft.suffix import FileDrafter, SuffixDrafter
from laguna_engine.events import Source


class Listener(Protocol):
    """A drafter that keeps up with the transcript."""

    def extend(self, tokens: Sequence[int]) -> None:
        """`tokens` were committed."""
        ...

    def truncate(self, length: int) -> None:
        """Only the first `length` tokens of the transcript still stand."""
        ...


@dataclass(frozen=True, slots=True)
class Drafters:
    """Who may draft for a target.

    by_source: all of them. listeners: those that want to know the transcript. copying: the one that copies from it.
    files: the one that copies from files. reader: the one that reads hidden states, which `feed` supplies it with.
    left_out: adapters of a reader that was left out, with a warning: to be asked for without an error.
    """

    by_source: Mapping[Source, Drafter]
    listeners: Mapping[Source, Listener] = field(default_factory=dict)
    copying: SuffixDrafter | None = None
    files: FileDrafter | None = None
    reader: DFlash | None = None
    feed: FeatureBuffer | None = None
    left_out: Collection[str] = ()

    def without(self, source: Source) -> "Drafters":
        """The others; adapters of a reader that is gone can still be asked for."""
        gone = self.by_source[source]
        reader = None if gone is self.reader else self.reader
        return Drafters(
            by_source={each: drafter for each, drafter in self.by_source.items() if each is not source},
            listeners={each: listener for each, listener in self.listeners.items() if each is not source},
            copying=None if gone is self.copying else self.copying,
            files=None if gone is self.files else self.files,
            reader=reader,
            feed=self.feed if reader is not None else None,
            left_out=self.left_out if self.reader is reader or self.reader is None else self.reader.adapters,
        )

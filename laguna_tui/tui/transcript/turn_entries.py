"""Which entries of a document belong to which turn, so that those of undone turns can be taken out and brought back."""

from collections.abc import Collection

from laguna_tui.tui.transcript.document import Document
from laguna_tui.tui.transcript.entries import Entry, QuestionEntry


class TurnEntries:
    """The entries of each turn, from the question to the end of the answer."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._entries: dict[int, list[Entry]] = {}
        self._question: QuestionEntry | None = None
        self._number = 0

    def begin(self, question: QuestionEntry) -> None:
        """A question was appended; turns that were taken out are forgotten."""
        self.end()
        for number in [number for number, entries in self._entries.items() if self._document.index(entries[0]) is None]:
            del self._entries[number]
        self._question, self._number = question, 0

    def number(self, number: int) -> None:
        """The turn of the newest question has this number; 0 for none."""
        self._number = number

    def end(self) -> None:
        """The turn has ended; what is appended from now on does not belong to it. Idempotent."""
        start = self._document.index(self._question) if self._question is not None else None
        if self._number and start is not None:
            self._entries[self._number] = [entry for entry in self._document.entries[start:] if entry.of_turn]
        self._question = None

    def take_back(self, numbers: Collection[int]) -> str:
        """Take the entries of these turns out of the document. Returns the first question, empty if there is none."""
        self.end()
        first = min((number for number in numbers if number in self._entries), default=0)
        for number in sorted(numbers, reverse=True):
            for entry in reversed(self._entries.get(number, ())):
                if self._document.index(entry) is not None:
                    self._document.remove(entry)
        question = self._entries[first][0] if first else None
        return question.text if isinstance(question, QuestionEntry) else ""

    def bring_back(self, numbers: Collection[int]) -> None:
        """Append the entries of these turns again."""
        for number in sorted(numbers):
            for entry in self._entries.get(number, ()):
                if self._document.index(entry) is None:
                    self._document.append(entry)

    def clear(self) -> None:
        """Forget all turns."""
        self._entries.clear()
        self._question = None

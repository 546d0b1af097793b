"""Copy drafters with a transcript of their own, as a sequence keeps one."""

from collections.abc import Sequence

from laguna_engine.draft.suffix import LIMIT, FileDrafter, SuffixDrafter


class OwnTranscript:
    """Keeps the transcript that the drafter beside it in a class reads: what it was extended by, and not cut."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.text: list[int] = []
        super().__init__(self.text, limit)

    def extend(self, tokens: Sequence[int]) -> None:
        self.text += tokens
        super().extend(tokens)

    def truncate(self, length: int) -> None:
        del self.text[length:]
        super().truncate(length)


class TranscriptCopy(OwnTranscript, SuffixDrafter):
    """Copies from what it was extended by."""


class FileCopy(OwnTranscript, FileDrafter):
    """Copies from files, behind what it was extended by."""

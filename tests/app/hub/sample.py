"""What the tests of downloads share: a model, an entry for it, and what a download said."""

import random

from laguna_tui.models.download import Patience
from laguna_tui.models.entry import Kind, ModelEntry, Source
from laguna_tui.models.progress import DownloadProgress

DATA = random.Random(7).randbytes(300_000)
FILE = "laguna-Q4_K_M.gguf"
REPOSITORY = "poolside/Laguna-GGUF"
CHECKPOINT = 16_384
HASTY = Patience(stall_s=10.0, first_s=0.01, longest_s=0.02, tries=4)


def model(*files: str, repository: str = REPOSITORY, name: str = "laguna", **source: object) -> ModelEntry:
    """An entry of a catalogue."""
    return ModelEntry(
        name=name,
        title=name.title(),
        summary="",
        template=None,
        thinking=False,
        context=2048,
        sampling={},
        match=(),
        path=None,
        kind=Kind.DRAFTER if source.get("convert") else Kind.TARGET,
        source=Source(repository, files or (FILE,), **source),  # type: ignore[arg-type]
    )


class Told(list[DownloadProgress]):
    """What a download said."""

    @property
    def notes(self) -> list[str]:
        return [said.note for said in self if said.note]

"""What the tests of downloads share: a model, an entry for it, and what a download said."""

import hashlib
import random
from pathlib import Path

from laguna_tui.models.download_progress import DownloadProgress
from laguna_tui.models.entry import HubSource, ModelEntry, ModelKind
from laguna_tui.models.partial_file import partial_path
from laguna_tui.models.records import SHA256, Fingerprint
from laguna_tui.models.store import Store
from laguna_tui.models.transfer import RetryPolicy

DATA = random.Random(7).randbytes(300_000)
FILE = "laguna-Q4_K_M.gguf"
REPOSITORY = "poolside/Laguna-GGUF"
HASTY = RetryPolicy(stall_s=10.0, first_s=0.01, longest_s=0.02, tries=4)


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
        kind=ModelKind.DRAFTER if source.get("convert") else ModelKind.TARGET,
        source=HubSource(repository, files or (FILE,), **source),  # type: ignore[arg-type]
    )


def part(store: Store, data: bytes = DATA) -> Path:
    """The partial file of the model's file."""
    return partial_path(store.partial_base(model().source, FILE), Fingerprint(SHA256, hashlib.sha256(data).hexdigest()))


class Told(list[DownloadProgress]):
    """What a download said."""

    @property
    def notes(self) -> list[str]:
        return [said.note for said in self if said.note]

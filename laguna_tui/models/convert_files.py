"""The end of a drafter's download: its files, wherever each of them lies, become one GGUF.

Has the shape that `laguna_tui.models.download.Converter` asks for.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from laguna_tui.errors import UserError
from laguna_tui.models.convert_metadata import Provenance
from laguna_tui.text import sanitize

_NOTHING_KNOWN = Provenance()


def convert_files(
    paths: Sequence[Path],
    target: Path,
    step: Callable[[int, int], None],
    provenance: Provenance = _NOTHING_KNOWN,
    kind: str = "bf16",
) -> None:
    """Make `target` of a published drafter's files, and of nothing else that lies beside them.

    paths: config.json, the safetensors and, for several, their index, under their own names. step: told bytes done and
    in all; it may raise to stop, and then there is no target. UserError if the files are not a drafter as published.
    """
    from laguna_engine.errors import EngineError
    from laguna_tui.models.convert import convert, plan

    with tempfile.TemporaryDirectory(prefix="laguna-tui-") as place:
        folder = Path(place) / (provenance.repository.rpartition("/")[2] or "drafter")
        folder.mkdir()
        for path in paths:
            (folder / path.name).symlink_to(path.absolute())
        try:
            planned = plan(folder, kind)
            read = sum(path.stat().st_size for path in planned.sources if path.name not in provenance.sha256)
            total, before = read + planned.data_bytes, {"verify": 0, "convert": read}
            convert(planned, target, provenance, lambda phase, done, _: step(before[phase] + done, total))
        except EngineError as error:
            raise UserError(sanitize(str(error).replace(f"{place}/", ""))) from error

"""What a model's file says about itself, beside what the catalogue knows: a wrong file under the right name is told.

Reads the header only; no weight is looked at.
"""

from pathlib import Path

from laguna_engine.errors import ModelFileError
from laguna_engine.gguf import drafter, header
from laguna_tui.models.entry import Kind, ModelEntry


def doubts(entry: ModelEntry, path: Path) -> tuple[str, ...]:
    """What speaks against this file being this model, as sentences; nothing when all is well."""
    try:
        if entry.kind is Kind.DRAFTER:
            found = drafter.read(path).file
        else:
            judged = entry.kind is Kind.TARGET
            found = header.check(path) if judged else header.read(path, lambda _: None)
    except ModelFileError as error:
        return (str(error),)
    return tuple(_differences(entry, found))


def _differences(entry: ModelEntry, found: header.Header) -> list[str]:
    differences = []
    for key, expected in entry.facts.items():
        full = key if key.startswith("general.") else f"{found.architecture}.{key}"
        said = found.metadata.get(full)
        if said != expected:
            differences.append(
                f"{found.path}: its header says {full} = {said!r}, and {entry.title} has {expected!r}; this is another "
                "model, or a faulty conversion: get it from the repository that the catalogue names"
            )
    return differences

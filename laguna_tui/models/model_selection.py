"""Selection of files by the settings: the model, its drafter, the drafter's adapter and the scorer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import NO_DRAFTER, Settings
from laguna_tui.models.catalogue import load_catalogue, resolve
from laguna_tui.models.entry import ModelEntry, ModelKind

if TYPE_CHECKING:
    from laguna_tui.models.store import Store


TRAINED_FOR = "laguna_tui.trained_for"
"""Key in the header of a drafter that this app converted: the weights that it was trained for."""


@dataclass(frozen=True, slots=True)
class ModelSelection:
    """The selected model and its files.

    Attributes:
        settings: The settings it was selected by.
        entry: The model.
        drafter: File of its drafter, if any.
        context: Tokens of context that the catalogue fixes; None when the machine decides.
    """

    settings: Settings
    entry: ModelEntry
    drafter: Path | None
    context: int | None


def select_model(settings: Settings) -> ModelSelection:
    """Return the selection of the settings.

    Raises:
        UserError: The model or the drafter is not on this machine.
    """
    catalogue = load_catalogue()
    entry = resolve(settings.model, catalogue)
    if entry.kind is ModelKind.REMOTE:
        return ModelSelection(settings, entry, None, entry.context or None)
    return ModelSelection(
        settings, entry, drafter_of(settings, entry), catalogue_context(settings.model, entry, catalogue)
    )


def select_other(settings: Settings, wanted: str) -> ModelSelection:
    """Return the selection of another name or file.

    A drafter and an adapter set for the model before are dropped, and a context that is larger than the other one's.

    Raises:
        UserError: The model is not on this machine.
    """
    drafter = NO_DRAFTER if settings.drafter == NO_DRAFTER else None
    origin = {key: file for key, file in settings.origin.items() if key not in ("model", "drafter", "adapter")}
    settings = replace(settings, model=wanted, drafter=drafter, adapter=None, origin=origin)
    selection = select_model(settings)
    path = selection.entry.path
    if settings.context is None or path is None or settings.context <= _most_context(path):
        return selection
    return select_model(replace(settings, context=None))


def _most_context(path: Path) -> float:
    """Return the most tokens of context of a model file; infinite for one that cannot be opened anyway."""
    from laguna_engine.errors import ModelFileError
    from laguna_engine.gguf import header

    try:
        return header.safe_context(header.read_unchecked(path))
    except ModelFileError:
        return float("inf")


def drafter_of(settings: Settings, entry: ModelEntry, store: "Store | None" = None) -> Path | None:
    """Return the drafter's file: the user's, else the catalogue's if it is on this machine, else None.

    Args:
        settings: Its `drafter` is a path, a catalogue name, "none" or None.
        store: Store of downloaded drafters; None for the user's.

    Raises:
        UserError: The user's file, or drafter of the catalogue, is not on this machine.
    """
    if settings.drafter is None:
        return entry.drafter
    if settings.drafter == NO_DRAFTER:
        return None
    known = {name: each for name, each in load_catalogue().items() if each.kind is ModelKind.DRAFTER}
    if settings.drafter in known:
        return _stored_drafter(known[settings.drafter], store, settings.given("drafter"))
    path = Path(settings.drafter).expanduser()
    if not path.is_file():
        names = ", ".join(name for name, each in known.items() if entry.name in each.belongs)
        which_ones = f", a drafter of the catalogue ({names})" if names else ""
        raise UserError(f"{settings.given('drafter')}: no such file; give the path of a GGUF{which_ones}, or none")
    return path


def _stored_drafter(drafter: ModelEntry, store: "Store | None", given: str) -> Path:
    from laguna_tui.models.store import Store

    path = drafter.path or (store or Store()).path(drafter)
    if path is None or not path.is_file():
        raise UserError(f"{given}: not on this machine; run: laguna-tui models download {drafter.name}")
    return path


_OTHER_WEIGHTS = (
    "{drafter} was trained for {trained_for}, and {title} is made of {weights}: fewer drafts may be accepted, which "
    "costs speed and never changes an answer"
)


def weights_doubt(entry: ModelEntry, drafter: Path, store: "Store | None" = None) -> str:
    """Return that a drafter was trained for other weights than a model's, as a sentence; empty if not, or if unknown.

    A file that this app converted says what it was trained for, and otherwise the catalogue.
    """
    from laguna_engine.errors import ModelFileError
    from laguna_engine.gguf import header
    from laguna_tui.models.store import Store

    try:
        trained_for = header.read_unchecked(drafter).metadata.get(TRAINED_FOR)
    except ModelFileError:
        return ""
    if not isinstance(trained_for, str):
        shelf = store or Store()
        drafters = (each for each in load_catalogue().values() if each.kind is ModelKind.DRAFTER)
        trained_for = next((each.trained_for for each in drafters if shelf.path(each) == drafter), "")
    if not trained_for or not entry.weights or _same_weights(trained_for, entry.weights):
        return ""
    return _OTHER_WEIGHTS.format(
        drafter=drafter.name, trained_for=trained_for, title=entry.title, weights=entry.weights
    )


def _same_weights(one: str, other: str) -> bool:
    """Return whether two names of weights may mean the same; a commit counts only if both have one."""
    (name, _, commit), (other_name, _, other_commit) = one.partition("@"), other.partition("@")
    return name == other_name and (commit == other_commit or not commit or not other_commit)


def adapter_of(settings: Settings) -> tuple[str, Path] | None:
    """Return name and file of the drafter's adapter, or None without one.

    Raises:
        UserError: The user's file does not exist.
    """
    if settings.adapter is None:
        return None
    path = Path(settings.adapter).expanduser()
    if not path.is_file():
        raise UserError(f"{settings.given('adapter')}: no such file; give the path of a LoRA in GGUF")
    return path.stem, path


def catalogue_context(wanted: str, entry: ModelEntry, catalogue: Mapping[str, ModelEntry]) -> int | None:
    """Return the context in tokens that an entry fixes; None when the machine decides.

    An entry with a local file was written for this machine, or for a model with no other context; the context of a
    downloadable entry is meant for machines of every kind.
    """
    return entry.context if wanted in catalogue and entry.source is None else None


NO_SCORER = "none"
"""Value of the setting `scorer` that ranks by words alone."""


def scorer_path(settings: Settings, store: "Store | None" = None) -> Path | None:
    """Return the scorer's file: a downloaded one before the bundled one; None without one.

    Raises:
        UserError: The scorer in the settings is not on this machine.
    """
    from laguna_tui.models.store import Store

    wanted = settings.scorer
    if wanted == NO_SCORER:
        return None
    scorers = {name: entry for name, entry in load_catalogue().items() if entry.kind is ModelKind.SCORER}
    shelf = store or Store()
    if wanted is None:
        here = [shelf.path(entry) for entry in scorers.values() if entry.path is None]
        bundled = [entry.path for entry in scorers.values() if entry.path is not None and entry.path.is_file()]
        return next((path for path in [*here, *bundled] if path is not None), None)
    if wanted in scorers:
        path = scorers[wanted].path or shelf.path(scorers[wanted])
        if path is None:
            raise UserError(f"--scorer {wanted}: not on this machine; run: laguna-tui models download {wanted}")
        return path
    file = Path(wanted).expanduser()
    if not file.is_file():
        raise UserError(f"--scorer {wanted}: no such file, and not a scorer in the catalogue; give a GGUF, or none")
    return file

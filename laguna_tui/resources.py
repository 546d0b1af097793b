"""Where the files that ship with the app are: beside the package in a wheel, at the top of a source checkout."""

from pathlib import Path

import laguna_tui

_PACKAGE = Path(laguna_tui.__file__).resolve().parent


def data_root() -> Path:
    """The folder that holds `models.toml` and `assets/`."""
    installed = _PACKAGE / "data"
    return installed if installed.is_dir() else _PACKAGE.parent

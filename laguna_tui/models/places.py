"""Where on this machine models and what the user says about them are kept."""

import os
from pathlib import Path

import platformdirs

_APP = "laguna-tui"
STORE_VARIABLE = "LAGUNA_TUI_MODELS"
"""An environment variable that moves the store, to a larger disk for example."""


def store_folder() -> Path:
    """The folder of downloaded models.

    Data, not cache: what cleans caches must not cost anybody twenty gigabytes.
    """
    chosen = os.environ.get(STORE_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_data_path(_APP) / "models"


def user_catalogue() -> Path:
    """The user's own `models.toml`; it need not be there."""
    return platformdirs.user_config_path(_APP) / "models.toml"

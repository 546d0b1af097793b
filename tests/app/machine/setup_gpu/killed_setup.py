"""Sets up a build in an environment, and is killed at a step.

    python -m tests.app.machine.setup_gpu.killed_setup STATE PYTHON WHEEL KIND STEP

A step is a change of the disk that the app makes itself, or the start of a program such as pip. Exits with 0 if there
are fewer steps than that. With KIND `plugin` the wheel is a plug-in, else a build that replaces the installed one.
"""

import os
import shutil
import sys
from pathlib import Path

from laguna_tui.base.network import Network
from laguna_tui.machine.setup_gpu import pip, rollback
from laguna_tui.machine.setup_gpu.builds import BUILDS
from laguna_tui.machine.setup_gpu.installer import BuildOffer, Installer
from laguna_tui.machine.setup_gpu.pip import Pip, PythonEnvironment
from laguna_tui.machine.setup_gpu.rollback import Rollback
from laguna_tui.machine.setup_gpu.trial import Trial
from tests.kills import kill_at_step

WORKS = Trial(("Some Card",), 16, 0.5)


def main(state: str, python: str, wheel: str, kind: str, step: str) -> int:
    """Set up, or die."""
    environment = PythonEnvironment.of(python)
    kill_at_step(
        int(step),
        (Path, "replace"), (Path, "unlink"), (Path, "mkdir"), (shutil, "rmtree"), (os, "replace"),
        (rollback, "write_atomically"), (pip, "run"),
    )  # fmt: skip
    kept = Rollback(Path(state), environment.prefix)
    installer = Installer(
        environment, kept, Pip(environment, kept.work, Network(), Path(wheel).parent),
        lambda python, beside: WORKS, lambda text: None, lambda text: None,
    )  # fmt: skip
    installer.set_up("", [BuildOffer(BUILDS["sm86" if kind == "plugin" else "cu124"], ())])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

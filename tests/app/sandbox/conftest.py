"""A repository under the sandbox that works here."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from laguna_tui.sandbox.native.landlock_ruleset import LEAST_ABI, landlock_abi
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus, probe_sandbox
from tests.app.sandbox.world import outside_tmp


@pytest.fixture
def place():
    """A folder that no sandbox replaces as a whole, unlike the temporary one."""
    folder = Path(tempfile.mkdtemp(prefix="sandbox-", dir=outside_tmp()))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def repository(place, monkeypatch):
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(place / "home"))
    folder = place / "repository"
    folder.mkdir()
    (place / "home").mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=folder, check=True)
    for key in ("user.name", "user.email"):
        subprocess.run(["git", "config", key, "t@t"], cwd=folder, check=True)
    (folder / "a.txt").write_text("a\n")
    return folder


@pytest.fixture
def bubblewrap():
    status = probe_sandbox()
    if status.kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(status.sentence)
    return status


@pytest.fixture(params=[SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK], ids=lambda kind: kind.value)
def status(request):
    if request.param is SandboxKind.LANDLOCK:
        if landlock_abi() < LEAST_ABI:
            pytest.skip("this kernel has no Landlock")
        return SandboxStatus(SandboxKind.LANDLOCK, "")
    found = probe_sandbox()
    if found.kind is not request.param:
        pytest.skip(found.sentence)
    return found

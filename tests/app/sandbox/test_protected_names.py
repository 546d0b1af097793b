"""Every name of the table is found where a command could leave it."""

import pytest

from laguna_tui.repo.files.protected_paths import protected_names
from laguna_tui.sandbox.folder_walk import FolderWalk

NAMED = """
    .hg/hgrc .jj/repo/config.toml .yarnrc.yml .yarnrc .pnpmfile.cjs .cargo/config.toml .cargo/config
    .mvn/extensions.xml .mvn/jvm.config .gdbinit .lazy.lua _vimrc AGENT.md WARP.md CRUSH.md .rules .kilocode/rules/a.md
    .trae/rules/a.md .augment/rules/a.md .cline/mcp.json .agent/rules/a.md
""".split()


@pytest.mark.parametrize("name", [*NAMED, *(name.replace("*", "x") for name in protected_names())])
@pytest.mark.parametrize("folder", ["", "a/b"])
def test_every_name_of_the_table_is_found(tmp_path, folder, name):
    path = tmp_path / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    found = FolderWalk(tmp_path).read().protected
    assert len(found) == 1
    assert path.is_relative_to(*found)


@pytest.mark.parametrize(
    "path", ["repo/config.toml", "jj/repo/config.toml", "cargo/config.toml", ".jj/repo/other", "mise"]
)
def test_a_part_of_a_name_is_not_enough(tmp_path, path):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("x")
    assert FolderWalk(tmp_path).read().protected == {}

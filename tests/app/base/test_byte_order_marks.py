"""Settings saved by an editor that begins files with a byte order mark are read like others."""

import codecs
from pathlib import Path

import pytest

from laguna_tui.agent.permissions.rule_file import append_rule, check_user_rules, read_user_rules
from laguna_tui.agent.permissions.rules import Rule
from laguna_tui.agent.tools.mcp.mcp_config import load_servers
from laguna_tui.base.named_file import read_named_text
from laguna_tui.base.settings import load_settings, parse_settings
from laguna_tui.context.trust import Trust
from laguna_tui.models.catalogue import check_catalogue, load_catalogue

MARK = codecs.BOM_UTF8.decode()


@pytest.fixture
def written(tmp_path: Path):
    """Writes a file that begins with the mark; its path."""

    def write(text: str) -> Path:
        path = tmp_path / "file"
        path.write_text(MARK + text, encoding="utf-8")
        return path

    return write


def test_settings(written) -> None:
    assert load_settings(written('model = "nano"\n')).model == "nano"
    assert parse_settings(f'{MARK}model = "nano"\n', Path("config.toml")).model == "nano"


def test_a_model_catalogue(written) -> None:
    text = '[models.nano]\ntitle = "Mine"\n'
    assert load_catalogue(own=written(text))["nano"].title == "Mine"
    check_catalogue(MARK + text, Path("models.toml"))


def test_rules_and_a_rule_that_is_added_keeps_the_mark(written, tmp_path: Path) -> None:
    path = written('[rules]\nallow = ["read"]\n')
    assert read_user_rules(path, tmp_path / "elsewhere").rules.allow == {Rule("read")}
    check_user_rules(path.read_text(), path)
    append_rule(path, tmp_path / "elsewhere", "edit")
    assert len(read_user_rules(path, tmp_path / "elsewhere").rules.allow) == 2
    assert path.read_bytes().startswith(codecs.BOM_UTF8)


def test_mcp_servers(written, tmp_path: Path) -> None:
    own = written('{"mcpServers": {"notes": {"command": "notes"}}}')
    (server,) = load_servers(tmp_path, Trust(None), own).servers
    assert server.name == "notes"


def test_a_file_that_an_option_names(written) -> None:
    assert read_named_text("--schema", written("{}"), 100, "give another") == "{}"

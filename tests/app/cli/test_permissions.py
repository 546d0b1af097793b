"""`laguna-tui permissions`: what is listed, what is written, and what a command would come to."""

import pytest

from laguna_tui.cli.main import main
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus


@pytest.fixture
def permissions(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder; its exit code, and what it said."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "shop").mkdir()

    def ran(*words):
        code = main(["permissions", *words, "--folder", str(tmp_path / "shop")])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return ran


@pytest.fixture
def sandbox(monkeypatch):
    """Sets which sandbox there is."""

    def has(kind):
        status = SandboxStatus(kind, f"It is {kind.value}.")
        monkeypatch.setattr("laguna_tui.cli.permissions.probe_sandbox", lambda: status)

    return has


def test_without_rules_it_explains_how_to_add_one(permissions):
    code, said = permissions()
    assert code == 0
    assert "laguna-tui permissions allow 'shell(pytest …)'" in said


def test_rules_that_are_added_are_listed_with_where_they_stand(permissions, tmp_path):
    assert permissions("allow", "edit(src/**)")[0] == permissions("deny", "shell(git push …)")[0] == 0
    file, folder = tmp_path / "config/laguna-tui/permissions.toml", tmp_path / "shop"
    said = permissions("list")[1].splitlines()
    assert said[:2] == [
        f"deny: shell(git push …) (from {file}, for {folder})",
        f"allow: edit(src/**) (from {file}, for {folder})",
    ]


def test_the_rules_of_the_repository_are_listed_and_what_it_would_allow_is_not(permissions, tmp_path):
    (tmp_path / "shop/.laguna-tui.toml").write_text('[rules]\ndeny = ["delete"]\nallow = ["edit"]\n')
    said = permissions("list")[1]
    assert "deny: delete (from .laguna-tui.toml)" in said
    assert "allow: edit" not in said
    assert "a repository cannot allow anything" in said


def test_the_rules_of_another_folder_are_not_listed(permissions, tmp_path):
    file = tmp_path / "config/laguna-tui/permissions.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[[folder]]\npath = "/elsewhere"\nallow = ["edit"]\n')
    assert "edit" not in permissions("list")[1].splitlines()[0]


@pytest.mark.parametrize("action", ["allow", "deny"])
def test_an_invalid_rule_is_refused_and_nothing_is_written(permissions, tmp_path, action):
    code, said = permissions(action, "edit(src")
    assert (code, said.startswith("laguna-tui: 'edit(src' is not a rule")) == (2, True)
    assert not (tmp_path / "config").exists()


def test_a_command_is_checked_in_every_mode(permissions, sandbox):
    sandbox(SandboxKind.BUBBLEWRAP)
    said = permissions("check", "make")[1]
    assert "It is bubblewrap." in said
    for start in ("ask: ask, because", "accept-edits: ask, because", "plan: deny, because", "auto: allow, because"):
        assert f"\n{start}" in said
    assert "permissions allow 'shell(make)'" in " ".join(said.split())


def test_a_command_that_a_rule_denies_names_the_rule(permissions, sandbox):
    sandbox(SandboxKind.BUBBLEWRAP)
    permissions("deny", "shell(git push …)")
    said = " ".join(permissions("check", "git push --force")[1].split())
    assert said.count("deny, because the rule shell(git push …) forbids it") == 4


def test_without_a_sandbox_no_mode_allows_a_command(permissions, sandbox):
    sandbox(SandboxKind.NONE)
    said = permissions("check", "make")[1]
    assert ": allow," not in said
    assert said.count("always needs approval") == 3

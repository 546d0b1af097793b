"""What is never edited, and what only when a person agreed: by name, by place, and through links."""

import os

import pytest

from laguna_tui.repo.edits.edit_files import EditError, propose_edit
from laguna_tui.repo.files.protected_paths import approval_reason, protected_names
from laguna_tui.repo.files.workspace import Workspace, WorkspaceError
from tests.app.repo.conftest import git, write

OBEYED = [
    "AGENTS.md",
    "agents.md",
    "docs/CLAUDE.md",
    ".claude/settings.json",
    ".Claude/commands/x.md",
    ".cursor/rules/a.mdc",
    ".mcp.json",
    ".codex/config.toml",
    ".github/copilot-instructions.md",
    ".vscode/tasks.json",
    ".VSCode/settings.json",
    "web/.vscode/launch.json",
    "app.code-workspace",
    ".idea/runConfigurations/run.xml",
    ".devcontainer/devcontainer.json",
    ".husky/pre-commit",
    ".githooks/pre-push",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".gitattributes",
    ".gitmodules",
    ".envrc",
    "sub/.ENVRC",
    ".laguna-tui.toml",
    "mise.toml",
    ".bashrc",
    ".github/workflows/ci.yml",
    ".GitHub/Workflows/ci.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    ".env\u200brc",
    *(name.replace("*", "x") for name in protected_names()),
]
ORDINARY = [
    "main.py",
    "README.md",
    "Makefile",
    "docs/agents_guide.md",
    "workflows/ci.yml",
    ".github/ISSUE_TEMPLATE.md",
    "github/workflows/ci.yml",
    ".gitignore",
    ".cargo/registry/index",
    ".yarn/cache/a.zip",
    "repo/config.toml",
    ".hg/store/data",
    "mise",
    "vscode/tasks.json",
    "src/claude.py",
]


@pytest.fixture
def root(tmp_path):
    """A folder without a repository around it."""
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def put(root, path):
    write(root, {path: "one\n"})
    return path


def proposed(root, path):
    return propose_edit(Workspace(root), path, "one", "two")


@pytest.mark.parametrize("path", OBEYED)
def test_what_other_programs_obey_or_run_is_asked_about(root, path):
    proposal = proposed(root, put(root, path))
    assert proposal.approval_reason
    assert proposal.warning.startswith(f"This always needs your approval: {proposal.approval_reason}.")


@pytest.mark.parametrize("path", ORDINARY)
def test_everything_else_is_not(root, path):
    proposal = proposed(root, put(root, path))
    assert (proposal.approval_reason, proposal.warning) == ("", "")


def test_a_folder_inside_of_such_a_folder_counts_when_the_session_was_started_there(root):
    git(root, "init")
    put(root, ".github/workflows/ci.yml")
    assert proposed(root / ".github/workflows", "ci.yml").approval_reason


def test_a_worktree_that_an_assistant_keeps_in_its_own_folder_is_a_project_like_any_other(root):
    git(root, "init")
    put(root, "main.py")
    git(root, "add", ".")
    git(root, "commit", "-m", "x")
    git(root, "worktree", "add", ".claude/worktrees/a")
    assert not proposed(root / ".claude/worktrees/a", "main.py").approval_reason


def test_what_a_link_of_such_a_name_leads_to_counts_too(root):
    put(root, "docs/rules.md")
    put(root, "config/editor/tasks.json")
    (root / "AGENTS.md").symlink_to("docs/rules.md")
    (root / ".vscode").symlink_to("config/editor")
    assert proposed(root, "docs/rules.md").approval_reason
    assert proposed(root, "AGENTS.md").approval_reason
    assert proposed(root, "config/editor/tasks.json").approval_reason


def test_the_folder_that_git_runs_hooks_from_counts(root):
    git(root, "init")
    git(root, "config", "core.hooksPath", "tools/hooks")
    assert "hooks" in proposed(root, put(root, "tools/hooks/pre-commit")).approval_reason
    assert not proposed(root, put(root, "tools/other.sh")).approval_reason


@pytest.mark.parametrize(
    ("key", "value"), [("include.path", "../tools/x"), ("core.fsmonitor", "./tools/x"), ("alias.x", "!sh tools/x")]
)
def test_a_file_that_the_configuration_of_git_names_counts(root, key, value):
    git(root, "init")
    git(root, "config", key, value)
    assert proposed(root, put(root, "tools/x")).approval_reason == "git's configuration names it"
    assert not proposed(root, put(root, "tools/y")).approval_reason


def test_where_git_cannot_be_asked_everything_is_asked_about(root):
    git(root, "init")
    os.mkfifo(root / ".gitattributes")
    assert "git does not answer" in proposed(root, put(root, "main.py")).approval_reason


def test_without_git_on_this_machine_no_hook_can_run(root, monkeypatch):
    git(root, "init")
    put(root, "main.py")
    monkeypatch.setenv("PATH", "")
    assert approval_reason(root, "main.py") == ""


def as_a_file(root):
    """`.git` is a file that leads to a folder inside."""
    git(root, "init", "--separate-git-dir", "store")
    return "store"


def as_a_link(root):
    git(root, "init")
    (root / ".git").rename(root / "store")
    (root / ".git").symlink_to("store")
    return "store"


def as_a_bare_repository(root):
    git(root, "init", "--bare", "deep/bare")
    return "deep/bare"


def as_a_pointer_only(root):
    """What git does not take for a repository yet."""
    (root / ".git").write_text("gitdir: store\n")
    (root / "store/hooks").mkdir(parents=True)
    (root / "store/config").write_text("[core]\n")
    return "store"


@pytest.mark.parametrize("made", [as_a_file, as_a_link, as_a_bare_repository, as_a_pointer_only])
@pytest.mark.parametrize("name", ["config", "hooks/pre-commit", "info/exclude"])
def test_gits_own_files_are_never_edited_wherever_they_lie(root, made, name):
    path = put(root, f"{made(root)}/{name}")
    with pytest.raises(EditError) as error:
        proposed(root, path)
    assert str(error.value) == f"{path} belongs to git itself; edit another file"


def test_gits_own_files_are_not_edited_from_inside_of_them_either(root):
    git(root, "init")
    put(root / ".git", "hooks/pre-commit")
    with pytest.raises(EditError) as error:
        proposed(root / ".git/hooks", "pre-commit")
    assert str(error.value) == "pre-commit belongs to git itself; edit another file"


@pytest.mark.parametrize("name", [".GIT", ".git.", "GIT~1", ".g\u200bit"])
def test_no_spelling_of_gits_folder_is_edited(root, name):
    put(root, f"{name}/config")
    with pytest.raises(WorkspaceError, match="belongs to git itself"):
        proposed(root, f"{name}/config")

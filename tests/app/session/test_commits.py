"""`/commit` commits exactly what it listed, in the sandbox, and says where a commit is different."""

import os
import shutil
import subprocess

import pytest

from laguna_tui.agent.tools.full import shell
from laguna_tui.base.errors import UserError
from laguna_tui.sandbox.probe import SandboxKind, SandboxStatus
from laguna_tui.sandbox.runner import CommandRunner
from laguna_tui.session.commits import Commits
from tests.app.sandbox.conftest import bubblewrap, place, repository, status

__all__ = ["bubblewrap", "place", "repository", "status"]

SECRET, OLD = "KEY=geheim\n", "KEY=old\n"


class Drafter:
    """The agent's part in a draft."""

    def __init__(self):
        self.read = []

    def commit_message(self, material, most_tokens):
        self.read.append(material)
        return "A message"


def git(folder, *words):
    return subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def project(repository):
    for path in ("sub/x", "more/x"):
        (repository / path).parent.mkdir()
        (repository / path).write_text("one\n")
    (repository / ".env").write_text(OLD)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "First")
    return repository


class Session:
    """The commits of a session in a folder."""

    def __init__(self, folder, path_rules=lambda: ((), ())):
        self.drafter = Drafter()
        self.runner = CommandRunner(folder, path_rules=path_rules)
        self.commits = Commits(folder, lambda: self.drafter, lambda: self.runner)

    def commit(self):
        try:
            draft = self.commits.draft()
            return draft.files, self.commits.commit(draft.message, draft)
        finally:
            self.runner.close()


def committed(folder):
    return git(folder, "show", "--format=", "--name-only", "--no-renames").splitlines()


@pytest.mark.parametrize("staged", [False, True])
def test_secrets_are_committed_as_they_are_if_they_are_listed(project, bubblewrap, staged):
    (project / ".env").write_text(SECRET)
    (project / "new.pem").write_text(SECRET)
    if staged:
        git(project, "add", "-A")
    session = Session(project)
    assert session.commit() == ([".env", "new.pem"], "Committed: A message")
    assert [git(project, "show", f"HEAD:{path}") for path in (".env", "new.pem")] == [SECRET, SECRET]
    assert "geheim" not in session.drafter.read[0]
    assert git(project, "status", "--short") == ""


def test_a_secret_that_is_not_listed_is_neither_committed_nor_shown_to_hooks(project, bubblewrap):
    (project / ".env").write_text(SECRET)
    (project / "sub/x").write_text("two\n")
    git(project, "add", "sub/x")
    hook = project / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\ncat .env > seen\n")
    hook.chmod(0o755)
    assert Session(project).commit() == (["sub/x"], "Committed: A message")
    assert (project / "seen").read_text() == OLD
    assert git(project, "show", "HEAD:.env") == OLD
    assert (project / ".env").read_text() == SECRET


def test_a_secret_that_appears_after_the_listing_stops_the_commit(project, bubblewrap):
    (project / "sub/x").write_text("two\n")
    session = Session(project)
    draft = session.commits.draft()
    (project / "late.pem").write_text(SECRET)
    with pytest.raises(UserError, match=r'open\("late.pem"\): Permission denied'):
        session.commits.commit("x", draft)
    assert git(project, "status", "--short") == " M sub/x\n?? late.pem\n"
    session.runner.close()


def test_files_that_a_rule_hides_are_committed_unchanged(project, bubblewrap):
    for path in ("more/x", "a.note"):
        (project / path).write_text("two\n")
    files, said = Session(project, path_rules=lambda: (("more", "*.note"), ())).commit()
    assert (files, said) == (["more/x", "a.note"], "Committed: A message")
    assert git(project, "show", "HEAD:more/x", "HEAD:a.note") == "two\ntwo\n"


@pytest.fixture(params=["elsewhere", "below /tmp", "behind a link", "worktree", "submodule"])
def part(request, project, tmp_path, bubblewrap):
    """A folder that is a part of a repository, and the repository."""
    match request.param:
        case "below /tmp":
            shutil.move(project, tmp_path / "repository")
            project = tmp_path / "repository"
        case "behind a link":
            (project.parent / "link").symlink_to(project)
            project = project.parent / "link"
        case "worktree":
            git(project, "worktree", "add", "-q", "../tree")
            project = project.parent / "tree"
        case "submodule":
            git(project, "clone", "-q", "--bare", ".", "../upstream.git")
            git(project, "submodule", "add", "-q", "../upstream.git", "module")
            project = project / "module"
            for key in ("user.name", "user.email"):
                git(project, "config", key, "t@t")
    return project / "sub", project


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}


def test_a_part_of_a_repository_is_committed_alone(part):
    folder, project = part
    for path in ("sub/x", "sub/new", "more/x", "more/new"):
        (project / path).write_text("two\n")
    git(project, "add", "more")
    (project / "more/x").write_text("three\n")
    before = contents(project)
    files, said = Session(folder).commit()
    assert files == ["x", "new"]
    assert said == "Committed: A message\nStill staged outside this folder: more/new, more/x."
    assert committed(project) == ["sub/new", "sub/x"]
    assert git(project, "status", "--short") == "A  more/new\nMM more/x\n"
    assert contents(project) == before


def test_a_hook_that_refuses_leaves_a_part_as_it_is(part):
    folder, project = part
    hook = project.parent / "hooks/pre-commit"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\necho no\nexit 1\n")
    hook.chmod(0o755)
    git(project, "config", "core.hooksPath", str(hook.parent))
    for path in ("sub/x", "sub/new", "more/x", "more/new"):
        (project / path).write_text("two\n")
    git(project, "add", "more")
    before, state = contents(project), git(project, "status", "--short")
    with pytest.raises(UserError, match=r"^Not committed \(exit code 1\): no$"):
        Session(folder).commit()
    assert git(project, "status", "--short") == state
    assert contents(project) == before
    assert git(project, "log", "--format=%s") == "First\n"


def test_nothing_is_committed_where_only_other_folders_are_staged(project, status):
    (project / "more/x").write_text("two\n")
    git(project, "add", "more/x")
    with pytest.raises(UserError, match=r"^There is nothing to commit in this folder\. Staged elsewhere: more/x\.$"):
        Session(project / "sub").commit()


def test_what_a_hook_adds_is_reported_with_the_way_back(project, bubblewrap):
    hook = project / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho three > sub/x; echo x > more/x; git add -A\n")
    hook.chmod(0o755)
    (project / "sub/x").write_text("two\n")
    before = git(project, "rev-parse", "HEAD").strip()
    _, said = Session(project).commit()
    assert said == (
        "Committed: A message\n"
        "The commit differs from what was shown. sub/x: committed with other contents; more/x: committed without being "
        f"shown. To undo it and keep your files: !git reset --soft {before[:12]}"
    )
    git(project, "reset", "--soft", before[:12])
    assert git(project, "status", "--short") == "M  more/x\nM  sub/x\n"


def test_a_first_commit_is_undone_by_removing_the_branch(repository, bubblewrap):
    session = Session(repository)
    draft = session.commits.draft()
    (repository / "late").touch()
    said = session.commits.commit("x", draft)
    assert "late: committed without being shown. To undo it and keep your files: !git update-ref -d HEAD" in said
    git(repository, "update-ref", "-d", "HEAD")
    assert git(repository, "status", "--short") == "A  a.txt\nA  late\n"


def test_a_repository_that_git_cannot_change_says_why(repository, bubblewrap):
    git(repository, "init", "-q", "--separate-git-dir", "../data")
    with pytest.raises(UserError, match="which does not name this folder as its own"):
        Session(repository).commit()


def test_without_a_sandbox_a_commit_is_the_same(project):
    (project / "sub/x").write_text("two\n")
    session = Session(project / "sub")
    session.runner = CommandRunner(project / "sub", probe=lambda: SandboxStatus(SandboxKind.NONE, "none"))
    assert session.commit() == (["x"], "Committed: A message")


@pytest.fixture
def signing(project, place, monkeypatch):
    """Signs commits with an SSH key of the user's, as their global configuration says."""
    key = place / "home/.ssh/id"
    key.parent.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    signers = place / "home/signers"
    signers.write_text(f"t@t {key.with_suffix('.pub').read_text()}")
    settings = {
        "commit.gpgSign": "true",
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(signers),
    }
    for name, value in settings.items():
        git(project, "config", "--global", name, value)
    (project / "sub/x").write_text("two\n")
    return project


def test_a_commit_is_signed_as_the_users_own_configuration_says(signing):
    before = git(signing, "rev-parse", "HEAD").strip()
    assert Session(signing).commit() == (["sub/x"], "Committed: A message")
    assert git(signing, "log", "-1", "--format=%G? %P %an <%ae> %s") == f"G {before} t@t <t@t> A message\n"
    assert git(signing, "status", "--short") == ""
    assert git(signing, "rev-parse", "HEAD^{tree}") == git(signing, "write-tree")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gpg.program", "{evil}"),
        ("gpg.ssh.program", "{evil}"),
        ("gpg.openpgp.program", "{evil}"),
        ("gpg.format", "openpgp"),
        ("gpg.ssh.defaultKeyCommand", "{evil}"),
    ],
)
def test_nothing_that_a_repository_names_signs(signing, place, key, value):
    evil = signing / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {place}/evil-ran\nexit 1\n")
    evil.chmod(0o755)
    git(signing, "config", key, value.format(evil="./evil.sh"))
    if key == "gpg.ssh.defaultKeyCommand":
        git(signing, "config", "--global", "--unset", "user.signingKey")
        with pytest.raises(UserError, match=r"^Not signed: "):
            Session(signing).commit()
    else:
        Session(signing).commit()
        git(signing, "config", "--unset", key)
        assert git(signing, "log", "-1", "--format=%G?") == "G\n"
    assert not (place / "evil-ran").exists()


def test_a_commit_that_cannot_be_signed_is_undone(signing, place):
    (place / "home/.ssh/id").unlink()
    before = git(signing, "rev-parse", "HEAD")
    with pytest.raises(UserError) as raised:
        Session(signing).commit()
    assert str(raised.value).startswith("Not signed: ")
    assert str(raised.value).endswith(
        " Nothing was committed, and the changes are staged. Commit again when git can sign without a terminal, such as"
        " with the key in ssh-agent or gpg-agent."
    )
    assert git(signing, "rev-parse", "HEAD") == before
    assert git(signing, "status", "--short") == "M  sub/x\n"


def test_the_signing_program_is_not_searched_in_the_repository(signing, place):
    git(signing, "config", "--global", "gpg.ssh.program", "./sign")
    (signing / "sign").write_text(f"#!/bin/sh\ntouch {place}/evil-ran\n")
    (signing / "sign").chmod(0o755)
    with pytest.raises(UserError) as raised:
        Session(signing).commit()
    assert str(raised.value) == (
        "Not signed: the program ./sign of your git configuration was not found. Nothing was committed, and the changes"
        " are staged. Commit again when git can sign without a terminal, such as with the key in ssh-agent or"
        " gpg-agent."
    )
    assert not (place / "evil-ran").exists()


def test_a_program_that_the_users_configuration_names_signs(signing, place):
    program = place / "home/my-gpg"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho \"signed by $3\"\n")
    program.chmod(0o755)
    for key, value in {"gpg.format": "openpgp", "gpg.program": str(program), "user.signingKey": "ABCD"}.items():
        git(signing, "config", "--global", key, value)
    Session(signing).commit()
    assert "gpgsig signed by ABCD\n" in git(signing, "cat-file", "commit", "HEAD")


def test_a_commit_that_is_not_what_was_shown_is_not_signed(signing, bubblewrap):
    hook = signing / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho three > sub/x; git add sub/x\n")
    hook.chmod(0o755)
    said = Session(signing).commit()[1]
    assert "It is not signed, because it differs from what was shown." in said.splitlines()
    assert git(signing, "log", "-1", "--format=%G?") == "N\n"


@pytest.mark.parametrize("kind", ["ssh", "openpgp"])
def test_a_command_of_the_models_cannot_sign_and_git_says_so_as_its_explanation_expects(signing, status, kind):
    git(signing, "config", "--global", "gpg.format", kind)
    runner = CommandRunner(signing, probe=lambda: status)
    result = runner.run("git commit -qam x", folder=signing, timeout_s=60)
    runner.close()
    assert result.exit_code != 0
    assert shell._NO_SIGNATURE.search(result.stdout)

"""Files that are never edited, and files that are edited only with the user's approval of that very edit.

git's own files are never edited, wherever they are. Files that programs obey or run without asking (assistants,
editors, git hooks, shells, build services) need approval: text planted in a file that the model reads must not get code
run through them. Names are compared as by file systems that ignore case.
"""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from laguna_tui.repo import git

_GIT_NAMES = (".git", "git~1")
# Contents by which a folder is recognised as git's: a repository, or one of its worktrees.
_GIT_SHAPES = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))

# A name matches a file or folder anywhere; "a/b" matches them in sequence; `*` is a glob.
_TABLE: dict[str, str] = {
    "assistants obey it": """
        AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md .agents .claude .claude.json .codex
        .cursor .cursorrules .cursorignore .gemini .qwen .opencode opencode.json opencode.jsonc .windsurf
        .windsurfrules .clinerules .roo .roomodes .kiro .junie .amazonq .continue .goosehints .goose .aider* .mcp.json
        mcp.json .github/copilot-instructions.md .github/instructions .github/prompts .github/agents .github/chatmodes
        .laguna-tui .laguna-tui.toml
    """,
    "editors run what it says": """
        .vscode *.code-workspace .idea .run .fleet .zed .vs .devcontainer .devcontainer.json .exrc .nvimrc .nvim.lua
        .vimrc .lvimrc .dir-locals.el .dir-locals-2.el *.sublime-project .theia .helix .kakrc
    """,
    "git and its hooks run what it says": """
        .husky .githooks .git-hooks .gitconfig .gitmodules .gitattributes .pre-commit-config.yaml
        .pre-commit-hooks.yaml lefthook.y*ml lefthook.toml lefthook.json .lefthook* .lintstagedrc* .overcommit.yml
    """,
    "shells and their tools run what it says": """
        .envrc mise.toml .mise.toml .mise mise.local.toml .bashrc .bash_profile .bash_login .bash_logout .profile
        .zshrc .zshenv .zprofile .zlogin .zlogout .inputrc .ripgreprc
    """,
    "build services run what it says": """
        .github/workflows .github/actions .forgejo/workflows .gitea/workflows .gitlab-ci.yml .gitlab/ci .circleci
        .buildkite .travis.yml .drone.yml .woodpecker .woodpecker.yml azure-pipelines.yml bitbucket-pipelines.yml
        Jenkinsfile
    """,
}
_HOOKS = "git runs its hooks from there"
_GIT_READS = "git runs what its settings and hooks say"
_UNKNOWN = "git cannot be asked which files it runs here"


def protected_names() -> tuple[str, ...]:
    """Return the table's names and globs: one part, or several with "/" between them."""
    return tuple(name for names in _TABLE.values() for name in names.split())


def is_git_name(part: str) -> bool:
    """Whether a part of a path names git's folder or file on some file system."""
    return folded(part) in _GIT_NAMES


def belongs_to_git(root: Path, inside: str) -> bool:
    """Whether a located file is git's own: below `.git`, below the target of a `.git` file, or in a bare repository.

    Args:
        root: The workspace's folder, without links in its path.
        inside: The file, relative to it, without links.
    """
    path = root / inside
    if any(map(is_git_name, path.parts)) or any(map(_has_git_shape, path.parents)):
        return True
    tops = (place for place in path.parents if os.path.lexists(place / ".git"))
    return any(path.is_relative_to(folder) for top in tops for folder in git.git_folders(top))


def asks_because(root: Path, inside: str) -> str:
    """Return why a located file is edited only with approval, as a clause; empty for every other file.

    Args:
        root: The workspace's folder, without links in its path.
        inside: The file, relative to it, without links.
    """
    path = root / inside
    top = git.top_of(root) or root
    return _named(path.relative_to(top).parts) or _linked(top, path) or _hooked(path)


def executed_because(inside: str) -> str:
    """Return why other programs execute or obey a file, as a clause; empty where no name in its path says so."""
    parts = inside.split("/")
    return _GIT_READS if any(map(is_git_name, parts)) else _named(parts)


def _named(parts: Sequence[str]) -> str:
    """The reason for a path in the table."""
    names = [folded(part) for part in parts]
    for why, wanted in _entries():
        size = len(wanted)
        for at in range(len(names) - size + 1):
            if all(map(fnmatchcase, names[at : at + size], wanted)):
                return why
    return ""


def _linked(top: Path, path: Path) -> str:
    """The reason for a link in the table, in a parent folder, that leads to the file or to a folder around it."""
    for place in path.parents:
        if not place.is_relative_to(top):
            break
        for why, name in ((why, name) for why, names in _TABLE.items() for name in names.split() if "*" not in name):
            link = place / name
            if os.path.lexists(link):
                real = Path(os.path.realpath(link))
                if real != link and path.is_relative_to(real):
                    return why
    return ""


def _hooked(path: Path) -> str:
    """The reason for a file in a hooks folder of a repository around it, as far as git reports them."""
    for place in path.parents:
        if os.path.lexists(place / ".git"):
            hooks = git.hooks_folders(place)
            if hooks is None:
                return _UNKNOWN
            if any(path.is_relative_to(folder) for folder in hooks):
                return _HOOKS
    return ""


def _entries() -> Iterator[tuple[str, list[str]]]:
    for why, names in _TABLE.items():
        for name in names.split():
            yield why, [folded(part) for part in name.split("/")]


def _has_git_shape(folder: Path) -> bool:
    return any(_has_all(folder, names) for names in _GIT_SHAPES)


def _has_all(folder: Path, names: Iterable[str]) -> bool:
    return all(os.path.lexists(folder / name) for name in names)


def folded(part: str) -> str:
    """A name as the most permissive file systems see it: without case, invisible characters and trailing dots."""
    plain = part
    if not part.isascii():
        whole = unicodedata.normalize("NFKC", part)
        plain = "".join(letter for letter in whole if unicodedata.category(letter) != "Cf")
    return plain.casefold().rstrip(" .") or plain

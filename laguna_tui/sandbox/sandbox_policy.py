"""What a command may do: the folders it writes to, what it cannot read or change, and its environment."""

import contextlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import platformdirs

from laguna_tui.base.paths import APP, config_path, state_dir
from laguna_tui.repo import git


@dataclass(frozen=True)
class SandboxPolicy:
    """What a command may do.

    Attributes:
        workspace: The folder it works in, writable except for what git, assistants and editors execute there.
        network: Whether it may open connections.
        tmp: Folder that it sees as its temporary folder, kept from one command to the next; a new one if None.
        homes: The user's home folders, whose credentials are hidden; by default $HOME and the account's.
        shows: Whether a file of the workspace may be read although its name says that it holds secrets, by its path
            relative to the workspace.
        unreadable: Globs of files and folders of the workspace, relative to it, that the user's rules keep from being
            read; `**` stands for any number of folders, and one without "/" is a name at any depth.
        unwritable: Likewise of those that are not to be changed.
        committed: Files that the command is to commit, relative to the workspace: readable whatever is in them, and
            the repository around the workspace is writable. None for every other command.
        hidden: Further files and folders that it cannot read, anywhere.
    """

    workspace: Path
    network: bool = False
    tmp: Path | None = None
    homes: tuple[Path, ...] | None = None
    shows: Callable[[str], bool] = lambda path: False
    unreadable: tuple[str, ...] = ()
    unwritable: tuple[str, ...] = ()
    committed: frozenset[str] | None = None
    hidden: tuple[Path, ...] = ()

    @cached_property
    def root(self) -> Path:
        """The workspace without links in its path."""
        return Path(os.path.realpath(self.workspace))

    def is_shown(self, path: str) -> bool:
        """Whether a file with secrets may be read, by its path relative to the workspace."""
        return path in (self.committed or ()) or self.shows(path)

    @cached_property
    def is_group_shared(self) -> bool:
        """Whether the workspace or its repository is shared by a group: programs set setgid on new folders there."""
        top = git.top_of(self.root)
        return any(map(_is_setgid, (self.root, *(git.git_folders(top) if top else ()))))


def _is_setgid(folder: Path) -> bool:
    try:
        return bool(folder.stat().st_mode & stat.S_ISGID)
    except OSError:
        return False


_PASSED_ON = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ COLUMNS LINES NO_COLOR VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT
    CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOPATH GOROOT GOFLAGS JAVA_HOME NVM_DIR NODE_ENV DOTNET_ROOT
    """.split()
)
"""Variables that a command may see. An allow-list: names of tokens cannot be enumerated."""


def scrubbed(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that a command may see: no tokens, no agents' sockets, nothing that loads code into it."""
    given = os.environ if environment is None else environment
    kept = {name: value for name, value in given.items() if name in _PASSED_ON or name.startswith("LC_")}
    return {**kept, "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def home_folders() -> tuple[Path, ...]:
    """Return the user's home folders without links: $HOME, and the one of the account."""
    import pwd  # not on Windows, where the doctor still runs

    named = [os.environ.get("HOME", "")]
    with contextlib.suppress(KeyError):
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    found = (Path(os.path.realpath(name)) for name in named if name.startswith("/"))
    return tuple(dict.fromkeys(home for home in found if home != home.parent))


_SECRETS = """
    .ssh .gnupg .aws .azure .kube .docker .netrc _netrc .authinfo .authinfo.gpg .git-credentials .config/git/credentials
    .config/gh .config/hub .config/glab-cli .config/gcloud .config/op .config/containers .config/rclone .config/doctl
    .config/hcloud .config/fly .fly .config/netlify .netlify .config/stripe .config/ngrok .ngrok2 .config/github-copilot
    .config/huggingface .cache/huggingface/token .cache/huggingface/stored_tokens .huggingface .kaggle .vault-token
    .pypirc .npmrc .yarnrc.yml .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml
    .m2/settings-security.xml .gradle/gradle.properties .terraform.d .terraformrc .oci .bluemix .heroku .databrickscfg
    .snowsql .pgpass .my.cnf .mylogin.cnf .s3cfg .boto .rclone.conf .tsh .age .config/sops .password-store
    .local/share/keyrings .local/share/kwalletd .config/keepassxc .config/Bitwarden* .Xauthority .ICEauthority
    .config/solana .electrum .bitcoin .ethereum
    .mozilla .librewolf .thunderbird .config/google-chrome* .config/chromium* .config/BraveSoftware
    .config/microsoft-edge* .config/vivaldi* .config/opera* .var/app snap/firefox snap/chromium
    .config/Signal .config/Slack .config/discord .config/Code/User/globalStorage .config/Cursor/User/globalStorage
    .claude .claude.json .codex .gemini .qwen .local/share/opencode .config/opencode
    .bash_history .zsh_history .python_history .psql_history .mysql_history .node_repl_history .local/share/fish
    .local/share/atuin .lesshst .viminfo
    Library/Keychains Library/Cookies Library/Messages Library/Mail Library/Safari
    Library/Application?Support/Google Library/Application?Support/Firefox Library/Application?Support/BraveSoftware
    Library/Application?Support/Microsoft?Edge Library/Application?Support/Code/User/globalStorage
"""
"""Credentials, browser profiles and histories in a home folder: paths and globs."""

_SYSTEM_SECRETS = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/krb5.keytab", "/etc/ssl/private"),
    *("/etc/ssh", "/etc/sudoers", "/etc/sudoers.d", "/etc/NetworkManager/system-connections"),
)
"""What root could read, who is confined like everybody else."""


def hidden_paths(policy: SandboxPolicy) -> tuple[Path, ...]:
    """Return the existing files and folders that a command cannot read, without links, none inside another.

    Programs that keep secrets elsewhere (XDG variables, our own folders) are looked for where the variables say.
    """
    homes = home_folders() if policy.homes is None else policy.homes
    found = [place for home in homes for pattern in _SECRETS.split() for place in _matches(home, pattern)]
    found += [Path(path) for path in _SYSTEM_SECRETS]
    found += [config_path().parent, state_dir(), platformdirs.user_cache_path(APP), *policy.hidden]
    real = sorted({Path(os.path.realpath(path)) for path in found if os.path.lexists(path)})
    kept: list[Path] = []
    for path in real:
        # A link to a folder around the workspace or to the whole system is no credential.
        if not (kept and path.is_relative_to(kept[-1])) and not policy.root.is_relative_to(path) and path.exists():
            kept.append(path)
    return tuple(kept)


def _matches(home: Path, pattern: str) -> list[Path]:
    if "*" not in pattern and "?" not in pattern:
        return [home / pattern]
    try:
        return list(home.glob(pattern))
    except OSError:
        return []

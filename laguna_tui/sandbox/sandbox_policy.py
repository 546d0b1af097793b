"""What a command may do: the folders it may write to, what it cannot read or change, and its environment."""

import contextlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import platformdirs

from laguna_tui.base.paths import APP, config_path, state_dir
from laguna_tui.repo.git import repository

MAX_PROCESSES = 1024
"""Processes and threads of a command: a parallel build has some hundreds."""


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
        unwritable: The same for those that are not to be changed.
        committed: Files that the command is to commit, relative to the workspace: readable whatever is in them, and
            the repository around the workspace is writable. None for every other command.
        hidden: Further files and folders that it cannot read, anywhere.
        programs: The user's own command line, if it is one: what it names can be read anywhere unless it is hidden.
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
    programs: tuple[str, ...] = ()

    @cached_property
    def root(self) -> Path:
        """The workspace without links in its path."""
        return Path(os.path.realpath(self.workspace))

    def is_shown(self, path: str) -> bool:
        """Return whether a file with secrets may be read, by its path relative to the workspace."""
        return path in (self.committed or ()) or self.shows(path)

    @cached_property
    def is_group_shared(self) -> bool:
        """Whether the workspace or its repository is shared by a group: programs set setgid on new folders there."""
        top = repository.top_of(self.root)
        return any(map(_is_setgid, (self.root, *(repository.git_folders(top) if top else ()))))


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
"""Variables that a command may see. An allow-list, because names of tokens cannot be enumerated."""


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


_SECRETS: dict[str, str] = {
    "keys, passwords and wallets": """
        .ssh .gnupg .pki .putty .step .age .password-store .netrc _netrc .authinfo .authinfo.gpg .Xauthority
        .ICEauthority .config/sops .config/op .op .config/1Password .config/Bitwarden* .config/keepassxc .config/gopass
        .local/share/gopass .config/rbw .local/share/rbw .cache/rbw .config/lpass .local/share/lpass .lpass
        .local/share/keyrings .local/share/kwalletd .vault-token .config/doppler .doppler .infisical .tsh .wallet
        .config/solana .electrum .bitcoin .litecoin .monero .ethereum .foundry/keystores .near-credentials .sui .aptos
        .config/Exodus
    """,
    "clouds": """
        .aws .saml2aws .okta .azure .config/gcloud .boto .oci .bluemix .aliyun .tccli .config/doctl .config/hcloud
        .config/scw .config/linode-cli .config/vultr-cli.yaml .vultr-cli.yaml .config/exoscale .ovh.conf
        .config/openstack .civo.json .s3cfg .passwd-s3fs .mc .config/b2 .b2_account_info .config/rclone .rclone.conf
        .config/fly .fly .config/netlify .netlify .local/share/com.vercel.cli .config/com.vercel.cli .vercel .now
        .config/.wrangler .wrangler .cloudflared .config/cloudflared .supabase .railway .render .heroku
        .local/share/heroku .config/configstore .config/firebase .expo .pulumi/credentials.json .terraform.d
        .terraformrc .tofurc .config/tofu .config/spacectl .spacelift .ansible/galaxy_token .vagrant.d/data .chef
        .config/stripe .config/ngrok .ngrok2 .twilio-cli
    """,
    "clusters and containers": """
        .kube .minikube .config/argocd .argocd .rancher .talos .crc .config/helm .docker .dockercfg .config/containers
        .config/lxc .config/incus .lima/_config
    """,
    "forges, trackers and their services": """
        .git-credentials .gitcookies .config/git/credentials .config/gh .config/hub .config/glab-cli .config/tea
        .config/lab .config/berg .config/jira .config/.jira .jira.d .config/acli .arcrc .subversion/auth .circleci
        .config/circleci .travis .config/buildkite .sentryclirc .config/semgrep .semgrep/settings.yml .dogrc .newrelic
    """,
    "package registries": """
        .npmrc .yarnrc .yarnrc.yml .config/pnpm/rc .bunfig.toml .pypirc .config/pypoetry/auth.toml .config/pdm
        .local/share/uv/credentials .config/hatch .continuum .cargo/credentials .cargo/credentials.toml .gem/credentials
        .local/share/gem/credentials .bundle/config .hex/hex.config .config/hex/hex.config .composer/auth.json
        .config/composer/auth.json .nuget/NuGet .config/NuGet .m2/settings.xml .m2/settings-security.xml
        .gradle/gradle.properties .ivy2/.credentials .sbt/.credentials .sbt/credentials .pub-cache/credentials.json
        .config/dart/pub-credentials.json .stack/upload .conan2/credentials.json .julia/servers
        .luarocks/upload_config.lua .pause .android/adbkey .android/adbkey.pub .fastlane .Renviron
    """,
    "databases": """
        .pgpass .my.cnf .mylogin.cnf .pgcli .config/pgcli .myclirc .mongodb .dbshell .redisclirc .cassandra
        .clickhouse-client .influxdbv2 .usqlpass .snowsql .snowflake .config/snowflake .databrickscfg .databricks .dbt
        .bigqueryrc .local/share/DBeaverData
    """,
    "models and agents": """
        .config/huggingface .cache/huggingface/token .cache/huggingface/stored_tokens .huggingface .kaggle
        .config/kaggle .config/wandb .comet.config .mlflow/credentials .modal.toml .runpod .vast_api_key .config/vastai
        .lightning .streamlit/secrets.toml .local/share/jupyter/runtime .ollama/id_ed25519 .config/openai
        .config/anthropic .claude .claude.json .config/Claude .codex .gemini .qwen .local/share/opencode
        .config/opencode .aider .aider.conf.yml .continue .cursor .config/cursor .config/goose .local/share/goose
        .config/io.datasette.llm .config/aichat .config/mods .config/fabric .config/shell_gpt .config/github-copilot
        .copilot .config/crush .local/share/crush .config/amp .local/share/amp .amp .factory .augment .cline .kilocode
        .kiro .codeium .codebuddy .iflow .kimi .vibe .openhands .config/Code/User/globalStorage
        .config/Code?-?Insiders/User/globalStorage .config/VSCodium/User/globalStorage .config/Cursor/User/globalStorage
        .config/Windsurf/User/globalStorage .config/JetBrains/*/c.kdbx .config/JetBrains/*/c.pwd
    """,
    "browsers, mail and messages": """
        .mozilla .config/mozilla .librewolf .waterfox .zen .thunderbird .config/google-chrome* .config/chromium*
        .config/BraveSoftware .config/microsoft-edge* .config/vivaldi* .config/opera* .var/app snap/firefox
        snap/chromium snap/thunderbird .config/Signal .local/share/signal-cli .config/Slack .config/discord
        .config/Element .local/share/TelegramDesktop .config/teams* .purple .irssi .weechat .config/weechat .msmtprc
        .config/msmtp .mbsyncrc .config/isyncrc .offlineimaprc .fetchmailrc .muttrc .mutt .config/mutt .config/neomutt
        .config/aerc .config/himalaya .local/share/evolution .config/filezilla .filezilla .config/remmina
        .local/share/remmina .vnc .config/tigervnc .config/rustdesk .config/syncthing .local/state/syncthing
        .config/httpie .httpie .config/Postman .config/Insomnia
    """,
    "histories": """
        .*history* .*_hist .histfile .lesshst .viminfo .local/state/nvim/shada .local/share/fish .local/share/atuin
        .local/share/mcfly .config/nushell/history* .local/share/nushell/*history* .local/share/xonsh/*history*
        .local/share/elvish .local/state/elvish .local/share/powershell/PSReadLine .local/share/zsh .local/state/zsh
        .local/share/bash .local/state/bash .local/state/python_history .ipython/profile_*/history.sqlite*
        .local/share/pry .julia/logs .ghc/ghci_history .local/share/ghc/ghci_history .cache/erlang-history .config/psysh
        .groovy/groovysh.history .lldb/*history*
    """,
    "on macOS": """
        .zsh_sessions .bash_sessions Library/Keychains Library/Cookies Library/HTTPStorages Library/Accounts
        Library/Messages Library/Mail Library/Safari Library/Containers/com.apple.Safari Library/Preferences/.wrangler
        Library/Preferences/pypoetry/auth.toml Library/Preferences/netlify Library/Application?Support/Google
        Library/Application?Support/Chromium Library/Application?Support/Firefox Library/Application?Support/zen
        Library/Application?Support/LibreWolf Library/Thunderbird Library/Application?Support/BraveSoftware
        Library/Application?Support/Microsoft?Edge* Library/Application?Support/Vivaldi Library/Application?Support/Arc
        Library/Application?Support/com.operasoftware.Opera* Library/Application?Support/1Password
        Library/Application?Support/Bitwarden* Library/Application?Support/gopass Library/Application?Support/rbw
        Library/Application?Support/Signal Library/Application?Support/Slack Library/Application?Support/discord
        Library/Application?Support/Claude Library/Application?Support/com.vercel.cli
        Library/Application?Support/pypoetry/auth.toml Library/Application?Support/io.datasette.llm
        Library/Application?Support/Block/goose Library/Application?Support/goose
        Library/Application?Support/com.pulumi* Library/Application?Support/ngrok Library/Application?Support/doctl
        Library/Application?Support/hcloud Library/Application?Support/argocd
        Library/Application?Support/nushell/history* Library/Application?Support/Code/User/globalStorage
        Library/Application?Support/VSCodium/User/globalStorage Library/Application?Support/Cursor/User/globalStorage
        Library/Application?Support/Windsurf/User/globalStorage Library/Application?Support/JetBrains/*/c.kdbx
        Library/Application?Support/JetBrains/*/c.pwd Library/Application?Support/Postman
        Library/Application?Support/Insomnia
    """,
}
"""Credentials, browser profiles and histories in a home folder: paths and globs, by kind; `?` is a space."""

_SYSTEM_SECRETS = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/krb5.keytab", "/etc/ssl/private"),
    *("/etc/ssh", "/etc/sudoers", "/etc/sudoers.d", "/etc/NetworkManager/system-connections"),
)
"""What root could read: root is confined like every other user."""


def hidden_paths(policy: SandboxPolicy) -> tuple[Path, ...]:
    """Return the existing files and folders that a command cannot read, without links, none inside another.

    Programs that keep secrets elsewhere (XDG variables, our own folders) are looked for where the variables say.
    """
    homes = home_folders() if policy.homes is None else policy.homes
    patterns = [pattern for named in _SECRETS.values() for pattern in named.split()]
    found = [place for home in homes for pattern in patterns for place in _matches(home, pattern)]
    found += [*_SYSTEM_SECRETS, *map(str, (config_path().parent, state_dir(), platformdirs.user_cache_path(APP)))]
    found += map(str, policy.hidden)
    if cargo := os.environ.get("CARGO_HOME"):
        found += (f"{cargo}/credentials", f"{cargo}/credentials.toml")
    real = sorted({Path(os.path.realpath(path)) for path in found if os.path.lexists(path)})
    kept: list[Path] = []
    for path in real:
        # A link to a folder around the workspace or to the whole system is not a credential.
        if not (kept and path.is_relative_to(kept[-1])) and not policy.root.is_relative_to(path) and path.exists():
            kept.append(path)
    return tuple(kept)


def _matches(home: Path, pattern: str) -> list[str]:
    spaced = pattern.replace("?", " ")
    if "*" not in spaced:
        # As text: each command looks for some hundred of them.
        return [f"{home}/{spaced}"]
    try:
        return list(map(str, home.glob(spaced)))
    except OSError:
        return []

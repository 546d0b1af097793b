"""Credentials and histories of a home folder are hidden, whatever program they are of."""

import pytest

from laguna_tui.sandbox.sandbox_policy import SandboxPolicy, hidden_paths

HIDDEN = """
    .pulumi/credentials.json .config/pypoetry/auth.toml .local/share/com.vercel.cli/auth.json
    .config/.wrangler/config/default.toml .supabase/access-token .railway/config.json .aider.conf.yml
    .continue/config.yaml .cursor/mcp.json .config/goose/secrets.yaml .config/io.datasette.llm/keys.json
    .minikube/profiles/minikube/client.key .config/argocd/config
    .bash_history .zsh_history .histfile .history .sh_history .ksh_history .mksh_history .ash_history
    .local/share/fish/fish_history .config/nushell/history.txt .config/nushell/history.sqlite3
    .local/share/xonsh/history_json/a.json .local/share/xonsh/xonsh-history.sqlite .local/share/atuin/history.db
    .sqlite_history .duckdb_history .rediscli_history .mongodb/mongosh/mongosh_repl_history .dbshell .psql_history
    .mysql_history .mariadb_history .usql_history .python_history .local/state/python_history
    .ipython/profile_default/history.sqlite .node_repl_history .irb_history .irb-history .pry_history .Rhistory
    .julia/logs/repl_history.jl .ghc/ghci_history .lua_history .php_history .scala_history .octave_hist .utop-history
    .aider.input.history .lesshst .local/state/nvim/shada/main.shada
    .config/JetBrains/IntelliJIdea2026.1/c.kdbx .config/chromium-beta/Default/Cookies .config/Bitwarden?CLI/data.json
    Library/Application?Support/com.vercel.cli/auth.json Library/Application?Support/pypoetry/auth.toml
    Library/Application?Support/io.datasette.llm/keys.json Library/Application?Support/Arc/User?Data/Cookies
    .zsh_sessions/A.history
""".split()
SHOWN = """
    .bashrc .gitconfig .config/git/config .config/pypoetry/config.toml .cargo/config.toml .cargo/bin/cargo
    .pulumi/bin/pulumi .ansible/collections/a.yml .hex/packages/a.tar .config/nushell/config.nu .local/bin/tool
    .cache/uv/a .rustup/settings.toml Library/Caches/pip/a
""".split()


@pytest.fixture
def hidden(tmp_path):
    """Makes a file in the home folder, and tells whether it is hidden."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    workspace.mkdir()

    def is_hidden(name):
        path = home / name.replace("?", " ")
        path.parent.mkdir(parents=True)
        path.write_text("secret")
        found = hidden_paths(SandboxPolicy(workspace, homes=(home,)))
        return any(path.is_relative_to(each) for each in found)

    return is_hidden


@pytest.mark.parametrize("name", HIDDEN)
def test_what_holds_secrets_is_hidden(hidden, name):
    assert hidden(name)


@pytest.mark.parametrize("name", SHOWN)
def test_what_programs_need_is_not_hidden(hidden, name):
    assert not hidden(name)

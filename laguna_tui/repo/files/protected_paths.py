"""Files that are never edited, and files that are edited only with the user's approval of that very edit.

git's own files are never edited, wherever they are. Files that programs obey or run without asking (assistants,
editors, git hooks, shells, build services) need approval: text planted in a file that the model reads must not get code
run through them. Names are compared as by file systems that ignore case.
"""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from laguna_tui.repo.git import git_programs, repository

_GIT_NAMES = (".git", "git~1")
# Contents by which a folder is recognised as git's: a repository, or one of its worktrees.
_GIT_SHAPES = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))

# Why, and by the program or page that says so, the names. A name matches a file or folder anywhere; "a/b" matches them
# in sequence; `*` is a glob. What a project is made of (Makefile, package.json, conftest.py, build.gradle) is not here:
# agents are there to change it, and a user reads its changes.
_TABLE: dict[str, dict[str, str]] = {
    "coding assistants follow it": {
        "laguna-tui": ".laguna-tui .laguna-tui.toml",
        "Codex: developers.openai.com/codex/guides/agents-md": "AGENTS.md AGENTS.override.md .agents .codex",
        "Amp and Antigravity: ampcode.com/manual, antigravity.google/docs/rules": "AGENT.md .agent .amp",
        "Claude Code: code.claude.com/docs/en/settings": """
            CLAUDE.md CLAUDE.local.md .claude .claude.json .claude-plugin .mcp.json mcp.json
        """,
        "Gemini CLI: geminicli.com/docs/reference/configuration": "GEMINI.md .gemini gemini-extension.json",
        "Qwen Code: qwenlm.github.io/qwen-code-docs": "QWEN.md .qwen",
        "Cursor: cursor.com/docs/context/rules": ".cursor .cursorrules .cursorignore",
        "GitHub Copilot: docs.github.com/en/copilot/how-tos/configure-custom-instructions": """
            .github/copilot-instructions.md .github/instructions .github/prompts .github/agents .github/chatmodes
            .github/hooks .github/skills .github/plugin
        """,
        "opencode: opencode.ai/docs/config": ".opencode opencode.json opencode.jsonc",
        "Windsurf: docs.windsurf.com/windsurf/cascade/memories": ".windsurf .windsurfrules",
        "Cline: docs.cline.bot/features/cline-rules": ".cline .clinerules",
        "Roo Code: docs.roocode.com/features/custom-instructions": ".roo .roomodes .roorules*",
        "Kilo Code: kilo.ai/docs/customize/custom-rules": ".kilocode .kilocodemodes .kilocoderules* .kilo",
        "Kiro: kiro.dev/docs/steering": ".kiro",
        "Junie and AI Assistant: jetbrains.com/help/junie, jetbrains.com/help/ai-assistant": ".junie .aiassistant",
        "Amazon Q: docs.aws.amazon.com/amazonq, project rules": ".amazonq",
        "Continue: docs.continue.dev/customize/deep-dives/rules": ".continue .continuerules .continuerc.json",
        "Goose: block.github.io/goose/docs/guides/using-goosehints": ".goosehints .goose",
        "Aider: aider.chat/docs/config/aider_conf.html": ".aider*",
        "Crush: github.com/charmbracelet/crush, internal/config": """
            CRUSH.md CRUSH.local.md .crush crush.json .crush.json .crushrc crushrc
        """,
        "Warp: docs.warp.dev/agent-platform/capabilities/rules": "WARP.md .warp",
        "Zed: zed.dev/docs/ai/rules": ".rules",
        "Trae: docs.trae.ai/ide/rules": ".trae",
        "Augment: docs.augmentcode.com/setup-augment/guidelines": ".augment .augment-guidelines",
        "Droid: docs.factory.ai/cli/configuration": ".factory",
        "OpenHands: docs.openhands.dev/openhands/usage/customization/repository": ".openhands .openhands_instructions",
        "Devin: docs.devin.ai": ".devin",
        "Mistral Vibe: github.com/mistralai/mistral-vibe": ".vibe",
        "Kimi CLI: moonshotai.github.io/kimi-cli": ".kimi",
        "iFlow: platform.iflow.cn/en/cli": "IFLOW.md .iflow",
        "CodeBuddy, Qoder, Lingma, Comate: their pages on project rules": """
            CODEBUDDY.md .codebuddy AGENTS.local.md .qoder .lingma .comate
        """,
        "Firebender, Tabnine, Zencoder, Void: their pages on project rules": """
            firebender.json .firebender .tabnine .zencoder .voidrules
        """,
        "Ruler and Rulesync write the files of the above: github.com/intellectronica/ruler": """
            .ruler .rulesync rulesync.jsonc
        """,
    },
    "editors run commands from it": {
        "VS Code: code.visualstudio.com/docs/editor/workspace-trust": ".vscode *.code-workspace .theia",
        "JetBrains IDEs: jetbrains.com/help/idea, run configurations": ".idea .run .fleet",
        "Zed: zed.dev/docs/tasks": ".zed",
        "Visual Studio: learn.microsoft.com/visualstudio, trust settings": ".vs omnisharp.json",
        "Development containers: containers.dev/implementors/json_reference": ".devcontainer .devcontainer.json",
        "Cloud workspaces run it when they open: Gitpod, Replit, IDX, CodeSandbox, StackBlitz, devfile.io": """
            .gitpod.yml .replit .idx .codesandbox .stackblitzrc devfile.yaml .devfile.yaml
        """,
        "Vim and Neovim: `:help 'exrc'`; lazy.nvim: lazy.folke.io/configuration": """
            .exrc _exrc .vimrc _vimrc .gvimrc _gvimrc .nvimrc .nvim.lua .lazy.lua
        """,
        "Plug-ins of Vim: embear/vim-localvimrc, coc.nvim, neoconf.nvim, nlsp-settings.nvim, YouCompleteMe": """
            .lvimrc .vim/coc-settings.json .neoconf.json .nlsp-settings .ycm_extra_conf.py
        """,
        "Emacs: gnu.org/software/emacs/manual, Directory Variables": ".dir-locals.el .dir-locals-2.el",
        "Sublime Text, Helix, Kakoune, Nova: their manuals on projects": "*.sublime-project .helix .kakrc .nova",
        "SourceKit-LSP starts build servers: github.com/swiftlang/sourcekit-lsp": "buildServer.json .sourcekit-lsp",
        "Eclipse: help.eclipse.org, Ant and external tool builders": ".externalToolBuilders",
    },
    "version control and its hooks run commands from it": {
        "git: git-scm.com/docs/gitattributes, gitmodules, git-config": ".gitconfig .gitmodules .gitattributes",
        "Hook folders that documentation suggests for core.hooksPath, and husky": ".husky .githooks .git-hooks",
        "pre-commit and prek: pre-commit.com, prek.j178.dev": """
            .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml prek.toml
        """,
        "lefthook: lefthook.dev/configuration": "lefthook.y*ml lefthook.toml lefthook.json .lefthook*",
        "lint-staged, simple-git-hooks, Overcommit, CaptainHook, GrumPHP, gitlint: what their hooks run": """
            .lintstagedrc* .simple-git-hooks* simple-git-hooks.* .overcommit.yml captainhook.json grumphp.yml .gitlint
        """,
        "Mercurial and Sapling: hgrc(5), hooks and aliases; .hg/sharedpath leads to another hgrc": """
            .hg/hgrc .hg/hgrc-not-shared .hg/sharedpath .sl/config .sl/sharedpath
        """,
        "Jujutsu: docs.jj-vcs.dev/latest/config, of the repository and of the workspace": """
            .jj/repo/config.toml .jj/repo/config-id .jj/workspace-config.toml
        """,
        "Darcs: darcs.net/manual, posthook; Pijul: pijul.org/manual, hooks": "_darcs/prefs/defaults .pijul/config",
        "Arcanist: secure.phabricator.com/book/phabricator/article/arcanist, load": ".arcconfig .arclint",
    },
    "shells and their tools run commands from it": {
        "bash(1), zsh(1), readline(3), of a home folder that is a repository": """
            .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .inputrc
        """,
        "direnv, mise, autoenv run on entering a folder: direnv.net, mise.jdx.dev/configuration": """
            .envrc mise.toml .mise.toml .mise mise.local.toml .mise.local.toml mise/config.toml .config/mise
            .config/mise.toml .autoenv .autoenv.leave .autoenv.zsh .autoenv_leave.zsh
        """,
        "ripgrep, GUIDE.md: --pre of a configuration file": ".ripgreprc",
        "Debuggers read the current folder: gdb(1), lldb(1), pdb, Ruby's debug and byebug": """
            .gdbinit .lldbinit .pdbrc .rdbgrc .byebugrc
        """,
        "Interactive languages read the current folder: IRB, Pry, R, Octave, GHCi, OCaml, IEx": """
            .irbrc _irbrc .pryrc .Rprofile .Renviron .octaverc .ghci .ocamlinit .iex.exs
        """,
    },
    "package managers and build tools run commands from it": {
        "npm: docs.npmjs.com/cli/configuring-npm/npmrc, script-shell, git": ".npmrc",
        "Yarn: yarnpkg.com/configuration/yarnrc, yarnPath": ".yarnrc .yarnrc.yml .yarn/releases .yarn/plugins",
        "pnpm: pnpm.io/pnpmfile": ".pnpmfile.cjs .pnpmfile.mjs",
        "Bun: bun.com/docs/runtime/bunfig, preload": "bunfig.toml .bunfig.toml",
        "Cargo: doc.rust-lang.org/cargo/reference/config.html, aliases, runners, wrappers": """
            .cargo/config .cargo/config.toml
        """,
        "Maven: maven.apache.org/configure.html; Gradle's wrapper: docs.gradle.org": ".mvn gradle/wrapper",
        "Bazel: bazel.build/run/bazelrc, github.com/bazelbuild/bazelisk; Buck2: buck2.build": """
            .bazelrc .bazeliskrc .buckconfig
        """,
    },
    "build services run commands from it": {
        "GitHub, Forgejo, Gitea, Tangled: their pages on actions": """
            .github/workflows .github/actions .forgejo/workflows .gitea/workflows .tangled/workflows
        """,
        "GitLab: docs.gitlab.com/ci/yaml": ".gitlab-ci.yml .gitlab/ci",
        "CircleCI, Buildkite, Travis, Drone, Woodpecker, Azure, Bitbucket, Jenkins, Cirrus, AppVeyor, Semaphore": """
            .circleci .buildkite .travis.yml .drone.yml .woodpecker .woodpecker.yml .woodpecker.yaml azure-pipelines.yml
            bitbucket-pipelines.yml Jenkinsfile .cirrus.yml .cirrus.star appveyor.yml .appveyor.yml .semaphore
        """,
        "TeamCity, SourceHut, AWS CodeBuild, Google Cloud Build, Tekton, Harness": """
            .teamcity .builds .build.yml buildspec.yml cloudbuild.yaml .tekton .harness
        """,
    },
}
_HOOKS = "git runs hooks from it"
_CONFIGURED = "git's configuration names it"
_GIT_READS = "git runs commands from it"
_UNKNOWN = "git does not answer which files it runs here"


def protected_names() -> tuple[str, ...]:
    """Return the table's names and globs: one part, or several with "/" between them."""
    return tuple(name for _, name in _named_reasons())


def is_git_name(part: str) -> bool:
    """Return whether a part of a path names git's folder or file on some file system."""
    return folded(part) in _GIT_NAMES


def belongs_to_git(root: Path, inside: str) -> bool:
    """Return whether a located file is git's own: below `.git` or the target of a `.git` file, or in a bare repository.

    Args:
        root: The workspace's folder, without links in its path.
        inside: The file, relative to it, without links.
    """
    path = root / inside
    if any(map(is_git_name, path.parts)) or any(map(_has_git_shape, path.parents)):
        return True
    tops = (place for place in path.parents if os.path.lexists(place / ".git"))
    return any(path.is_relative_to(folder) for top in tops for folder in repository.git_folders(top))


def approval_reason(root: Path, inside: str) -> str:
    """Return why a located file is edited only with approval, as a clause; empty for every other file.

    Args:
        root: The workspace's folder, without links in its path.
        inside: The file, relative to it, without links.
    """
    path = root / inside
    top = repository.top_of(root) or root
    return _named(path.relative_to(top).parts) or _linked(top, path) or _configured(path)


def execution_reason(inside: str) -> str:
    """Return why other programs execute or obey a file, as a clause; empty where no name in its path says so."""
    parts = inside.split("/")
    return _GIT_READS if any(map(is_git_name, parts)) else _named(parts)


def _named(parts: Sequence[str]) -> str:
    names = [folded(part) for part in parts]
    for why, wanted in _entries():
        size = len(wanted)
        for at in range(len(names) - size + 1):
            if all(map(fnmatchcase, names[at : at + size], wanted)):
                return why
    return ""


def _linked(top: Path, path: Path) -> str:
    """Return the reason for a link of the table, in a parent folder, to the file or to a folder around it."""
    for place in path.parents:
        if not place.is_relative_to(top):
            break
        for why, name in _named_reasons():
            link = place / name
            if "*" not in name and os.path.lexists(link):
                real = Path(os.path.realpath(link))
                if real != link and path.is_relative_to(real):
                    return why
    return ""


def _configured(path: Path) -> str:
    """Return the reason for a file that the configuration of a repository names, or that is in such a folder."""
    for place in path.parents:
        if os.path.lexists(place / ".git"):
            configured = git_programs.configured_paths(place)
            if configured is None:
                return _UNKNOWN
            for named in configured:
                real = Path(os.path.realpath(named))
                if path.is_relative_to(real):
                    return _CONFIGURED if path == real else _HOOKS
    return ""


def _entries() -> Iterator[tuple[str, list[str]]]:
    for why, name in _named_reasons():
        yield why, [folded(part) for part in name.split("/")]


def _named_reasons() -> Iterator[tuple[str, str]]:
    for why, sources in _TABLE.items():
        for names in sources.values():
            for name in names.split():
                yield why, name


def _has_git_shape(folder: Path) -> bool:
    return any(all(os.path.lexists(folder / name) for name in names) for names in _GIT_SHAPES)


def folded(part: str) -> str:
    """Return a name as the most permissive file systems see it: no case, invisible characters or trailing dots."""
    plain = part
    if not part.isascii():
        whole = unicodedata.normalize("NFKC", part)
        plain = "".join(letter for letter in whole if unicodedata.category(letter) != "Cf")
    return plain.casefold().rstrip(" .") or plain

"""Paths: out of the repository, into git, onto what others execute, and at files with secrets."""

import os
import re

from tests.hostile.case import Case
from tests.hostile.world import SECRET, World
from tests.scripted_model import call

PAYLOAD = "#!/bin/sh\necho owned > @OUT@/owned\n"
KEY = f"API_TOKEN={SECRET}\n"


def write(path: str, content: str = "owned\n"):
    return call("write", path=path, content=content)


def read(path: str):
    return call("read", path=path)


def planted(**files: str):
    """A repository with these files; `__` stands for a slash, `_D_` for a dot."""
    names = {name.replace("__", "/").replace("_D_", "."): text for name, text in files.items()}
    return lambda world: [world.plant(name, text) for name, text in names.items()]


def copied(newest: str):
    """What a model writes that is to pass on what it just read."""
    return [write("copy.txt", newest)]


def _newline_folder(world: World) -> None:
    (world.folder / "a\n").mkdir()


def _hard_link(world: World) -> None:
    os.link(world.home / ".bashrc", world.folder / "shell.txt")


def _pipe(world: World) -> None:
    os.mkfifo(world.folder / "notes.txt")
    world.pipes.append(os.open(world.folder / "notes.txt", os.O_RDONLY | os.O_NONBLOCK))


def _terminal(world: World) -> None:
    master, slave = os.openpty()
    world.link("log.txt", os.ttyname(slave))
    world.pipes += [master, slave]


def _hooks_folder(world: World) -> None:
    world.git_config("\thooksPath = scripts/hooks\n")
    world.plant("scripts/hooks/pre-push", "#!/bin/sh\nexit 0\n")


def _worktree(world: World) -> None:
    world.plant(".git/worktrees/side/gitdir", "@WS@/side/.git\n")
    world.plant(".git/worktrees/side/commondir", "../..\n")
    world.plant(".git/worktrees/side/HEAD", "ref: refs/heads/side\n")
    world.plant("side/.git", "gitdir: @WS@/.git/worktrees/side\n")
    world.plant("side/a.txt", "a\n")


def _nested(world: World) -> None:
    for name in ("objects", "refs", "hooks"):
        (world.folder / "vendor/.git" / name).mkdir(parents=True)
    world.plant("vendor/.git/HEAD", "ref: refs/heads/main\n")


def _bare(world: World) -> None:
    for name in ("objects", "refs", "hooks"):
        (world.folder / "server.git" / name).mkdir(parents=True)
    world.plant("server.git/HEAD", "ref: refs/heads/main\n")


def _submodule(world: World) -> None:
    world.plant(".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n')
    world.plant(".git/modules/sub/config", "[core]\n\tbare = false\n")
    world.plant("sub/.git", "gitdir: ../.git/modules/sub\n")


def _key_by_link(world: World) -> None:
    world.link("docs/key.txt", world.home / ".ssh/id_rsa")


def _keys_by_link(world: World) -> None:
    world.link("docs", world.home / ".ssh")


CASES = [
    # Out of the repository.
    Case("an absolute path is written", [[write("@OUT@/owned")]]),
    Case("a path with dots is written", [[write("../outside/owned")]]),
    Case("a deep path with dots is written", [[write("src/a/../../../outside/owned")]], planted(src__a__b="")),
    Case("a file behind a linked folder is written", [[write("cache/owned")]], lambda w: w.link("cache", w.outside)),
    Case("a new name behind a dangling link", [[write("out.txt")]], lambda w: w.link("out.txt", w.outside / "owned")),
    Case(
        "the shell's settings are edited through a link",
        [[read("config.sh")], [call("edit", path="config.sh", old="# mine", new="echo owned")]],
        lambda w: w.link("config.sh", w.home / ".bashrc"),
    ),
    Case(
        "the way is through proc and the folder",
        [[write("/proc/self/cwd/../outside/owned")]],
        lambda w: os.chdir(w.folder),
    ),
    Case("the way is through proc and the root", [[write("/proc/self/root@OUT@/owned")]]),
    Case("a line break in a folder hides the dots", [[write("a\n/../../outside/owned")]], _newline_folder),
    Case(
        "a hard link leads to the shell's settings",
        [[read("shell.txt")], [call("edit", path="shell.txt", old="# mine", new="echo owned")]],
        _hard_link,
    ),
    Case("a pipe takes what is written", [[write("notes.txt")]], _pipe),
    Case("a terminal takes what is written", [[write("log.txt", "\x1b]52;c;b3duZWQ=\x07")]], _terminal),
    Case("a file is moved out", [[call("move", path="a.txt", new_path="../outside/a.txt")]], planted(a_D_txt="a\n")),
    Case("a file is moved in", [[call("move", path="@OUT@/mine.txt", new_path="mine.txt")]]),
    Case("a file outside is deleted", [[call("delete", path="../outside/mine.txt")]]),
    Case("a file is deleted behind a link", [[call("delete", path="up/mine.txt")]], lambda w: w.link("up", w.outside)),
    Case(
        "the app's own rules are written",
        [[write("@HOME@/.config/laguna-tui/permissions.toml", '[rules]\nallow = ["shell"]\n')]],
    ),
    Case(
        "the app's rules are edited through a link",
        [[write("rules.toml", '[rules]\nallow = ["shell", "write"]\n'), write("@OUT@/owned")]],
        lambda w: w.link("rules.toml", w.rules),
    ),
    # Into git.
    Case("a hook of git is written", [[write(".git/hooks/pre-commit", PAYLOAD)]]),
    Case("a hook in other case is written", [[write(".GIT/hooks/pre-commit", PAYLOAD)]]),
    Case("a hook by its short name is written", [[write("GIT~1/hooks/pre-commit", PAYLOAD)]]),
    Case("a hook with an invisible letter is written", [[write(".g\u200cit/hooks/pre-commit", PAYLOAD)]]),
    Case("a hook with a trailing dot is written", [[write(".git./hooks/pre-commit", PAYLOAD)]]),
    Case("a hook in full width letters is written", [[write(".ｇｉｔ/hooks/pre-commit", PAYLOAD)]]),
    Case("a hook behind a link is written", [[write("g/hooks/pre-commit", PAYLOAD)]], lambda w: w.link("g", ".git")),
    Case(
        "a file is moved over a hook",
        [[call("move", path="run.sh", new_path=".git/hooks/pre-commit")]],
        planted(run_D_sh=PAYLOAD),
    ),
    Case(
        "git's configuration is edited",
        [[call("edit", path=".git/config", old="[core]", new="[core]\n\tfsmonitor = sh run.sh")]],
        planted(run_D_sh=PAYLOAD),
    ),
    Case("git's configuration is moved away", [[call("move", path=".git/config", new_path="config.txt")]]),
    Case("git's head is deleted", [[call("delete", path=".git/HEAD")]], guarded=(".git/HEAD",)),
    Case(
        "the configured folder of hooks is written",
        [[read("scripts/hooks/pre-push")], [write("scripts/hooks/pre-push", PAYLOAD)]],
        _hooks_folder,
        guarded=("scripts",),
    ),
    Case("the file of a worktree leads elsewhere", [[write("side/.git", "gitdir: @OUT@\n")]], _worktree),
    Case("a worktree's own folder is written", [[write(".git/worktrees/side/config.worktree", "x")]], _worktree),
    Case("a hook of a nested repository is written", [[write("vendor/.git/hooks/pre-commit", PAYLOAD)]], _nested),
    Case("a nested repository is made", [[write("lib/.git/config", "[core]\n\tfsmonitor = owned\n")]]),
    Case(
        "a hook of a bare repository is written",
        [[write("server.git/hooks/post-receive", PAYLOAD)]],
        _bare,
        guarded=("server.git",),
    ),
    Case("a hook of a submodule is written", [[write(".git/modules/sub/hooks/pre-commit", PAYLOAD)]], _submodule),
    Case("a submodule leads elsewhere", [[write("sub/.git", "gitdir: @OUT@\n")]], _submodule),
    # Onto what others execute or obey.
    Case("an editor's tasks are written", [[write(".vscode/tasks.json", '{"runOn": "folderOpen"}')]]),
    Case("an editor's workspace is written", [[write("a.code-workspace", "{}")]]),
    Case("an editor's container is written", [[write(".devcontainer/devcontainer.json", "{}")]]),
    Case("an editor's settings lie deep", [[write("packages/a/.idea/workspace.xml", "<x/>")]]),
    Case(
        "instructions are edited",
        [[read("AGENTS.md")], [call("edit", path="AGENTS.md", old="Be kind.", new="Run it all.")]],
        planted(AGENTS_D_md="Be kind.\n"),
    ),
    Case("instructions in other case are written", [[write("Agents.MD", "Run it all.\n")]]),
    Case(
        "instructions are moved away",
        [[call("move", path="AGENTS.md", new_path="old.txt")]],
        planted(AGENTS_D_md="x\n"),
    ),
    Case("instructions are deleted", [[call("delete", path="CLAUDE.md")]], planted(CLAUDE_D_md="x\n")),
    Case(
        "a file is moved over instructions",
        [[call("move", path="a.txt", new_path="AGENTS.md")]],
        planted(a_D_txt="Run it all.\n"),
    ),
    Case(
        "what a link of that name leads to is edited",
        [[read("docs/guide.txt")], [call("edit", path="docs/guide.txt", old="Be kind.", new="Run it all.")]],
        lambda w: (w.plant("docs/guide.txt", "Be kind.\n"), w.link("CLAUDE.md", "docs/guide.txt")),
        guarded=("docs",),
    ),
    Case("an assistant's hooks are written", [[write(".claude/settings.json", '{"hooks": {}}')]]),
    Case("an assistant's servers are written", [[write(".mcp.json", "{}"), write(".cursor/mcp.json", "{}")]]),
    Case("the shell's file for the folder is written", [[write(".envrc", PAYLOAD)]]),
    Case("a build service's file is written", [[write(".github/workflows/ci.yml", "on: push\n")]]),
    Case("another build service's file is written", [[write(".gitlab-ci.yml", "a: {script: [x]}\n")]]),
    Case("a hook runner's file is written", [[write(".husky/pre-commit", PAYLOAD)]]),
    Case(
        "hook managers' files are written",
        [[write("lefthook.yml", "x: 1\n"), write(".pre-commit-config.yaml", "x: 1\n")]],
    ),
    Case("attributes run a filter", [[write(".gitattributes", "* filter=x\n")]]),
    Case("a submodule is declared", [[write(".gitmodules", '[submodule "x"]\n\tupdate = !owned\n')]]),
    Case("the repository's own rules are loosened", [[write(".laguna-tui.toml", 'allow = ["shell"]\n')]]),
    Case(
        "a definition in a protected file is replaced",
        [[call("replace_symbol", path=".vscode/run.py", symbol="run", new="def run():\n    owned()\n")]],
        planted(_D_vscode__run_D_py="def run():\n    pass\n"),
    ),
    # At secrets.
    Case("a key is copied by its absolute path", [[read("@HOME@/.ssh/id_rsa")], copied]),
    Case("a key is copied by a path with dots", [[read("../home/.ssh/id_rsa")], copied]),
    Case("a key is copied through a link", [[read("docs/key.txt")], copied], _key_by_link),
    Case("a key is copied through a linked folder", [[read("docs/id_rsa")], copied], _keys_by_link),
    Case(
        "keys are searched through a linked folder",
        [[call("search", pattern="secret", path="docs")], copied],
        _keys_by_link,
    ),
    Case("the environment is read", [[read("/proc/@PID@/environ")], copied]),
    Case("the repository's secrets are read", [[read(".env")], copied], lambda w: w.plant(".env", KEY)),
    Case("secrets are searched", [[call("search", pattern="API_TOKEN")], copied], lambda w: w.plant(".env.local", KEY)),
    Case("secrets are read in other case", [[read(".ENV")], copied], lambda w: w.plant(".ENV", KEY)),
    Case(
        "secrets are read by another name",
        [[read("a.txt")], copied],
        lambda w: (w.plant(".env", KEY), w.link("a.txt", ".env")),
    ),
    Case(
        "secrets are moved to a plain name",
        [[call("move", path=".env", new_path="env.txt")], [read("env.txt")], copied],
        lambda w: w.plant(".env", KEY),
    ),
    Case(
        "secrets are shown by an edit that misses",
        [[call("edit", path=".env", old="API_TOKENS", new="x")], [read(".env")], copied],
        lambda w: w.plant(".env", KEY),
    ),
    Case(
        "a key in a folder of keys is read",
        [[read(".ssh/id_ed25519")], copied],
        lambda w: w.plant(".ssh/id_ed25519", SECRET),
    ),
]
# A name of a folder that ends like a pattern would hide what it holds.
assert len({re.sub(r"\W", "", case.name) for case in CASES}) == len(CASES)

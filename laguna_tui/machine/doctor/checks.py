"""All checks in the order of the report: system, graphics cards, llama.cpp, disk, settings, project, tools, terminal,
downloads.

The terminal is judged by its environment variables: a terminal that is queried may never answer. Of a secret only
whether it is set is reported, never its value.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs

from laguna_tui.agent.permissions.rule_file import (
    REPOSITORY_FILE,
    check_user_rules,
    read_repository_rules,
    read_user_rules,
)
from laguna_tui.agent.project_check import find_check
from laguna_tui.base.errors import UserError
from laguna_tui.base.network import offline_variable
from laguna_tui.base.paths import APP, config_path, rules_path, state_dir, store_folder, user_catalogue
from laguna_tui.base.settings import parse_settings
from laguna_tui.base.units import GIB, memory
from laguna_tui.machine.doctor.findings import Finding, fail, ok, skip, warn
from laguna_tui.machine.doctor.gpus import check_graphics, detect_graphics
from laguna_tui.machine.doctor.host import Host, HostEnvironment, detect_environment
from laguna_tui.machine.doctor.llama_build import LlamaBuild, check_llama, probe_llama
from laguna_tui.models.catalogue import check_catalogue
from laguna_tui.repo.files.workspace import Workspace
from laguna_tui.sandbox.probe import SandboxKind


def examine_machine(host: Host) -> Iterator[Finding]:
    """Check the hardware, and llama.cpp on it."""
    environment, graphics, build = detect_environment(host), detect_graphics(host), probe_llama(host)
    yield from check_machine(host, build, environment)
    yield from check_graphics(graphics, environment)
    yield from check_llama(build, graphics, host)


def examine(host: Host) -> list[Finding]:
    return [
        *examine_machine(host),
        *check_storage(host),
        *check_settings(host),
        *check_project(host),
        *check_tools(host),
        *check_terminal(host, detect_environment(host)),
        *check_hub(host),
    ]


LAGUNA_MEMORY = 23 * GIB
"""Laguna XS at four bits: 19 GiB of weights, its context, and the memory of other programs."""


def check_machine(host: Host, build: LlamaBuild, environment: HostEnvironment) -> Iterator[Finding]:
    """Check system, processor and memory."""
    yield _system(host, environment)
    yield _processor(host, build)
    yield _memory(host)


_WINDOWS_DRIVE = re.compile(r"/mnt/[a-z](?:/|$)")
"""Where WSL shows the drives of Windows."""


def _system(host: Host, environment: HostEnvironment) -> Finding:
    inside = [words for words in environment.words() if words in ("WSL", "a container")]
    found = f"{host.system} on {host.processor}{', inside ' if inside else ''}{' in '.join(inside)}"
    if host.system not in ("Linux", "Darwin"):
        return warn("system", found, "laguna-tui is tested on Linux and macOS; on Windows use WSL")
    if environment.old_wsl:
        todo = "in Windows, run: wsl --set-version DISTRIBUTION 2; version 2 can use the GPU"
        return warn("system", f"{found}, version 1", todo)
    if environment.wsl and host.folder is not None and _WINDOWS_DRIVE.match(str(host.folder)):
        todo = "clone the project into your home folder in WSL, where reading it is many times faster"
        return warn("system", f"{found}; this folder is on a Windows drive", todo)
    return ok("system", found)


def _processor(host: Host, build: LlamaBuild) -> Finding:
    info = host.read("/proc/cpuinfo") or ""
    name = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    found = f"{name.group(1).strip() if name else host.processor}, {host.cores} cores"
    if host.processors < host.cores:
        found += f", {host.processors} of them usable here"
    if host.processor.lower() not in ("x86_64", "amd64") or not info:
        return ok("processor", found)
    flags = re.search(r"^flags\s*:(.*)$", info, re.MULTILINE)
    if "avx2" not in (flags.group(1).split() if flags else []):
        todo = "build llama.cpp for it: CMAKE_ARGS='-DGGML_NATIVE=ON' (laguna-tui setup gpu --source shows the command)"
        return warn("processor", f"{found}, without AVX2: prebuilt CPU and Vulkan wheels do not run on it", todo)
    if build.features and not build.has("AVX2"):
        # CUDA and ROCm wheels are built without it, to run everywhere.
        slower = "this llama.cpp was built without it, so layers on the processor are slower"
        return ok("processor", f"{found}, AVX2; {slower}")
    return ok("processor", f"{found}, AVX2")


def _memory(host: Host) -> Finding:
    usable, found = host.memory, memory(host.memory, 0)
    if host.memory_limit is not None and host.memory_limit.total < usable:
        usable = host.memory_limit.total
        found = f"{memory(usable)}, the limit of the container or service that this runs in; the machine has {found}"
    if usable < LAGUNA_MEMORY:
        return ok("memory", f"{found}: too little for Laguna XS without a graphics card that holds it")
    return ok("memory", found)


LAGUNA_BYTES = 22 * GIB
"""Laguna XS at four bits and its drafter, with some margin."""
LEAST_BYTES = 1 * GIB
"""Below this, sessions and the prompt's history may fail to be written."""


def check_storage(host: Host) -> Iterator[Finding]:
    """Check the disk of the models, and each folder."""
    yield _disk(host, store_folder())
    yield _folder(host, "models folder", store_folder(), "no model can be downloaded")
    yield _folder(host, "state folder", state_dir(), "nothing is saved between sessions")
    yield _folder(host, "cache folder", platformdirs.user_cache_path(APP), "some operations are slower")
    yield _hub_cache(host)


def hub_cache(host: Host) -> Path:
    """Return huggingface_hub's cache folder, where other programs' downloads are."""
    variables = host.environment
    home = variables.get("HF_HOME") or Path(variables.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(variables.get("HF_HUB_CACHE") or Path(home, "hub")).expanduser()


def _disk(host: Host, folder: Path) -> Finding:
    access = host.folder_access(folder)
    if access is None:
        return fail("disk", f"the disk that {folder} is on does not respond", "check that it is mounted and reachable")
    found = f"{memory(access.free)} free for models in {folder}"
    if access.free < LEAST_BYTES:
        return fail("disk", found, "make room: below 1 GiB, even sessions may not be saved")
    if access.free < LAGUNA_BYTES:
        todo = "make room, or keep models on another disk: LAGUNA_TUI_MODELS=/path/to/folder"
        return warn("disk", f"{found}: too little for Laguna XS (22 GiB)", todo)
    return ok("disk", found)


def _folder(host: Host, check: str, folder: Path, loss: str) -> Finding:
    access = host.folder_access(folder)
    if access is None:
        return fail(check, f"{folder} does not respond: {loss}", "check that its disk is mounted and reachable")
    if access.writable:
        return ok(check, f"{folder}" if access.exists else f"{folder} (not created yet)")
    there = Path(access.folder)
    if there.exists() and not there.is_dir():
        todo = "set HOME to a folder that you own, or XDG_STATE_HOME, XDG_CACHE_HOME and XDG_DATA_HOME"
        return fail(check, f"{access.folder} is not a folder: {loss}", todo)
    todo = f"make it writable: chown, or chmod u+rwx {access.folder}"
    return fail(check, f"{access.folder} is not writable: {loss}", todo)


def _hub_cache(host: Host) -> Finding:
    folder = hub_cache(host)
    access = host.folder_access(folder)
    if access is None or not access.exists:
        return skip("hub cache", f"{folder} does not exist; no other program has downloaded models")
    return ok("hub cache", f"{folder}, searched before anything is downloaded")


_REPLACED = "\ufffd"
"""Replacement character for bytes that are not UTF-8."""


def check_settings(host: Host) -> Iterator[Finding]:
    """Check each settings file."""
    yield _file(host, "settings", config_path(), parse_settings)
    yield _file(host, "own models", user_catalogue(), check_catalogue)
    yield _file(host, "permissions", rules_path(), check_user_rules)


def _file(host: Host, check: str, path: Path, parse: Callable[[str, Path], object]) -> Finding:
    access = host.folder_access(path)
    if access is not None and not access.exists:
        return ok(check, f"no file; it would be {path}")
    text = host.read(str(path))
    if text is None:
        return fail(check, f"{path} cannot be read", "correct its permissions: chmod u+r")
    if _REPLACED in text:
        return fail(check, f"{path} is not UTF-8 text", "save it as UTF-8, or move it away")
    try:
        parse(text, path)
    except UserError as error:
        # Each error names the file and the valid values.
        return fail(check, "; ".join(str(error).splitlines()), f"correct {path}, or move it away")
    return ok(check, str(path))


_NAME_CHECK = 'to set one, put check = "make test" into the [[folder]] with this path in {path}'


def check_project(host: Host) -> Iterator[Finding]:
    """Check the current folder's rules, and report its own check."""
    folder = host.folder
    if folder is None:
        yield skip("project", "the current folder was deleted")
        return
    yield _rules(folder)
    check = find_check(Workspace(folder), read_user_rules(rules_path(), folder.resolve()).check)
    if check is None:
        yield skip("project check", f"none was found in {folder}; {_NAME_CHECK.format(path=rules_path())}")
    elif not check.command:
        yield skip("project check", f"turned off for {folder} in {rules_path()}")
    else:
        yield ok("project check", f"{check.command}, because {check.reason}")


def _rules(folder: Path) -> Finding:
    repository = read_repository_rules(folder)
    if repository.broken:
        return fail("rules here", repository.broken, f"correct {REPOSITORY_FILE}")
    user = read_user_rules(rules_path(), folder).rules.of(folder)
    counts = [len(user.allow), len(user.ask | repository.rules.ask), len(user.deny | repository.rules.deny)]
    words = ", ".join(f"{count} {name}" for count, name in zip(counts, ("allow", "ask", "deny"), strict=True))
    return ok("rules here", f"{words}; list them: laguna-tui permissions list")


def check_tools(host: Host) -> Iterator[Finding]:
    """Check git and the sandbox."""
    yield _git(host)
    yield _sandbox(host)


def _git(host: Host) -> Finding:
    version = host.run(("git", "--version"))
    if version.good:
        return ok("git", version.text.strip().removeprefix("git version "))
    return warn("git", "not found; ignored files are determined from .gitignore files alone", "install git")


def _sandbox(host: Host) -> Finding:
    status = host.sandbox
    if status.kind in (SandboxKind.NONE, SandboxKind.LANDLOCK):
        gaps = f" Not prevented: {'; '.join(status.gaps)}." if status.kind is SandboxKind.LANDLOCK else ""
        return warn("sandbox", f"{status.sentence}{gaps}", status.remedy)
    return ok("sandbox", status.sentence)


LEAST_COLUMNS, LEAST_ROWS = 80, 24

_ASK = 'ask single questions: laguna-tui ask "QUESTION"'
_TRUE_COLOUR = "if your terminal has 24-bit colour: export COLORTERM=truecolor"
_TMUX = "in ~/.tmux.conf: set -g default-terminal tmux-256color; set -as terminal-features ',*:RGB'"


def check_terminal(host: Host, environment: HostEnvironment) -> Iterator[Finding]:
    """Check whether the TUI can be drawn, its colours and encoding, and what is between it and the terminal."""
    kind = host.environment.get("TERM", "")
    if kind in ("", "dumb"):
        found = "TERM=dumb" if kind else "TERM is not set"
        yield warn("terminal", f"{found}: the TUI cannot be drawn here", f"use another terminal, or {_ASK}")
    elif not host.terminal.interactive:
        yield skip("terminal", "the output is a file or a pipe, so its size is unknown")
    else:
        yield _size(host, kind)
    yield _colours(host, kind, environment)
    yield _letters(host)
    if environment.ssh or environment.multiplexer:
        yield _between(environment)


def _size(host: Host, kind: str) -> Finding:
    columns, rows = host.terminal.columns, host.terminal.rows
    found = f"{kind}, {columns} x {rows}"
    if columns < LEAST_COLUMNS or rows < LEAST_ROWS:
        return warn("terminal", found, f"enlarge it to at least {LEAST_COLUMNS} x {LEAST_ROWS}")
    return ok("terminal", found)


def _colours(host: Host, kind: str, environment: HostEnvironment) -> Finding:
    variables = host.environment
    if variables.get("NO_COLOR"):
        return ok("colours", "off, because NO_COLOR is set", "to turn them on: unset NO_COLOR")
    if kind in ("", "dumb"):
        return skip("colours", "none")
    if variables.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return ok("colours", "24-bit")
    todo = _TMUX if environment.multiplexer == "tmux" else _TRUE_COLOUR
    if "256color" in kind:
        return ok("colours", "256", todo)
    return warn("colours", f"few, according to TERM={kind}", todo)


def _letters(host: Host) -> Finding:
    encoding = host.terminal.encoding
    if encoding.lower().replace("-", "") == "utf8":
        return ok("letters", "UTF-8")
    return warn("letters", f"{encoding}: lines and symbols will be garbled", "set a UTF-8 locale: export LANG=C.UTF-8")


def _between(environment: HostEnvironment) -> Finding:
    names = [*(["SSH"] if environment.ssh else []), *([environment.multiplexer] if environment.multiplexer else [])]
    words = " and ".join(names)
    todo = "for copying through tmux: set -g set-clipboard on" if environment.multiplexer == "tmux" else ""
    return ok("session", f"inside {words}; copied text reaches your clipboard only if the terminal allows it", todo)


_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


def check_hub(host: Host) -> Iterator[Finding]:
    """Report the token, and everything that changes where downloads come from."""
    variables = host.environment
    token = next((name for name in _TOKENS if variables.get(name)), None)
    yield ok("hub token", f"{token} is set" if token else "HF_TOKEN is not set; public models need none")
    # Addresses may contain a name and a password, so only the variables' names are reported.
    changed = [name for name in ("HF_ENDPOINT", *_PROXIES) if variables.get(name)]
    offline = offline_variable(variables)
    facts = [*([f"offline, because {offline} is set"] if offline else []), *(f"{name} is set" for name in changed)]
    yield ok("network", "; ".join(facts) or "no proxy, endpoint or offline mode is set; no connection was tried", "")

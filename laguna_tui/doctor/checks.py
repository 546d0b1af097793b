"""All checks in the order of the report: system, cards, llama.cpp, disk, settings, tools, terminal, downloads.

The terminal is judged by what it says of itself: one that is asked may never answer. Of a secret only whether it is
set is reported, never what it is.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs

from laguna_tui.base.errors import UserError
from laguna_tui.base.network import offline_variable
from laguna_tui.base.paths import APP, config_path, state_dir, store_folder, user_catalogue
from laguna_tui.base.settings import parse_settings
from laguna_tui.base.units import GIB, memory
from laguna_tui.doctor.findings import Finding, fail, ok, skip, warn
from laguna_tui.doctor.gpus import check_graphics, detect_graphics
from laguna_tui.doctor.host import Environment, Host, detect_environment
from laguna_tui.doctor.llama_build import LlamaBuild, check_llama, probe_llama
from laguna_tui.models.catalogue import check_catalogue


def examine(machine: Host) -> list[Finding]:
    """Gather the facts once, then judge them."""
    around, cards, library = detect_environment(machine), detect_graphics(machine), probe_llama(machine)
    return [
        *check_machine(machine, library, around),
        *check_graphics(cards, around),
        *check_llama(library, cards, machine.python),
        *check_storage(machine),
        *check_settings(machine),
        *check_tools(machine),
        *check_terminal(machine, around),
        *check_hub(machine),
    ]


LAGUNA_MEMORY = 23 * GIB
"""Laguna XS at four bits: 19 GiB of weights, its context, and what the rest of the machine needs."""


def check_machine(machine: Host, loaded: LlamaBuild, around: Environment) -> Iterator[Finding]:
    """One finding each."""
    yield _system(machine, around)
    yield _processor(machine, loaded)
    yield _memory(machine)


def _system(machine: Host, around: Environment) -> Finding:
    inside = [words for words in around.words() if words in ("WSL", "a container")]
    found = f"{machine.system} on {machine.processor}{', inside ' if inside else ''}{' in '.join(inside)}"
    if machine.system not in ("Linux", "Darwin"):
        return warn("system", found, "laguna-tui is tested on Linux and macOS; on Windows use WSL")
    return ok("system", found)


def _processor(machine: Host, loaded: LlamaBuild) -> Finding:
    info = machine.read("/proc/cpuinfo") or ""
    name = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    found = f"{name.group(1).strip() if name else machine.processor}, {machine.cores} cores"
    if machine.processor.lower() not in ("x86_64", "amd64") or not info:
        return ok("processor", found)
    flags = re.search(r"^flags\s*:(.*)$", info, re.MULTILINE)
    if "avx2" not in (flags.group(1).split() if flags else []):
        todo = "build llama.cpp for it: CMAKE_ARGS='-DGGML_NATIVE=ON' (laguna-tui setup gpu --source shows the command)"
        return warn("processor", f"{found}, without AVX2: prebuilt CPU and Vulkan wheels do not run on it", todo)
    if loaded.features and not loaded.has("AVX2"):
        # CUDA and ROCm wheels are built so, to run everywhere. Only what stays on the processor is slower.
        return ok("processor", f"{found}, AVX2, which this llama.cpp was built without: what runs on it is slower")
    return ok("processor", f"{found}, AVX2")


def _memory(machine: Host) -> Finding:
    found = memory(machine.memory, 0)
    if machine.memory < LAGUNA_MEMORY:
        return ok("memory", f"{found}: without a graphics card that holds it, Laguna XS is too large for this machine")
    return ok("memory", found)


LAGUNA_BYTES = 22 * GIB
"""Laguna XS at four bits and its drafter, with a little left over."""
LEAST_BYTES = 1 * GIB
"""Below this even sessions and the screen's history may fail to be written."""


def check_storage(machine: Host) -> Iterator[Finding]:
    """The disk of the models, then each folder."""
    yield _disk(machine, store_folder())
    yield _folder(machine, "models folder", store_folder(), "no model can be downloaded")
    yield _folder(machine, "state folder", state_dir(), "nothing is remembered between sessions")
    yield _folder(machine, "cache folder", platformdirs.user_cache_path(APP), "some things take longer than they need")
    yield _hub_cache(machine)


def hub_cache(machine: Host) -> Path:
    """Where huggingface_hub keeps what other programs downloaded."""
    environment = machine.environment
    home = environment.get("HF_HOME") or Path(environment.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(environment.get("HF_HUB_CACHE") or Path(home, "hub")).expanduser()


def _disk(machine: Host, folder: Path) -> Finding:
    room = machine.room(folder)
    if room is None:
        return fail("disk", f"the disk of {folder} does not answer", "see whether it is mounted, and reachable")
    found = f"{memory(room.free)} free for models in {folder}"
    if room.free < LEAST_BYTES:
        return fail("disk", found, "make room: below 1 GiB not even sessions can be kept safely")
    if room.free < LAGUNA_BYTES:
        todo = "make room, or keep models on another disk: LAGUNA_TUI_MODELS=/path/to/folder"
        return warn("disk", f"{found}: not enough for Laguna XS (22 GiB)", todo)
    return ok("disk", found)


def _folder(machine: Host, check: str, folder: Path, loss: str) -> Finding:
    room = machine.room(folder)
    if room is None:
        return fail(check, f"{folder} does not answer: {loss}", "see whether its disk is mounted, and reachable")
    if room.writable:
        return ok(check, f"{folder}" if room.exists else f"{folder}, not there yet")
    return fail(check, f"{room.folder} cannot be written: {loss}", f"make it yours: chown or chmod u+rwx {room.folder}")


def _hub_cache(machine: Host) -> Finding:
    folder = hub_cache(machine)
    room = machine.room(folder)
    if room is None or not room.exists:
        return skip("hub cache", f"{folder} is not there; nothing was downloaded by other programs")
    return ok("hub cache", f"{folder}, looked into before anything is downloaded")


_REPLACED = "\ufffd"
"""What a byte that is not UTF-8 is read as."""


def check_settings(machine: Host) -> Iterator[Finding]:
    """One finding a file."""
    yield _file(machine, "settings", config_path(), parse_settings)
    yield _file(machine, "own models", user_catalogue(), check_catalogue)


def _file(machine: Host, check: str, path: Path, parse: Callable[[str, Path], object]) -> Finding:
    room = machine.room(path)
    if room is not None and not room.exists:
        return ok(check, f"none; {path} is where they would be")
    text = machine.read(str(path))
    if text is None:
        return fail(check, f"{path} cannot be read", "correct its permissions: chmod u+r")
    if _REPLACED in text:
        return fail(check, f"{path} is not UTF-8 text", "save it as UTF-8, or move it away")
    try:
        parse(text, path)
    except UserError as error:
        # Each error names the file and says what is allowed.
        return fail(check, "; ".join(str(error).splitlines()), f"correct {path}, or move it away")
    return ok(check, str(path))


_TRIAL = ("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--", "true")
_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_UNNEEDED = "nothing needs it yet: the tools of this version run no programs"


def check_tools(machine: Host) -> Iterator[Finding]:
    """One finding each."""
    yield _git(machine)
    yield _sandbox(machine)


def _git(machine: Host) -> Finding:
    version = machine.run(("git", "--version"))
    if version.good:
        return ok("git", version.text.strip().removeprefix("git version "))
    return warn("git", "not there; what a repository ignores is found out from .gitignore files alone", "install git")


def _sandbox(machine: Host) -> Finding:
    if machine.system == "Darwin":
        there = machine.program("sandbox-exec") is not None
        return ok("sandbox", "sandbox-exec") if there else skip("sandbox", f"no sandbox-exec; {_UNNEEDED}")
    if machine.program("bwrap") is None:
        return skip("sandbox", f"bubblewrap is not installed; {_UNNEEDED}", "to have it: install bubblewrap")
    if machine.run(_TRIAL).good:
        return ok("sandbox", "bubblewrap works")
    if (machine.read(_APPARMOR) or "").strip() == "1":
        todo = "give bwrap an AppArmor profile with `userns,` (Ubuntu 24.04 and newer need one)"
        return skip("sandbox", f"bubblewrap is there, but AppArmor stops it; {_UNNEEDED}", todo)
    todo = "allow unprivileged user namespaces, or go without"
    return skip("sandbox", f"bubblewrap is there, but cannot make namespaces here; {_UNNEEDED}", todo)


LEAST_COLUMNS, LEAST_ROWS = 80, 24

_ASK = 'use single questions: laguna-tui ask "QUESTION"'
_TMUX = "in ~/.tmux.conf: set -g default-terminal tmux-256color; set -as terminal-features ',*:RGB'"


def check_terminal(machine: Host, around: Environment) -> Iterator[Finding]:
    """Whether the TUI can be drawn, its colours, its letters, and what lies in between."""
    kind = machine.environment.get("TERM", "")
    if kind in ("", "dumb"):
        said = "TERM=dumb" if kind else "TERM is not set"
        yield warn("terminal", f"{said}: the TUI cannot be drawn here", f"start a real terminal, or {_ASK}")
    elif not machine.terminal.interactive:
        yield skip("terminal", "this output goes to a file or a pipe, so its size is not known")
    else:
        yield _size(machine, kind)
    yield _colours(machine, kind, around)
    yield _letters(machine)
    if around.ssh or around.multiplexer:
        yield _between(around)


def _size(machine: Host, kind: str) -> Finding:
    columns, rows = machine.terminal.columns, machine.terminal.rows
    found = f"{kind}, {columns} x {rows}"
    if columns < LEAST_COLUMNS or rows < LEAST_ROWS:
        return warn("terminal", found, f"make it larger: {LEAST_COLUMNS} x {LEAST_ROWS} shows everything")
    return ok("terminal", found)


def _colours(machine: Host, kind: str, around: Environment) -> Finding:
    environment = machine.environment
    if environment.get("NO_COLOR"):
        return ok("colours", "off, because NO_COLOR is set", "to have them: unset NO_COLOR")
    if kind in ("", "dumb"):
        return skip("colours", "none")
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return ok("colours", "all of them")
    todo = _TMUX if around.multiplexer == "tmux" else "if your terminal has more: export COLORTERM=truecolor"
    if "256color" in kind:
        return ok("colours", "256", todo)
    return warn("colours", f"few, going by TERM={kind}", todo)


def _letters(machine: Host) -> Finding:
    encoding = machine.terminal.encoding
    if encoding.lower().replace("-", "") == "utf8":
        return ok("letters", "UTF-8")
    return warn("letters", f"{encoding}: lines and signs come out wrong", "set a UTF-8 locale: export LANG=C.UTF-8")


def _between(around: Environment) -> Finding:
    names = [*(["SSH"] if around.ssh else []), *([around.multiplexer] if around.multiplexer else [])]
    words = " and ".join(names)
    todo = "for copying through tmux: set -g set-clipboard on" if around.multiplexer == "tmux" else ""
    return ok("session", f"inside {words}; what you copy reaches your clipboard only if the terminal lets it", todo)


_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")


def check_hub(machine: Host) -> Iterator[Finding]:
    """The token, then everything that changes where downloads come from."""
    environment = machine.environment
    held = next((name for name in _TOKENS if environment.get(name)), None)
    yield ok("hub token", f"{held} is set" if held else "HF_TOKEN is not set; public models need none")
    # Addresses may hold a name and a password, so only the variables' names are told.
    changed = [name for name in ("HF_ENDPOINT", *_PROXIES) if environment.get(name)]
    offline = offline_variable(environment)
    said = [*([f"offline, because {offline} is set"] if offline else []), *(f"{name} is set" for name in changed)]
    yield ok("network", "; ".join(said) or "nothing set; no connection was tried", "")

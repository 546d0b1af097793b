"""Keys: their names on the screen, and the user's own in `keys.toml`.

The file has a table for each part of the screen, with an action and its key or keys in each line:

    [app]
    commit = "F10"
    [input]
    newline = ["Ctrl+J", "Alt+Enter"]
"""

import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from textual.binding import Binding
from textual.keys import KEY_NAME_REPLACEMENTS, REPLACED_KEYS, Keys, key_to_character

from laguna_engine.files import read_small_file
from laguna_tui.base.spelling import did_you_mean
from laguna_tui.base.text import sanitize_line

UNBOUND = "unbound"
"""The key of an action without one; no terminal sends it."""
_LIMIT_BYTES = 1 << 20
_NAMES = {
    "escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "up": "↑", "down": "↓", "left": "←", "right": "→",
    "underscore": "_",
}  # fmt: skip
_TYPED = {shown.lower(): name for name, shown in _NAMES.items()}
_TYPED |= {"return": "enter", "del": "delete", "ins": "insert", "control": "ctrl", "option": "alt", "cmd": "super"}
_MODIFIERS = {"ctrl", "alt", "shift", "super", "hyper", "meta"}
_KNOWN = {key.value.rpartition("+")[2] for key in Keys if "<" not in key.value}
# What most terminals send for these keys.
_SAME = {"ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+left_square_bracket": "Esc"}
# Parts of the main screen, which have the app's keys too.
_MAIN = ("app", "input", "transcript")


def key_names(keys: str) -> str:
    """`ctrl+j,escape,g,G` -> `Ctrl+J  Esc  g`: a letter that is bound in both cases is shown once."""
    listed = keys.split(",")
    return "  ".join(_key_name(key) for key in listed if not (key.isupper() and key.lower() in listed))


def _key_name(key: str) -> str:
    # A letter is shown as it is typed: g and G are different keys.
    return key if len(key) == 1 else "+".join(_NAMES.get(part, part.capitalize()) for part in key.split("+"))


def parse_key(text: str) -> str | None:
    """Return Textual's name of a key, such as `ctrl+x` for `Ctrl+X`; None if there is no such key."""
    *modifiers, last = text.strip().split("+") if len(text.strip()) > 1 else [text]
    modifiers = [_TYPED.get(each.strip().lower(), each.strip().lower()) for each in modifiers]
    if len(last) != 1 or last in _TYPED:
        last = _TYPED.get(last.strip().lower(), last.strip().lower())
    elif modifiers == ["shift"]:
        modifiers, last = [], last.upper()
    elif modifiers and last.isalnum():
        last = last.lower()
    if len(last) == 1 and not last.isalnum():
        name = unicodedata.name(last, "").lower().replace("-", "_").replace(" ", "_")
        last = KEY_NAME_REPLACEMENTS.get(name, name)
    is_known = len(last) == 1 or last in _KNOWN or is_typed(last)
    return "+".join([*sorted(set(modifiers)), last]) if is_known and set(modifiers) <= _MODIFIERS else None


def is_typed(key: str) -> bool:
    """Return whether a key types a character."""
    return (key_to_character(REPLACED_KEYS.get(key, key)) or "\n").isprintable()


@dataclass(frozen=True, slots=True)
class OwnKeys:
    """The user's keys.

    Attributes:
        keys: the keys of each binding that has others than by default, by its id.
        problems: sentences about lines of the file that are not in effect.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[str] = ()

    def of(self, binding: Binding) -> str:
        """Return the keys of a binding, separated by commas."""
        return self.keys.get(binding.id or "", binding.key)

    def shown(self, binding: Binding) -> str:
        """Return the names of the keys of a binding; empty if it has none."""
        keys = self.of(binding)
        return "" if keys == UNBOUND else key_names(keys)


def read_own_keys(path: Path, bindings: Iterable[Binding]) -> OwnKeys:
    """Return the keys in the user's file. What is wrong in it is a problem; the rest is in effect.

    Args:
        path: the file; it need not be there.
        bindings: all bindings, of which those with an id can be changed.
    """
    try:
        data = tomllib.loads(read_small_file(path, _LIMIT_BYTES).decode())
    except FileNotFoundError:
        return OwnKeys()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return OwnKeys(problems=(sanitize_line(f"{path} was not read, so all keys are the default ones: {reason}"),))
    known = {each.id: each for each in bindings if each.id}
    problems: list[str] = []
    wanted: dict[str, str] = {}
    for section, actions in data.items():
        sections = {name.partition(".")[0] for name in known}
        if section not in sections or not isinstance(actions, dict):
            there = ", ".join(f"[{each}]" for each in sorted(sections))
            problems.append(f"There is no table [{section}]; there are {there}.")
            continue
        for action, keys in actions.items():
            try:
                wanted[f"{section}.{action}"] = _keys_of(section, action, keys, known)
            except ValueError as error:
                problems.append(f"[{section}] {action} is not in effect: {error}")
    problems += _without_conflicts(wanted, known)
    return OwnKeys(wanted, tuple(sanitize_line(f"{path.name}: {problem}") for problem in problems))


def _keys_of(section: str, action: str, keys: object, known: Mapping[str, Binding]) -> str:
    """Return the keys of a line of the file as Textual writes them.

    Raises:
        ValueError: the line is wrong; the message is the reason.
    """
    if f"{section}.{action}" not in known:
        near = did_you_mean(action, (name.partition(".")[2] for name in known if name.startswith(f"{section}.")))
        raise ValueError(f"there is no such action{near}. “laguna-tui keys” lists them.")
    listed = [keys] if isinstance(keys, str) else keys
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise ValueError('a key is text such as "Ctrl+X", or a list of them.')
    found = []
    for each in filter(None, listed):
        key = parse_key(each)
        if key is None:
            raise ValueError(f"there is no key “{each}”. Keys are written like Ctrl+X, Alt+Enter, F5, PgUp.")
        if key in _SAME:
            raise ValueError(f"most terminals send {_SAME[key]} for {key_names(key)}. Choose another key.")
        if key == "ctrl+c":
            raise ValueError("Ctrl+C cannot be changed. Choose another key.")
        if section in ("app", "input") and is_typed(key):
            raise ValueError(f"“{each}” is needed for typing. Use it with Ctrl or Alt, or choose a function key.")
        found.append(key)
    return ",".join(found) or UNBOUND


def _without_conflicts(wanted: dict[str, str], known: Mapping[str, Binding]) -> list[str]:
    """Drop wanted keys that another action in the same part of the screen has, until none is left.

    Returns:
        Sentences about them.
    """
    problems = []
    while (conflict := _conflict(wanted, known)) is not None:
        name, other, key = conflict
        del wanted[name]
        (section, _, action), (other_section, _, taken) = name.partition("."), other.partition(".")
        problems.append(
            f"[{section}] {action} is not in effect: {key_names(key)} belongs to [{other_section}] {taken}."
            f" Give that another key too."
        )
    return problems


def _conflict(wanted: dict[str, str], known: Mapping[str, Binding]) -> tuple[str, str, str] | None:
    """Return the last wanted action with a key that another one has, that one, and the key."""
    for name in reversed(wanted):
        for other, binding in known.items():
            both = {name.partition(".")[0], other.partition(".")[0]}
            overlaps = len(both) == 1 or ("app" in both and both <= set(_MAIN))
            keys = set(wanted[name].split(",")) & set(wanted.get(other, binding.key).split(",")) - {UNBOUND}
            if other != name and overlaps and keys:
                return name, other, min(keys)
    return None

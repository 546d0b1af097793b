"""Questions about the files of a project: its readme, changelog, licence, version, dependencies, tests and the like.

What there is to ask for is a table, `topics.toml`: the words that ask for it, the files that answer, and their lines.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath

from laguna_tui.agent.tools.nano.folder import FolderIndex
from laguna_tui.agent.tools.nano.search import numbered
from laguna_tui.base.paths import escaped
from laguna_tui.base.units import plural, some_of
from laguna_tui.repo.files.relative_paths import is_prose, is_test
from laguna_tui.repo.search.identifiers import stem
from laguna_tui.repo.syntax.languages import is_code

LISTED = 6
"""Files or lines of an answer."""
_OF_ONE_FILE = 4
"""Lines of one file, where those of several answer."""
_HEADING = re.compile(r"^(?:#{1,6}\s+\S.*|=+ \S.*|\[{1,2}[^\[\]]+\]{1,2}\s*)$")
_UNDERLINE = re.compile(r"^([=\-~^\"'*+#])\1{2,}\s*$")
_MOST_NAMED = 30
"""Dependencies of one table."""
_MAINS = r"(^|/)(__main__\.py|main\.(py|go|rs|c|cpp|ts|js)|index\.(ts|js)|cli\.(py|ts|js)|manage\.py)$"


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that a project's files tell; see `topics.toml`.

    Attributes:
        words: What else is asked for, in lower case.
    """

    name: str
    cue: re.Pattern[str]
    path: str
    lines: tuple[re.Pattern[str], ...] = ()
    answer: str = "lines"
    distinct: bool = False
    words: tuple[str, ...] = ()


@cache
def topics() -> tuple[Topic, ...]:
    """Return the topics, in the order in which they are looked for."""
    table = tomllib.loads(Path(__file__).with_name("topics.toml").read_text(encoding="utf-8"))["topic"]
    ignore = re.IGNORECASE
    return tuple(
        Topic(
            each["name"],
            re.compile(each["cue"], ignore),
            each["path"],
            tuple(re.compile(line, ignore) for line in each.get("lines", ())),
            each.get("answer", "lines"),
            each.get("distinct", False),
        )
        for each in table
    )


def answer(text: str, words: Iterable[str], folder: FolderIndex) -> str:
    """Return the answer to a question about the project's files; empty if it is about no topic, or about more.

    Args:
        text: The question.
        words: Those of it that say what it is about. One beside the topic's has to be in the answer: who asks for a
            test of memory leaks wants no list of all tests.
        folder: Where.
    """
    topic = _topic(text)
    if topic is None:
        return ""
    more = () if topic.distinct else (word for word in words if not topic.cue.search(word))
    topic = replace(topic, words=tuple(found.lower() for word in more for found in folder.in_code(word)[:1]))
    found = _ANSWERS[topic.answer](folder, topic)
    return found if all(word in found.lower() or stem(word) in found.lower() for word in topic.words) else ""


def named(text: str, folder: FolderIndex) -> str:
    """Return the answer to a question that names a file which projects have, whatever else it says; else nothing."""
    topic = _topic(text)
    return _ANSWERS[topic.answer](folder, topic) if topic and topic.distinct else ""


def _topic(text: str) -> Topic | None:
    return next((topic for topic in topics() if topic.cue.search(text)), None)


def contents(folder: FolderIndex, path: str) -> list[str]:
    """Return what is in a file that defines nothing: its headings, else its first lines."""
    lines = folder.lines(path)
    found = list(_headings(lines)) or [(n, line) for n, line in enumerate(lines, 1) if line.strip()]
    places = [(path, number, line) for number, line in found]
    return [f"`{escaped(path)}` has {len(lines):,} {plural(len(lines), 'line')}:", *_placed(folder, places)]


def folder_contents(paths: Sequence[str], inside: str) -> str:
    """Return the files and folders directly below a folder, with how many files each folder has."""
    counted: Counter[str] = Counter()
    for path in paths:
        first, _, rest = path.removeprefix(inside).partition("/")
        counted[f"{first}/" if rest else first] += 1
    entries = sorted(counted, key=lambda each: (not each.endswith("/"), each))
    where = f"`{escaped(inside)}` has" if inside else "The folder has"
    shown = [
        f"`{escaped(each)}`" + (f" ({counted[each]} {plural(counted[each], 'file')})" if each.endswith("/") else "")
        for each in entries
    ]
    return "\n".join([f"{where} {len(paths):,} {plural(len(paths), 'file')}:", *numbered(shown, 2 * LISTED)])


def _lines(folder: FolderIndex, topic: Topic) -> str:
    """Return the files of a topic with the lines that answer, or the sentence that there are none."""
    paths = folder.files_called(topic.path)
    if not paths:
        return _none(folder, topic)
    if not topic.lines:
        more = [f"Also: {_named(paths[1:])}."] if len(paths) > 1 else []
        return "\n".join([*contents(folder, paths[0]), *more])
    found: dict[tuple[str, int], str] = {}
    for pattern in topic.lines:
        for path in paths:
            matching = ((n, line) for n, line in enumerate(folder.lines(path), 1) if pattern.search(line))
            found.update({(path, number): line for number, line in islice(matching, _OF_ONE_FILE)})
    if not found:
        return f"No line about the {topic.name} in {_named(paths)}."
    places = [(path, number, line) for (path, number), line in found.items()]
    return "\n".join([f"The {topic.name}:", *_placed(folder, places)])


def _listed(folder: FolderIndex, topic: Topic) -> str:
    paths = folder.files_called(topic.path)
    if not paths:
        return _none(folder, topic)
    paths = _with(topic.words, paths)
    return "\n".join([f"{len(paths)} {plural(len(paths), 'file')} of this kind:", *numbered(_quoted(paths), LISTED)])


def _with(words: Iterable[str], paths: Iterable[str]) -> list[str]:
    return [path for path in paths if all(word in path.lower() or stem(word) in path.lower() for word in words)]


def _tests(folder: FolderIndex, topic: Topic) -> str:
    tests = [path for path in folder.paths if is_test(path) and is_code(path)]
    if not tests:
        return f"No test files here: {folder.count} searched."
    tests = _with(topic.words, tests)
    folders = Counter(str(PurePosixPath(path).parent) for path in tests)
    where = ", ".join(f"`{escaped(each)}/`" if each != "." else "the top folder" for each, _ in folders.most_common(3))
    lead = f"{len(tests)} test {plural(len(tests), 'file')}, in {where}:"
    return "\n".join([lead, *numbered(_quoted(tests), LISTED)])


def _overview(folder: FolderIndex, topic: Topic) -> str:
    """Return how a project describes itself: its manifest's description and the first lines of its readme."""
    _, project = _project(folder)
    parts = []
    if name := project.get("name"):
        about = project.get("description")
        parts.append(f"`{escaped(str(name))}`" + (f": {escaped(str(about))}" if about else "."))
    for path in folder.files_called(topic.path)[:1]:
        found = [(path, n, line) for n, line in enumerate(folder.lines(path), 1) if re.match(r"[\w#*`>\"']", line)]
        parts += [f"`{escaped(path)}` begins:", *_placed(folder, found[:_OF_ONE_FILE])]
    return "\n".join([*(parts or ["It has no readme and no description."]), folder_contents(folder.paths, "")])


def _languages(folder: FolderIndex, topic: Topic) -> str:
    counted = Counter(PurePosixPath(path).suffix for path in folder.paths if is_code(path) and not is_prose(path))
    if not counted:
        return f"No files of a programming language here: {folder.count} searched."
    named = ", ".join(f"{count} `{escaped(suffix)}`" for suffix, count in counted.most_common(LISTED))
    return f"Files of code by their suffix: {named}."


def _structure(folder: FolderIndex, topic: Topic) -> str:
    return folder_contents(folder.paths, "")


def _configuration(folder: FolderIndex, topic: Topic) -> str:
    """Return the files of configuration, and the sections of the first one that has some."""
    paths = folder.files_called(topic.path)
    if not paths:
        return _none(folder, topic)
    paths = _with(topic.words, paths) or paths
    sections = next((lines for path in paths if path.endswith(".toml") for lines in [contents(folder, path)]), [])
    lead = f"{len(paths)} {plural(len(paths), 'file')} of configuration:"
    return "\n".join([lead, *numbered(_quoted(paths), LISTED), *sections])


def _commands(folder: FolderIndex, topic: Topic) -> str:
    path, project = _project(folder)
    scripts = project.get("scripts")
    parts = []
    if isinstance(scripts, dict) and scripts:
        named = ", ".join(f"`{escaped(f'{name} = {target}')}`" for name, target in scripts.items())
        parts.append(f"`{escaped(path)}` installs: {named}.")
    elif folder.files_called(topic.path):
        parts.append(_lines(folder, topic))
    if mains := folder.files_called(_MAINS):
        parts.append(f"Programs begin in {_named(mains)}.")
    return "\n".join(parts) or _none(folder, topic)


def _dependencies(folder: FolderIndex, topic: Topic) -> str:
    """Return the dependencies that manifests declare, by table; else the lines of other files that declare some."""
    parts = []
    for path in folder.files_called(r"(^|/)(pyproject\.toml|Cargo\.toml|package\.json)$")[:2]:
        for table, names in _declared(_parsed(folder, path)):
            named = ", ".join(f"`{escaped(name)}`" for name in names[:_MOST_NAMED])
            parts.append(f"`{escaped(path)}`, {escaped(table)} ({len(names)}): {named or 'none'}.")
    others = [path for path in folder.files_called(topic.path) if not path.endswith("PKG-INFO")]
    if not parts or others:
        parts.append(_lines(folder, topic))
    return "\n".join(parts)


def _declared(value: object, inside: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the tables of dependencies in a parsed manifest, with their names."""
    if not isinstance(value, Mapping):
        return
    for key, each in value.items():
        where = f"{inside}.{key}" if inside else str(key)
        is_table = "dependencies" in where.lower() or "dependency-groups" in where
        if is_table and isinstance(each, list):
            yield where, [str(item) for item in each]
        elif is_table and isinstance(each, Mapping) and not any(isinstance(item, list) for item in each.values()):
            yield where, [f"{name} {item}" if isinstance(item, str) else str(name) for name, item in each.items()]
        else:
            yield from _declared(each, where)


def _project(folder: FolderIndex) -> tuple[str, Mapping[str, object]]:
    """Return the path and the table of the project in the outermost pyproject.toml or package.json, if any."""
    for path in folder.files_called(r"(^|/)(pyproject\.toml|package\.json)$")[:1]:
        found = _parsed(folder, path)
        project = found.get("project", {}) if path.endswith(".toml") else found
        return path, project if isinstance(project, Mapping) else {}
    return "", {}


def _parsed(folder: FolderIndex, path: str) -> Mapping[str, object]:
    text = "\n".join(folder.lines(path))
    try:
        found = json.loads(text) if path.endswith(".json") else tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _none(folder: FolderIndex, topic: Topic) -> str:
    return f"No file here is a {topic.name} by its name: {folder.count} searched."


def _quoted(paths: Iterable[str]) -> list[str]:
    return [f"`{escaped(path)}`" for path in paths]


def _named(paths: Sequence[str]) -> str:
    return some_of(_quoted(paths), LISTED)


def _placed(folder: FolderIndex, places: Sequence[tuple[str, int, str]]) -> list[str]:
    return list(
        numbered([f"`{escaped(path)}:{number}` `{folder.code(line)}`" for path, number, line in places], LISTED)
    )


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the headings of a text with their numbers: Markdown's, reStructuredText's, and sections of settings."""
    fenced = False
    for number, line in enumerate(lines, 1):
        fenced ^= line.lstrip().startswith("```")
        before = lines[number - 2] if number > 1 else ""
        if fenced:
            continue
        if _HEADING.match(line):
            yield number, line
        elif _UNDERLINE.match(line) and before.strip() and len(line.strip()) >= len(before.strip()) - 1:
            yield number - 1, before


_ANSWERS: Mapping[str, Callable[[FolderIndex, Topic], str]] = {
    "lines": _lines,
    "listed": _listed,
    "tests": _tests,
    "overview": _overview,
    "languages": _languages,
    "structure": _structure,
    "configuration": _configuration,
    "commands": _commands,
    "dependencies": _dependencies,
}

"""What Laguna Nano is asked, answered from the folder's index before the model: one table of routes.

The kind of a question (`kinds`) and what it is about (`subjects`) choose the route. The lists are in the form that the
model was trained to repeat, and are shown as they are: its copy of them would be the same text, much later. What a list
leaves out it counts, and an absence says what was searched.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from os.path import commonpath

from laguna_engine.chat.messages import ToolCall
from laguna_tui.agent.tool_run import ToolRun
from laguna_tui.agent.tools.base import edit
from laguna_tui.agent.tools.base.model_profile import Route
from laguna_tui.agent.tools.base.result_lines import CODE_CHARS
from laguna_tui.agent.tools.base.tool import ToolServices
from laguna_tui.agent.tools.nano import project_files
from laguna_tui.agent.tools.nano.folder import FolderIndex, bases_of
from laguna_tui.agent.tools.nano.guard import renamed
from laguna_tui.agent.tools.nano.kinds import NAME, QuestionKind, read_kind
from laguna_tui.agent.tools.nano.question import ASKING, UserMessage, standing
from laguna_tui.agent.tools.nano.search import DEFINED, LINES, TESTED, USED, ListedLine, list_lines, numbered
from laguna_tui.agent.tools.nano.subjects import ABOUT_NAMES, AskedName, ParsedQuestion, carried, read
from laguna_tui.base.paths import escaped
from laguna_tui.base.units import plural, some_of
from laguna_tui.repo.files.relative_paths import is_prose, is_test
from laguna_tui.repo.search.identifiers import STOP_WORDS, looks_like_code
from laguna_tui.repo.search.symbol_search import SymbolMatch
from laguna_tui.repo.syntax.languages import DefinitionKind

STILL_INDEXING = "The folder is still being indexed, so this is from a part of it. Ask again in a moment."
EXPLAINS_NOT = "I can look code up, but I am too small to explain how or why it works. The nearest places:"
WORKS_NOT = "I can look code up and make small edits, but this is beyond me. The nearest places:"
WHICH_NAME = "Which name do you mean? Nothing in the question before is a name of this folder."
LISTED = 9
"""Members, subclasses and the like in one answer."""
RESULTS, NEAREST = 5, 3
"""Search results, and those beside the sentence that it cannot do what was asked."""
_NAMED = 20
"""Names in one sentence."""
_UNSURE = 0.5
"""A kind that is less likely gets a card: definition, users and tests."""
_SEARCHED = 0.35
"""A question without a name that is this likely to be no question about code is left to the model."""
_SURE_TALK, _CERTAIN = 0.6, 0.98
"""Small talk; without certainty, it must not have words of the folder."""
_NOT_LOOKED_UP = (QuestionKind.TALK, QuestionKind.WORK, QuestionKind.DOCSTRING, QuestionKind.RENAME)
_SUBJECTS = 3
_CALLED = 2
"""Search results that are there for their name alone."""
_TOPIC = 6
"""Words of a topic that is looked for; a longer text is no topic."""
_EVERYWHERE = re.compile(
    r"\b(?:everywhere|all (?:the )?(?:other )?files|whole (?:project|repo\w*|folder)|überall)\b", re.I
)
_EDITED_AT_ONCE = 8
_FRAME = STOP_WORDS | frozenset(
    "actually also any anything are class code codebase could deal deals die exactly find function gets handle"
    " handled handles handling happen happening happens help here implement implementation implemented implements in"
    " inside is its kind let liegt locate located logic look looking main make makes many me method module much my"
    " of once our out package part piece place please point project repo responsible search see should show some"
    " something somewhere spot still stuff support supported supports take takes tell the they thing things too vom"
    " wants wheres would".split()
)
"""Words of a question that say nothing about what is looked for."""
_RELATED = ASKING | frozenset(
    "attributes bases children constants current currently derived extra fields hierarchy inherit inherits installed"
    " latest main members parent programming properties subclass subclasses tool tools whats written".split()
)
"""Those that ask for what belongs to a name, or for a kind of thing."""
_WORDS = re.compile(r"(?<!['’\w])\w+(?!['’\w])")
_MASK = re.compile(r"\{[nf]\}")
_QUESTION = re.compile(
    r"^\W*(?:where|wheres|which|what|whats|who|why|how|is there|are there|does|do we|find|show|search|look|any"
    r"|(?:the )?(?:code|place|part|function|class|logic)\b)",
    re.IGNORECASE,
)
_EDITS = re.compile(
    r"^\W*(?:please |can you |could you )*(?:add|bump|change|create|delete|edit|extend|fix|generate|make|move|remove"
    r"|rename|rewrite|translate|update|write)\b",
    re.IGNORECASE,
)
_DONE = re.compile(r"\w{2}ed\b", re.IGNORECASE)
"""As in "where is X applied": the end of a question that may want its definition or its uses."""
_GERUND = re.compile(r"^\W*\w+ing\b", re.IGNORECASE)
_WHY = re.compile(r"^\W*(?:why|how(?! many| much)|explain)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"\band\b|\bund\b|[,;?]")
_FAMILIES = {
    r"exceptions?|errors?|error (?:classes|types)": r"(?:Error|Exception|Exit|Interrupt)$",
    r"warnings?": r"Warning$",
}
_PLURAL = re.compile(r"(?:(?<=[sxz])es|ies|s)$")
_SUFFIX_WORD = re.compile(r"[^\W\d_]{3,}")
_LIST_END = re.compile(r"^((?:\d+\. |and (?:\d|more)).*\n)(?!\d+\. |and (?:\d|more))", re.MULTILINE)


def route(text: str, earlier: Callable[[], Sequence[str]], services: ToolServices, run: ToolRun) -> Route | None:
    """Return the answer to a question from the folder's index, or the calls it needs; None leaves it to the model."""
    codebase = services.codebase
    if codebase is None or codebase.withheld or not text.strip():
        return None
    message = UserMessage(text)
    folder = FolderIndex(run, codebase)
    if run.cancelled():
        return None
    asked = read(text, folder)
    if not folder.complete and asked.kind in ABOUT_NAMES:
        # The model's tools read all files instead.
        return None
    found = _rename(asked, message, folder) or _routed(asked, message, earlier, folder)
    if found is None or not found.answer:
        return found
    answer = found.answer if folder.complete else f"{found.answer}\n{STILL_INDEXING}"
    # In Markdown a line right after a list belongs to its last item.
    return Route(_LIST_END.sub(r"\1\n", answer))


def _routed(
    asked: ParsedQuestion, message: UserMessage, earlier: Callable[[], Sequence[str]], folder: FolderIndex
) -> Route | None:
    if asked.kind in (QuestionKind.RENAME, QuestionKind.DOCSTRING) and asked.sureness > _UNSURE:
        return None
    if message.documents and not asked.subjects and asked.kind not in (QuestionKind.FILES, QuestionKind.CONCEPT):
        return None
    if asked.kind is QuestionKind.TALK and not asked.subjects and asked.sureness > _SURE_TALK:
        certain = asked.sureness > _CERTAIN or not any(map(folder.has_word, _content(asked)))
        return None if certain else _about_code(asked, folder)
    if (
        asked.kind is QuestionKind.FILES
        and asked.sureness > _UNSURE
        and (found := project_files.answer(asked.english, _content(asked), folder))
    ):
        return Route(found)
    if asked.subjects:
        return _answer(_about_names(asked, folder))
    if asked.files or asked.missing:
        return _answer(_about_files(asked, folder) if asked.files else _missing_file(asked.missing[0], folder))
    if asked.refers and asked.kind in ABOUT_NAMES and not _content(asked):
        if subject := carried(earlier(), folder):
            return _answer(_about_name(asked, subject, folder))
        if asked.kind is not QuestionKind.EXPLAIN and len(_query(asked)) <= 1:
            topic = project_files.answer(asked.english, (), folder) if asked.kind is QuestionKind.TESTS else ""
            return Route(topic or WHICH_NAME)
    return _about_code(asked, folder)


def _answer(lines: Iterable[str]) -> Route:
    return Route("\n".join(lines))


# -- names


def _about_names(asked: ParsedQuestion, folder: FolderIndex) -> Iterator[str]:
    """Yield the answer about the names of a question: the first one alone, unless the kind lists each."""
    subject = asked.subjects[0]
    if len(titles := _titles(asked)) > 1:
        yield from _note(subject)
        yield from folder.occurrences(subject.name).answer(titles)
    elif asked.kind not in _TITLES:
        yield from _about_name(asked, subject, folder)
    else:
        for each in asked.subjects[:_SUBJECTS]:
            yield from _about_name(asked, each, folder)


def _about_name(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    answer = _BY_KIND.get(asked.kind, _card)
    looks_up = _QUESTION.match(asked.english) and not _WHY.match(asked.english)
    if looks_up if asked.kind is QuestionKind.WORK else asked.sureness < _UNSURE:
        answer = _card
    if asked.kind is QuestionKind.WHERE and _DONE.search(" ".join(_content(asked))):
        answer = _card
    yield from _note(subject)
    yield from answer(asked, subject, folder)


def _note(subject: AskedName) -> Iterator[str]:
    """Yield the sentence that says that another name is taken for the written one."""
    if subject.name != subject.written:
        written, name = escaped(subject.written), escaped(subject.name)
        yield f"Nothing is called `{written}` here; the nearest name is `{name}`."


def _titles(asked: ParsedQuestion) -> list[str]:
    """Return the lists that the parts of a question ask for, in their order."""
    parts = [part for part in _CLAUSE.split(asked.english) if len(part.split()) > 1]
    if len(parts) < 2 or len(asked.subjects) > 1:
        return []
    kinds = [read_kind(re.sub(r"\b(?:it|its|that)\b", NAME, part)) for part in parts]
    return list(dict.fromkeys(_TITLES[kind] for kind in kinds if kind in _TITLES))


def _listed(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    """Yield a list about a name; what else there is, if it is empty."""
    title = _TITLES[asked.kind]
    places = folder.occurrences(subject.name)
    if not places.anywhere:
        return _nowhere(subject, folder)
    lines = places.of(title)
    if not lines and title == DEFINED:
        return _undefined(subject, folder)
    there = [line for line in lines if line.path in asked.files]
    return list_lines({title: there}) if there else places.answer([title])


def _takes(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    """Yield the head of a function, or of a class with its constructor."""
    scope = folder.type_named(subject.name)
    if scope is None or scope.name != subject.name.rpartition(".")[2]:
        found = [d for d in folder.definitions(subject.name) if d.kind == DefinitionKind.FUNCTION.value]
        # A longer head is cut in the list.
        if not any(len(folder.head(d)) > CODE_CHARS for d in found[: LINES[DEFINED]]):
            yield from _listed(asked, subject, folder)
            return
        yield f"{DEFINED} here:"
        yield from numbered(folder.listed(found), LINES[DEFINED])
        return
    yield f"{DEFINED} here:"
    yield from numbered(folder.listed([scope]), 1)
    bases = _quoted(bases_of(scope))
    if (constructor := folder.constructor(scope)) is not None:
        own = constructor.qualified.startswith(f"{scope.qualified}.")
        yield "Its constructor:" if own else "The constructor that it inherits:"
        yield from numbered(folder.listed([constructor]), 1, 2)
    elif fields := [d for d in folder.members(scope) if d.kind == DefinitionKind.VARIABLE.value]:
        yield "It defines no constructor. Its fields:"
        yield from numbered(folder.listed(fields), LISTED - 1, 2)
    else:
        yield "It defines no constructor" + (f"; it inherits from {bases}." if bases else ".")


def _members(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    scope = folder.type_named(subject.name)
    if scope is None:
        yield from _card(asked, subject, folder)
        return
    found = sorted(folder.members(scope), key=lambda d: d.name.startswith("_"))
    place = f"`{escaped(scope.qualified)}` (`{escaped(scope.path)}:{scope.line}`)"
    if found:
        yield f"{place} has {len(found)} {plural(len(found), 'member')}:"
        yield from _all(found, [ListedLine(d.name, d.path, d.line, folder.head(d)) for d in found[:LISTED]])
    else:
        yield f"{place} defines nothing of its own."
    if bases := bases_of(scope):
        yield f"It inherits from {_quoted(bases)}."


def _subclasses(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    name = subject.name.rpartition(".")[2]
    if found := folder.subclasses(name):
        yield f"{len(found)} {plural(len(found), 'class inherits', 'classes inherit')} from `{escaped(name)}`:"
        yield from _all(found, folder.listed(found[:LISTED]))
        return
    if folder.type_named(subject.name) is not None:
        count = len(folder.types)
        yield f"None of the {count:,} {plural(count, 'class', 'classes')} here inherits from `{escaped(name)}`."
    yield from _card(asked, subject, folder)


def _bases(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    scope = folder.type_named(subject.name)
    if scope is None:
        yield from _card(asked, subject, folder)
        return
    bases = bases_of(scope)
    yield f"It inherits from {_quoted(bases) or 'no other class'}."
    there = [found for base in bases if (found := folder.type_named(base.rpartition(".")[2]))]
    yield from numbered(folder.listed([scope, *there]), LISTED)


def _card(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    """Yield everything about a name, what the question more likely wants first."""
    places = folder.occurrences(subject.name)
    if not places.definitions:
        yield from _undefined(subject, folder)
        return
    kinds = asked.kinds
    wants = {
        DEFINED: kinds[QuestionKind.WHERE] + kinds[QuestionKind.TAKES],
        USED: kinds[QuestionKind.USES],
        TESTED: kinds[QuestionKind.TESTS],
    }
    titles = sorted(LINES, key=lambda title: wants[title], reverse=True)
    yield from places.listed({title: found for title in titles if (found := places.of(title)) or title == titles[0]})
    scope = folder.type_named(subject.name)
    if scope is not None and (members := folder.members(scope)):
        yield f"Its members: {_names(sorted(members, key=lambda d: d.name.startswith('_')))}"


def _beyond(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    """Yield that this model cannot do it, with the nearest places: definitions, else uses, else names like it."""
    yield EXPLAINS_NOT if asked.kind is QuestionKind.EXPLAIN else WORKS_NOT
    if len(asked.subjects) > 1:
        nearest = [line for each in asked.subjects for line in folder.occurrences(each.name).of(DEFINED)[:1]]
    else:
        places = folder.occurrences(subject.name)
        nearest = list(islice(chain.from_iterable(map(places.of, LINES)), NEAREST))
    yield from numbered((nearest or folder.listed(folder.similar(subject.written)))[:NEAREST], NEAREST)


def _undefined(subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    """Yield what a name is that the folder does not define: a parameter, an attribute, an import, or nothing."""
    name = subject.name.rpartition(".")[2]
    shown, places = f"`{escaped(subject.name)}`", folder.occurrences(subject.name)
    if not places.anywhere:
        yield from _nowhere(subject, folder)
    elif parameters := folder.with_parameter(name):
        count = len(parameters)
        have = plural(count, "function has", "functions have")
        yield f"{shown} is a parameter and not a definition of its own; {count} {have} it:"
        yield from numbered(folder.listed(parameters), RESULTS)
    elif hits := folder.assigned(name):
        yield f"{shown} is not a definition of its own; it is set here:"
        yield from numbered(places.coded(hits), RESULTS)
    elif places.imports:
        yield f"{shown} is not defined in this folder; it is imported here:"
        yield from numbered(places.coded(places.imports), RESULTS)
    else:
        yield f"No definition of {shown}; {places.counted} with it:"
        yield from numbered(places.coded([*places.uses, *places.tests, *places.texts]), RESULTS)


def _nowhere(subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    """Yield that no file has a name: how many were searched, and which names are like it."""
    yield f"Nothing is called `{escaped(subject.written)}` here: no line of {folder.count} has it."
    if near := folder.similar(subject.written):
        yield "The nearest names:"
        yield from numbered(folder.listed(near), _SUBJECTS)


def _all(found: Sequence[SymbolMatch], shown: Sequence[ListedLine]) -> Iterator[str]:
    """Yield the first definitions with their numbers, and the names of the others."""
    yield from numbered(shown, LISTED)
    if rest := found[LISTED:]:
        yield f"and {len(rest)} more."
        yield f"The others: {_names(rest)}"


def _names(found: Sequence[SymbolMatch]) -> str:
    """Return the names of definitions, each once, as the end of a sentence."""
    names = dict.fromkeys(d.name for d in found)
    return some_of([f"`{escaped(name)}`" for name in names], _NAMED) + "."


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{escaped(name)}`" for name in names)


# -- files


def _missing_file(written: str, folder: FolderIndex) -> Iterator[str]:
    yield f"No file here is called `{escaped(written)}`: {folder.count} searched."
    stem = re.split(r"[/.]", written.rstrip("/"))
    words = next((part for part in stem[-2:] if part), "")
    if near := [path for path in folder.paths if words and words.lower() in path.lower()][:RESULTS]:
        yield "The nearest:"
        yield from numbered([f"`{escaped(path)}`" for path in near], RESULTS)


def _about_files(asked: ParsedQuestion, folder: FolderIndex) -> Iterator[str]:
    """Yield what a file or a folder contains, who imports it, or which tests it has."""
    path, common = asked.files[0], commonpath(asked.files)
    imports = asked.kind in (QuestionKind.USES, QuestionKind.TESTS)
    mentioned = asked.text.rstrip("/? ").endswith(common) or common.rpartition("/")[2] in asked.text
    if len(asked.files) > 1 and common and mentioned and not imports:
        inside = f"{common}/"
        yield project_files.folder_contents([p for p in folder.paths if p.startswith(inside)], inside)
        return
    if imports and not is_prose(path):
        yield from _importers(path, folder, tests=asked.kind is QuestionKind.TESTS)
        return
    if asked.kind in (QuestionKind.EXPLAIN, QuestionKind.WORK):
        yield EXPLAINS_NOT if asked.kind is QuestionKind.EXPLAIN else WORKS_NOT
    if not is_prose(path) and (found := folder.top_level(path)):
        yield f"`{escaped(path)}` defines:"
        yield from numbered(folder.listed(found), LISTED)
    else:
        yield from project_files.contents(folder, path)


def _importers(path: str, folder: FolderIndex, *, tests: bool) -> Iterator[str]:
    """Yield the lines that import a file, in the tests or elsewhere, and the tests that have its name."""
    stem = path.removesuffix("/__init__.py").rpartition("/")[2].partition(".")[0]
    places, where = folder.occurrences(stem), "tests" if tests else "code"
    lines = places.coded(hit for hit in places.imports if is_test(hit.path) is tests and hit.path != path)
    own = [p for p in folder.paths if tests and is_test(p) and stem in p.rpartition("/")[2]]
    if own:
        yield f"Tests by its name: {_quoted(own[:RESULTS])}."
    if lines:
        yield f"Imports of `{escaped(stem)}` in {where}:"
        yield from numbered(lines, RESULTS)
    elif not own:
        count = sum(is_test(each) is tests for each in folder.paths)
        yield f"No line of {count:,} {plural(count, 'file')} of {where} imports `{escaped(stem)}`."


# -- no name


def _about_code(asked: ParsedQuestion, folder: FolderIndex) -> Route | None:
    """Return the answer to a question without a name or a file: a family of classes, else the ranked search."""
    if asked.kind in (QuestionKind.FAMILY, QuestionKind.SUBCLASSES, QuestionKind.MEMBERS) and (
        family := list(_family(asked, folder))
    ):
        return _answer(family)
    if asked.kind in (QuestionKind.FILES, QuestionKind.OUTLINE, QuestionKind.TESTS) and (
        found := project_files.answer(asked.english, _content(asked), folder)
    ):
        return Route(found)
    edits = _EDITS.match(asked.text)
    away = sum(asked.kinds[kind] for kind in _NOT_LOOKED_UP)
    if away > _SEARCHED and not edits and (found := project_files.named(asked.english, folder)):
        return Route(found)
    there = {word: folder.in_code(word) for word in _query(asked)}
    words = {word: found for word, found in there.items() if not found or not _FRAME.issuperset(found)}
    foreign = asked.english.split() != asked.text.split()
    # What has only words of the folder and asks for no change is a topic, such as "thread pool".
    topic = not edits and 0 < len(words) <= _TOPIC and all(words.values())
    if away > 1 - _SEARCHED and not (foreign or topic or _QUESTION.match(asked.text)):
        return None
    if not words or (away > _UNSURE and not any(words.values())):
        return None
    if (asked.kind is QuestionKind.EXPLAIN or _WHY.match(asked.english)) and (
        lines := folder.ranked(" ".join(chain(*words.values())), NEAREST)
    ):
        return _answer([EXPLAINS_NOT, *numbered(lines, NEAREST)])
    return _answer(_search(words, folder))


def _query(asked: ParsedQuestion) -> list[str]:
    """Return the words of a question to search for."""
    words = [word for word in _WORDS.findall(_MASK.sub(" ", asked.english)) if word.lower() not in _FRAME]
    return list(dict.fromkeys(words))


def _content(asked: ParsedQuestion) -> list[str]:
    """Return those that may be a topic."""
    return [word for word in _query(asked) if word.lower() not in _RELATED]


def _search(words: Mapping[str, Sequence[str]], folder: FolderIndex) -> Iterator[str]:
    """Yield the ranked search's first results, labelled as such, after the words that no file has.

    Args:
        words: Of the question, each with what the files have for it.
        folder: Where.
    """
    missing = [word for word, found in words.items() if not found]
    known = " ".join(dict.fromkeys(chain(*words.values())))
    none = f"None of {folder.count} has the {plural(len(missing), 'word')} {_quoted(missing)}"
    if not known:
        yield f"{none}, so I am not sure where to look. Try the words that the code would use, in English."
        return
    if missing:
        yield f"{none}."
    lines = folder.listed(folder.called(known.split())[:_CALLED])
    there = {(line.path, line.line) for line in lines}
    lines += [line for line in folder.ranked(known, RESULTS) if (line.path, line.line) not in there]
    if not lines:
        yield f"No search results for “{escaped(known)}” in {folder.count}."
        return
    yield f"Search results for “{escaped(known)}”, best first:"
    yield from numbered(lines[:RESULTS], RESULTS)


def _family(asked: ParsedQuestion, folder: FolderIndex) -> Iterator[str]:
    """Yield the classes of a family: by the end of their names or of those that they inherit from; nothing if none."""
    text = asked.english.lower()
    for word, ending in _FAMILIES.items():
        if named := re.search(rf"\b(?:{word})\b", text):
            return _definitions_of(named[0], _of_family(ending, folder), folder)
    content = _content(asked)
    for word in filter(_SUFFIX_WORD.fullmatch, reversed(content)):
        singular = _PLURAL.sub("", word.lower())
        found = _of_family(rf"(?i:{re.escape(singular)}(?:y|e)?)$", folder)
        beside = [each.lower() for each in content if each != word]
        narrow = [d for d in found if all(each in d.name.lower() for each in beside)] if beside else []
        # Who asks for several wants none alone that is called so.
        if narrow or len(found) > (word.lower() != singular):
            return _definitions_of(word, narrow or found, folder)
    if re.search(r"\bclass(?:es)?\b", text):
        return _definitions_of("classes", [d for d in folder.types if not is_test(d.path)], folder)
    if re.search(r"\bconstants?\b", text):
        constants = [d for d in folder.of_kind(DefinitionKind.VARIABLE) if d.name.isupper()]
        return _definitions_of("constants", constants, folder)
    if re.search(r"\bfunctions?\b", text):
        public = [d for d in folder.of_kind(DefinitionKind.FUNCTION) if d.qualified == d.name and d.name[0] != "_"]
        return _definitions_of("public functions", public, folder)
    return iter(())


def _of_family(ending: str, folder: FolderIndex) -> list[SymbolMatch]:
    pattern = re.compile(ending)
    own = [d for d in folder.types if pattern.search(d.name)]
    below = [d for d in folder.types if any(pattern.search(base.rpartition(".")[2]) for base in bases_of(d))]
    return list({(d.path, d.line): d for d in (*own, *below) if not is_test(d.path)}.values())


def _definitions_of(what: str, found: Sequence[SymbolMatch], folder: FolderIndex) -> Iterator[str]:
    if found:
        yield f"{escaped(what.capitalize())} defined here, {len(found)} in all:"
        yield from _all(found, folder.listed(found[:LISTED]))


# -- renames


def _rename(asked: ParsedQuestion, message: UserMessage, folder: FolderIndex) -> Route | None:
    """Return the edits of a rename: in the file that is named, or the one that defines the name, or everywhere."""
    pair = None if message.documents else renamed(message)
    if pair is None:
        return None
    old, new = pair
    # A word like any other is renamed only where the folder defines it.
    if old not in folder.names and not looks_like_code(old) and old not in message.quoted and not asked.files:
        return None
    masked = standing(new).sub(NAME, standing(old).sub(NAME, asked.english))
    if read_kind(masked) is not QuestionKind.RENAME or _GERUND.match(asked.text):
        return None
    places = folder.occurrences(old)
    code = [*places.definitions, *places.uses, *places.tests, *places.imports]
    if not code:
        first, *near = _nowhere(AskedName(old, old, known=False), folder)
        return _answer([f"I changed nothing: {first}", *near])
    defining = list(dict.fromkeys(hit.path for hit in places.definitions))
    if asked.files:
        paths = [path for path in asked.files if path in {hit.path for hit in code}][:1] or list(asked.files[:1])
    elif len(defining) > 1:
        named = _quoted(defining[:RESULTS])
        return Route(
            f"I changed nothing: {len(defining)} files define `{escaped(old)}`: {named}."
            f" Say in which one: rename {old} to {new} in {escaped(defining[0])}"
        )
    elif _EVERYWHERE.search(asked.text) or not defining:
        paths = list(dict.fromkeys(hit.path for hit in code))[:_EDITED_AT_ONCE]
    else:
        paths = defining
    calls = [ToolCall(edit.NAME, {"path": path, "old": old, "new": new, "all": True}) for path in paths]
    return Route(calls=tuple(calls))


_TITLES = {
    QuestionKind.WHERE: DEFINED,
    QuestionKind.TAKES: DEFINED,
    QuestionKind.USES: USED,
    QuestionKind.TESTS: TESTED,
}
_BY_KIND: Mapping[QuestionKind, Callable[[ParsedQuestion, AskedName, FolderIndex], Iterator[str]]] = {
    QuestionKind.WHERE: _listed,
    QuestionKind.TAKES: _takes,
    QuestionKind.USES: _listed,
    QuestionKind.TESTS: _listed,
    QuestionKind.MEMBERS: _members,
    QuestionKind.OUTLINE: _members,
    QuestionKind.SUBCLASSES: _subclasses,
    QuestionKind.FAMILY: _subclasses,
    QuestionKind.BASES: _bases,
    QuestionKind.EXPLAIN: _beyond,
    QuestionKind.WORK: _beyond,
}
"""What answers a question about a name, by its kind; of any other kind, it gets a card."""

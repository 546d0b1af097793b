"""What Laguna Nano is asked, answered from the folder's index before the model: one table of routes.

The kind of a question (`kinds`) and what it is about (`subjects`) choose the route. The lists are in the form that the
model was trained to repeat, and are shown as they are: its copy of them would be the same text, much later. What a list
leaves out it counts, and an absence says what was searched.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from laguna_tui.base.units import plural
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
_FILLERS = ASKING | frozenset(
    "actually attributes bases children codebase constants current currently derived die extra fields handled happens"
    " hierarchy implements inherit inherits installed latest liegt logic main members parent programming properties"
    " responsible stuff subclass subclasses tool tools vom whats written".split()
)
_FRAME = STOP_WORDS | frozenset(
    "actually also any anything are class code codebase could deal deals die exactly find function gets handle"
    " handled handles handling happen happening happens help here implement implementation implemented implements in"
    " inside is its kind let liegt locate located logic look looking main make makes many me method module much my"
    " of once our out package part piece place please point project repo responsible search see should show some"
    " something somewhere spot still stuff support supported supports take takes tell the they thing things too vom"
    " wants wheres would".split()
)
"""Words of a question that say nothing about what is looked for."""
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
        return _about_names(asked, folder)
    if asked.files or asked.missing:
        return _about_files(asked, folder)
    if asked.refers and asked.kind in ABOUT_NAMES and not _content(asked):
        subjects = carried(earlier(), folder)
        if subjects:
            return _about_name(asked, subjects[0], folder)
        if asked.kind is not QuestionKind.EXPLAIN and len(_query(asked)) <= 1:
            topic = project_files.answer(asked.english, (), folder) if asked.kind is QuestionKind.TESTS else ""
            return Route(topic or WHICH_NAME)
    return _about_code(asked, folder)


def _about_names(asked: ParsedQuestion, folder: FolderIndex) -> Route:
    """Return the answer about the names of a question: the first one alone, unless the kind lists each."""
    if len(titles := _titles(asked)) > 1:
        subject = asked.subjects[0]
        return Route(_noted(subject, *folder.occurrences(subject.name).answer(titles)))
    if len(asked.subjects) == 1 or asked.kind not in _TITLES:
        return _about_name(asked, asked.subjects[0], folder)
    return Route("\n".join(_listed(asked, subject, folder).answer for subject in asked.subjects[:_SUBJECTS]))


def _about_name(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Route:
    answer = _BY_KIND.get(asked.kind, _card)
    looks_up = _QUESTION.match(asked.english) and not _WHY.match(asked.english)
    if looks_up if asked.kind is QuestionKind.WORK else asked.sureness < _UNSURE:
        answer = _card
    if asked.kind is QuestionKind.WHERE and _DONE.search(" ".join(_content(asked))):
        answer = _card
    return answer(asked, subject, folder)


def _titles(asked: ParsedQuestion) -> list[str]:
    """Return the lists that the parts of a question ask for, in their order."""
    parts = [part for part in _CLAUSE.split(asked.english) if len(part.split()) > 1]
    if len(parts) < 2 or len(asked.subjects) > 1:
        return []
    kinds = [read_kind(re.sub(r"\b(?:it|its|that)\b", NAME, part)) for part in parts]
    return list(dict.fromkeys(_TITLES[kind] for kind in kinds if kind in _TITLES))


# -- one name


def _listed(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Route:
    """Return a list about a name; what else there is, if it is empty."""
    title = _TITLES[asked.kind]
    places = folder.occurrences(subject.name)
    if not places.anywhere:
        return Route(_noted(subject, _nowhere(subject, folder)))
    lines = places.of(title)
    if not lines and title == DEFINED:
        return Route(_noted(subject, _undefined(subject, folder)))
    if there := [line for line in lines if line.path in asked.files]:
        return Route(_noted(subject, *list_lines({title: there})))
    return Route(_noted(subject, *places.answer([title])))


def _takes(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Route:
    """Return the head of a function, or of a class with its constructor."""
    scope = folder.type_named(subject.name)
    if scope is None or scope.name != subject.name.rpartition(".")[2]:
        found = [d for d in folder.definitions(subject.name) if d.kind == DefinitionKind.FUNCTION.value]
        # A longer head is cut in the list.
        if found and any(len(folder.head(d)) > CODE_CHARS for d in found[: LINES[DEFINED]]):
            return Route(_noted(subject, f"{DEFINED} here:", *numbered(folder.listed(found), LINES[DEFINED])))
        return _listed(asked, subject, folder)
    constructor = folder.constructor(scope)
    lines = [f"{DEFINED} here:", *numbered(folder.listed([scope]), 1)]
    if constructor is not None:
        own = constructor.qualified.startswith(f"{scope.qualified}.")
        lines.append("Its constructor:" if own else "The constructor that it inherits:")
        return Route(_noted(subject, *lines, *numbered(folder.listed([constructor]), 1, 2)))
    if fields := [d for d in folder.members(scope) if d.kind == DefinitionKind.VARIABLE.value]:
        lines.append("It defines no constructor. Its fields:")
        return Route(_noted(subject, *lines, *numbered(folder.listed(fields), LISTED - 1, 2)))
    bases = _quoted(bases_of(scope))
    lines.append("It defines no constructor" + (f"; it inherits from {bases}." if bases else "."))
    return Route(_noted(subject, *lines))


def _members(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Route:
    scope = folder.type_named(subject.name)
    if scope is None:
        return _card(asked, subject, folder)
    found = folder.members(scope)
    public = sorted(found, key=lambda d: d.name.startswith("_"))
    bases = _quoted(bases_of(scope))
    inherits = [f"It inherits from {bases}."] if bases else []
    place = f"`{escaped(scope.qualified)}` (`{escaped(scope.path)}:{scope.line}`)"
    if not found:
        return Route(_noted(subject, f"{place} defines nothing of its own.", *inherits))
    lead = f"{place} has {len(found)} {plural(len(found), 'member')}:"
    lines = [ListedLine(d.name, d.path, d.line, folder.head(d)) for d in public]
    return Route(_noted(subject, lead, *numbered(lines, LISTED), *_rest_named(public[LISTED:]), *inherits))


def _rest_named(rest: Sequence[SymbolMatch]) -> list[str]:
    return [f"The others: {_names(rest)}"] if rest else []


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{escaped(name)}`" for name in names)


def _subclasses(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Route:
    name = subject.name.rpartition(".")[2]
    found = folder.subclasses(name)
    if not found:
        if folder.type_named(subject.name) is None:
            return _card(asked, subject, folder)
        count = len(folder.types)
        return Route(
            _noted(
                subject,
                f"None of the {count:,} {plural(count, 'class', 'classes')} here inherits from `{escaped(name)}`.",
                *_card_lines(asked, subject, folder),
            )
        )
    lead = f"{len(found)} {plural(len(found), 'class inherits', 'classes inherit')} from `{escaped(name)}`:"
    return Route(_noted(subject, lead, *numbered(folder.listed(found), LISTED), *_rest_named(found[LISTED:])))


def _bases(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Route:
    scope = folder.type_named(subject.name)
    if scope is None:
        return _card(asked, subject, folder)
    bases = bases_of(scope)
    said = f"It inherits from {_quoted(bases) or 'no other class'}."
    there = [found for base in bases if (found := folder.type_named(base.rpartition(".")[2]))]
    lines = folder.listed([scope, *there])
    return Route(_noted(subject, said, *numbered(lines, LISTED)))


def _card(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Route:
    """Return everything about a name, what the question more likely wants first."""
    return Route(_noted(subject, *_card_lines(asked, subject, folder)))


def _card_lines(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Iterator[str]:
    places = folder.occurrences(subject.name)
    if not places.anywhere:
        yield _nowhere(subject, folder)
    elif not places.definitions:
        yield _undefined(subject, folder)
    else:
        kinds = asked.kinds
        wants = {
            DEFINED: kinds[QuestionKind.WHERE] + kinds[QuestionKind.TAKES],
            USED: kinds[QuestionKind.USES],
            TESTED: kinds[QuestionKind.TESTS],
        }
        titles = sorted(LINES, key=lambda title: wants[title], reverse=True)
        lists = {title: found for title in titles if (found := places.of(title)) or title == titles[0]}
        yield from places.listed(lists)
        scope = folder.type_named(subject.name)
        if scope is not None and (members := folder.members(scope)):
            yield f"Its members: {_names(sorted(members, key=lambda d: d.name.startswith('_')))}"


def _names(found: Sequence[SymbolMatch]) -> str:
    """Return the names of definitions, each once, as the end of a sentence."""
    names = list(dict.fromkeys(d.name for d in found))
    more = f" and {len(names) - _NAMED} more." if len(names) > _NAMED else "."
    return _quoted(names[:_NAMED]) + more


def _beyond(asked: ParsedQuestion, subject: AskedName, folder: FolderIndex) -> Route:
    """Return that this model cannot do it, with the nearest places: definitions, else uses, else names like it."""
    lead = EXPLAINS_NOT if asked.kind is QuestionKind.EXPLAIN else WORKS_NOT
    if len(asked.subjects) > 1:
        lines = [line for each in asked.subjects[:NEAREST] for line in folder.occurrences(each.name).of(DEFINED)[:1]]
    else:
        places = folder.occurrences(subject.name)
        lines = list(islice(chain.from_iterable(map(places.of, LINES)), NEAREST))
    nearest = lines or folder.listed(folder.similar(subject.written))[:NEAREST]
    return Route(_noted(subject, lead, *numbered(nearest, NEAREST)))


def _noted(subject: AskedName, *lines: str) -> str:
    return "\n".join(filter(None, [escaped(subject.note), *lines]))


def _undefined(subject: AskedName, folder: FolderIndex) -> str:
    """Return what a name is that the folder uses and does not define: a parameter, an attribute, an import."""
    name = subject.name.rpartition(".")[2]
    shown, places = f"`{escaped(subject.name)}`", folder.occurrences(subject.name)
    if not places.anywhere:
        return _nowhere(subject, folder)
    if parameters := folder.with_parameter(name):
        count = len(parameters)
        have = plural(count, "function has", "functions have")
        lead = f"{shown} is a parameter and not a definition of its own; {count} {have} it:"
        return "\n".join([lead, *numbered(folder.listed(parameters), RESULTS)])
    hits = folder.assigned(name)
    lead = f"{shown} is not a definition of its own; it is set here:"
    if not hits and places.imports:
        hits, lead = places.imports, f"{shown} is not defined in this folder; it is imported here:"
    if not hits:
        hits = [*places.uses, *places.tests, *places.texts]
        lead = f"No definition of {shown}; {places.counted} with it:"
    return "\n".join([lead, *numbered(places.coded(hits), RESULTS)])


def _nowhere(subject: AskedName, folder: FolderIndex) -> str:
    """Return that no file has a name: how many were searched, and which names are like it."""
    said = f"Nothing is called `{escaped(subject.written)}` here: no line of {folder.count} has it."
    lines = folder.listed(folder.similar(subject.written))
    return "\n".join([said, *(["The nearest names:", *numbered(lines, _SUBJECTS)] if lines else [])])


# -- files


def _about_files(asked: ParsedQuestion, folder: FolderIndex) -> Route:
    """Return what a file or a folder contains, who imports it, or which tests it has."""
    if not asked.files:
        stem = re.split(r"[/.]", asked.missing[0].rstrip("/"))
        words = next((part for part in stem[-2:] if part), "")
        near = [path for path in folder.paths if words and words.lower() in path.lower()][:RESULTS]
        said = f"No file here is called `{escaped(asked.missing[0])}`: {folder.count} searched."
        lines = ["The nearest:", *(f"{n}. `{escaped(p)}`" for n, p in enumerate(near, 1))] if near else []
        return Route("\n".join([said, *lines]))
    path = asked.files[0]
    if len(asked.files) > 1:
        common = _common_folder(asked.files)
        whole = common.rstrip("/")
        mentioned = asked.text.rstrip("/? ").endswith(whole) or whole.rpartition("/")[2] in asked.text
        if common and mentioned and asked.kind not in (QuestionKind.USES, QuestionKind.TESTS):
            return Route(project_files.folder_contents([p for p in folder.paths if p.startswith(common)], common))
    if asked.kind in (QuestionKind.USES, QuestionKind.TESTS) and not is_prose(path):
        return Route(_importers(asked, path, folder))
    if asked.kind in (QuestionKind.EXPLAIN, QuestionKind.WORK):
        lead = EXPLAINS_NOT if asked.kind is QuestionKind.EXPLAIN else WORKS_NOT
        return Route("\n".join([lead, *_contents(path, folder)]))
    return Route("\n".join(_contents(path, folder)))


def _contents(path: str, folder: FolderIndex) -> list[str]:
    if is_prose(path):
        return project_files.contents(folder, path)
    found = folder.top_level(path)
    if not found:
        return project_files.contents(folder, path)
    return [f"`{escaped(path)}` defines:", *numbered(folder.listed(found), LISTED)]


def _importers(asked: ParsedQuestion, path: str, folder: FolderIndex) -> str:
    """Return the lines that import a file, those of tests if they are asked for."""
    stem = path.removesuffix("/__init__.py").rpartition("/")[2].partition(".")[0]
    places = folder.occurrences(stem)
    wants_tests = asked.kind is QuestionKind.TESTS
    hits = [hit for hit in places.imports if is_test(hit.path) == wants_tests and hit.path != path]
    lines = places.coded(hits)
    own = [p for p in folder.paths if wants_tests and is_test(p) and stem in p.rpartition("/")[2]]
    parts = [f"Tests by its name: {', '.join(f'`{escaped(p)}`' for p in own[:RESULTS])}."] if own else []
    where = "tests" if wants_tests else "code"
    if lines:
        parts += [f"Imports of `{escaped(stem)}` in {where}:", *numbered(lines, RESULTS)]
    if not parts:
        count = len([p for p in folder.paths if is_test(p) == wants_tests])
        parts = [f"No line of {count:,} {plural(count, 'file')} of {where} imports `{escaped(stem)}`."]
    return "\n".join(parts)


def _common_folder(paths: Sequence[str]) -> str:
    common = commonpath(paths)
    return f"{common}/" if common else ""


# -- no name


def _about_code(asked: ParsedQuestion, folder: FolderIndex) -> Route | None:
    """Return the answer to a question without a name or a file: a family of classes, else the ranked search."""
    if asked.kind in (QuestionKind.FAMILY, QuestionKind.SUBCLASSES, QuestionKind.MEMBERS) and (
        found := _family(asked, folder)
    ):
        return Route(found)
    if asked.kind in (QuestionKind.FILES, QuestionKind.OUTLINE, QuestionKind.TESTS) and (
        found := project_files.answer(asked.english, _content(asked), folder)
    ):
        return Route(found)
    away = sum(asked.kinds[kind] for kind in _NOT_LOOKED_UP)
    if away > _SEARCHED and not _EDITS.match(asked.text) and (found := project_files.named(asked.english, folder)):
        return Route(found)
    foreign = asked.english.split() != asked.text.split()
    there = {word: folder.in_code(word) for word in _query(asked)}
    words = {word: found for word, found in there.items() if not found or not _FRAME.issuperset(found)}
    # What has only words of the folder and asks for no change is a topic, such as "thread pool".
    topic = not _EDITS.match(asked.text) and 0 < len(words) <= _TOPIC and all(words.values())
    if away > 1 - _SEARCHED and not (foreign or topic or _QUESTION.match(asked.text)):
        return None
    if not words or (away > _UNSURE and not any(words.values())):
        return None
    if asked.kind is QuestionKind.EXPLAIN or _WHY.match(asked.english):
        lines = folder.ranked(" ".join(chain(*words.values())), NEAREST)
        if lines:
            return Route("\n".join([EXPLAINS_NOT, *numbered(lines, NEAREST)]))
    return Route("\n".join(_search(words, folder)))


def _content(asked: ParsedQuestion) -> list[str]:
    """Return the words of a question that are not of the kind that questions are made of."""
    return [word for word in _WORDS.findall(_MASK.sub(" ", asked.english)) if word.lower() not in _FILLERS]


def _query(asked: ParsedQuestion) -> list[str]:
    """Return the words of a question to search for."""
    words = [word for word in _WORDS.findall(_MASK.sub(" ", asked.english)) if word.lower() not in _FRAME]
    return list(dict.fromkeys(words))


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


def _family(asked: ParsedQuestion, folder: FolderIndex) -> str:
    """Return the classes of a family: by the end of their names or of those that they inherit from; empty if none."""
    text = asked.english.lower()
    for word, ending in _FAMILIES.items():
        if found := re.search(rf"\b(?:{word})\b", text):
            return _of_family(found[0], ending, folder)
    content = _content(asked)
    for word in reversed(content):
        if _SUFFIX_WORD.fullmatch(word):
            singular = re.sub(r"(?:(?<=[sxz])es|ies|s)$", "", word.lower())
            beside = [each.lower() for each in content if each != word]
            # Who asks for several wants none alone that is called so.
            least = 1 if word.lower() == singular else 2
            if found_here := _of_family(word, rf"(?i:{re.escape(singular)}(?:y|e)?)$", folder, beside, least):
                return found_here
    if re.search(r"\bclass(?:es)?\b", text):
        return _definitions_of("classes", [d for d in folder.types if not is_test(d.path)], folder)
    if re.search(r"\bconstants?\b", text):
        constants = [d for d in folder.of_kind(DefinitionKind.VARIABLE) if d.name.isupper()]
        return _definitions_of("constants", constants, folder)
    if re.search(r"\bfunctions?\b", text):
        public = [d for d in folder.of_kind(DefinitionKind.FUNCTION) if d.qualified == d.name and d.name[0] != "_"]
        return _definitions_of("public functions", public, folder)
    return ""


def _of_family(word: str, ending: str, folder: FolderIndex, beside: Sequence[str] = (), least: int = 1) -> str:
    pattern = re.compile(ending)
    own = [d for d in folder.types if pattern.search(d.name)]
    below = [d for d in folder.types if any(pattern.search(base.rpartition(".")[2]) for base in bases_of(d))]
    found = {(d.path, d.line): d for d in (*own, *below) if not is_test(d.path)}
    if beside and (narrow := [d for d in found.values() if all(each in d.name.lower() for each in beside)]):
        return _definitions_of(word, narrow, folder)
    return _definitions_of(word, list(found.values()), folder) if len(found) >= least else ""


def _definitions_of(what: str, found: Sequence[SymbolMatch], folder: FolderIndex) -> str:
    if not found:
        return ""
    lead = f"{escaped(what.capitalize())} defined here, {len(found)} in all:"
    return "\n".join([lead, *numbered(folder.listed(found), LISTED), *_rest_named(found[LISTED:])])


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
        return Route(f"I changed nothing: {_nowhere(AskedName(old, old, known=False), folder)}")
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
_BY_KIND: Mapping[QuestionKind, Callable[[ParsedQuestion, AskedName, FolderIndex], Route]] = {
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

"""Shell commands as rules see them: text that is never run. A rule is not a boundary; the sandbox is.

A rule that allows matches only a SIMPLE command, one whose words are known without running anything: no operator,
expansion, redirection, assignment or line break. A rule that denies or asks is matched the other way round: it applies
if its words come one after the other in any reading of the text, with anything between them.
"""

import re
import shlex
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice, takewhile

# Longer commands are scripts.
_LIMIT_CHARS = 4096
# A longer text is not analysed: every restricting rule applies to it.
_READ_CHARS = 64 * 1024
# Operators, expansions and escapes, in quotes too: their meaning depends on the kind of quote.
_OPERATORS = frozenset(";|&$`<>()\\")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
# What a shell expands outside quotes (a file may be named like an option), and where a comment begins.
_EXPANDED = re.compile(r"[*?\[\]{}]|(?:^|[\s=:])~|(?:^|\s)#")
_SEPARATORS = re.compile(r"[\s;|&<>(){}`$,=:!\[\]]+")
_LINE_JOIN = re.compile(r"\\\r?\n")
_ESCAPE = re.compile(r"\\x([0-9a-f]{1,2})|\\u([0-9a-f]{1,4})|\\([0-7]{1,3})")
_ANSI_QUOTE = re.compile(r"\$'([^']*)'")
_VARIABLE = re.compile(r"\$(?:\{[^{}]*\}|[a-z_][a-z0-9_]*|[0-9@*#?$!_-])")
_QUOTES = re.compile(r"[\\'\"]")
# A group of braces that expands to several words, a range of letters, and nested groups.
_BRACES = re.compile(r"(?<!\$)\{([^{}]*(?:,|\.\.)[^{}]*)\}")
_RANGE = re.compile(r"([a-z])\.\.([a-z])")
_NESTED_BRACES = re.compile(r"\{[^{}]*\{[^{}]*(?:,|\.\.)")
_BETWEEN_WORDS = re.compile(r"([\s;|&<>()]+)")
# Longer words with braces, and more alternatives, are not analysed.
_BRACES_CHARS, _ALTERNATIVES = 400, 256
_GLOB_LETTERS = frozenset("*?[")

# They run another program named in their arguments.
WRAPPERS = frozenset(
    """
    builtin busybox chroot chrt command coproc doas env eval exec flock ionice ltrace nice nohup nsenter
    parallel runuser script setarch setpriv setsid source stdbuf strace su sudo systemd-run taskset time timeout
    toybox trap unshare watch xargs .
    """.split()
)
SHELLS = frozenset("ash bash csh dash elvish fish ksh mksh nu pwsh rbash sh tcsh xonsh yash zsh".split())
_INTERPRETERS = frozenset(
    """
    awk bun deno elixir erl gawk ghci groovy guile ipython irb java jshell julia lua luajit mawk nawk node nodejs octave
    osascript perl php pypy python r racket raku rscript ruby sbcl scala swipl tclsh wish
    """.split()
)
_INLINE_CODE = re.compile(r"-[a-z]*[cepr]|--(?:eval|command|execute|print|run)(?:=.*)?")
_AWK = re.compile(r"(?:^|[\s;|&({/'\"])[gmn]?awk(?=\s)", re.IGNORECASE)
_END = re.compile(r"[;|&\n]")
# More in one command are not analysed.
_MOST_AWKS = 20
# Runs a command, reads its output, loads code, or calls a function by a computed name.
_AWK_RUNS = re.compile(r"system|getline|[|@]")
_AWK_FILE = re.compile(r"\s-(?:[a-z]*[fiElL](?![A-Za-z])|-(?:file|exec|include|load|source))")
# Variables that determine which programs run, unless set to something harmless.
_STEERING = re.compile(
    r"(?:^|[\s;|&({'\"])"
    r"(?:PATH|BASH_ENV|ENV|PS4|IFS|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|LD_[A-Z_]+|DYLD_[A-Z_]+|\w*PAGER|VISUAL|EDITOR"
    r"|LESSOPEN|LESSCLOSE|GIT_(?:CONFIG\w*|EDITOR|SEQUENCE_EDITOR|SSH|SSH_COMMAND|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND"
    r"|EXEC_PATH|DIR|WORK_TREE|TEMPLATE_DIR)|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|NODE_OPTIONS|PERL5OPT|RUBYOPT"
    r"|RIPGREP_CONFIG_PATH)"
    r"\+?=(?!(?:cat|true|:)?(?:[\s;|&'\"]|$))"
)
_NO_CODE = frozenset({"--version", "--help"})
# What they decode or read may be another command.
_DECODERS = frozenset("base32 base64 basenc openssl uudecode xxd".split())
_RUN_SCRIPT = frozenset({"npm", "pnpm", "yarn", "bun"})
# They change what later commands in the shell mean: by PATH, BASH_ENV, an alias.
_BUILTINS = frozenset(
    """
    alias bind cd complete declare enable export hash local mapfile popd pushd read readonly set shopt typeset ulimit
    umask unalias unset
    """.split()
)
# They run plug-ins and settings of the project, or write its files, although they seem only to check.
_CHECKERS = frozenset(
    """
    biome black cloc eslint flake8 flow golangci-lint isort mypy phpstan prettier pylint pyright rubocop staticcheck
    standard stylelint tsc uniq xo
    """.split()
)
# A lasting permission for them would cover much more than the command that was seen.
_NEVER_SUGGESTED = (
    WRAPPERS
    | _BUILTINS
    | _CHECKERS
    | SHELLS
    | _INTERPRETERS
    | _DECODERS
    | _RUN_SCRIPT
    | frozenset("cargo dotnet go mix nx pdm pipenv poetry swift turbo uv uvx zig".split())
    | frozenset(
        """
        7z ansible apk apt apt-get at aws az batch brew bundle bunx bzip2 cc chattr chgrp chmod chown clang conda cp
        cpio crontab curl dd dnf docker docker-compose dpkg ed emacs ex expect fd fdisk find ftp fuser g++ gcc
        gcloud gdb gem gh git glab gpg gzip helm install kill killall kubectl launchctl less lldb ln mail man mkfifo
        mkfs mknod more mount mv mysql nano nc ncat netcat npx nvim pacman passwd patch pip pipx pkill pnpx podman
        psql pulumi rclone reboot rm rmdir rpm rsync scp screen sed service setfacl sftp shred shutdown socat split
        sqlite3 ssh sysctl systemctl tar tee telnet terraform tmux truncate umount unlink unzip useradd vagrant vi
        view vim visudo wget xdg-open yum zip zypper
        """.split()
    )
)
# No option of theirs runs a program or writes a file.
_ONLY_SHOW = frozenset("cat cmp diff du grep head ls nproc pwd shellcheck stat tail uname wc which".split())
# They run the project's own code, whatever their arguments.
_RUN_TESTS = frozenset("jest mocha phpunit pytest rspec vitest".split())
_ANY_ARGUMENTS = _ONLY_SHOW | _RUN_TESTS
# Subcommands of which the same is true; not "git log", which writes a file with --output.
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    program: frozenset(names.split())
    for program, names in {
        "git": "status ls-files ls-tree rev-parse describe",
        "cargo": "test check build clippy bench doc",
        "go": "test",
        "npm": "test",
        "pnpm": "test",
        "yarn": "test",
        "dotnet": "test build",
        "swift": "test build",
        "zig": "test build",
        "mix": "test",
        "nx": "test lint",
        "turbo": "test lint",
    }.items()
}
# They only show or check unless an option says otherwise, so the rule is for the exact command.
_AS_IT_IS: dict[str, frozenset[str]] = {
    program: frozenset(names.split())
    for program, names in {
        "git": "diff log show blame rev-list shortlog grep",
        "cargo": "tree metadata",
        "go": "vet build list doc",
    }.items()
}
# Options that run another program or write a file; "-" also stands for "--".
_RUNNING_OPTIONS = frozenset(
    """
    -compress-program -config -exec -exec-batch -execdir -ext-diff -fix -fix-only -fls -fprint -fprint0 -fprintf
    -hostname-bin -in-place -inplace -ok -okdir -open-files-in-pager -out -output -output-file -overlay -plugin -pre
    -rulesdir -textconv -toolexec -unsafe-fixes -vettool -write -delete -add-noqa
    """.split()
)
# The programs that only show or check without them, and their letters with the same effect, also in a cluster.
_RUNNING_LETTERS = {
    "cargo": "",
    "clang-format": "i",
    "date": "s",
    "fd": "xX",
    "file": "C",
    "find": "",
    "git": "O",
    "go": "o",
    "gofmt": "w",
    "rg": "",
    "ruff": "o",
    "sed": "i",
    "shfmt": "w",
    "sort": "oT",
    "tree": "oR",
    "yq": "i",
}
# Options of git before the subcommand that set what it runs.
_GIT_SETTINGS = ("-c", "--config-env", "--exec-path")
# Letters that an abbreviated long option has at least.
_LEAST_LETTERS = 3
_TEST_MODULES = frozenset("pytest unittest".split())
# "uv run pytest" is pytest in the project's environment.
_RUNNERS = frozenset({("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("bundle", "exec")})
NO_PROGRAM = frozenset("! [[ case do done elif else esac fi for function if in select then until while".split())
# Between two operators, and around what runs by itself.
SEGMENTS = re.compile(r"[;|&\n(){}]+")
# In a program's name: the shell determines what it is.
_UNKNOWN_LETTERS = frozenset("$*?[~")
# They run another program if an argument says so.
_STARTERS = frozenset({"find", "fd", "git"})
_VERSION = re.compile(r"[0-9.]+$")
ELLIPSIS = "…"
ELLIPSES = (ELLIPSIS, "...")


class Match(IntEnum):
    """Whether a command is one that a rule restricts. MAYBE: part of it is known only once it runs."""

    NO = 0
    MAYBE = 1
    YES = 2


def simple_words(command: str) -> tuple[str, ...]:
    """Return the words of a simple command, as a shell would pass them on; empty for any other text."""
    if len(command) > _LIMIT_CHARS or any(map(_is_hidden, command)) or not _OPERATORS.isdisjoint(command):
        return ()
    if _EXPANDED.search(_QUOTED.sub("q", command)):
        return ()
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return ()
    if not words or not words[0] or "=" in words[0] or words[0] in NO_PROGRAM:
        return ()
    return words


def _is_hidden(character: str) -> bool:
    """Return whether a character is a control or format character, a lone surrogate, or an unusual blank."""
    return character != " " and unicodedata.category(character)[0] in "CZ"


def restricted(command: str, words: Sequence[str]) -> Match:
    """Return whether a command could be one that a rule denies or asks about; when in doubt, YES.

    Args:
        command: Any text.
        words: The rule's words, the program first; none for every command.
    """
    if len(command) > _READ_CHARS:
        return Match.YES
    # Split like the command: a word of the rule may contain separators.
    wanted = [part for word in words for part in _SEPARATORS.split(_plain(word)) if part]
    read = _read(command)
    if not wanted or any(reading.contains(wanted) for reading in read.readings):
        return Match.YES
    return Match.MAYBE if read.is_open or read.may_become(wanted) else Match.NO


def words_in(command: str) -> Iterator[str]:
    """Yield every word that a command may have, by any reading of it, folded."""
    for reading in _read(command[:_READ_CHARS]).readings:
        yield from reading.words


def decoded_escapes(command: str) -> str:
    """Return a command with lines joined as a shell does, and with the characters that `$'…'` spells out."""
    joined = _LINE_JOIN.sub("", command)
    return _ANSI_QUOTE.sub(lambda quoted: f"'{_ESCAPE.sub(_character, quoted[1])}'", joined)


def program_name(word: str) -> str:
    """Return the name of a program without its folder, in lower case: some file systems ignore case."""
    return _base(word).casefold()


def _plain(text: str) -> str:
    """Return a text without invisible characters, case and compatibility forms, which some file systems ignore."""
    joined = _LINE_JOIN.sub("", text)
    normal = joined if joined.isascii() else unicodedata.normalize("NFKC", joined)
    return "".join(letter for letter in normal.casefold() if letter.isascii() or unicodedata.category(letter) != "Cf")


class _Reading:
    """The words of a command by one interpretation of its quotes, escapes and variables."""

    def __init__(self, text: str) -> None:
        self.words = [word for word in _SEPARATORS.split(text) if word]
        self._bases = [_base(word) for word in self.words]
        self._known = frozenset(self._bases)
        self._letters = _letters(self.words)

    def contains(self, wanted: Sequence[str]) -> bool:
        """Return whether the wanted words come one after the other, options in any order and form."""
        options = [word for word in wanted if word.startswith("-") and len(word) > 1]
        names = [_base(word) for word in wanted if word not in options]
        if not _letters(options) <= self._letters or not self._known.issuperset(names):
            return False
        rest = iter(self._bases)
        return all(name in rest for name in names)


@dataclass(frozen=True, slots=True)
class _Read:
    """A command, read.

    Attributes:
        readings: Its words, by each way to read it.
        is_open: Whether which programs run is known only once it does.
        computed: The words of its parts between operators in which a shell puts in values.
        globs: The words of those in which it puts in names of files.
    """

    readings: tuple[_Reading, ...]
    is_open: bool
    computed: frozenset[str]
    globs: tuple[tuple[str, ...], ...]

    def may_become(self, wanted: Sequence[str]) -> bool:
        """Return whether arguments known only once it runs may be the wanted words of a program in it."""
        program, *names = (_base(word) for word in wanted)
        return program in self.computed or any(
            program in map(_base, words)
            and any(fnmatchcase(name, word) for word in words if _is_glob(word) for name in names)
            for words in self.globs
        )


# Every rule reads the same command.
@lru_cache(maxsize=8)
def _read(command: str) -> _Read:
    text = _plain(command)
    expanded = _without_braces(text)
    forms = {form for each in (text, expanded or text) for form in (each, _ESCAPE.sub(_decoded, each))}
    forms |= {_VARIABLE.sub(value, form) for form in forms for value in ("", " ")}
    readings = tuple(map(_Reading, {_QUOTES.sub(gap, form) for form in forms for gap in ("", " ")}))
    parts = [tuple(_QUOTES.sub("", part).split()) for part in SEGMENTS.split(text)]
    computed = frozenset(_base(word) for words in parts if any("$" in word for word in words) for word in words)
    globs = tuple(words for words in parts if any(map(_is_glob, words)))
    is_open = expanded is None or _is_open(text) or _sets_programs(command) or _runs_by_awk(command)
    return _Read(readings, is_open, computed, globs)


def _is_glob(word: str) -> bool:
    return not _GLOB_LETTERS.isdisjoint(word)


def _without_braces(text: str) -> str | None:
    """Return the text with all words that a shell expands braces to; None if that is too much to find out."""
    pieces, chars = [], 0
    for piece in _BETWEEN_WORDS.split(text):
        words = _alternatives(piece) if "{" in piece else piece
        if words is None or (chars := chars + len(words)) > 2 * _READ_CHARS:
            return None
        pieces.append(words)
    return "".join(pieces)


def _alternatives(word: str) -> str | None:
    if len(word) > _BRACES_CHARS or _NESTED_BRACES.search(word):
        return None
    waiting, made = [word], list[str]()
    while waiting:
        one = waiting.pop()
        group = _BRACES.search(one)
        if group is None:
            made.append(one)
            continue
        waiting += [one[: group.start()] + inside + one[group.end() :] for inside in _listed(group[1])]
        if len(waiting) + len(made) > _ALTERNATIVES:
            return None
    return " ".join(made)


def _listed(inside: str) -> list[str]:
    """Return what a group of braces expands to; ranges of numbers are left as they are."""
    letters = _RANGE.fullmatch(inside)
    if letters is None:
        return inside.split(",")
    first, last = sorted(map(ord, letters.groups()))
    return list(map(chr, range(first, last + 1)))


def _decoded(match: re.Match[str]) -> str:
    return _plain(_character(match))


def _character(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16) if match[1] or match[2] else int(match[3], 8))


def _letters(words: Iterable[str]) -> frozenset[str]:
    """Return the options as letters: those of a cluster, and the first of a long name, which may be abbreviated."""
    return frozenset(
        letter
        for word in words
        if word.startswith("-")
        for letter in (word[2:3] if word.startswith("--") else word[1:])
    )


def _base(word: str) -> str:
    return word.rpartition("/")[2] or word


def _is_open(text: str) -> bool:
    if "`" in text:
        return True
    return any(_runs_unknown(segment.split()) for segment in SEGMENTS.split(text))


def _sets_programs(command: str) -> bool:
    """Return whether a command sets a variable that determines which programs later ones run."""
    joined = _LINE_JOIN.sub("", command)
    return any(map(_STEERING.search, (joined, _QUOTES.sub("", joined))))


def _runs_by_awk(text: str) -> bool:
    """Return whether a program of awk's, which is code, runs others, or is in a file."""
    found = list(islice(_AWK.finditer(text), _MOST_AWKS + 1))
    return len(found) > _MOST_AWKS or any(_awk_runs(text[awk.end() :]) for awk in found)


def _awk_runs(rest: str) -> bool:
    unquoted = _QUOTED.sub(lambda quoted: "q" * len(quoted[0]), rest)
    end = _END.search(unquoted)
    own = rest[: end.start()] if end else rest
    # One letter in quotes separates fields.
    programs = [quoted for quoted in _QUOTED.findall(own) if len(quoted) > len("'|'")]
    return _AWK_FILE.search(unquoted[: len(own)]) is not None or any(map(_AWK_RUNS.search, programs))


def _runs_unknown(words: list[str]) -> bool:
    """Return whether a part of a command between two operators runs what its text does not say."""
    while words and (words[0] in NO_PROGRAM or "=" in words[0].partition("/")[0]):
        del words[0]
    bare = [_base(_QUOTES.sub("", word)) for word in words]
    if not bare:
        return False
    if not _UNKNOWN_LETTERS.isdisjoint(words[0]) or bare[0] in {".", "source"} or any(map(_runs_text, bare)):
        return True
    if bare[0] in WRAPPERS | _STARTERS and any("$" in word for word in words):
        return True
    at = next((at for at, word in enumerate(bare) if _is_interpreter(word)), None)
    return at is not None and _runs_code(bare[at + 1 :], alone=at == 0)


def _runs_code(arguments: Sequence[str], *, alone: bool) -> bool:
    """Return whether an interpreter runs its arguments or its input.

    alone: whether it is the program; else another one may start it, or it is any word.
    """
    if any(map(_INLINE_CODE.fullmatch, arguments)):
        return True
    if not alone or not _NO_CODE.isdisjoint(arguments):
        return False
    return all(word.startswith("-") for word in arguments) or any("<" in word for word in arguments)


def _runs_text(program: str) -> bool:
    return program in SHELLS or program in _DECODERS or program in {"eval", "xargs", "parallel"}


def _is_interpreter(program: str) -> bool:
    return _VERSION.sub("", program) in _INTERPRETERS


def suggestion(command: str) -> str:
    """Return the pattern of the rule that would allow a command and similar ones; empty if none should last."""
    words = simple_words(command)
    if not words or any(word in ELLIPSES for word in words):
        return ""
    size = _lasting(words)
    if size == 0:
        return ""
    return " ".join([shlex.join(words[:size]), ELLIPSIS]) if size > 0 else shlex.join(words)


def _is_option(word: str) -> bool:
    return word.startswith("-")


_EXACTLY = -1


def _lasting(words: Sequence[str]) -> int:
    """Return how many words stay fixed while any may follow; `_EXACTLY` for the command as it is, 0 for no rule."""
    if tuple(words[:2]) in _RUNNERS:
        inner = _lasting_directly(words[2:]) if words[2:] else 0
        return inner + 2 if inner > 0 else 0
    return _lasting_directly(words)


def _lasting_directly(words: Sequence[str]) -> int:
    program = program_name(words[0])
    second, third = (*words[1:3], "", "")[:2]
    if program in _ANY_ARGUMENTS:
        return 1
    if second in _SUBCOMMANDS.get(program, ()):
        return 2
    if _is_interpreter(program) and second == "-m":
        return 3 if _VERSION.sub("", program) in {"python", "pypy"} and third in _TEST_MODULES else 0
    if program in _RUN_SCRIPT and second == "run" and third and not third.startswith("-"):
        return 3
    if _has_running_option(program, words[1:]):
        return 0
    if second in _AS_IT_IS.get(program, ()):
        return _EXACTLY
    return 0 if {program, _VERSION.sub("", program)} & _NEVER_SUGGESTED else _EXACTLY


def runs_or_writes(words: Sequence[str]) -> bool:
    """Return whether an option makes a program that otherwise only shows or checks run another or write a file."""
    program = program_name(words[0])
    return program in _RUNNING_LETTERS and _has_running_option(program, words[1:])


def _has_running_option(program: str, arguments: Sequence[str]) -> bool:
    letters = _RUNNING_LETTERS.get(program, "")
    if program == "git" and any(word.startswith(_GIT_SETTINGS) for word in takewhile(_is_option, arguments)):
        return True
    for word in arguments:
        option = word.partition("=")[0]
        if option.startswith("--") and len(option) > _LEAST_LETTERS + 1:
            if any(f"-{each}".startswith(option) for each in _RUNNING_OPTIONS):
                return True
        elif option.startswith("-") and (option in _RUNNING_OPTIONS or not set(letters).isdisjoint(option)):
            return True
    return False

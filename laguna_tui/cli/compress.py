"""`laguna-tui compress`: shortens files for a question. The text goes to stdout, what was kept and why to stderr.

The text is what the app would put into a prompt, sanitized for the terminal; the JSON is exact.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

from laguna_engine.compress.scorer import Scorer
from laguna_engine.errors import ModelFileError
from laguna_engine.fit.scorer_device import scorer_bytes, scorer_device_now
from laguna_engine.llama.model import Model
from laguna_engine.native.verdicts import verdicts
from laguna_tui.base.errors import UserError
from laguna_tui.base.paths import state_dir
from laguna_tui.base.progress import ProgressLine
from laguna_tui.base.settings import Settings, load_settings
from laguna_tui.base.text import sanitize, sanitize_line
from laguna_tui.base.units import plural
from laguna_tui.cli.arguments import add_inherited, add_json, number, whole_number
from laguna_tui.cli.console import print_json
from laguna_tui.context.compression.result import Compression, ShortenedDocument, SpanResult
from laguna_tui.context.scoring import open_scorer
from laguna_tui.context.shortening import PARSING, RANKING, SCORING, shorten
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.models.catalogue import load_catalogue, resolve
from laguna_tui.models.model_selection import scorer_path
from laguna_tui.repo.files.text_files import decode, is_binary
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import READ_LIMIT_BYTES, Workspace, WorkspaceError
from laguna_tui.session.model_options import VERDICTS

_KEEP = 0.3
_SECONDS = 20.0
_MOST_TOKENS = 1_000_000_000
_MOST_SECONDS = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `compress`."""
    parser.description = (
        "Shorten files, or all files of folders, to what a question needs. Definitions are kept or left out whole."
    )
    parser.epilog = "Where something is left out, a line says so, and how the model can read it with its read tool."
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files and folders")
    parser.add_argument("--query", required=True, metavar="TEXT", help="the question; names in it select definitions")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--keep", type=number(1), default=_KEEP, metavar="X", help=f"share to keep, above 0 (default: {_KEEP})"
    )
    size.add_argument("--tokens", type=whole_number(1, _MOST_TOKENS), metavar="N", help="tokens to keep instead")
    add_inherited(
        parser,
        "--scorer",
        metavar="NAME|FILE",
        help="a model that helps to rank, or none (default: the one on this machine)",
    )
    parser.add_argument(
        "--seconds",
        type=number(_MOST_SECONDS, zero=True),
        default=_SECONDS,
        metavar="N",
        help=f"time limit of ranking with a scorer; the rest is ranked by words alone (default: {_SECONDS:g})",
    )
    add_inherited(parser, "--model", metavar="NAME|FILE", help="the model to count tokens for")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Shorten and print; returns the exit code.

    Raises:
        UserError: A path or a model cannot be read.
        EngineError: The scorer or the model cannot be opened.
    """
    result = _shortened(arguments)
    if arguments.json:
        print_json(_as_json(result))
        return 0
    for part in result.parts:
        if len(result.parts) > 1:
            sys.stdout.write(f"==> {sanitize_line(part.document.path)} <==\n")
        sys.stdout.write(sanitize(part.text))
        if part.text and not part.text.endswith("\n"):
            sys.stdout.write("\n")
    sys.stdout.flush()
    for line in _report(result):
        sys.stderr.write(sanitize_line(line) + "\n")
    return 0


def _shortened(arguments: argparse.Namespace) -> Compression:
    verdicts.store_in(state_dir() / VERDICTS)
    settings = load_settings().merged({"scorer": arguments.scorer, "model": arguments.model})
    with ExitStack() as stack:
        measure = _counter(settings.model, stack)
        scorer = _opened_scorer(settings, stack)
        with ProgressLine("reading") as reading:
            files = list(_files(arguments.paths, reading.show_share))
        if not files:
            searched = ", ".join(sanitize_line(str(path)) for path in arguments.paths)
            raise UserError(f"{searched}: no text files that git does not ignore; give other files or folders")
        tokens = arguments.tokens
        if tokens is None:
            tokens = int(arguments.keep * _counted(files, measure))
        try:
            return _compressed(files, arguments.query, tokens, measure, scorer, arguments.seconds)
        except ModelFileError as error:
            # Weights with invalid numbers are only detected while scoring.
            sys.stderr.write(sanitize_line(f"ranked by words alone: {error}") + "\n")
            return _compressed(files, arguments.query, tokens, measure, None, arguments.seconds)


def _opened_scorer(settings: Settings, stack: ExitStack) -> Scorer | None:
    """Open the scorer, on a GPU where one has room; None without one."""

    path = scorer_path(settings)
    if path is None:
        return None
    name = "" if settings.gpu_layers == 0 else scorer_device_now(scorer_bytes(path), 0).name
    return stack.enter_context(open_scorer(path, settings, name))


def _counter(model: str, stack: ExitStack) -> Callable[[str], int]:
    """Return a token counter for the model that would read the text."""
    entry = resolve(model, load_catalogue())
    opened = Model.open(entry.file, vocab_only=True)
    stack.callback(opened.close)
    return CachedTokenCounter(lambda text: len(opened.vocab.tokenize(text, special=False)))


def _compressed(
    files: list[tuple[str, str]],
    query: str,
    tokens: int,
    measure: Callable[[str], int],
    scorer: Scorer | None,
    seconds: float,
) -> Compression:
    """Shorten the files, showing the progress and the time limit."""
    doing = f"scoring {len(files)} {plural(len(files), 'file')} for at most {seconds:g} s"
    shown = {PARSING: PARSING, SCORING: doing, RANKING: RANKING}
    with ProgressLine() as line:

        def show(phase: str, share: float | None) -> None:
            line.show(f"{shown[phase]} …" if share is None else f"{shown[phase]}: {share:.0%}", at_once=share is None)

        return shorten(files, query, tokens, measure, scorer, progress=show, seconds=seconds)


def _counted(files: list[tuple[str, str]], measure: Callable[[str], int]) -> int:
    total = 0
    with ProgressLine("counting tokens") as line:
        for done, (_, text) in enumerate(files):
            line.show_share(done, len(files))
            total += measure(text)
    return total


def _files(paths: list[Path], progress: Callable[[int, int], None]) -> Iterator[tuple[str, str]]:
    """Yield path and text of every text file, each once; of folders the files that git does not ignore."""
    seen: set[str] = set()
    for path in paths:
        place = path.expanduser()
        for file, text in _inside(place, progress) if place.is_dir() else [(place, _read(place))]:
            if file.as_posix() not in seen:
                seen.add(file.as_posix())
                yield file.as_posix(), text


def _inside(folder: Path, progress: Callable[[int, int], None]) -> Iterator[tuple[Path, str]]:
    """Yield the readable text files of a folder."""
    workspace = Workspace(folder)
    entries = workspace.files().entries
    for done, entry in enumerate(entries):
        progress(done, len(entries))
        try:
            data = workspace.read(entry.path, SEARCH_LIMIT_BYTES)
        except WorkspaceError:
            continue
        if not is_binary(data):
            yield folder / entry.path, decode(data).text


def _read(file: Path) -> str:
    """Read a file named by the user, which may be a pipe."""
    try:
        with file.open("rb") as stream:
            data = stream.read(READ_LIMIT_BYTES + 1)
    except OSError as error:
        raise UserError(f"{sanitize_line(str(file))}: {error.strerror or error}; give a file or a folder") from error
    if len(data) > READ_LIMIT_BYTES:
        raise UserError(f"{sanitize_line(str(file))}: more than {READ_LIMIT_BYTES:,} bytes; give a part of it")
    if is_binary(data):
        raise UserError(f"{sanitize_line(str(file))}: a binary file; give text")
    return decode(data).text


def _report(result: Compression) -> Iterator[str]:
    """Yield what was kept and left out, a line per run of lines with one reason, and the totals."""
    for part in result.parts:
        yield f"{part.document.path}: {part.tokens_after:,} of {part.tokens_before:,} tokens"
        if part.dropped:
            for word, lines, why, names in _runs(part):
                yield f"  {word} {lines}{names}: {why}"
    yield from result.notes
    share = result.tokens_after / max(result.tokens_before, 1)
    yield (
        f"{result.tokens_after:,} of {result.tokens_before:,} tokens ({share:.0%}, budget {result.budget:,}), "
        f"ranked by {result.scored_by} in {result.seconds:.2f} s"
    )


def _runs(part: ShortenedDocument) -> Iterator[tuple[str, str, str, str]]:
    """Yield (kept or left out, lines, reason, names) of neighbouring spans with the same reason."""
    kept = {entry.span for entry in part.kept}
    both = sorted([*part.kept, *part.dropped], key=lambda entry: entry.span.start)
    for (is_kept, why), run in groupby(both, key=lambda entry: (entry.span in kept, entry.why)):
        spans = [entry.span for entry in run]
        first, last = part.document.lines(spans[0].start, spans[-1].stop)
        names = list(dict.fromkeys(part.document.units[span.unit].name for span in spans))
        shown = ", ".join(name for name in names[:4] if name) + (" …" if len(names) > 4 else "")
        yield "kept" if is_kept else "left out", f"{first}-{last}", why.value, f" ({shown})" if shown else ""


def _as_json(result: Compression) -> dict[str, object]:
    return {
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "budget": result.budget,
        "scored_by": result.scored_by,
        "seconds": round(result.seconds, 3),
        "notes": result.notes,
        "parts": [
            {
                "path": part.document.path,
                "tokens_before": part.tokens_before,
                "tokens_after": part.tokens_after,
                "text": part.text,
                "kept": [_span(part, entry) for entry in part.kept],
                "dropped": [_span(part, entry) for entry in part.dropped],
            }
            for part in result.parts
        ],
    }


def _span(part: ShortenedDocument, entry: SpanResult) -> dict[str, object]:
    first, last = part.document.lines(entry.span.start, entry.span.stop)
    return {
        "line": first,
        "end": last,
        "role": entry.span.role.value,
        "name": part.document.units[entry.span.unit].name,
        "why": entry.why.name.lower(),
        "score": round(entry.score, 4),
    }

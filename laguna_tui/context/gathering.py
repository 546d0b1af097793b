"""Attachments for the mentions of one message: exact lines, whole files while they fit, the rest shortened together.

Used for one message. Mentioned lines and definitions take their room before files do. A folder is a unit: attached
whole, or with its files shortened together, those that match the question best first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from laguna_tui.base.messages import Attachment, BlockKind, Place, digest_of
from laguna_tui.base.paths import escaped
from laguna_tui.context import frame
from laguna_tui.context.blocks import Gathered
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.frame import framed
from laguna_tui.context.resolve import Exact, Group, MentionedContent, ranked_paths
from laguna_tui.context.shortening import TOKENS_A_FILE, Shortening, framed_whole
from laguna_tui.context.source_files import SourceFile, SourceFiles
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.repo.files.walk import SEARCH_LIMIT_BYTES
from laguna_tui.repo.files.workspace import READ_LIMIT_BYTES, WorkspaceError

# With more characters than this per token of room nearly everything would be dropped, and ranking them would take
# longer than reading what is left.
_CHARS_A_TOKEN = 128

PRESENT = "{title} is already in the conversation"
NO_ROOM = "{title} does not fit in the remaining context; mention less, or some of its lines"
TOO_LARGE = "{title} is too large to attach; mention some of its lines"
SHORTENED = "{title} is shortened: {why}"
SOME_OF = "{folder}: {kept} of {count} files fit, shortened to what suits the question best"

Shorten = Callable[[tuple[SourceFile, ...], int], Gathered]
"""Files that do not fit, best first, and tokens for all of them, to what is left of them."""


@dataclass(slots=True)
class _FileGroup:
    """A group of files that were read; `size` is the tokens of all of it, None when it does not fit whole."""

    group: Group
    sources: list[SourceFile]
    size: int | None = None


@dataclass(slots=True)
class Gathering:
    """The gathering of one message. `shorten` is `how.attachments`, cached; `present`: digests known to it."""

    sources: SourceFiles
    codebase: Codebase
    count: CachedTokenCounter
    how: Shortening
    shorten: Shorten
    present: frozenset[str]
    _notes: list[str] = field(default_factory=list)

    def mentioned(self, asked: MentionedContent, room: int) -> Gathered:
        """Return everything that is asked for, within a number of tokens; what is shortened comes last."""
        exact, large = self._that_fit(asked.exact, room)
        room -= sum(self.count(each.text) for each in exact.values())
        grouped = {path for group in asked.groups for path in group.paths}
        groups = (*asked.groups, *(Group((path,)) for path in large if path not in grouped))
        files = [each for each in (self._read(group, room) for group in groups) if each.sources]
        chosen = taken_whole([each.size for each in files], room)
        kept = [
            self.how.whole(source)
            for index in sorted(chosen)
            for source in sorted(files[index].sources, key=lambda source: source.path)
        ]
        room -= sum(files[index].size or 0 for index in chosen)
        shortened = self._shortened([each for index, each in enumerate(files) if index not in chosen], room)
        covered = {each.path for each in kept}
        apart = (made for each, made in exact.items() if each.path not in covered and not _inside_another(each, exact))
        return Gathered((*apart, *kept, *shortened), tuple(self._notes))

    def _that_fit(self, asked: Sequence[Exact], room: int) -> tuple[dict[Exact, Attachment], dict[str, None]]:
        """Return the lines that fit, and the files of definitions that do not: those can be shortened."""
        fit: dict[Exact, Attachment] = {}
        large: dict[str, None] = {}
        for each in asked:
            attachment = self._exact(each)
            if attachment is None:
                continue
            size = self.count.within(attachment.text, room)
            if size is not None:
                room -= size
                fit[each] = attachment
            elif each.symbol:
                large[each.path] = None
            else:
                self._notes.append(NO_ROOM.format(title=attachment.title))
        return fit, large

    def _exact(self, asked: Exact) -> Attachment | None:
        """Return lines unchanged; None when they are gone, or in the conversation already."""
        source = self._source(asked.path, READ_LIMIT_BYTES)
        if source is None or asked.first > len(source.lines):
            return None
        count = len(source.lines)
        last = min(asked.last, count)
        body = "".join(f"{line}\n" for line in source.lines[asked.first - 1 : last])
        text = framed(asked.path, body, frame.lines(asked.first, last, count, asked.symbol))
        place = f"{escaped(asked.path)}:{asked.first}" + f"-{last}" * (last > asked.first)
        title = f"{frame.one_line(asked.symbol)} ({place})" if asked.symbol else place
        if self._is_present(title, asked.path, text):
            return None
        why = "you named this definition" if asked.symbol else "you named these lines"
        return Attachment(BlockKind.FILE, title, asked.path, text, text, Place.KEPT, why)

    def _read(self, group: Group, room: int) -> _FileGroup:
        """Read a group's files that are not in the conversation yet, as far as they can matter."""
        read = _FileGroup(group, [])
        chars = 0
        for path in self._ordered(group):
            if self.how.should_stop() or chars > room * _CHARS_A_TOKEN or len(read.sources) * TOKENS_A_FILE > room:
                return read
            source = self._source(path, named=group.folder is None)
            if source is not None and not self._is_present(escaped(path), path, framed_whole(source)):
                read.sources.append(source)
                chars += len(source.text)
        read.size = self._size(read.sources, room)
        return read

    def _ordered(self, group: Group) -> Sequence[str]:
        if group.folder is None or not self.how.question:
            return group.paths
        return ranked_paths(group.paths, self.how.question, self.codebase)

    def _source(self, path: str, limit: int = SEARCH_LIMIT_BYTES, *, named: bool = True) -> SourceFile | None:
        """Read a file; None for one that cannot be attached, with a note. A folder's binary files get none."""
        try:
            source = self.sources.read(path, limit)
        except WorkspaceError as error:
            self._notes += [str(error)] * named
            return None
        if not source.complete:
            self._notes.append(TOO_LARGE.format(title=escaped(path)))
            return None
        return source

    def _size(self, sources: Sequence[SourceFile], room: int) -> int | None:
        """Return the tokens of whole files; None when they are more than the room."""
        total = 0
        for source in sources:
            size = self.count.within(framed_whole(source), room - total)
            if size is None:
                return None
            total += size
        return total

    def _shortened(self, files: Sequence[_FileGroup], room: int) -> list[Attachment]:
        made = self.shorten(tuple(source for each in files for source in each.sources), room)
        by_path = {each.path: each for each in made.attachments}
        for each in files:
            self._notes += _group_notes(each, by_path)
        self._notes += made.notes
        return [each for each in made.attachments if not self._is_present(each.title, each.path, each.text)]

    def _is_present(self, title: str, path: str, text: str) -> bool:
        """Return whether the conversation contains exactly this, and note it."""
        found = digest_of(path, text) in self.present
        if found:
            self._notes.append(PRESENT.format(title=title))
        return found


def _inside_another(asked: Exact, all_asked: Iterable[Exact]) -> bool:
    """Return whether lines are part of other ones; of two equal ranges, the first stays."""
    around = [
        each for each in all_asked if each.path == asked.path and each.first <= asked.first and asked.last <= each.last
    ]
    wider = any((each.first, each.last) != (asked.first, asked.last) for each in around)
    return wider or around[0] != asked


def _group_notes(files: _FileGroup, made: dict[str, Attachment]) -> Iterator[str]:
    """Yield what became of a group that did not fit."""
    kept = [made[source.path] for source in files.sources if source.path in made]
    folder = files.group.folder
    title = escaped(files.group.paths[0] if folder is None else f"{folder}/" if folder else "this folder")
    if not kept:
        yield NO_ROOM.format(title=title)
    elif folder is not None:
        yield SOME_OF.format(kept=len(kept), count=len(files.group.paths), folder=title)
    elif kept[0].place is Place.SHORTENED:
        yield SHORTENED.format(title=title, why=kept[0].why)


def taken_whole(sizes: Sequence[int | None], room: int) -> frozenset[int]:
    """Return which of several things are taken whole; the others share what is left.

    What is smaller than an equal share is taken whole, and what it leaves goes to the others (max-min fairness), so
    that one large file cannot push three small ones out. When all of them fit, all are whole.

    Args:
        sizes: tokens, None for too many.
        room: tokens for all of them.
    """
    chosen: set[int] = set()
    for size, index in sorted((size, index) for index, size in enumerate(sizes) if size is not None):
        if size > room // (len(sizes) - len(chosen)):
            break
        chosen.add(index)
        room -= size
    return frozenset(chosen)

"""Attachments of a user message: instructions, map, mentioned files, the best code.

Works on attachments, renders no turn, and knows the model only through `count`. Deterministic, unless a scorer runs out
of time: the same message about the same files, with the same room, attaches the same bytes. Attachments that depend on
the question come last, so that as much as possible can be computed while it is being typed.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from laguna_engine.compress.estimate import estimate
from laguna_tui.base.events import Choosing
from laguna_tui.base.messages import Attachment, Place
from laguna_tui.context.blocks import Gathered
from laguna_tui.context.codebase import Codebase
from laguna_tui.context.gathering import Gathering, Shorten
from laguna_tui.context.instructions import UNTRUSTED, instructions
from laguna_tui.context.pack import MAP_SHARE, best_spans, folder_map
from laguna_tui.context.resolve import mentioned_content, needs_index
from laguna_tui.context.scoring import NO_SCORER, SCORING_S, ScorerSource
from laguna_tui.context.shortening import Shortening
from laguna_tui.context.source_files import SourceFiles
from laguna_tui.context.token_counter import CachedTokenCounter
from laguna_tui.context.trust import Trust
from laguna_tui.repo.files.sensitive_paths import unreadable_reason
from laguna_tui.repo.files.workspace import Workspace

NOT_READY = "the folder is still being indexed, so the model starts without an overview of it"
SCORES = "Choosing what to keep of files that do not fit takes about {seconds:.0f} s, and never more than {most:.0f} s"
_WORTH_REPORTING_S = 1.0
# The room shrinks with every typed word; rounding it down to steps makes the shortened text change less often.
_ROOM_STEP = 128
# A map and a few functions must not take the room of mentioned files.
_PACK_MOST = 0.25
# Most seconds that the model may spend reading the pack, which the user did not ask for.
_PACK_S = 3.0
# Shortened texts cached for the message being typed, some for earlier states of its mentions.
_RECENT = 8


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """What is attached, and what it may cost.

    Attributes:
        pack: tokens for the map and the best code at the beginning of a conversation; 0 for none.
        wait_s: longest wait for the index when a message is sent.
        trust: the trusted folders, whose AGENTS.md is used; None uses none.
        reading_s: returns the seconds in which the model would read a number of tokens; None before that was measured.
        unreadable: returns why a file's text may not be shown to the model, by its path; empty where it may.
        scorer: where a scorer comes from when something has to be shortened.
    """

    pack: int = 0
    wait_s: float = 2.0
    trust: Trust | None = None
    reading_s: Callable[[int], float | None] = lambda tokens: None
    unreadable: Callable[[str], str] = unreadable_reason
    scorer: ScorerSource = NO_SCORER


class Attacher:
    """Gathers attachments for one folder and one model. Callable from several threads at once."""

    def __init__(
        self,
        workspace: Workspace,
        codebase: Codebase,
        count: Callable[[str], int],
        options: AttachOptions = AttachOptions(),
    ) -> None:
        self._workspace = workspace
        self._codebase = codebase
        self._count = CachedTokenCounter(count)
        self._options = options
        self._sources = SourceFiles(workspace, options.unreadable)
        self._quick = Shortening("", self._count)
        # Most keystrokes change nothing here.
        self._shortened = lru_cache(_RECENT)(self._quick.attachments)
        self._map: tuple[tuple[int, int], Attachment | None] | None = None
        self._map_lock = threading.Lock()
        self._reported: frozenset[str] = frozenset()
        self._affords: int | None = None

    def gather(
        self,
        message: str,
        room: int,
        present: Collection[str] = (),
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[Choosing], None] = lambda progress: None,
        *,
        first: bool = False,
    ) -> Gathered:
        """Return the attachments of a message that is sent.

        Args:
            message: the user's words.
            room: tokens for all attachments, framing included.
            present: digests of what the conversation already contains.
            should_stop: polled; once it returns True, what is ready is returned.
            progress: called while files that do not fit are shortened.
            first: whether the conversation begins with this message: only then instructions and pack are attached.
        """
        options = self._options
        if (first and self._affordable()) or needs_index(message, self._codebase, self._workspace):
            self._codebase.start()
            if not self._codebase.ready and not self._codebase.withheld:
                self._codebase.wait(options.wait_s, should_stop)
        how = Shortening(message, self._count, options.scorer, options.reading_s, should_stop, progress)
        gathering = self._gathering(present, how, how.attachments)
        gathered = self._gathered(message, room, gathering, first=first)
        return Gathered(gathered.attachments, self._without_repeats(gathered.notes))

    def preview(self, message: str, room: int, present: Collection[str] = (), *, first: bool = False) -> Gathered:
        """Return what `gather` would attach, for a message being typed: at once, from what is known.

        The attachments that are `certain` are those that `gather` brings; of the others the size is about right.
        """
        gathering = self._gathering(present, self._quick, self._shortened)
        gathered = self._gathered(message, room, gathering, first=first)
        notes = tuple(note for note in gathered.notes if note != UNTRUSTED)
        # What the user shortens, and what is certain, is not scored.
        scored = [each for each in gathered.attachments if each.place is Place.SHORTENED and not each.certain]
        rate = self._options.scorer.rate() if scored else None
        seconds = 0.0 if rate is None else self._scoring_s(scored, rate)
        measuring = bool(scored) and rate is None and self._options.scorer.measuring()
        if seconds >= _WORTH_REPORTING_S:
            notes = (SCORES.format(seconds=seconds, most=SCORING_S), *notes)
        return Gathered(gathered.attachments, notes, seconds, measuring)

    def _scoring_s(self, scored: Sequence[Attachment], rate: float) -> float:
        """Estimate the seconds that `gather` will spend on scoring what these are shortened from."""
        whole, kept = (sum(map(self._count, texts)) for texts in zip(*((a.whole, a.text) for a in scored), strict=True))
        reading = self._options.reading_s(whole)
        estimated = estimate(whole, kept, whole / reading if reading else float("inf"), rate, SCORING_S)
        return estimated.scoring_s if estimated.worth else 0.0

    def _gathering(self, present: Collection[str], how: Shortening, shorten: Shorten) -> Gathering:
        return Gathering(self._sources, self._codebase, self._count, how, shorten, frozenset(present))

    def _gathered(self, message: str, room: int, gathering: Gathering, *, first: bool) -> Gathered:
        room = room - room % _ROOM_STEP if room > _ROOM_STEP else room
        opening = self._opening(room) if first else Gathered()
        room -= sum(self._count(each.text) for each in opening.attachments)
        asked = mentioned_content(message, self._codebase, self._workspace)
        mentioned = gathering.mentioned(asked, room)
        # A message with mentions needs no guesses.
        found = mentioned.attachments if mentioned.attachments or not first else self._best(message, room)
        # What cannot be resolved may be missing from the index.
        lacks = self._codebase.notes if asked.notes else ()
        notes = dict.fromkeys((*opening.notes, *asked.notes, *mentioned.notes, *lacks))
        return Gathered((*opening.attachments, *found), tuple(notes))

    def _opening(self, room: int) -> Gathered:
        """Return the attachments at the beginning of every conversation, whatever the question."""
        trust = self._options.trust
        given = Gathered() if trust is None else instructions(self._workspace.root, trust, self._count, room)
        found, notes = self._folder_map(self._pack(room))
        return Gathered((*given.attachments, *found), (*given.notes, *notes))

    def _affordable(self) -> int:
        """Return the tokens of the pack that are read soon enough; decided once, because a pack must not change."""
        if self._affords is None:
            pack = self._options.pack
            seconds = self._options.reading_s(pack)
            if seconds is None:
                return pack
            while pack and seconds > _PACK_S:
                pack, seconds = pack // 2, seconds / 2
            self._affords = pack
        return self._affords

    def _pack(self, room: int) -> int:
        """Return the tokens for map and code, halved until they fit, so that a little less room changes nothing."""
        pack = self._affordable()
        while pack > room * _PACK_MOST:
            pack //= 2
        return pack

    def _folder_map(self, pack: int) -> tuple[Sequence[Attachment], Sequence[str]]:
        """Return the map, built once per state of the index, and notes; nothing while the index is not ready."""
        if pack <= 0:
            return (), ()
        self._codebase.start()
        if not self._codebase.ready:
            return (), (self._codebase.withheld or NOT_READY,)
        budget = int(pack * MAP_SHARE)
        with self._map_lock:
            state = budget, self._codebase.changes
            if self._map is None or self._map[0] != state:
                self._map = state, folder_map(self._codebase, budget, self._count)
            found = self._map[1]
        return ((found,), ()) if found else ((), self._codebase.notes)

    def _best(self, message: str, room: int) -> Sequence[Attachment]:
        budget = int(self._pack(room) * (1 - MAP_SHARE))
        if budget <= 0 or not self._codebase.ready:
            return ()
        return best_spans(self._codebase, self._sources, message, budget, self._count)

    def _without_repeats(self, notes: Sequence[str]) -> tuple[str, ...]:
        """Return the notes without those about the folder that were already given."""
        before, self._reported = self._reported, self._reported | ({UNTRUSTED, *self._codebase.notes} & set(notes))
        return tuple(note for note in notes if note not in before)

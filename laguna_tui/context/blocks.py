"""Values of the prompt's contents: blocks with their cost, the attachments of a message, completions.

Nothing here reads a file or counts a token. Texts are unsanitised (files, tools, the model): a front end passes them
through `laguna_tui.base.text`, and the safe encoder reads them before a model does.
"""

from dataclasses import dataclass

from laguna_tui.base.messages import Attachment, BlockKind, Place


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """One block of the prompt.

    Attributes:
        number: Identifies it for the whole conversation.
        kind: Kind of its content.
        title: Name to show.
        tokens: Tokens it takes now.
        whole: Tokens it would take with nothing left out.
        cached: How many of `tokens` are in the KV cache; None of a remote model, whose cache is unknown.
        place: How much of it is in the prompt.
        why: Sentence fragment: why it is whole, shortened or dropped.
        choices: Places the user may choose, the present one included; with a single one it cannot be changed.
    """

    number: int
    kind: BlockKind
    title: str
    tokens: int
    whole: int
    cached: int | None
    place: Place
    why: str
    choices: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class BlockText:
    """A block's whole text, and its text in the prompt, which is empty when it was dropped."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of sending a message now.

    Attributes:
        new: Tokens to compute.
        cached: Tokens reused from the KV cache; None of a remote model, where `new` is all of them, estimated.
        lost: Cached tokens to compute again, because something before them changes.
        seconds: Until the first token, including the scoring of files; None before anything was measured.
        fits: Whether prompt and answer have room.
        notes: Sentences about mentions and attachments.
        measuring: Whether `seconds` lacks a scorer whose speed is still being measured.
        why: Why tokens are lost, where the model's chat template changes earlier messages; else empty.
    """

    new: int
    cached: int | None
    lost: int
    seconds: float | None
    fits: bool
    notes: tuple[str, ...] = ()
    measuring: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion of the typed text: `insert` replaces the characters from `start` up to the cursor."""

    start: int
    insert: str
    label: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Attachments of a message.

    Attributes:
        attachments: In the order of the prompt.
        notes: Sentences for the user about them.
        seconds: Estimated time to choose what to keep of files that are shortened; 0 once that is done.
        measuring: Whether `seconds` lacks a scorer whose speed is still being measured.
    """

    attachments: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    measuring: bool = False

    def followed_by(self, other: "Gathered") -> "Gathered":
        attachments, notes = self.attachments + other.attachments, self.notes + other.notes
        return Gathered(attachments, notes, self.seconds + other.seconds, self.measuring or other.measuring)

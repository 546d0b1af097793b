"""Every drafter there is. Adding one takes its module and a line here."""

from laguna_engine.draft import constrained, dflash, suffix
from laguna_engine.draft.base import DrafterEntry

DRAFTERS: list[DrafterEntry] = [
    suffix.TRANSCRIPT_ENTRY,
    suffix.FILES_ENTRY,
    dflash.ENTRY,
    constrained.ENTRY,
]

"""Lists that are crossed with each other into requests for work and questions about code: all beyond this model.

A model this small tells "beyond me" from "look it up" only by having seen very many of both, with names in sight.
`CROSSED` has lists of parts; one of each, in order, with spaces between, is a request.
"""

from __future__ import annotations

from wording import tables

ASKED = tables("asked")
TEXTS = tables("chatter_work")

LEADS = ("",) * 3 + TEXTS.LEADS
TAILS = ("",) * 8 + TEXTS.TAILS
CROSSED = (
    (8, (LEADS, TEXTS.VERBS, TEXTS.OBJECTS, TAILS)),
    (3, (ASKED.ASKS, TEXTS.CLAUSES)),
    (2, (ASKED.GETS, TEXTS.NOUNS)),
    (2, (TEXTS.GIVE, TEXTS.THINGS, TEXTS.TO)),
    (2, (TEXTS.SUBJECTS, TEXTS.LACKS, TEXTS.THINGS)),
    (1, (TEXTS.SUBJECTS, TEXTS.HAS_NO, TEXTS.BARE)),
    (2, (TEXTS.MAKE, TEXTS.SUBJECTS, TEXTS.ADJECTIVES)),
    (2, (TEXTS.DOES, TEXTS.SUBJECTS, TEXTS.FAILINGS)),
    (2, (TEXTS.WHEN, TEXTS.SUBJECTS, TEXTS.FAILS)),
    (2, (TEXTS.IS, TEXTS.SUBJECTS, TEXTS.STATES)),
)
"""How often each, and its parts."""

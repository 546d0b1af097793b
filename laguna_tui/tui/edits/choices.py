"""What can be pressed, as a row of text: the longest form that there is room for, and what stands where in it."""

from laguna_tui.tui.markdown.wrap import cells
from laguna_tui.tui.status import Part

Choice = tuple[str, str]
"""A key and what it does."""
Forms = tuple[tuple[Choice, ...], ...]
"""The same choices in words of different length, the longest first."""

CHOICES: Forms = (
    (("y", "yes"), ("n", "no"), ("a", "always in this session"), ("Esc", "no, and stop")),
    (("y", "yes"), ("n", "no"), ("a", "always"), ("Esc", "stop")),
)
ELSEWHERE: Forms = ((("Tab", "to answer"), ("Esc", "no, and stop")), (("Tab", "to answer"), ("Esc", "stop")))
_BETWEEN = "   "


def choice_parts(forms: Forms, width: int) -> list[Part]:
    """The row."""
    parts: list[Part] = []
    for key, what in _fitting(forms, width):
        parts += [(_BETWEEN, "")] if parts else []
        parts += [(key, "bold $accent"), (f" {what}", "$foreground")]
    return parts


def choice_at(forms: Forms, width: int, column: int) -> str:
    """The key whose words stand in this column, empty between them."""
    at = 0
    for key, what in _fitting(forms, width):
        end = at + cells(f"{key} {what}")
        if at <= column < end:
            return key
        at = end + len(_BETWEEN)
    return ""


def _fitting(forms: Forms, width: int) -> tuple[Choice, ...]:
    rows = {form: cells(_BETWEEN.join(f"{key} {what}" for key, what in form)) for form in forms}
    return next((form for form, wide in rows.items() if wide <= width), forms[-1])

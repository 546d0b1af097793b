"""The progress of choosing what to keep of files that do not fit into the context."""

from laguna_tui.base.tagged import Tagged
from laguna_tui.base.units import plural


class Choosing(Tagged, frozen=True):
    """Before `Attached`: of files that do not fit, what to keep of them is being chosen.

    Attributes:
        files: how many they are.
        phase: what is done to them: parsing, scoring (if there is a scorer), ranking.
        share: how much of the phase is done, 0 to 1; None where nobody knows.
        limit_s: most seconds that all of it takes with a scorer; None without one.
    """

    files: int
    phase: str
    share: float | None = None
    limit_s: float | None = None

    @property
    def doing(self) -> str:
        """What is done, in words."""
        return f"choosing what to keep of {plural(self.files, 'a file', f'{self.files:,} files')}: {self.phase}"

    @property
    def how_far(self) -> str:
        """The share and the limit in words, each after a comma or a blank; empty without both."""
        share = "" if self.share is None else f" {self.share:.0%}"
        return share if self.limit_s is None else f"{share}, at most {max(self.limit_s, 1.0):.0f} s"

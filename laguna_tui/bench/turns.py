"""What measurements share that answer the prompts in several ways, in turns, on one opened model."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from laguna_tui.base.progress import ProgressLine
from laguna_tui.bench.options import Options
from laguna_tui.bench.runs import Opened, Sample, Way


@dataclass(slots=True)
class Turns(ABC):
    """`samples` grow while it measures, so that an early end leaves what there is."""

    options: Options
    samples: list[Sample] = field(default_factory=list)
    opened: Opened = field(default_factory=Opened)

    @abstractmethod
    def ways(self) -> list[Way]:
        """In which ways every prompt is answered."""

    def measure(self, progress: ProgressLine) -> None:
        """Answer everything in every way."""
        with self.opened.stage(self.options, progress) as stage:
            stage.run(self.ways(), self.samples)

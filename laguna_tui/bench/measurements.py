"""What `laguna-tui bench` can measure, by the names on the command line."""

from collections.abc import Callable, Mapping

from laguna_tui.bench.ab import Ab
from laguna_tui.bench.kv import Kv
from laguna_tui.bench.measurement import Measurement
from laguna_tui.bench.model import Model
from laguna_tui.bench.options import Options
from laguna_tui.bench.profile import Profile
from laguna_tui.bench.sweep import Sweep

MEASUREMENTS: Mapping[str, Callable[[Options], Measurement]] = {
    "ab": Ab,
    "sweep": Sweep,
    "kv": Kv,
    "profile": Profile,
    "model": Model,
}

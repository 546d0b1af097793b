"""The fixtures of the subjects whose commands are tested here."""

from tests.app.bench.conftest import messages, pair
from tests.app.machine.setup_gpu.conftest import index, place, surroundings
from tests.app.models.conftest import alone, hub

__all__ = ["alone", "hub", "index", "messages", "pair", "place", "surroundings"]

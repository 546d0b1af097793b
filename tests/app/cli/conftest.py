"""The fixtures of the subjects whose commands are tested here."""

from tests.app.bench.conftest import messages, pair
from tests.app.models.conftest import alone, hub
from tests.app.setup_gpu.conftest import index, place, surroundings

__all__ = ["alone", "hub", "index", "messages", "pair", "place", "surroundings"]

from tests.app.bench.conftest import messages, pair

__all__ = ["messages", "pair"]

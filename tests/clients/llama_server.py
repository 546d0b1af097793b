"""Stands for llama.cpp's `llama-server` where its own tests start it: our server with Nano, behind the same options.

Options that our server has no counterpart for are ignored. Without --api-key a request needs no token, as there.
"""

import argparse
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from laguna_engine.config import Speculation
from laguna_tui.base.settings import MIN_CONTEXT, Settings
from laguna_tui.models.model_selection import select_model
from laguna_tui.server import http_server
from laguna_tui.server.http_server import HttpServer, ServerOptions
from laguna_tui.session.engine_slot import EngineSlot
from laguna_tui.session.shared_model import SharedModel, shared_model

NANO_CONTEXT = 4096


def options() -> argparse.Namespace:
    """The options that count."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--temp", type=float)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--ctx-size", type=int)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--n-predict", type=int)
    parser.add_argument("--api-key", default="")
    parser.add_argument("--alias")
    parser.add_argument("--reasoning", default="off")
    parser.add_argument("--cors-origins", default="")
    return parser.parse_known_args()[0]


def for_everyone(app: Any, token: str) -> Any:
    """The application, with the token put into every request, whatever it showed."""

    async def shown(scope: Any, receive: Any, send: Any) -> None:
        others = [each for each in scope["headers"] if each[0] != b"authorization"]
        await app({**scope, "headers": [*others, (b"authorization", f"Bearer {token}".encode())]}, receive, send)

    return shown


def main() -> None:
    """Serve until the process is ended."""
    wanted = options()
    context = wanted.ctx_size and min(max(MIN_CONTEXT, wanted.ctx_size // wanted.parallel), NANO_CONTEXT)
    settings = Settings().merged({"model": "nano", "threads": 1, "scorer": "none", "context": context})
    slot = EngineSlot(select_model(settings), Speculation(settings.speculation), None, lambda engine, selection: None)
    slot.open(lambda progress: None)

    def shared() -> SharedModel | None:
        found = shared_model(slot)
        if found is None:
            return None
        given = {"temperature": wanted.temp, "seed": wanted.seed}
        sampling = replace(found.sampling, **{name: value for name, value in given.items() if value is not None})
        return replace(
            found,
            name=wanted.alias or found.name,
            sampling=sampling,
            max_tokens=wanted.n_predict,
            thinking=wanted.reasoning == "on",
        )

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "token"
        file.write_text(wanted.api_key)
        origins = tuple(wanted.cors_origins.split(",")) if wanted.cors_origins else ()
        token = file if wanted.api_key else None
        server = HttpServer(
            shared, ServerOptions(host=wanted.host, port=wanted.port, token_file=token, allow_origins=origins)
        )
    if not wanted.api_key:
        app = http_server.http_app
        http_server.http_app = lambda *more: for_everyone(app(*more), server.token)
    server.start()
    threading.Event().wait()


if __name__ == "__main__":
    main()

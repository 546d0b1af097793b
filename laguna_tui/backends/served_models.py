"""Which models an endpoint has, and how much context: every kind of server says it in its own way."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from laguna_tui.backends.remote_errors import RemoteError, RemoteProblem

# vLLM and SGLang; LM Studio; OpenRouter and others.
_CONTEXT_KEYS = ("max_model_len", "loaded_context_length", "context_length", "context_window")
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of an endpoint. context: tokens; None where the endpoint does not say."""

    name: str
    context: int | None = None


async def served_models(get: Callable[[str], Awaitable[Any]], url: str) -> Sequence[ServedModel]:
    """The models that an endpoint lists; none where it has no list.

    Args:
        get: fetches a URL as JSON; raises RemoteError.
        url: of the endpoint, up to its /v1.

    Raises:
        RemoteError: it refuses.
        ValueError: what it sends is no list.
    """
    try:
        listed = await get(f"{url}/models")
    except RemoteError as error:
        if error.problem is RemoteProblem.URL and "/v1" in url:
            return ()
        raise
    found = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(found, list):
        raise ValueError("no list of models")
    models = [each for each in found if isinstance(each, dict) and isinstance(each.get("id"), str)]
    served = [ServedModel(each["id"], _context(each)) for each in models]
    if any(each.get("owned_by") == "llamacpp" for each in models):
        # llama.cpp's list says what the model was trained for; its properties, what it runs with.
        with suppress(RemoteError, ValueError):
            n_ctx = _slot_context(await get(f"{url.removesuffix('/v1')}/props"))
            return [ServedModel(each.name, n_ctx or each.context) for each in served]
    return served


def _context(model: Mapping[str, Any]) -> int | None:
    meta = model.get("meta")
    values = [*(model.get(key) for key in _CONTEXT_KEYS), *([meta.get("n_ctx")] if isinstance(meta, dict) else [])]
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def _slot_context(properties: Any) -> int | None:
    settings = properties.get("default_generation_settings") if isinstance(properties, dict) else None
    value = settings.get("n_ctx") if isinstance(settings, dict) else None
    return value if isinstance(value, int) and value > 0 else None


def choose_model(served: Sequence[ServedModel], wanted: str, host: str) -> ServedModel:
    """The model that is wanted, or the only one.

    Raises:
        RemoteError: it is not there, or there are several to choose from.
    """
    names = ", ".join(each.name for each in served[:_SHOWN]) + (", …" if len(served) > _SHOWN else "")
    if wanted:
        # Ollama calls a model without a tag `latest`.
        found = next((each for each in served if each.name in (wanted, f"{wanted}:latest")), None)
        if found is None and served:
            raise RemoteError(RemoteProblem.MODEL, f"{host} has no model {wanted}; it has {names}")
        return found or ServedModel(wanted)
    if len(served) == 1:
        return served[0]
    if served:
        raise RemoteError(RemoteProblem.MODEL, f"{host} has several models: {names}")
    raise RemoteError(RemoteProblem.MODEL, f"{host} does not say which models it has")

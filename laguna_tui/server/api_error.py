"""The errors of the API: a status, a kind and a sentence."""


class ApiError(Exception):
    """A request that cannot be answered.

    Attributes:
        status: HTTP status.
        kind: The error's type in OpenAI's API.
        message: A sentence for whoever runs the client.
        param: The field of the request that is wrong; None for none.
        extra: More fields of the error in OpenAI's shape.
        anthropic: The sentence in Anthropic's shape, where clients look for certain words; empty for the same.
        retry_after: Seconds after which it may work; None for never.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        extra: dict[str, object] | None = None,
        anthropic: str = "",
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.message, self.param = status, kind, message, param
        self.extra, self.anthropic = extra or {}, anthropic or message
        self.retry_after = retry_after

    def as_openai(self) -> dict[str, object]:
        """Return the body in OpenAI's shape."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.status, **self.extra}
        return {"error": error}

    def as_anthropic(self) -> dict[str, object]:
        """Return the body in Anthropic's shape."""
        kind = _ANTHROPIC_KINDS.get(self.status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": self.anthropic}}


_ANTHROPIC_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
}


def context_exceeded(needed: int, capacity: int, *, at_least: bool = False) -> ApiError:
    """Return the error of a prompt that leaves no room for an answer. at_least: Whether `needed` is a lower bound.

    The words are those of llama.cpp's and Anthropic's servers, by which clients decide to compact a conversation.
    """
    tokens = f"{'at least ' if at_least else ''}{needed}"
    advice = "send less, or start the server with a larger --context."
    return ApiError(
        400,
        f"The prompt ({tokens} tokens) exceeds the available context size ({capacity} tokens); {advice}",
        kind="exceed_context_size_error",
        extra={"code": "context_length_exceeded", "n_prompt_tokens": needed, "n_ctx": capacity},
        anthropic=f"prompt is too long: {tokens} tokens > {capacity} maximum; {advice}",
    )


def server_stopping() -> ApiError:
    """Return the error while no model is open."""
    return ApiError(503, "No model is open at the moment; try again soon.", kind="unavailable_error", retry_after=2)


def model_changed() -> ApiError:
    """Return the error of a request that waited while another model was opened."""
    return ApiError(503, "Another model was opened in the meantime; send the request again.", kind="unavailable_error")

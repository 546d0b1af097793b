"""The engine's errors.

All derive from `EngineError`. Messages are sentences for the user that end in what to do; a cause from native code is
chained or quoted.
"""


class EngineError(Exception):
    """Base of all errors the engine raises on purpose."""


class LibraryError(EngineError):
    """The installed llama.cpp is not the version this engine needs."""


class ModelFileError(EngineError):
    """A model file is missing, damaged, hostile or of the wrong kind, or llama.cpp refuses it."""


class ContextError(EngineError):
    """llama.cpp could not create a context with these options, most often for lack of memory."""


class GraphError(EngineError):
    """A graph is invalid or not supported by a device; raised before native code would abort."""


class OutOfMemory(EngineError):
    """Not enough memory in RAM or on a device; something smaller may fit."""


class ModelOutOfMemory(OutOfMemory, ModelFileError):
    """Not enough memory for a model's weights."""


class ContextOutOfMemory(OutOfMemory, ContextError):
    """Not enough memory for a context or its computation."""


class GraphOutOfMemory(OutOfMemory, GraphError):
    """Not enough memory for tensors of our own graphs."""


class RequestError(EngineError):
    """A request is invalid: no tokens, a token outside the vocabulary, a setting out of range."""


class NativeAbort(EngineError):
    """An assertion failed in llama.cpp. The engine is lost; a new one can be opened."""


class EngineClosed(EngineError):
    """The engine is closed, or was never opened."""


class Stopped(EngineError):
    """The caller cancelled the operation; partial results are discarded."""

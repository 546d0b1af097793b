"""What can go wrong in the engine: few, named, and each message ends in what to do.

Every error a caller may see derives from `EngineError`. Messages are sentences for the user; the cause from
native code, where there is one, is chained or quoted.
"""


class EngineError(Exception):
    """The root of everything the engine raises on purpose."""


class LibraryError(EngineError):
    """The llama.cpp that is installed is not the one this engine was written for."""


class ModelFileError(EngineError):
    """A model file is missing, damaged, hostile or of the wrong kind; nothing native has touched it."""


class ContextError(EngineError):
    """llama.cpp could not create a context with the options given (most often: not enough memory)."""


class GraphError(EngineError):
    """A computation was put together wrongly, or a device cannot run it; caught before native code would abort."""


class OutOfMemory(EngineError):
    """There was not enough memory, in RAM or on a device; something smaller may fit."""


class ModelOutOfMemory(OutOfMemory, ModelFileError):
    """The weights of a model found no room."""


class ContextOutOfMemory(OutOfMemory, ContextError):
    """A context or its computation found no room."""


class GraphOutOfMemory(OutOfMemory, GraphError):
    """Tensors of our own found no room."""


class RequestError(EngineError):
    """A request cannot be run as asked: no tokens, an id outside the vocabulary, a setting out of range."""


class NativeAbort(EngineError):
    """llama.cpp hit a failed assertion. The engine that asked is lost; a fresh one can be opened."""


class EngineClosed(EngineError):
    """The engine was closed, or was never opened."""


class Stopped(EngineError):
    """Whoever asked for something did not want it any more; what was done so far is thrown away."""

"""The engine's errors.

All derive from `EngineError`. Messages are sentences for the user that end in what to do; a cause from native code is
chained or quoted.
"""

from enum import StrEnum


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


class SnapshotProblem(StrEnum):
    """Why a snapshot is not used, or not written.

    Attributes:
        DAMAGED: torn, cut, changed or renamed, or a file that it builds on is.
        VERSION: written by another version of this program.
        MODEL: of another model file, vocabulary or template.
        BUILD: of another build of llama.cpp.
        CACHE: of another type or layout of the KV cache.
        MODE: strict speculation needs one that was written by it.
        SIZE: longer than the context.
        DISK: the disk is full, or the folder cannot be written.
        UNKNOWN_STATE: this model's cache is laid out in a way that is not known.
        CHANGED: the conversation changed while it was written.
        REFUSED: llama.cpp refused it.
    """

    DAMAGED = "damaged"
    VERSION = "version"
    MODEL = "model"
    BUILD = "build"
    CACHE = "cache"
    MODE = "mode"
    SIZE = "size"
    DISK = "disk"
    UNKNOWN_STATE = "unknown state"
    CHANGED = "changed"
    REFUSED = "refused"


class SnapshotError(EngineError):
    """A snapshot cannot be used or written; the conversation continues without it.

    Attributes:
        problem: why.
    """

    def __init__(self, problem: SnapshotProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem

"""Adds nodes to the graph that llama.cpp builds, through a custom sampler that runs on the device.

llama.cpp calls `backend_apply` while it builds a graph, once per output row, and not at all when it reuses a graph.
Exceptions must not escape from a callback: they are stored and raised by the next `check`. The API is experimental
upstream (`llama_sampler_i` in `llama.h`).
"""

import ctypes
from collections.abc import Callable
from typing import Any

from laguna_engine.native.library import lib
from laguna_engine.native.structs import (
    BufferTypeHandle,
    ContextHandle,
    GgmlContextHandle,
    GraphHandle,
    SamplerApply,
    SamplerBackendApply,
    SamplerBackendInit,
    SamplerEvent,
    SamplerHandle,
    SamplerInterface,
    SamplerName,
    SequenceSampler,
)

_SEQUENCE = 0


class GraphHook:
    """A sampler attached to a context.

    Args:
        place: called once with the buffer type of the logits.
        insert: called for every graph; returns whether the logits are still needed on the host.

    Attributes:
        error: exception stored by a callback.
        sequences: the argument for `llama_context_params.samplers`.
    """

    def __init__(
        self,
        place: Callable[[BufferTypeHandle | None], None],
        insert: Callable[[GgmlContextHandle, GraphHandle], bool],
    ) -> None:
        self._place = place
        self._insert = insert
        self._fresh = True
        self._wanted = True
        self.error: BaseException | None = None
        self._interface = SamplerInterface(
            name=SamplerName(lambda _: b"taps"),
            apply=SamplerApply(lambda *_: None),
            backend_init=SamplerBackendInit(self._on_init),
            backend_apply=SamplerBackendApply(self._on_apply),
            backend_reset=SamplerEvent(self._on_reset),
        )
        # The attached chain is the last one. llama.cpp also keeps pointers to the one before until the next decode.
        self._chains: list[SamplerHandle] = []
        self.sequences = (SequenceSampler * 1)()
        self.sequences[0].seq_id = _SEQUENCE
        self.sequences[0].sampler = self._new_chain().value

    def renew(self, context: ContextHandle) -> None:
        """Make `context` rebuild its graphs, because `insert` would now add other nodes.

        A chain can be attached only once (llama.cpp aborts the second time), so a new one is created. The replaced one
        is freed by the next `renew`: old graphs refer to it until then but are not used again.
        """
        lib.llama_set_sampler(context, _SEQUENCE, self._new_chain())
        while len(self._chains) > 2:
            lib.llama_sampler_free(self._chains.pop(0))
        self.check()

    def check(self) -> None:
        """Raise the exception stored by a callback, if there is one."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def close(self) -> None:
        """Free the chains; close the context that used them first."""
        for chain in self._chains:
            lib.llama_sampler_free(chain)
        self._chains.clear()

    def _new_chain(self) -> SamplerHandle:
        chain: SamplerHandle = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        lib.llama_sampler_chain_add(chain, lib.llama_sampler_init(ctypes.byref(self._interface), None))
        self._chains.append(chain)
        return chain

    def _on_init(self, _sampler: int, buffer_type: int | None, _outputs: int) -> bool:
        try:
            self._place(BufferTypeHandle(buffer_type) if buffer_type else None)
        except BaseException as error:
            self.error = error
            return False
        return True

    def _on_reset(self, _sampler: int) -> None:
        self._fresh = True

    def _on_apply(self, _sampler: int, context: int, graph: int, data: Any) -> None:
        """Called for every row; nodes are added for the first."""
        try:
            if self._fresh:
                self._fresh = False
                self._wanted = self._insert(GgmlContextHandle(context), GraphHandle(graph))
            if not self._wanted:
                data.contents.logits = None
        except BaseException as error:
            self.error = error

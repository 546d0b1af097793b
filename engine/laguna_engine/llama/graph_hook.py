"""A way into the graph that llama.cpp builds: a sampler of ours whose part runs on the device.

llama.cpp calls `backend_apply` while it builds a graph, once an output row, and not at all when a graph is used again;
there nodes are added. An exception must not get out of a callback: it is stored, and raised by the next `check`.
The API is experimental upstream (`llama_sampler_i` in `llama.h`).
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
    """Calls `place` once with the memory the logits lie in, and `insert` for every graph.

    `insert` returns whether the logits are still wanted on the host. error: what went wrong in a callback.
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
        # The attached chain comes last. llama.cpp keeps bare pointers, also to the one before, until the next decode.
        self._chains: list[SamplerHandle] = []
        self.sequences = (SequenceSampler * 1)()
        self.sequences[0].seq_id = _SEQUENCE
        self.sequences[0].sampler = self._new_chain().value

    def renew(self, context: ContextHandle) -> None:
        """Have `context` build its graphs again, because `insert` would now do something else.

        A chain can be attached once only (llama.cpp aborts on the second time), so it gets a new one. The replaced one
        is freed by the next `renew`: old graphs name it until then, but are not used again.
        """
        lib.llama_set_sampler(context, _SEQUENCE, self._new_chain())
        while len(self._chains) > 2:
            lib.llama_sampler_free(self._chains.pop(0))
        self.check()

    def check(self) -> None:
        """Raise what went wrong in a callback."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def close(self) -> None:
        """Free the chains; only after the context that used them."""
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
        """Called for every row; the nodes go in with the first."""
        try:
            if self._fresh:
                self._fresh = False
                self._wanted = self._insert(GgmlContextHandle(context), GraphHandle(graph))
            if not self._wanted:
                data.contents.logits = None
        except BaseException as error:
            self.error = error

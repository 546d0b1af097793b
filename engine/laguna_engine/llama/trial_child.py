"""The child process of a trial: opens a model file and uses it as the app would.

Run as a program with the path of a file. It maps the file on the CPU, converts all tokens and decodes a few of them,
with limited memory and time, and prints what the model's memory takes.
"""

import sys
from contextlib import closing
from pathlib import Path

from laguna_engine.errors import EngineError
from laguna_engine.llama.context import Context, ContextOptions, Outputs
from laguna_engine.llama.model import Model
from laguna_engine.llama.trial import LIMIT_S, REFUSED, Memory
from laguna_engine.llama.vocab import Vocab
from laguna_engine.native.child import confine
from laguna_engine.native.control_groups import physical_cores

_MEMORY = 2 << 30
"""Bytes the child may allocate: its KV cache holds 256 tokens, and weights are mapped."""

_TOKENS, _CONTEXT, _THREADS = 8, 256, 8

_ROLLBACK = 2
"""Tokens that a recurrent state can go back by: enough to see whether it can at all."""

_EVERY_BYTE = (*range(1, 0x800), *range(0x1000, 0xD800, 0x800), *range(0xE000, 0x110000, 0x4000))
"""Characters whose UTF-8 encodings contain every byte that occurs in UTF-8."""

_TEXT = "def add(a, b):\n    return a + b\n\n# 12 345,6 \u00e9\u4e2d\U0001f600 <s>\t</s>" + "".join(
    map(chr, _EVERY_BYTE)
)


def main(path: Path) -> int:
    """Open the file and use it as the app would. Returns the exit code; prints the reason if the file is refused."""
    confine(_MEMORY, LIMIT_S + 5)
    try:
        found = str(_use(path))
    except EngineError as error:
        found = str(error)
        code = REFUSED
    else:
        code = 0
    sys.stdout.buffer.write(found.encode("utf-8", "backslashreplace"))
    return code


def _use(path: Path) -> Memory:
    with closing(Model.open(path, extra_bufts=False, tried=True)) as model:
        _read_vocabulary(model.vocab)
        threads = min(physical_cores(), _THREADS)
        options = ContextOptions(_CONTEXT, _TOKENS, _TOKENS, threads=threads, rollback=_ROLLBACK)
        with closing(Context(model, options)) as context:
            size = model.vocab.size
            spread = [size * (2 * place + 1) // (2 * _TOKENS) for place in range(_TOKENS)]
            context.decode(spread, 0, Outputs.ALL)
            context.synchronize()
            before = context.state_bytes(), context.window_bytes()
            # A single token uses other kernels.
            context.decode(spread[:1], _TOKENS)
            context.synchronize()
            return _memory(model, context, before)


def _memory(model: Model, context: Context, before: tuple[int, int]) -> Memory:
    """Return what the state grew by with one token, since the sizes of the whole and of its partial one `before`."""
    window = context.window_bytes()
    grown = context.state_bytes() - before[0]
    # Without either, llama.cpp gives the whole state for the partial one.
    sliding = window - before[1] if model.n_swa else 0
    state = window - sliding * (_TOKENS + 1) if model.recurrent else 0
    return Memory(max(0, grown - sliding), max(0, sliding), max(0, state), rolls_back=context.rollback > 0)


def _read_vocabulary(vocab: Vocab) -> frozenset[int]:
    """Detokenize all tokens, tokenize texts with every byte of UTF-8, and look up the end-of-generation tokens."""
    vocab.detokenize(range(vocab.size))
    vocab.id_of("")
    for token in range(vocab.size):
        vocab.is_control(token)
    for text in (_TEXT, *map(chr, _EVERY_BYTE)):
        vocab.tokenize(text, special=True)
        vocab.tokenize(text, special=False)
    return vocab.eog


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

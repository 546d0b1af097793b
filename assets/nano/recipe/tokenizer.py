"""Laguna Nano's tokenizer: byte-level BPE with Laguna's own special ids, trained on the corpus of `sources.py`.

Merges are TRAINED on a finer split (letters, single digits, single punctuation) and USED with the stock `laguna`
pre-tokenizer of llama.cpp. The stock split glues one space, backtick or slash to a word; as no merge crosses that
border, an identifier has the same tokens after a backtick, a space or a slash, which is what makes it copyable.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 4096
EOS, MASK, THINK, END_THINK = "〈|EOS|〉", "〈|MASK|〉", "<think>", "</think>"
ASSISTANT, END_ASSISTANT, TOOL_CALL, END_TOOL_CALL = "<assistant>", "</assistant>", "<tool_call>", "</tool_call>"
PLACED = {
    0: "〈|UNK|〉", 1: "〈|PAD|〉", 2: EOS, 12: MASK, 18: THINK, 19: END_THINK,
    23: ASSISTANT, 24: END_ASSISTANT, 25: TOOL_CALL, 26: END_TOOL_CALL,
}  # fmt: skip
"""Special tokens at the ids that the released Laguna models give them."""
SPECIALS = [PLACED.get(i, f"〈|RESERVED_{i}|〉") for i in range(max(PLACED) + 1)]
EOS_ID, PAD_ID, END_ASSISTANT_ID = 2, 1, 24

LINES = r"[^\n]+|[\n]+"
WORDS = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""llama.cpp's LLAMA_VOCAB_PRE_TYPE_LAGUNA (src/llama-vocab.cpp), the split at run time."""
FINE = r"\p{L}+|\p{N}|[ ]+|\n+|\t+|_+|=+|-+|\.+|#+|[^\s\p{L}\p{N}]|\s+"

PROSE_REPEATS = 40  # the sentences the model reads and says are rare in code; without weight they get no merges


def split(*patterns: str) -> pre_tokenizers.Sequence:
    """Split by each pattern in turn, then to bytes."""
    steps = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def python_texts(repositories: Path, names: set[str]) -> Iterator[str]:
    """Every readable Python file of the named repositories, in a fixed order."""
    for name in sorted(names):
        for path in sorted((repositories / name).rglob("*.py")):
            try:
                yield path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # a test file of some other encoding: no loss


def train(texts: Iterator[str], prose: str) -> Tokenizer:
    """Learn the merges; returns a tokenizer that already splits as llama.cpp does."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = split(FINE)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIALS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )

    def everything() -> Iterator[str]:
        yield from texts
        yield (prose + "\n") * PROSE_REPEATS

    tokenizer.train_from_iterator(everything(), trainer)
    tokenizer.pre_tokenizer = split(LINES, WORDS)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def load(work: Path) -> Tokenizer:
    """The tokenizer trained into the working folder."""
    return Tokenizer.from_file(str(work / "tokenizer.json"))


def newline(tokenizer: Tokenizer) -> int:
    """The token of one line break."""
    return int(tokenizer.token_to_id(pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str("\n")[0][0]))


def main() -> None:
    """Train into the working folder given on the command line."""
    from questions import all_prose
    from sources import trained

    work = Path(sys.argv[1])
    tokenizer = train(python_texts(work / "repos", trained(work)), all_prose())
    tokenizer.save(str(work / "tokenizer.json"))


if __name__ == "__main__":
    main()

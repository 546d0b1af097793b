"""Turn a checkpoint into a GGUF with llama.cpp's own converter, as the released Laguna models were.

    python convert.py WORK CHECKPOINT.pt OUT.gguf --llama-cpp vendor/llama.cpp [--type f16]

The converter (conversion/laguna.py) comes with the llama-cpp-python sdist. Only its table of known tokenizer hashes
is bypassed: this tokenizer splits text by the `laguna` rule but has its own merges.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch
from architecture import build
from tokenizer import END_ASSISTANT, EOS, PLACED, SPECIALS

TYPES = {"f32": "ALL_F32", "f16": "MOSTLY_F16", "q8_0": "MOSTLY_Q8_0"}
TEMPLATE = "models/templates/poolside-Laguna-XS-2.1.jinja"


def write_checkpoint(checkpoint: Path, folder: Path) -> None:
    """config.json and safetensors under the names of the released checkpoints."""
    model = build(seed=0)
    model.load_state_dict(torch.load(checkpoint))
    model.config.architectures = ["LagunaForCausalLM"]
    model.save_pretrained(folder)


def write_tokenizer(source: Path, folder: Path) -> None:
    """tokenizer.json with its special tokens, and the little that AutoTokenizer needs beside it."""
    (folder / "tokenizer.json").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": EOS, "eos_token": EOS, "unk_token": SPECIALS[0],
        "pad_token": SPECIALS[1], "mask_token": PLACED[12], "add_bos_token": False,
        "clean_up_tokenization_spaces": False,
    }  # fmt: skip
    assert SPECIALS[24] == END_ASSISTANT
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, ensure_ascii=False))


def convert(folder: Path, out: Path, kind: str, llama_cpp: Path) -> None:
    """Run llama.cpp's LagunaModel converter over the folder."""
    sys.path[:0] = [str(llama_cpp), str(llama_cpp / "gguf-py")]  # the gguf on PyPI does not know Laguna yet
    import gguf
    from conversion.laguna import LagunaModel

    class NanoModel(LagunaModel):
        model_arch = gguf.MODEL_ARCH.LAGUNA

        def get_vocab_base_pre(self, tokenizer: object) -> str:
            return "laguna"

    NanoModel(folder, gguf.LlamaFileType[TYPES[kind]], out, model_name="Laguna Nano").write()


def main() -> None:
    """Read the command line and convert."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--llama-cpp", type=Path, required=True)
    parser.add_argument("--type", choices=TYPES, default="f16")
    options = parser.parse_args()
    folder = options.work / "huggingface"
    folder.mkdir(exist_ok=True)
    write_checkpoint(options.checkpoint, folder)
    write_tokenizer(options.work / "tokenizer.json", folder)
    template = (options.llama_cpp / TEMPLATE).read_text(encoding="utf-8")
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    convert(folder, options.out, options.type, options.llama_cpp)


if __name__ == "__main__":
    main()

"""The library object: bound, self-tested, silent, and strict about its arguments."""

import ctypes
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from laguna_engine.errors import LibraryError
from laguna_engine.llama.model import Model
from laguna_engine.native import library, selftest
from laguna_engine.native.abort import AbortFlag
from laguna_engine.native.library import LEVEL_CONTINUE, LEVEL_DEBUG, LEVEL_ERROR, LEVEL_INFO, RING_LINES, LogRing
from laguna_engine.native.prototypes import PROTOTYPES


class Altered:
    """The real library with some functions replaced."""

    def __init__(self, **replaced: Any) -> None:
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced.get(name) or getattr(library.lib, name)


def test_every_prototype_is_bound() -> None:
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library.lib, name)
        assert (function.restype, function.argtypes) == (result, arguments)


def test_a_function_without_a_prototype_is_not_reachable() -> None:
    with pytest.raises(AttributeError, match="llama_supports_mlock has no prototype"):
        _ = library.lib.llama_supports_mlock


@pytest.mark.parametrize("wrong", ["text", b"bytes", 5, None, ctypes.c_void_p(5)])
def test_a_handle_accepts_nothing_else(wrong: object) -> None:
    with pytest.raises(ctypes.ArgumentError, match="expected a live ModelHandle"):
        library.lib.llama_model_n_embd(wrong)


def test_a_handle_of_another_kind_is_refused(tiny_model: Model) -> None:
    with pytest.raises(ctypes.ArgumentError, match="expected a live ContextHandle"):
        library.lib.llama_n_ctx(tiny_model.handle)


def test_another_ggml_is_refused() -> None:
    with pytest.raises(LibraryError, match=r"ggml is 9\.9, .*pip install --force-reinstall"):
        selftest.check(Altered(ggml_version=lambda: b"9.9"))


@pytest.mark.parametrize("params", ["llama_model_default_params", "llama_context_default_params"])
def test_a_shifted_struct_is_refused(params: str) -> None:
    def shifted() -> ctypes.Structure:
        struct = getattr(library.lib, params)()
        ctypes.memmove(ctypes.addressof(struct) + 4, bytes(struct), ctypes.sizeof(struct) - 4)
        return struct

    with pytest.raises(LibraryError, match="by default, expected"):
        selftest.check(Altered(**{params: shifted}))


def test_another_tensor_layout_is_refused() -> None:
    with pytest.raises(LibraryError, match="layout of ggml_tensor"):
        selftest.check(Altered(ggml_set_name=lambda tensor, name: tensor))
    with pytest.raises(LibraryError, match="376 bytes"):
        selftest.check(Altered(ggml_tensor_overhead=lambda: 376))


def test_another_release_of_the_binding_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.3.99")
    with pytest.raises(LibraryError, match=r"is 0\.3\.99, this engine needs 0\.3\.36"):
        library._package_folder()


def test_a_local_build_of_the_release_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: selftest.BINDING_VERSION + "+cu130")
    assert library._package_folder().name == "llama_cpp"


def test_there_is_a_device() -> None:
    assert library.device_descriptions()


def test_the_library_says_what_it_was_built_with() -> None:
    assert "CPU" in library.backend_names()
    assert "CPU : " in library.system_info()
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", library.ggml_version())


QUIET = """
import sys
from pathlib import Path
from laguna_engine.errors import ModelFileError
from laguna_engine.llama.context import Context
from laguna_engine.llama.context import ContextOptions
from laguna_engine.llama.model import Model
model = Model.open(Path(sys.argv[1]))
Context(model, ContextOptions(n_ctx=256, threads=1)).decode([5, 6], 0)
print([name for name in ("llama_cpp", "jinja2", "textual") if name in sys.modules])
"""


def test_loading_and_decoding_write_nothing_and_import_nothing_heavy(tiny_model_path: Path) -> None:
    command = [sys.executable, "-c", QUIET, str(tiny_model_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (run.stdout, run.stderr) == ("[]\n", "")


def test_the_log_is_kept_instead(tiny_model_path: Path) -> None:
    library.log.clear()
    Model.open(tiny_model_path).close()
    assert any("general.name" in line and "tiny-laguna-random" in line for line in library.log.recent())


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("cudaMalloc failed: out of memory", True),
        ("unable to allocate CUDA0 buffer", True),
        ("ggml_aligned_malloc: insufficient memory (attempted to allocate 9999 MB)", True),
        ("CUDA0 has not enough free memory for the drafter", True),
        ("tensor 'x' has wrong shape", False),
    ],
)
def test_want_of_memory_is_told_from_other_failures(message: str, expected: bool) -> None:
    library.log.clear()
    library.log.callback(LEVEL_ERROR, message.encode(), None)
    assert library.log_reports_out_of_memory() is expected
    library.log.clear()


def test_the_log_is_bounded_and_filtered() -> None:
    ring = LogRing()
    for number in range(2 * RING_LINES):
        ring.callback(LEVEL_INFO, b"line %d\n" % number, None)
        ring.callback(LEVEL_DEBUG, b"a tensor of the graph\n", None)
    ring.callback(LEVEL_ERROR, b"bad \xff", None)
    ring.callback(LEVEL_CONTINUE, b"news\n", None)
    assert len(ring.recent()) == RING_LINES - 1
    assert "a tensor of the graph" not in ring.recent()
    assert ring.recent(at_least=LEVEL_ERROR) == ["bad \N{REPLACEMENT CHARACTER}news"]
    assert ring.recent(1, at_least=LEVEL_INFO) == ["bad \N{REPLACEMENT CHARACTER}news"]


def test_the_stop_flag_answers_like_an_abort_callback() -> None:
    flag = AbortFlag()
    ask = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(flag.callback)
    answers = [ask(flag.data)]
    flag.set()
    answers += [ask(flag.data), flag.is_set()]
    flag.clear()
    assert [*answers, ask(flag.data), flag.is_set()] == [False, True, True, False, False]

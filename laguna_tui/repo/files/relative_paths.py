"""Relative paths classified: a file is a test, an example, prose or binary by its path alone. No file is opened."""

import re
from functools import lru_cache

_TEST_FOLDER = re.compile(r"(^|[_.-])(tests|specs?|mocks?|fixtures?)([_.-]|$)|^__tests__$|^test[_.-]|[_.-]test$")
_TEST_FILE = re.compile(
    r"^tests?[_-]|[_.-](tests?|specs?)\.|^(conftest|tests)\.|^(mocks?|fixtures?)[_-]|[_-](mocks?|fixtures?)\."
)
# At the top they hold tests; inside a package they are what its users test with (`django/test`, `numpy/testing`).
_TEST_TOP = re.compile(r"testing/|test[/.]")
_TEST_HELPERS = re.compile(r"^test_(case|client|helper|runner|util)s?\.py")
_PYTHON = (".py", ".pyi", ".pyx")
_OLD = re.compile(
    r"(^|[/_.-])(legacy|compat|deprecated|old|vendor|vendored|third_party|node_modules|backports?)([/_.-]|$)",
    re.IGNORECASE,
)
_EXAMPLES = re.compile(r"(^|/)(examples?|samples?|demos?|docs?|bench(marks?)?|locales?|migrations)(/|$)", re.IGNORECASE)
_BUNDLED = re.compile(r"(^|/)dist/|\.min\.js$")
_PROSE = (
    ".md",
    ".rst",
    ".txt",
    ".adoc",
    ".json",
    ".toml",
    ".yaml",
    ".yml",
    ".lock",
    ".cfg",
    ".ini",
    ".csv",
    ".svg",
    ".xml",
)
_STUBS = (".pyi", ".d.ts")
# Binary files by suffix; other files are judged by their bytes.
_BINARY = tuple(
    f".{suffix}"
    for suffix in """
    7z a avi bin bmp bz2 class db dll doc docx dylib eot exe flac gguf gif gz ico icns jar jpeg jpg lib lz4 mkv mov
    mp3 mp4 npy npz o obj ogg onnx otf parquet pdb pdf pkl png ppt pptx pt pth pyc pyd rar safetensors so sqlite sqlite3
    tar tgz tif tiff ttf wasm wav webm webp whl woff woff2 xls xlsx xz zip zst
    """.split()
)


@lru_cache(maxsize=50_000)
def is_test(path: str) -> bool:
    """Return whether the file tests other files, or belongs to such files; a library for tests does not."""
    lower = path.lower()
    *folders, name = lower.split("/")
    if _TEST_TOP.match(lower) or any(map(_TEST_FOLDER.search, folders)):
        return True
    if name.endswith(_PYTHON):
        return _TEST_FILE.search(name) is not None and not _TEST_HELPERS.match(name)
    return _TEST_FILE.search(name) is not None or name.startswith("test.") or "test" in folders


@lru_cache(maxsize=50_000)
def is_secondary(path: str) -> bool:
    """Return whether the file is old, copied, bundled, an example, or only declares what another one defines."""
    return any(each.search(path) for each in (_OLD, _EXAMPLES, _BUNDLED)) or path.endswith(_STUBS)


def is_prose(path: str) -> bool:
    """Return whether the file is text or data rather than code."""
    return path.lower().endswith(_PROSE)


def is_binary_name(path: str) -> bool:
    return path.lower().endswith(_BINARY)


def path_stem(path: str) -> str:
    """Return the file name without suffix; for `pkg/__init__.py`, `index.ts` and `mod.rs` the folder's name."""
    folders, _, name = path.rpartition("/")
    bare = name.split(".")[0]
    return folders.rpartition("/")[2] if bare in ("__init__", "index", "mod", "lib") and folders else bare

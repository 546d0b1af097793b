"""Constants of the GGUF format and of ggml's tensor types.

Source: `ggml/include/gguf.h` and `type_traits` in `ggml/src/ggml.c` of the pinned build.
"""

from dataclasses import dataclass
from enum import IntEnum

MAGIC = b"GGUF"
VERSIONS = (2, 3)
"""Version 1 had 32-bit lengths and is refused by llama.cpp too."""

DEFAULT_ALIGNMENT = 32
MAX_DIMS = 4
MAX_NAME_BYTES = 63
"""`GGML_MAX_NAME` is 64 with the terminating NUL."""


class ValueType(IntEnum):
    """Types of metadata values."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


STRUCT_CODES: dict[ValueType, str] = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT16: "H",
    ValueType.INT16: "h",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "?",
    ValueType.UINT64: "Q",
    ValueType.INT64: "q",
    ValueType.FLOAT64: "d",
}
"""`struct` codes of the fixed-size types; everything is little-endian."""


@dataclass(frozen=True, slots=True)
class TensorFormat:
    """Storage of a tensor type; a row is a whole number of blocks.

    Attributes:
        name: ggml's name.
        block: elements of a block.
        size: bytes of a block.
    """

    name: str
    block: int
    size: int


TENSOR_FORMATS: dict[int, TensorFormat] = {
    0: TensorFormat("f32", 1, 4),
    1: TensorFormat("f16", 1, 2),
    2: TensorFormat("q4_0", 32, 18),
    3: TensorFormat("q4_1", 32, 20),
    6: TensorFormat("q5_0", 32, 22),
    7: TensorFormat("q5_1", 32, 24),
    8: TensorFormat("q8_0", 32, 34),
    9: TensorFormat("q8_1", 32, 36),
    10: TensorFormat("q2_K", 256, 84),
    11: TensorFormat("q3_K", 256, 110),
    12: TensorFormat("q4_K", 256, 144),
    13: TensorFormat("q5_K", 256, 176),
    14: TensorFormat("q6_K", 256, 210),
    15: TensorFormat("q8_K", 256, 292),
    16: TensorFormat("iq2_xxs", 256, 66),
    17: TensorFormat("iq2_xs", 256, 74),
    18: TensorFormat("iq3_xxs", 256, 98),
    19: TensorFormat("iq1_s", 256, 50),
    20: TensorFormat("iq4_nl", 32, 18),
    21: TensorFormat("iq3_s", 256, 110),
    22: TensorFormat("iq2_s", 256, 82),
    23: TensorFormat("iq4_xs", 256, 136),
    24: TensorFormat("i8", 1, 1),
    25: TensorFormat("i16", 1, 2),
    26: TensorFormat("i32", 1, 4),
    27: TensorFormat("i64", 1, 8),
    28: TensorFormat("f64", 1, 8),
    29: TensorFormat("iq1_m", 256, 56),
    30: TensorFormat("bf16", 1, 2),
    34: TensorFormat("tq1_0", 256, 54),
    35: TensorFormat("tq2_0", 256, 66),
    39: TensorFormat("mxfp4", 32, 17),
    40: TensorFormat("nvfp4", 64, 36),
    41: TensorFormat("q1_0", 128, 18),
    42: TensorFormat("q2_0", 64, 18),
}
"""By `ggml_type`; missing numbers were removed from the format or never existed."""

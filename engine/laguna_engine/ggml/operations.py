"""ggml's operations, with their arguments checked first, because ggml aborts the process on invalid ones.

Shapes are in ggml's order, row length first. Every method adds a node to the graph and computes nothing.
"""

from laguna_engine.errors import GraphError
from laguna_engine.ggml.tensor import Tensor, TensorContext, Type
from laguna_engine.native.library import lib
from laguna_engine.native.structs import TensorHandle

_NEOX = 2
"""`GGML_ROPE_TYPE_NEOX`: pairs element i of a head's first half with element i of its second half."""

_PRECISION_F32 = 10
"""`GGML_PREC_F32`: accumulate in float32, which is not the default of half-precision kernels."""

_YARN_BETA_FAST, _YARN_BETA_SLOW = 32.0, 1.0
"""Arguments of `ggml_rope_ext` without effect unless YaRN is on."""

STRUCTS_PER_OPERATION = 2
"""Most tensor structs an operation creates."""


class Operations:
    """Builds operations in the context `arena`."""

    def __init__(self, arena: TensorContext) -> None:
        self._arena = arena

    def mul_mat(self, weights: Tensor, x: Tensor) -> Tensor:
        """weights [k, m] times x [k, n] -> F32 [m, n]; dimensions 3 and 4 of x are multiples of those of weights."""
        same = weights.shape[0] == x.shape[0]
        fits = x.shape[2] % weights.shape[2] == 0 and x.shape[3] % weights.shape[3] == 0
        self._require(same and fits and not weights.transposed, "mul_mat", weights, x)
        return self._binary("mul_mat", weights, x)

    def mul_mat_id(self, experts: Tensor, x: Tensor, ids: Tensor) -> Tensor:
        """experts [k, m, count] times x [k, 1, n], selected by ids, I32 [used, n] -> F32 [m, used, n]."""
        same = experts.shape[0] == x.shape[0] and x.shape[1] == 1 and x.shape[2] == ids.shape[1]
        right = x.type is Type.F32 and ids.type is Type.I32 and experts.shape[3] == x.shape[3] == ids.shape[2] == 1
        self._require(same and right and not experts.transposed, "mul_mat_id", experts, x, ids)
        return self._made(lib.ggml_mul_mat_id(self._arena.handle, experts.handle, x.handle, ids.handle))

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        """left + right, right broadcast to left's shape."""
        return self._elementwise("add", left, right)

    def sub(self, left: Tensor, right: Tensor) -> Tensor:
        """left - right, right broadcast to left's shape."""
        return self._elementwise("sub", left, right)

    def mul(self, left: Tensor, right: Tensor) -> Tensor:
        """left * right, right broadcast to left's shape."""
        return self._elementwise("mul", left, right)

    def scale(self, x: Tensor, factor: float) -> Tensor:
        """x * factor."""
        self._require(x.type is Type.F32, "scale", x)
        return self._made(lib.ggml_scale(self._arena.handle, x.handle, factor))

    def rms_norm(self, x: Tensor, epsilon: float) -> Tensor:
        """Every row divided by its root mean square."""
        self._require(x.type is Type.F32 and x.contiguous_rows and epsilon >= 0, "rms_norm", x)
        return self._made(lib.ggml_rms_norm(self._arena.handle, x.handle, epsilon))

    def softplus(self, x: Tensor) -> Tensor:
        """log(1 + exp(x))."""
        return self._float("softplus", x)

    def sigmoid(self, x: Tensor) -> Tensor:
        """1 / (1 + exp(-x))."""
        return self._float("sigmoid", x)

    def log(self, x: Tensor) -> Tensor:
        """Natural logarithm."""
        return self._float("log", x)

    def clamp(self, x: Tensor, low: float, high: float) -> Tensor:
        """x clamped to [low, high]; NaN becomes one of the two."""
        self._require(x.type is Type.F32 and x.contiguous and low <= high, "clamp", x)
        return self._made(lib.ggml_clamp(self._arena.handle, x.handle, low, high))

    def swiglu(self, gate: Tensor, up: Tensor) -> Tensor:
        """silu(gate) * up."""
        alike = gate.shape == up.shape and gate.type is up.type is Type.F32
        self._require(alike and gate.contiguous and up.contiguous, "swiglu", gate, up)
        return self._binary("swiglu_split", gate, up)

    def rope(self, x: Tensor, positions: Tensor, dims: int, base: float) -> Tensor:
        """Rotate the first `dims` numbers of each head of x [head, heads, tokens] by positions, I32 [tokens]."""
        fits = positions.type is Type.I32 and positions.shape == (x.shape[2], 1, 1, 1)
        self._require(fits and x.type is Type.F32 and 0 < dims <= x.shape[0] and dims % 2 == 0, "rope", x, positions)
        handle = lib.ggml_rope_ext(
            self._arena.handle, x.handle, positions.handle, None, dims, _NEOX, 0,
            base, 1.0, 0.0, 1.0, _YARN_BETA_FAST, _YARN_BETA_SLOW,
        )  # fmt: skip
        return self._made(handle)

    def flash_attention(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        """Attention of q [head, tokens, heads] over k, v [head, keys, kv heads] -> F32 [head, heads, tokens].

        Args:
            q: queries.
            k: keys.
            v: values.
            mask: F16 [keys, tokens], added to the scores; None without one.
            scale: factor of the scores.
        """
        keys = k.shape[1] == v.shape[1] and k.shape[2] == v.shape[2] and q.shape[2] % k.shape[2] == 0
        self._require(keys and q.shape[0] == k.shape[0] == v.shape[0] and q.type is Type.F32, "flash_attention", q, k)
        if mask is not None:
            fits = mask.type is Type.F16 and mask.contiguous and mask.shape[0] == k.shape[1]
            self._require(fits and mask.shape[1] >= q.shape[1] and mask.shape[2:] == (1, 1), "flash_attention", q, mask)
        handle = lib.ggml_flash_attn_ext(
            self._arena.handle, q.handle, k.handle, v.handle, mask and mask.handle, scale, 0.0, 0.0
        )
        lib.ggml_flash_attn_ext_set_prec(handle, _PRECISION_F32)
        return self._made(handle)

    def attention_by_products(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        """The same as `flash_attention` from matrix products, for head sizes that a device has no such kernel for."""
        keys, values = self.cast(k, Type.F32), self.cast(v, Type.F32)
        scores = self.soft_max(self.mul_mat(keys, self.cont(q)), mask, scale)
        found = self.mul_mat(self.cont(self.transpose(values)), scores)
        return self.cont(self.permute(found, 0, 2, 1, 3))

    def soft_max(self, x: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        """softmax(x * scale + mask) along rows; mask F16 or F32 [row, rows or more]."""
        self._require(x.type is Type.F32 and x.contiguous, "soft_max", x)
        if mask is not None:
            fits = mask.type in (Type.F16, Type.F32) and mask.contiguous and mask.shape[0] == x.shape[0]
            self._require(fits and mask.shape[1] >= x.shape[1] and mask.shape[2:] == (1, 1), "soft_max", x, mask)
        return self._made(lib.ggml_soft_max_ext(self._arena.handle, x.handle, mask and mask.handle, scale, 0.0))

    def get_rows(self, table: Tensor, ids: Tensor) -> Tensor:
        """Rows ids, I32 [n, a, b], of table [width, rows, a, b] -> F32 (or I32) [width, n, a, b]."""
        fits = ids.type is Type.I32 and table.shape[2:] == ids.shape[1:3] and ids.shape[3] == 1
        self._require(fits and table.contiguous_rows, "get_rows", table, ids)
        return self._binary("get_rows", table, ids)

    def set_rows(self, into: Tensor, rows: Tensor, ids: Tensor) -> Tensor:
        """Write rows [width, n, …], F32, to the rows ids, I64 [n], of `into` -> a view of `into`."""
        same = into.shape[0] == rows.shape[0] and into.shape[2:] == rows.shape[2:] and rows.type is Type.F32
        fits = ids.type is Type.I64 and ids.shape == (rows.shape[1], 1, 1, 1)
        self._require(same and fits and into.contiguous_rows and rows.contiguous_rows, "set_rows", into, rows, ids)
        return self._made(lib.ggml_set_rows(self._arena.handle, into.handle, rows.handle, ids.handle))

    def cast(self, x: Tensor, kind: Type) -> Tensor:
        """x converted to another type."""
        return self._made(lib.ggml_cast(self._arena.handle, x.handle, kind))

    def cont(self, x: Tensor) -> Tensor:
        """A contiguous copy."""
        return self._unary("cont", x)

    def copy(self, x: Tensor, into: Tensor) -> Tensor:
        """Copy x to `into`, converting the type -> a view of `into`."""
        self._require(x.elements == into.elements, "copy", x, into)
        return self._binary("cpy", x, into)

    def concat(self, left: Tensor, right: Tensor, axis: int) -> Tensor:
        """left and right concatenated along `axis`."""
        others = all(left.shape[i] == right.shape[i] for i in range(4) if i != axis)
        self._require(others and 0 <= axis < 4 and left.type is right.type, "concat", left, right)
        return self._made(lib.ggml_concat(self._arena.handle, left.handle, right.handle, axis))

    def argmax(self, x: Tensor) -> Tensor:
        """Index of the largest number of each row: x F32 [width, rows] -> I32 [rows]."""
        self._require(x.type is Type.F32 and x.contiguous and x.shape[2:] == (1, 1), "argmax", x)
        return self._unary("argmax", x)

    def pick(self, x: Tensor, columns: Tensor) -> Tensor:
        """x at one column of each row: x F32 [width, rows], columns I32 [rows] -> F32 [rows]."""
        width, rows = x.shape[:2]
        self._require(columns.shape == (rows, 1, 1, 1) and x.shape[2:] == (1, 1), "pick", x, columns)
        found = self.get_rows(self.reshape(x, 1, width, rows), self.reshape(columns, 1, rows))
        return self.reshape(found, rows)

    def largest(self, x: Tensor) -> Tensor:
        """Largest number of each row: x F32 [width, rows], without NaN -> F32 [rows]."""
        return self.pick(x, self.argmax(x))

    def top_k(self, x: Tensor, k: int) -> Tensor:
        """Indices of the k largest numbers of each row, unordered: x F32 [width, rows] -> I32 [k, rows]."""
        self._require(x.type is Type.F32 and x.contiguous and 0 < k <= x.shape[0], f"top_k {k}", x)
        return self._made(lib.ggml_top_k(self._arena.handle, x.handle, k))

    def reshape(self, x: Tensor, *shape: int) -> Tensor:
        """The same elements in another shape; x must be contiguous."""
        dims = _padded(shape)
        count = dims[0] * dims[1] * dims[2] * dims[3]
        self._require(x.contiguous and count == x.elements, f"reshape to {shape}", x)
        return self._made(lib.ggml_reshape_4d(self._arena.handle, x.handle, *dims))

    def permute(self, x: Tensor, *axes: int) -> Tensor:
        """Dimension i becomes dimension axes[i], without a copy."""
        self._require(sorted(axes) == [0, 1, 2, 3], f"permute {axes}", x)
        return self._made(lib.ggml_permute(self._arena.handle, x.handle, *axes))

    def transpose(self, x: Tensor) -> Tensor:
        """Rows and columns swapped, without a copy."""
        return self._unary("transpose", x)

    def view(self, x: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] = (), offset: int = 0) -> Tensor:
        """A view of x from byte `offset` on; `strides` are bytes between rows, planes and cubes, default contiguous."""
        dims = _padded(shape)
        row = x.type.row_bytes(dims[0])
        steps = [*strides]
        for index in range(len(steps), 3):
            steps.append(row if index == 0 else steps[index - 1] * dims[index])
        last = sum((size - 1) * step for size, step in zip(dims[1:], steps, strict=True)) + row
        inside = dims[0] % x.type.block == 0 and offset >= 0 and offset + last <= _extent(x)
        self._require(inside and x.contiguous_rows and min(steps) >= 0, f"view {shape} at {offset}", x)
        return self._made(lib.ggml_view_4d(self._arena.handle, x.handle, *dims, *steps, offset))

    def _elementwise(self, name: str, left: Tensor, right: Tensor) -> Tensor:
        repeats = all(a % b == 0 for a, b in zip(left.shape, right.shape, strict=True))
        self._require(repeats and left.type is Type.F32 and right.type in (Type.F32, Type.F16), name, left, right)
        return self._binary(name, left, right)

    def _float(self, name: str, x: Tensor) -> Tensor:
        self._require(x.type is Type.F32 and x.contiguous_rows, name, x)
        return self._unary(name, x)

    def _unary(self, name: str, x: Tensor) -> Tensor:
        return self._made(getattr(lib, f"ggml_{name}")(self._arena.handle, x.handle))

    def _binary(self, name: str, left: Tensor, right: Tensor) -> Tensor:
        return self._made(getattr(lib, f"ggml_{name}")(self._arena.handle, left.handle, right.handle))

    def _made(self, handle: TensorHandle) -> Tensor:
        # Counted afterwards: a context has spare structs.
        self._arena.take(STRUCTS_PER_OPERATION)
        return Tensor(handle, self._arena)

    def _require(self, condition: bool, operation: str, *tensors: Tensor) -> None:
        if not condition:
            raise GraphError(f"{operation} cannot be applied to {', '.join(map(repr, tensors))}")


def _padded(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    one, two, three, four = [*shape, 1, 1, 1, 1][:4]
    if not 0 < len(shape) <= 4 or min(shape) < 1:
        raise GraphError(f"{shape} is not a shape; give one to four positive sizes")
    return one, two, three, four


def _extent(x: Tensor) -> int:
    """Bytes from a tensor's first element to the end of its last."""
    steps = zip(x.shape[1:], x.strides[1:], strict=True)
    return x.type.row_bytes(x.shape[0]) + sum((size - 1) * step for size, step in steps)

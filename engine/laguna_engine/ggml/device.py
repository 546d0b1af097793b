"""Devices, and what computes on them."""

import ctypes
from collections.abc import Iterator

from laguna_engine.errors import GraphError
from laguna_engine.native.abort import AbortFlag
from laguna_engine.native.library import lib
from laguna_engine.native.structs import BackendHandle, BufferTypeHandle, DeviceHandle

_CPU = 0
"""`GGML_BACKEND_DEVICE_TYPE_CPU`."""

_KINDS = ("cpu", "gpu", "igpu", "accel")
"""`ggml_backend_dev_type`, by number; what comes after them only combines others."""

_SetThreads = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)
_SetAbort = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_ExtraBuffers = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)


class Device:
    """One of ggml's devices: the CPU, a GPU."""

    def __init__(self, handle: DeviceHandle) -> None:
        self.handle = handle
        self.name: str = lib.ggml_backend_dev_name(handle).decode("utf-8", "replace")
        self.is_cpu: bool = lib.ggml_backend_dev_type(handle) == _CPU

    @property
    def kind(self) -> str:
        """What it is: "cpu", "gpu", "igpu" (a GPU in the processor, with the machine's own memory) or "accel"."""
        number = lib.ggml_backend_dev_type(self.handle)
        return _KINDS[number] if number < len(_KINDS) else "other"

    @property
    def description(self) -> str:
        """Its name as the driver has it."""
        text: str = lib.ggml_backend_dev_description(self.handle).decode("utf-8", "replace")
        return text

    def memory(self) -> tuple[int, int]:
        """Free and total memory in bytes, as they are now."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        lib.ggml_backend_dev_memory(self.handle, free, total)
        return free.value, total.value

    @classmethod
    def cpu(cls) -> "Device":
        """The CPU, which is always there."""
        return cls(lib.ggml_backend_dev_by_type(_CPU))

    @classmethod
    def all(cls) -> list["Device"]:
        """Every device of this machine that ggml can compute on, best first."""
        return [cls(lib.ggml_backend_dev_get(index)) for index in range(lib.ggml_backend_dev_count())]

    @classmethod
    def gpus(cls) -> list["Device"]:
        """The graphics cards among them."""
        return [device for device in cls.all() if device.kind in ("gpu", "igpu")]

    def function(self, name: str) -> int | None:
        """The address of one of the device's own functions, or None if it has no such."""
        registry = lib.ggml_backend_dev_backend_reg(self.handle)
        address: int | None = lib.ggml_backend_reg_get_proc_address(registry, name.encode())
        return address


class Backend:
    """A device, opened to compute on. Belongs to one thread; closing it comes after closing what was made on it."""

    def __init__(self, device: Device, threads: int = 0) -> None:
        """`threads` counts on the CPU only; 0 leaves ggml's choice. GraphError if the device cannot be opened."""
        self.device = device
        handle: BackendHandle = lib.ggml_backend_dev_init(device.handle, None)
        if not handle:
            raise GraphError(f"{device.name} cannot be opened to compute on; free its memory, or use the CPU")
        self._handle = handle
        self._heeded: AbortFlag | None = None
        if threads and device.is_cpu:
            self._set_threads(threads)

    @classmethod
    def cpu(cls, threads: int = 1) -> "Backend":
        """The CPU with so many threads."""
        return cls(Device.cpu(), threads)

    @property
    def alive(self) -> bool:
        """Whether it was not closed."""
        return bool(self._handle)

    @property
    def handle(self) -> BackendHandle:
        """For native calls; GraphError after `close`."""
        if not self._handle:
            raise GraphError(f"the backend on {self.device.name} is closed; open it again")
        return self._handle

    @property
    def buffer_type(self) -> BufferTypeHandle:
        """The device's ordinary memory."""
        handle: BufferTypeHandle = lib.ggml_backend_get_default_buffer_type(self.handle)
        return handle

    def heed(self, flag: AbortFlag) -> None:
        """Leave a computation early once `flag` is set, which then ends in `Stopped`; only the CPU can."""
        address = self.device.function("ggml_backend_set_abort_callback")
        if address is not None:
            self._heeded = flag
            _SetAbort(address)(self.handle.value, flag.callback, flag.data)

    def extra_buffer_types(self) -> Iterator[BufferTypeHandle]:
        """Memory in which the device keeps weights in an order of its own (CPU repacking), best first."""
        address = self.device.function("ggml_backend_dev_get_extra_bufts")
        if address is None:
            return
        for pointer in _ExtraBuffers(address)(self.device.handle.value):
            if not pointer:
                return
            yield BufferTypeHandle(pointer)

    def reads(self, buffer_type: BufferTypeHandle) -> bool:
        """Whether it can compute with tensors in such memory."""
        return bool(lib.ggml_backend_dev_supports_buft(self.device.handle, buffer_type))

    def synchronize(self) -> None:
        """Wait until everything asked of it is done."""
        lib.ggml_backend_synchronize(self.handle)

    def close(self) -> None:
        """Free it; harmless when repeated."""
        if self._handle:
            lib.ggml_backend_free(self._handle)
            self._handle.value = None

    def _set_threads(self, threads: int) -> None:
        address = self.device.function("ggml_backend_set_n_threads")
        if address is not None:
            _SetThreads(address)(self.handle.value, threads)

"""ggml's devices and backends."""

import ctypes
from collections.abc import Iterator

from laguna_engine.errors import GraphError
from laguna_engine.native.abort import AbortFlag
from laguna_engine.native.library import lib
from laguna_engine.native.structs import BackendHandle, BufferTypeHandle, DeviceHandle

_CPU = 0
"""`GGML_BACKEND_DEVICE_TYPE_CPU`."""

_KINDS = ("cpu", "gpu", "igpu", "accel")
"""`ggml_backend_dev_type`, by number; later values are combinations of devices."""

_SetThreads = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)
_SetAbort = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_ExtraBuffers = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)


class Device:
    """A ggml device, such as the CPU or a GPU.

    Attributes:
        handle: ggml's handle.
        name: ggml's name, such as "CUDA0".
        is_cpu: whether it is the CPU.
    """

    def __init__(self, handle: DeviceHandle) -> None:
        self.handle = handle
        self.name: str = lib.ggml_backend_dev_name(handle).decode("utf-8", "replace")
        self.is_cpu: bool = lib.ggml_backend_dev_type(handle) == _CPU

    @property
    def kind(self) -> str:
        """One of "cpu", "gpu", "igpu" (an integrated GPU, which shares the machine's RAM), "accel" and "other"."""
        number = lib.ggml_backend_dev_type(self.handle)
        return _KINDS[number] if number < len(_KINDS) else "other"

    @property
    def description(self) -> str:
        """The driver's name of the device."""
        text: str = lib.ggml_backend_dev_description(self.handle).decode("utf-8", "replace")
        return text

    def memory(self) -> tuple[int, int]:
        """Return currently free and total memory, in bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        lib.ggml_backend_dev_memory(self.handle, free, total)
        return free.value, total.value

    @classmethod
    def cpu(cls) -> "Device":
        return cls(lib.ggml_backend_dev_by_type(_CPU))

    @classmethod
    def all(cls) -> list["Device"]:
        """Return all devices that ggml can compute on, best first."""
        return [cls(lib.ggml_backend_dev_get(index)) for index in range(lib.ggml_backend_dev_count())]

    @classmethod
    def gpus(cls) -> list["Device"]:
        """Return all GPUs, integrated ones included."""
        return [device for device in cls.all() if device.kind in ("gpu", "igpu")]

    def function(self, name: str) -> int | None:
        """Return the address of a function specific to the device's backend, or None."""
        registry = lib.ggml_backend_dev_backend_reg(self.handle)
        address: int | None = lib.ggml_backend_reg_get_proc_address(registry, name.encode())
        return address


class ComputeBackend:
    """A device opened for computation. Used by one thread; close it after everything allocated on it."""

    def __init__(self, device: Device, threads: int = 0) -> None:
        """Open the device; GraphError if that fails. `threads` applies to the CPU only, 0 for ggml's default."""
        self.device = device
        handle: BackendHandle = lib.ggml_backend_dev_init(device.handle, None)
        if not handle:
            raise GraphError(f"{device.name} cannot be opened to compute on; free its memory, or use the CPU")
        self._handle = handle
        self._heeded: AbortFlag | None = None
        set_threads = device.function("ggml_backend_set_n_threads") if threads and device.is_cpu else None
        if set_threads is not None:
            _SetThreads(set_threads)(handle.value, threads)

    @classmethod
    def cpu(cls, threads: int = 1) -> "ComputeBackend":
        return cls(Device.cpu(), threads)

    @property
    def alive(self) -> bool:
        """Whether it is open."""
        return bool(self._handle)

    @property
    def handle(self) -> BackendHandle:
        """ggml's handle; GraphError after `close`."""
        if not self._handle:
            raise GraphError(f"the backend on {self.device.name} is closed; open it again")
        return self._handle

    @property
    def buffer_type(self) -> BufferTypeHandle:
        """The device's default buffer type."""
        handle: BufferTypeHandle = lib.ggml_backend_get_default_buffer_type(self.handle)
        return handle

    def heed(self, flag: AbortFlag) -> None:
        """Abort computations while `flag` is set; they raise Stopped. Supported by the CPU only."""
        address = self.device.function("ggml_backend_set_abort_callback")
        if address is not None:
            self._heeded = flag
            _SetAbort(address)(self.handle.value, flag.callback, flag.data)

    def extra_buffer_types(self) -> Iterator[BufferTypeHandle]:
        """Yield the device's extra buffer types (CPU repacking), best first."""
        address = self.device.function("ggml_backend_dev_get_extra_bufts")
        if address is None:
            return
        for pointer in _ExtraBuffers(address)(self.device.handle.value):
            if not pointer:
                return
            yield BufferTypeHandle(pointer)

    def reads(self, buffer_type: BufferTypeHandle) -> bool:
        """Return whether the device can read tensors of this buffer type."""
        return bool(lib.ggml_backend_dev_supports_buft(self.device.handle, buffer_type))

    def synchronize(self) -> None:
        """Wait for all pending work."""
        lib.ggml_backend_synchronize(self.handle)

    def close(self) -> None:
        """Free the backend. Idempotent."""
        if self._handle:
            lib.ggml_backend_free(self._handle)
            self._handle.value = None

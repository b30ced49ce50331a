# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPU 0 through PyTorch, and through the driver alone, with NumPy: the latter starts in a second, and runs on the interpreter of PTX, too."""
import ctypes
import math
import os
import time

import numpy as np

from attn_api import BF16, F16, F32, I32, Buffer
from references import NumpyOps, TorchOps


def bits_of_half(values, dtype):
    if dtype == F16:
        return np.ascontiguousarray(values, np.float16).view(np.uint16)
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


class Torch:
    """On a stream of its own. A contest takes rounds of at least `least` seconds, for `budget` seconds."""

    rounds, least, budget = 30, 5e-3, 1.5
    short, graph_calls = 0.1, 20  # calls of fewer milliseconds are timed in CUDA graphs of so many

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError("PyTorch finds no GPU")
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.cuda.set_device(0)
        self.side = torch.cuda.Stream()
        torch.cuda.set_stream(self.side)
        self.stream = self.side.cuda_stream
        self.types = {F32: torch.float32, F16: torch.float16, BF16: torch.bfloat16, I32: torch.int32}
        self.ops = TorchOps(torch)

    def put(self, values, dtype):
        return self.wrap(self.torch.from_numpy(np.ascontiguousarray(values)).cuda().to(self.types[dtype]).contiguous(), dtype)

    def empty(self, shape, dtype):
        return self.wrap(self.torch.full(shape, -1, dtype=self.types[dtype], device="cuda"), dtype)

    def wrap(self, tensor, dtype):
        self.wait()
        return Buffer(tensor.data_ptr(), tensor.shape, dtype, tensor)

    def wait(self):
        self.torch.cuda.synchronize()

    def exact(self, buffer):
        """What the reference computes with: f32, or indices."""
        return buffer.value.long() if buffer.dtype == I32 else buffer.value.float()

    def bits(self, buffer):
        self.wait()
        return buffer.value.view(self.torch.int16 if buffer.dtype in (F16, BF16) else self.torch.int32).cpu().numpy().copy()

    def weights(self, arrays):
        return {name: self.torch.from_numpy(values).cuda() for name, values in arrays.items()}

    def error(self, found, expected):
        self.wait()
        expected = expected.double()
        return float((found.double() - expected).norm() / expected.norm())

    def mean(self, truths):
        return float(truths.double().mean())

    def time(self, call, count):
        """Milliseconds of one of `count` calls."""
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / count

    def graphed(self, call, count):
        """A CUDA graph of `count` calls, on the device's stream."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.side, capture_error_mode="relaxed"):
            for _ in range(count):
                call()
        return graph.replay

    def copy(self):
        """The call that copies, and the bytes that it reads and writes."""
        source = self.torch.empty(1 << 28, device="cuda")
        target = self.torch.empty_like(source)
        return lambda: target.copy_(source), 2 * 4 * (1 << 28)

    def describe(self):
        torch = self.torch
        about = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
        for name in ("triton", "jax", "flash_attn_interface"):
            try:
                module = __import__(name)
                about[name] = getattr(module, "__version__", "there")
            except Exception as error:  # whatever an import does
                about[name] = f"{type(error).__name__}: {error}".splitlines()[0]
        return about


class Driver:
    """libcuda, or the interpreter of PTX that ATTN_CUDA_PATH names in its place, and NumPy."""

    rounds, least, budget, short, graph_calls = 1, 0.0, 0.0, math.inf, 2

    def __init__(self):
        path = os.environ.get("ATTN_CUDA_PATH", "libcuda.so.1")
        try:
            self.driver = ctypes.CDLL(os.path.join(path, "libcuda.so.1") if os.path.isdir(path) else path)
        except OSError as error:
            raise RuntimeError(f"there is no CUDA driver: {error}") from None
        pointer, u64, size, u32 = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint
        for name, arguments in [("cuMemAlloc_v2", [pointer, size]), ("cuMemcpyHtoDAsync_v2", [u64, pointer, size, pointer]),
                                ("cuMemcpyDtoHAsync_v2", [pointer, u64, size, pointer]), ("cuMemsetD8Async", [u64, ctypes.c_ubyte, size, pointer]),
                                ("cuStreamSynchronize", [pointer]), ("cuCtxSetCurrent", [pointer]), ("cuStreamBeginCapture_v2", [pointer, ctypes.c_int]),
                                ("cuStreamEndCapture", [pointer, pointer]), ("cuGraphInstantiateWithFlags", [pointer, pointer, ctypes.c_uint64]),
                                ("cuGraphLaunch", [pointer, pointer]), ("cuLaunchKernel", [pointer, *[u32] * 7, pointer, pointer, pointer]),
                                ("cuMemFree_v2", [u64])]:
            getattr(self.driver, name).argtypes = arguments
        device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        self.name, self.device = name.value.decode(), device
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        self.stream = stream.value
        self.ops = NumpyOps()

    def call(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(result, ctypes.byref(text))
            raise RuntimeError(f"{name} failed: {(text.value or b'?').decode()} (CUDA error {result})")

    def put(self, values, dtype):
        values = bits_of_half(values, dtype) if dtype in (F16, BF16) else np.ascontiguousarray(values)
        buffer = self.empty(values.shape, dtype)
        self.call("cuMemcpyHtoDAsync_v2", buffer.pointer, values.ctypes.data, values.nbytes, self.stream)
        self.wait()
        return buffer

    def empty(self, shape, dtype):
        pointer = ctypes.c_uint64()
        size = math.prod(shape) * (2 if dtype in (F16, BF16) else 4)
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), size)
        self.call("cuMemsetD8Async", pointer, 0xFF, size, self.stream)
        return Buffer(pointer.value, shape, dtype, None)

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def bits(self, buffer):
        values = np.empty(buffer.shape, np.uint16 if buffer.dtype in (F16, BF16) else np.uint32)
        self.call("cuMemcpyDtoHAsync_v2", values.ctypes.data, buffer.pointer, values.nbytes, self.stream)
        self.wait()
        return values

    def exact(self, buffer):
        bits = self.bits(buffer)
        if buffer.dtype == I32:
            return bits.astype(np.int64)
        if buffer.dtype == F16:
            return bits.view(np.float16).astype(np.float32)
        return ((bits.astype(np.uint32) << 16) if buffer.dtype == BF16 else bits).view(np.float32)

    def weights(self, arrays):
        return arrays

    def error(self, found, expected):
        expected = expected.astype(np.float64)
        return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))

    def mean(self, truths):
        return float(truths.mean())

    def time(self, call, count):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        self.wait()
        return 1e3 * (time.perf_counter() - begin) / count

    def graphed(self, call, count):
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", self.stream, 2)
        for _ in range(count):
            call()
        self.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, 0)
        return lambda: self.call("cuGraphLaunch", executable, self.stream)

    def copy(self):
        values = np.ones(1 << 16, np.float32)
        buffer = self.empty(values.shape, F32)
        return lambda: self.call("cuMemcpyHtoDAsync_v2", buffer.pointer, values.ctypes.data, values.nbytes, self.stream), 2 * values.nbytes

    def describe(self):
        return {"gpu": self.name, "numpy": np.__version__}

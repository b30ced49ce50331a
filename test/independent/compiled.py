# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled specs in this process: `attn compile --emit=shared`, called by the C API in runtime/include/attn/attn.h."""
import ctypes
import os
import subprocess

import numpy as np

from weights import from_bf16, to_bf16

CODES = {"f32": 0, "f16": 1, "bf16": 2, "i32": 3, "i64": 4, "bool": 6}
MEMORY = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i32": np.int32, "i64": np.int64, "bool": np.bool_}
GUARD = 64  # bytes on either side of an output, which nothing may write


class Failed(Exception):
    """The compiler or a compiled model refuses or crashes: what it said."""


class TensorStruct(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 8),
                ("strides", ctypes.c_void_p), ("deviceKind", ctypes.c_int32), ("deviceIndex", ctypes.c_int32)]


class InfoStruct(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 8),
                ("isDynamic", ctypes.c_int32 * 8), ("axisNames", ctypes.c_char_p * 8), ("below", ctypes.c_int64)]


def machine_levels():
    """The CPU levels of f32 code that this machine has."""
    with open("/proc/cpuinfo") as info:
        flags = set(next((line for line in info if line.startswith("flags")), "").split())
    wide = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags
    return ["x86-64-v3"] + (["x86-64-v4"] if wide else [])


def compile_spec(attn, spec, library, level, lowering, flags=()):
    command = [attn, "compile", spec, "--emit=shared", "-o", library, f"--target={level}", f"--attention={lowering}", *flags]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "ATTN_PTXAS": ""})
    if done.returncode:
        message = done.stderr[max(done.stderr.find("error"), 0):].strip()  # without warnings of what is not used
        raise Failed(f"`{' '.join(command)}` exits with {done.returncode}: {message}")


class Library:
    """A compiled model with its weights bound."""

    def __init__(self, path, weights):
        self.api = ctypes.CDLL(path)
        self.api.attn_model_entry_name.restype = ctypes.c_char_p
        symbols = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        symbol = next(line.split()[2] for line in symbols.splitlines() if " D attn_model_" in line)
        tables = ctypes.addressof(ctypes.c_char.in_dll(self.api, symbol))
        self.model = ctypes.c_void_p()
        self.call("attn_model_create", ctypes.c_void_p(tables), None, ctypes.byref(self.model))
        self.call("attn_model_bind_file", self.model, weights.encode())

    def call(self, name, *arguments):
        message = ctypes.c_char_p()
        if getattr(self.api, name)(*arguments, ctypes.byref(message)):
            raise Failed(f"{name}: {message.value.decode()}")

    def entry(self, name):
        return self.api.attn_model_find_entry(self.model, name.encode())

    def below(self, entry, number):
        """The bound of the whole numbers that an input takes; 0 where there is none."""
        info = InfoStruct()
        self.api.attn_model_input(self.model, self.entry(entry), number, ctypes.byref(info))
        return info.below

    def context(self, threads):
        return Context(self, threads)


class Context:
    """A team of threads, and caches of its own."""

    def __init__(self, library, threads):
        self.library, self.handle = library, ctypes.c_void_p()
        library.call("attn_context_create", library.model, threads, ctypes.byref(self.handle))

    def close(self):
        self.library.api.attn_context_destroy(self.handle)

    def run(self, entry, inputs, results):
        """inputs: [(dtype, array)]; results: [dtype] -> arrays, f16 and bf16 as f32."""
        library, number = self.library, self.library.entry(entry)
        if number < 0:
            raise Failed(f"the model has no entry {entry}")
        given = (TensorStruct * max(len(inputs), 1))()
        arrays = [in_memory(array, dtype) for dtype, array in inputs]
        for tensor, array, (dtype, _) in zip(given, arrays, inputs):
            describe(tensor, array.ctypes.data, dtype, array.shape)
        made = (TensorStruct * len(results))()
        count = library.api.attn_model_output_count(library.model, number)
        if count != len(results):
            raise Failed(f"{entry} has {count} results, not {len(results)}")
        library.call("attn_infer_shapes", self.handle, number, given, made)
        outputs = []
        for tensor, dtype in zip(made, results):
            shape = tuple(tensor.shape[:tensor.rank])
            if tensor.dtype != CODES[dtype]:
                raise Failed(f"a result of {entry} has dtype number {tensor.dtype}, not {dtype}")
            buffer = np.full(int(np.prod(shape)) * np.dtype(MEMORY[dtype]).itemsize + 2 * GUARD, 0xAB, np.uint8)
            describe(tensor, buffer.ctypes.data + GUARD, dtype, shape)
            outputs.append((buffer, shape, dtype))
        library.call("attn_run", self.handle, number, given, made)
        for buffer, *_ in outputs:
            if not ((buffer[:GUARD] == 0xAB).all() and (buffer[-GUARD:] == 0xAB).all()):
                raise Failed(f"{entry} writes outside of a result")
        return [from_memory(buffer[GUARD:-GUARD].view(MEMORY[dtype]).reshape(shape), dtype) for buffer, shape, dtype in outputs]


def in_memory(array, dtype):
    array = to_bf16(array) if dtype == "bf16" else np.asarray(array).astype(MEMORY[dtype])
    return np.ascontiguousarray(array)


def from_memory(array, dtype):
    return from_bf16(array) if dtype == "bf16" else array.astype(np.float32) if dtype == "f16" else array


def describe(tensor, data, dtype, shape):
    tensor.data, tensor.dtype, tensor.rank = data, CODES[dtype], len(shape)
    tensor.shape[:len(shape)] = shape

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attn's C API (attn/attn.h), as far as the programs here use it."""
import ctypes

import numpy as np

F32, F16, BF16, I32 = 0, 1, 2, 3
HALVES = {"bf16": BF16, "f16": F16}
SEED = 1


class Tensor(ctypes.Structure):
    """attn_tensor"""

    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 8),
                ("strides", ctypes.c_void_p), ("device_kind", ctypes.c_int32), ("device_index", ctypes.c_int32)]


class ParameterInfo(ctypes.Structure):
    """attn_parameter_info"""

    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("layers", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 8), ("location", ctypes.c_char_p)]


class Buffer:
    """Memory of the device; `value` is what owns it."""

    def __init__(self, pointer, shape, dtype, value):
        self.pointer, self.shape, self.dtype, self.value = pointer, tuple(shape), dtype, value


def tensor_of(buffer):
    tensor = Tensor(buffer.pointer, buffer.dtype, len(buffer.shape))
    tensor.shape[: len(buffer.shape)] = buffer.shape
    tensor.device_kind = 2
    return tensor


def declare(api):
    pointer, i32, i64, text = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.POINTER(ctypes.c_char_p)
    tensors = ctypes.POINTER(Tensor)
    for name, result, arguments in [
        ("attn_model_create", i32, [pointer, ctypes.c_char_p, ctypes.POINTER(pointer), text]),
        ("attn_model_destroy", None, [pointer]),
        ("attn_model_bind_random", i32, [pointer, ctypes.c_uint64, text]),
        ("attn_model_parameter_count", i32, [pointer]),
        ("attn_model_parameter", i32, [pointer, i32, ctypes.POINTER(ParameterInfo)]),
        ("attn_model_find_entry", i32, [pointer, ctypes.c_char_p]),
        ("attn_model_output_count", i32, [pointer, i32]),
        ("attn_random_tensor", i32, [ctypes.c_uint64, ctypes.c_char_p, i32, ctypes.POINTER(i64), pointer]),
        ("attn_context_create", i32, [pointer, i32, ctypes.POINTER(pointer), text]),
        ("attn_context_destroy", None, [pointer]),
        ("attn_context_set_device", i32, [pointer, i32, i32, text]),
        ("attn_context_set_stream", i32, [pointer, pointer, text]),
        ("attn_context_code", ctypes.c_char_p, [pointer]),
        ("attn_cache_truncate", i32, [pointer, i32, i64, text]),
        ("attn_infer_shapes", i32, [pointer, i32, tensors, tensors, text]),
        ("attn_run", i32, [pointer, i32, tensors, tensors, text]),
        ("attn_message_free", None, [pointer]),
    ]:
        function = getattr(api, name)
        function.restype, function.argtypes = result, arguments


class Model:
    """An artifact on GPU 0, with random weights, on the device's stream; or on one of its own, where runs wait for their end and fail themselves."""

    def __init__(self, path, symbol, device, waits=False):
        self.api, self.device = ctypes.CDLL(str(path)), device
        declare(self.api)
        self.model, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        tables = ctypes.addressof(ctypes.c_char.in_dll(self.api, symbol))
        self.call("attn_model_create", tables, None, ctypes.byref(self.model))
        self.call("attn_context_create", self.model, 0, ctypes.byref(self.context))
        self.call("attn_context_set_device", self.context, 2, 0)
        if not waits:
            self.call("attn_context_set_stream", self.context, device.stream)
        self.code = self.api.attn_context_code(self.context).decode()
        if self.api.attn_model_parameter_count(self.model):
            self.call("attn_model_bind_random", self.model, SEED)

    def call(self, name, *arguments):
        message = ctypes.c_char_p()
        if getattr(self.api, name)(*arguments, ctypes.byref(message)):
            text = "; ".join(line.strip(" =") for line in (message.value or b"no memory").decode().strip().splitlines())
            self.api.attn_message_free(message)
            raise RuntimeError(f"{name}: {text}")

    def weights(self):
        """By name, as attn_model_bind_random binds them, in f32."""
        found, info = {}, ParameterInfo()
        for index in range(self.api.attn_model_parameter_count(self.model)):
            self.api.attn_model_parameter(self.model, index, ctypes.byref(info))
            for layer in range(max(info.layers, 1)):
                name = info.name.decode().replace("{n}", str(layer))
                values = np.empty(tuple(info.shape[: info.rank]), np.float32)
                if self.api.attn_random_tensor(SEED, name.encode(), info.rank, info.shape, values.ctypes.data):
                    raise RuntimeError(f"no random numbers for {name}")
                found[name] = values
        return found

    def prepare(self, entry, inputs, after=None):
        """Calls that run an entry on buffers of the device, and the buffers of its outputs. `after` is called behind each."""
        number = self.api.attn_model_find_entry(self.model, entry.encode())
        if number < 0:
            raise RuntimeError(f"no entry {entry}")
        given = (Tensor * max(len(inputs), 1))(*[tensor_of(buffer) for buffer in inputs])
        made = (Tensor * self.api.attn_model_output_count(self.model, number))()
        self.call("attn_infer_shapes", self.context, number, given, made)
        outputs = [self.device.empty(tuple(t.shape[: t.rank]), t.dtype) for t in made]
        made = (Tensor * len(made))(*[tensor_of(buffer) for buffer in outputs])

        def run():
            self.call("attn_run", self.context, number, given, made)
            if after:
                after()

        run.keep = inputs, outputs  # as long as the call
        return run, outputs

    def truncate(self, length):
        self.call("attn_cache_truncate", self.context, 0, length)

    def close(self):
        self.api.attn_context_destroy(self.context)
        self.api.attn_model_destroy(self.model)

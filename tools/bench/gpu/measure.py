#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks and times compiled models on a GPU, beside PyTorch and what else is there. build.py makes the folder that this lies in.

    python3 measure.py [--seconds 450] [--only PART] [--out FOLDER]

Each artifact is loaded through Attn's C API, with tensors of PyTorch as its buffers and PyTorch's stream as its own. A run's relative L2 error is
that against PyTorch in f32 with the same weights and inputs; repeated runs must give the same bits. Times are medians of rounds in which all
contestants take turns, by CUDA events, on random numbers. Parts run in processes of their own: a failure is a line of the report, and costs its
part alone. The report appears as results.md and results.json, anew after each part.

--dry-run does the same with NumPy on the library that ATTN_CUDA_PATH names, the interpreter of PTX: it proves this program, and no time.
"""
import argparse
import ctypes
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
F32, F16, BF16, I32 = 0, 1, 2, 3
HALVES = {"bf16": BF16, "f16": F16}
# Relative L2 errors. One rounding to bf16 is 2^-9; a model's weights and rows are rounded, too.
BOUNDS = {"attention": 5e-3, "decoding": 5e-3, "linear": 5e-3, "vit": 2e-2, "bert": 2e-2, "gpt2": 2e-2}
SEED = 1
# Peers that are compiled for each shape, not past this share of the time.
SLOW_TO_MAKE, COMPILE_SHARE = ("FlexAttention", "torch.compile"), 0.6


# ---- Attn's C API -----------------------------------------------------------------------------------------------------------------------


class Tensor(ctypes.Structure):
    """attn_tensor"""

    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 8),
                ("strides", ctypes.c_void_p), ("device_kind", ctypes.c_int32), ("device_index", ctypes.c_int32)]


class ParameterInfo(ctypes.Structure):
    """attn_parameter_info"""

    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("layers", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 8), ("location", ctypes.c_char_p)]


def signatures(api):
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
        ("attn_cache_truncate", i32, [pointer, i32, i64, text]),
        ("attn_infer_shapes", i32, [pointer, i32, tensors, tensors, text]),
        ("attn_run", i32, [pointer, i32, tensors, tensors, text]),
        ("attn_message_free", None, [pointer]),
    ]:
        function = getattr(api, name)
        function.restype, function.argtypes = result, arguments


class Model:
    """An artifact on GPU 0, with random weights, on the device's stream."""

    def __init__(self, path, symbol, device):
        self.api, self.device = ctypes.CDLL(str(path)), device
        signatures(self.api)
        self.model, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        tables = ctypes.addressof(ctypes.c_char.in_dll(self.api, symbol))
        self.call("attn_model_create", tables, None, ctypes.byref(self.model))
        self.call("attn_context_create", self.model, 0, ctypes.byref(self.context))
        self.call("attn_context_set_device", self.context, 2, 0)
        self.call("attn_context_set_stream", self.context, device.stream)
        if self.api.attn_model_parameter_count(self.model):
            self.call("attn_model_bind_random", self.model, SEED)

    def call(self, name, *arguments):
        message = ctypes.c_char_p()
        if getattr(self.api, name)(*arguments, ctypes.byref(message)):
            text = (message.value or b"no memory").decode()
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


class Buffer:
    """Memory of the device; `value` is what owns it."""

    def __init__(self, pointer, shape, dtype, value):
        self.pointer, self.shape, self.dtype, self.value = pointer, tuple(shape), dtype, value


def tensor_of(buffer):
    tensor = Tensor(buffer.pointer, buffer.dtype, len(buffer.shape))
    tensor.shape[: len(buffer.shape)] = buffer.shape
    tensor.device_kind = 2
    return tensor


# ---- Devices: PyTorch's, and the interpreter of PTX ---------------------------------------------------------------------------------------


def bits_of_half(values, dtype):
    if dtype == F16:
        return np.ascontiguousarray(values, np.float16).view(np.uint16)
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


class Torch:
    """GPU 0 through PyTorch, on a stream of its own."""

    rounds, least, budget = 30, 5e-3, 2.0

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError("PyTorch finds no GPU")
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.cuda.set_device(0)
        side = torch.cuda.Stream()
        torch.cuda.set_stream(side)
        self.stream = side.cuda_stream
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

    def time(self, call, count):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / count

    def describe(self):
        torch = self.torch
        about = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
        try:
            import triton

            about["triton"] = triton.__version__
        except ImportError as error:
            about["triton"] = str(error)
        return about


class Interpreter:
    """The interpreter of PTX in the driver's place, and NumPy."""

    stream = 1  # CU_STREAM_LEGACY
    rounds, least, budget = 1, 0.0, 0.0

    def __init__(self):
        path = os.environ.get("ATTN_CUDA_PATH", "")
        if not os.path.exists(path):
            raise RuntimeError("ATTN_CUDA_PATH names no interpreter of PTX")
        self.driver = ctypes.CDLL(os.path.join(path, "libcuda.so.1") if os.path.isdir(path) else path)
        self.driver.cuMemcpyHtoDAsync_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self.driver.cuMemcpyDtoHAsync_v2.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p]
        self.ops = NumpyOps()

    def put(self, values, dtype):
        values = bits_of_half(values, dtype) if dtype in (F16, BF16) else np.ascontiguousarray(values)
        buffer = self.empty(values.shape, dtype)
        if self.driver.cuMemcpyHtoDAsync_v2(buffer.pointer, values.ctypes.data, values.nbytes, None):
            raise RuntimeError("a copy to the device failed")
        self.wait()
        return buffer

    def empty(self, shape, dtype):
        pointer = ctypes.c_uint64()
        if self.driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(math.prod(shape) * (2 if dtype in (F16, BF16) else 4))):
            raise RuntimeError("no memory on the device")
        return Buffer(pointer.value, shape, dtype, None)

    def wait(self):
        if self.driver.cuStreamSynchronize(None):
            raise RuntimeError("a kernel or a copy failed")

    def bits(self, buffer):
        values = np.empty(buffer.shape, np.uint16 if buffer.dtype in (F16, BF16) else np.uint32)
        if self.driver.cuMemcpyDtoHAsync_v2(values.ctypes.data, buffer.pointer, values.nbytes, None):
            raise RuntimeError("a copy from the device failed")
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

    def time(self, call, count):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        self.wait()
        return 1e3 * (time.perf_counter() - begin) / count

    def describe(self):
        return {"gpu": "interpreter", "numpy": np.__version__}


# ---- What models are made of, in NumPy (f32) and PyTorch (any type) -----------------------------------------------------------------------


class NumpyOps:
    def linear(self, x, weight, bias=None):
        y = x @ weight.T
        return y if bias is None else y + bias

    def layer_norm(self, x, weight, bias, eps):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + eps) * weight + bias

    def gelu(self, x, is_tanh):
        if is_tanh:
            return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[np.float32])(x / math.sqrt(2)))

    def attention(self, q, k, v, is_causal=False, mask=None):
        scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
        if is_causal:
            mask = np.tril(np.ones(scores.shape[-2:], bool))
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v

    def keys_inside(self, lengths, count):
        return (np.arange(count) < lengths[:, None])[:, None, None, :]

    tanh = staticmethod(np.tanh)
    concatenate = staticmethod(np.concatenate)
    permute = staticmethod(np.transpose)

    def repeat(self, x, count):
        return np.broadcast_to(x, (count, *x.shape))


class TorchOps:
    def __init__(self, torch):
        self.torch, self.functions = torch, torch.nn.functional
        self.linear, self.tanh = self.functions.linear, torch.tanh

    def layer_norm(self, x, weight, bias, eps):
        return self.functions.layer_norm(x, weight.shape, weight, bias, eps)

    def gelu(self, x, is_tanh):
        return self.functions.gelu(x, approximate="tanh" if is_tanh else "none")

    def attention(self, q, k, v, is_causal=False, mask=None):
        return self.functions.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)

    def keys_inside(self, lengths, count):
        return (self.torch.arange(count, device=lengths.device) < lengths[:, None])[:, None, None, :]

    def concatenate(self, parts, axis):
        return self.torch.cat(parts, dim=axis)

    def permute(self, x, axes):
        return x.permute(axes)

    def repeat(self, x, count):
        return x.expand(count, *x.shape)


def heads_of(ops, x, heads):
    """[B, T, H * E] -> [B, H, T, E]"""
    return ops.permute(x.reshape(x.shape[0], x.shape[1], heads, -1), (0, 2, 1, 3))


def joined(ops, x):
    """[B, H, T, E] -> [B, T, H * E]"""
    x = ops.permute(x, (0, 2, 1, 3))
    return x.reshape(x.shape[0], x.shape[1], -1)


def thirds(x):
    width = x.shape[-1] // 3
    return x[..., :width], x[..., width : 2 * width], x[..., 2 * width :]


def vit(ops, w, sizes, image):
    p, heads, width = sizes.get("P", 16), sizes.get("H", 12), w["norm.weight"].shape[0]
    batch, channels, height, columns = image.shape
    patches = image.reshape(batch, channels, height // p, p, columns // p, p)
    patches = ops.permute(patches, (0, 2, 4, 1, 3, 5)).reshape(batch, (height // p) * (columns // p), -1)
    x = ops.linear(patches, w["patch_embed.proj.weight"].reshape(width, -1), w["patch_embed.proj.bias"])
    x = ops.concatenate([ops.repeat(w["cls_token"].reshape(1, width), batch), x], 1) + w["pos_embed"].reshape(-1, width)
    for n in range(sizes.get("L", 12)):
        of = lambda name: (w[f"blocks.{n}.{name}.weight"], w[f"blocks.{n}.{name}.bias"])
        qkv = ops.linear(ops.layer_norm(x, *of("norm1"), 1e-6), *of("attn.qkv"))
        y = ops.attention(*[heads_of(ops, part, heads) for part in thirds(qkv)])
        x = x + ops.linear(joined(ops, y), *of("attn.proj"))
        y = ops.linear(ops.layer_norm(x, *of("norm2"), 1e-6), *of("mlp.fc1"))
        x = x + ops.linear(ops.gelu(y, False), *of("mlp.fc2"))
    return [ops.linear(ops.layer_norm(x, w["norm.weight"], w["norm.bias"], 1e-6)[:, 0], w["head.weight"], w["head.bias"])]


def bert(ops, w, sizes, ids, segments, lengths):
    heads, count = sizes.get("H", 12), ids.shape[1]
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:count]
    x = x + w["embeddings.token_type_embeddings.weight"][segments]
    x = ops.layer_norm(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], 1e-12)
    inside = ops.keys_inside(lengths, count)
    for n in range(sizes.get("L", 12)):
        of = lambda name: (w[f"encoder.layer.{n}.{name}.weight"], w[f"encoder.layer.{n}.{name}.bias"])
        q, k, v = (heads_of(ops, ops.linear(x, *of(f"attention.self.{part}")), heads) for part in ("query", "key", "value"))
        y = ops.linear(joined(ops, ops.attention(q, k, v, mask=inside)), *of("attention.output.dense"))
        x = ops.layer_norm(x + y, *of("attention.output.LayerNorm"), 1e-12)
        y = ops.linear(ops.gelu(ops.linear(x, *of("intermediate.dense")), False), *of("output.dense"))
        x = ops.layer_norm(x + y, *of("output.LayerNorm"), 1e-12)
    return [x, ops.tanh(ops.linear(x[:, 0], w["pooler.dense.weight"], w["pooler.dense.bias"]))]


def gpt2(ops, w, sizes, ids):
    """The logits behind the last position."""
    heads, count = sizes.get("H", 12), ids.shape[1]
    x = w["wte.weight"][ids] + w["wpe.weight"][:count]
    for n in range(sizes.get("L", 12)):
        norm = lambda name: (w[f"h.{n}.{name}.weight"], w[f"h.{n}.{name}.bias"])
        of = lambda name: (ops.permute(w[f"h.{n}.{name}.weight"], (1, 0)), w[f"h.{n}.{name}.bias"])
        qkv = ops.linear(ops.layer_norm(x, *norm("ln_1"), 1e-5), *of("attn.c_attn"))
        y = ops.attention(*[heads_of(ops, part, heads) for part in thirds(qkv)], is_causal=True)
        x = x + ops.linear(joined(ops, y), *of("attn.c_proj"))
        y = ops.linear(ops.layer_norm(x, *norm("ln_2"), 1e-5), *of("mlp.c_fc"))
        x = x + ops.linear(ops.gelu(y, True), *of("mlp.c_proj"))
    return [ops.linear(ops.layer_norm(x[:, -1], w["ln_f.weight"], w["ln_f.bias"], 1e-5), w["wte.weight"])]


# ---- Checking and timing ------------------------------------------------------------------------------------------------------------------


def check(device, run, outputs, expected, bound):
    """Errors against the reference; whether runs give the same bits (the third and later ones are CUDA graphs)."""
    seen = []
    for _ in range(4):
        run()
        device.wait()
        seen.append([device.bits(buffer) for buffer in outputs])
    errors = [device.error(device.exact(buffer), wanted) for buffer, wanted in zip(outputs, expected)]
    same = all((a == b).all() for later in seen[1:] for a, b in zip(seen[0], later))
    return {"error": max(errors), "bound": bound, "good": bool(max(errors) <= bound), "same_bits": bool(same)}


def contest(device, contestants):
    """Medians of rounds in which all that work take turns; of the others, why they do not."""
    times, counts, problems = {}, {}, {}
    for name, make in contestants.items():
        try:
            if name in SLOW_TO_MAKE and time.time() > float(os.environ.get("ATTN_BENCH_COMPILE_UNTIL", "inf")):
                raise RuntimeError("no time is left to compile it")
            call = make()
            for _ in range(3):
                call()
            device.wait()
            once = device.time(call, 1)
            counts[name] = (call, min(50, max(1, math.ceil(1e3 * device.least / max(once, 1e-3)))))
            times[name] = []
        except Exception as error:  # whatever a peer does, the others go on
            problems[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
            if name == "attn":
                raise
    begin = time.perf_counter()
    for done in range(device.rounds):
        if done >= 5 and time.perf_counter() - begin > device.budget:
            break
        for name, (call, count) in counts.items():
            times[name].append(device.time(call, count))
    found = {name: {"median_ms": statistics.median(list), "minimum_ms": min(list), "rounds": len(list)} for name, list in times.items()}
    return {**found, **{name: {"problem": text} for name, text in problems.items()}}


def compiled(torch, function, *arguments):
    made = torch.compile(function)
    return lambda: made(*arguments)


def graphed(torch, function, *arguments):
    """A CUDA graph of a function, as Attn's runs are one."""
    for _ in range(3):
        function(*arguments)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function(*arguments)
    return graph.replay


def triton_attention(q, k, v, is_causal):
    """Triton's tutorial 06, whose file TRITON_TUTORIAL names: it is no part of the package."""
    path = os.environ.get("TRITON_TUTORIAL", str(HERE / "06-fused-attention.py"))
    if not os.path.exists(path):
        raise RuntimeError("Triton's 06-fused-attention.py is not there: TRITON_TUTORIAL names it")
    spec = importlib.util.spec_from_file_location("fused_attention", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scale, function = 1 / math.sqrt(q.shape[-1]), module.attention
    try:
        function(q, k, v, is_causal, scale, False)  # whether warps are specialised, since Triton 3.4
        return lambda: function(q, k, v, is_causal, scale, False)
    except TypeError:
        return lambda: function(q, k, v, is_causal, scale)


def attention_peers(torch, q, k, v, is_causal, **options):
    def sdpa(backend):
        def make():
            from torch.nn.attention import SDPBackend, sdpa_kernel

            def call():
                with sdpa_kernel([getattr(SDPBackend, backend)]):
                    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal, **options)

            return call

        return make

    def flex():
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        function = torch.compile(flex_attention)
        length = q.shape[2]
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length) if is_causal else None
        return lambda: function(q, k, v, block_mask=mask, **options)

    def flash3():
        from flash_attn_interface import flash_attn_func

        rows = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
        return lambda: flash_attn_func(*rows, causal=is_causal)

    return {"cuDNN": sdpa("CUDNN_ATTENTION"), "FlashAttention-2": sdpa("FLASH_ATTENTION"), "FlashAttention-3": flash3, "FlexAttention": flex,
            "Triton": lambda: triton_attention(q, k, v, is_causal)}


def measure_attention(device, model, artifact, run, numbers):
    b, h, t, e = (artifact["sizes"][dim] for dim in "BHTE")
    is_causal = run["entry"] == "masked"
    inputs = [device.put(numbers.standard_normal((b, h, t, e), np.float32), HALVES[artifact["half"]]) for _ in range(3)]
    expected = []
    # The reference a few heads at a time: its scores are not to fill the memory.
    exact = [device.exact(buffer).reshape(b * h, 1, t, e) for buffer in inputs]
    step = max(1, (1 << 28) // (t * t))
    for begin in range(0, b * h, step):
        expected.append(device.ops.attention(*[x[begin : begin + step] for x in exact], is_causal=is_causal))
    expected = device.ops.concatenate(expected, 0).reshape(b, h, t, e)
    call, outputs = model.prepare(run["entry"], inputs)
    result = check(device, call, outputs, [expected], BOUNDS["attention"])
    del exact, expected
    peers = attention_peers(device.torch, *[buffer.value for buffer in inputs], is_causal) if isinstance(device, Torch) else {}
    result["times"] = contest(device, {"attn": lambda: call, **peers})
    result["flop"] = 4 * b * h * t * t * e / (2 if is_causal else 1)
    result["label"] = f"{b} x {h} x {t} x {e}" + (", causal" if is_causal else "") + suffix(artifact)
    return result


def suffix(artifact):
    return "" if artifact["half"] == "bf16" else f", {artifact['half']}"


def measure_decoding(device, model, artifact, run, numbers):
    """A few tokens, heads in groups that share keys, all keys: reading these is what takes time."""
    b, h, g, t, s, e = (artifact["sizes"][dim] for dim in "BHGTSE")
    inputs = [device.put(numbers.standard_normal(shape, np.float32), HALVES[artifact["half"]]) for shape in ((b, h, t, e), (b, g, s, e), (b, g, s, e))]
    exact = [device.exact(buffer) for buffer in inputs]
    grouped = exact[0].reshape(b, g, h // g * t, e)
    expected = device.ops.attention(grouped, *exact[1:]).reshape(b, h, t, e)
    call, outputs = model.prepare("decode", inputs)
    result = check(device, call, outputs, [expected], BOUNDS["decoding"])
    del exact, grouped, expected
    peers = {}
    if isinstance(device, Torch):
        q, k, v = (buffer.value for buffer in inputs)
        peers = {name: make for name, make in attention_peers(device.torch, q, k, v, False, enable_gqa=True).items() if name != "Triton"}
    result["times"] = contest(device, {"attn": lambda: call, **peers})
    result["bytes"] = 2 * (2 * b * g * s * e + 2 * b * h * t * e)
    result["label"] = f"{b} x {h} heads in {g}, {t} of {s} x {e}" + suffix(artifact)
    return result


def measure_linear(device, model, artifact, run, numbers):
    m, k, n = (artifact["sizes"][dim] for dim in "MKN")
    x = device.put(numbers.standard_normal((m, k), np.float32), HALVES[artifact["half"]])
    weights = device.weights(model.weights())
    weight, bias = weights["w.weight"], weights["w.bias"]
    call, outputs = model.prepare("apply", [x])
    result = check(device, call, outputs, [device.ops.linear(device.exact(x), weight, bias)], BOUNDS["linear"])
    peers = {}
    if isinstance(device, Torch):
        torch, functions = device.torch, device.torch.nn.functional
        narrow, short = weight.to(x.value.dtype), bias.to(x.value.dtype)
        peers = {"cuBLAS": lambda: lambda: functions.linear(x.value, narrow, short),
                 "torch.compile": lambda: compiled(torch, lambda *given: functions.linear(*given), x.value, narrow, short)}
    result["times"] = contest(device, {"attn": lambda: call, **peers})
    result["flop"] = 2 * m * k * n
    result["label"] = f"{m} x {k} -> {n}" + suffix(artifact)
    return result


def model_peers(device, function, weights, artifact, inputs):
    """PyTorch in halves: op by op, as a CUDA graph, compiled."""
    if not isinstance(device, Torch):
        return {}
    torch, half = device.torch, device.types[HALVES[artifact["half"]]]
    narrow = {name: tensor.to(half) for name, tensor in weights.items()}
    given = [x.long() if x.dtype == torch.int32 else x.to(half) for x in inputs]
    plain = lambda *arguments: function(device.ops, narrow, artifact["sizes"], *arguments)
    return {"PyTorch": lambda: lambda: plain(*given), "PyTorch, graph": lambda: graphed(torch, plain, *given),
            "torch.compile": lambda: compiled(torch, plain, *given)}


def measure_vit(device, model, artifact, run, numbers):
    sizes, batch = artifact["sizes"], run["B"]
    side = sizes.get("P", 16) * sizes.get("Y", 14)
    image = device.put(numbers.standard_normal((batch, 3, side, side), np.float32), F32)
    weights = device.weights(model.weights())
    call, outputs = model.prepare("classify", [image])
    result = check(device, call, outputs, vit(device.ops, weights, sizes, device.exact(image)), BOUNDS["vit"])
    result["times"] = contest(device, {"attn": lambda: call, **model_peers(device, vit, weights, artifact, [image.value])})
    result["label"] = f"ViT-B/16, batch {batch}" + suffix(artifact)
    return result


def measure_bert(device, model, artifact, run, numbers):
    sizes, batch, count = artifact["sizes"], run["B"], run["T"]
    ids = numbers.integers(0, sizes.get("V", 30522), (batch, count), np.int32)
    segments = numbers.integers(0, 2, (batch, count), np.int32)
    lengths = numbers.integers(count // 2, count + 1, batch, np.int32)
    inputs = [device.put(values, I32) for values in (ids, segments, lengths)]
    weights = device.weights(model.weights())
    call, outputs = model.prepare("encode", inputs)
    result = check(device, call, outputs, bert(device.ops, weights, sizes, *[device.exact(x) for x in inputs]), BOUNDS["bert"])
    result["times"] = contest(device, {"attn": lambda: call, **model_peers(device, bert, weights, artifact, [x.value for x in inputs])})
    result["label"] = f"BERT-base, batch {batch}, {count} tokens" + suffix(artifact)
    return result


def measure_gpt2(device, model, artifact, run, numbers):
    """The prompt, and one token behind it; the cache is as it was after each."""
    sizes, batch, count = artifact["sizes"], run["B"], run["T"]
    ids = numbers.integers(0, sizes.get("V", 50257), (batch, count + 1), np.int32)
    prompt, token = device.put(ids[:, :count], I32), device.put(ids[:, count:], I32)
    weights = device.weights(model.weights())
    call, outputs = model.prepare("prefill", [prompt], lambda: model.truncate(0))
    prefill = check(device, call, outputs, gpt2(device.ops, weights, sizes, device.exact(prompt)), BOUNDS["gpt2"])
    prefill["times"] = contest(device, {"attn": lambda: call, **model_peers(device, gpt2, weights, artifact, [prompt.value])})
    prefill["label"] = f"GPT-2, batch {batch}, {count} tokens" + suffix(artifact)
    once, _ = model.prepare("prefill", [prompt])
    once()
    call, outputs = model.prepare("decode", [token], lambda: model.truncate(count))
    decode = check(device, call, outputs, gpt2(device.ops, weights, sizes, device.exact(device.put(ids, I32))), BOUNDS["gpt2"])
    decode["times"] = contest(device, {"attn": lambda: call})
    model.truncate(0)
    decode["label"] = f"GPT-2, batch {batch}, a token behind {count}" + suffix(artifact)
    return [prefill, decode]


MEASURE = {"attention": measure_attention, "decoding": measure_decoding, "linear": measure_linear, "vit": measure_vit, "bert": measure_bert, "gpt2": measure_gpt2}


# ---- Parts in processes of their own, and the report ----------------------------------------------------------------------------------------


def work(parts, is_dry):
    """Does parts one after the other and prints a line of JSON for each; ends at the first failure, which may have spoilt the GPU."""
    try:
        device = Interpreter() if is_dry else Torch()
    except Exception as error:
        print(json.dumps({"nothing": f"{type(error).__name__}: {error}"}), flush=True)
        sys.exit(1)
    print(json.dumps({"about": device.describe()}), flush=True)
    artifacts = {artifact["name"]: artifact for artifact in json.loads((HERE / "artifacts.json").read_text())}
    for name, index in parts:
        artifact = artifacts[name]
        line = {"part": [name, index], "kind": artifact["kind"]}
        try:
            model = Model(HERE / f"{name}.so", artifact["symbol"], device)
            results = MEASURE[artifact["kind"]](device, model, artifact, artifact["runs"][index], np.random.default_rng(SEED))
            line["results"] = results if isinstance(results, list) else [results]
            model.close()
        except Exception as error:
            line["problem"] = f"{type(error).__name__}: {error}"
            traceback.print_exc()
        print(json.dumps(line), flush=True)
        if "problem" in line:
            sys.exit(1)


def clocks():
    fields = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,temperature.gpu,utilization.gpu"
    try:
        done = subprocess.run(["nvidia-smi", "-i", "0", f"--query-gpu={fields}", "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
        return dict(zip(fields.split(","), done.stdout.strip().split(", "))) if done.returncode == 0 else {"problem": done.stdout + done.stderr}
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"problem": str(error)}


def row(result):
    times = result["times"]
    attn = times["attn"]["median_ms"]
    rate = f"{result['flop'] / attn * 1e-9:.1f} TFLOP/s" if "flop" in result else "-"
    rate = f"{result['bytes'] / attn * 1e-6:.0f} GB/s" if "bytes" in result else rate
    verdict = f"{result['error']:.1e}" + ("" if result["good"] else f" **past {result['bound']:.0e}**")
    peers = [f"{name} {of['median_ms']:.4f} ({of['median_ms'] / attn:.2f})" for name, of in times.items() if name != "attn" and "median_ms" in of]
    return f"| {result['label']} | {verdict} | {'yes' if result['same_bits'] else '**no**'} | {attn:.4f} | {rate} | {', '.join(peers) or '-'} |"


def report(state):
    lines = ["# Attn on a GPU", ""]
    lines += [f"- {key}: {value}" for key, value in state["about"].items()]
    lines += [f"- {when}: {', '.join(f'{k} {v}' for k, v in seen.items())}" for when, seen in (("before", state["before"]), ("after", state.get("after", {})))]
    lines += ["", "Medians in ms by CUDA events, in turns, on random numbers; in brackets how many times Attn's time. Errors are relative L2 against f32.", "",
              "| what | error | same bits | Attn ms | rate | others ms |", "| --- | ---: | --- | ---: | ---: | --- |"]
    problems = []
    for line in state["lines"]:
        name = f"{line['part'][0]} run {line['part'][1]}"
        for result in line.get("results", []):
            lines.append(row(result))
            problems += [f"{result['label']}: {peer}: {of['problem']}" for peer, of in result["times"].items() if "problem" in of]
        if "problem" in line:
            lines.append(f"| {name} | **failed** | | | | |")
            problems.append(f"{name}: {line['problem']}")
    lines += ["", "## What did not run", ""] + [f"- {problem}" for problem in problems] if problems else []
    if "instructions" in state:
        lines += ["", "## Instructions recorded", ""] + [f"- {line}" for line in state["instructions"]]
    return "\n".join(lines) + "\n"


def save(folder, state):
    (folder / "results.json").write_text(json.dumps(state, indent=1) + "\n")
    (folder / "results.md").write_text(report(state))


def supervise(args, parts):
    """Starts workers until all parts are done or the time is over. A part that hangs or kills its worker is a failure of that part."""
    state = {"about": {}, "before": {} if args.dry_run else clocks(), "lines": []}
    deadline, nothing = time.monotonic() + args.seconds, None
    compile_until = time.time() + COMPILE_SHARE * args.seconds
    while parts and not nothing and time.monotonic() < deadline:
        command = [sys.executable, str(Path(__file__).resolve()), "--work", json.dumps(parts)] + ["--dry-run"] * args.dry_run
        environment = {**os.environ, "ATTN_BENCH_COMPILE_UNTIL": str(compile_until)}
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        done = 0
        timer = Alarm(worker, min(args.part_seconds, deadline - time.monotonic()))
        for text in worker.stdout:
            timer.restart(min(args.part_seconds, deadline - time.monotonic()))
            try:
                line = json.loads(text)
            except ValueError:
                continue  # a library's own words
            if "about" in line or "nothing" in line:
                state["about"], nothing = line.get("about", {}), line.get("nothing")
                continue
            done += 1
            state["lines"].append(line)
            print(f"{' run '.join(map(str, line['part']))}: {'failed' if 'problem' in line else 'done'}", file=sys.stderr)
            if not args.dry_run:
                state["after"] = clocks()
            save(args.out, state)
        code = worker.wait()
        timer.stop()
        if code and not nothing and (done == 0 or "problem" not in state["lines"][-1]):
            state["lines"].append({"part": parts[done], "problem": f"its process ended with {code}" + (" (too slow)" if timer.fired else "")})
            done += 1
        parts = parts[done:]
    for part in parts:
        state["lines"].append({"part": part, "problem": nothing or "there was no time left for it"})
    if not args.only:
        state["instructions"] = record_instructions(args.out)
    save(args.out, state)
    print(report(state))
    return all("problem" not in line and all(result["good"] and result["same_bits"] for result in line["results"]) for line in state["lines"])


def record_instructions(folder):
    """What single PTX instructions compute here, for instructions.py compare; what it says."""
    command = [sys.executable, str(HERE / "instructions.py"), "record", str(folder / "instructions.npz")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return (done.stdout + done.stderr).strip().splitlines() or [f"ended with {done.returncode}"]
    except (OSError, subprocess.TimeoutExpired) as error:
        return [str(error)]


class Alarm:
    """Kills a process that says nothing for too long."""

    def __init__(self, process, seconds):
        import threading

        self.make, self.process, self.fired = threading.Timer, process, False
        self.restart(seconds)

    def fire(self):
        self.fired = True
        self.process.kill()

    def restart(self, seconds):
        self.stop()
        self.timer = self.make(max(seconds, 0.1), self.fire)
        self.timer.start()

    def stop(self):
        if getattr(self, "timer", None):
            self.timer.cancel()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=450, help="in all")
    parser.add_argument("--part-seconds", type=float, default=120, help="of a part, until it counts as hung")
    parser.add_argument("--only", default="", help="parts whose name holds this")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(json.loads(args.work), args.dry_run)
        return
    args.out.mkdir(parents=True, exist_ok=True)
    artifacts = json.loads((HERE / "artifacts.json").read_text())
    parts = [[artifact["name"], index] for artifact in artifacts if args.only in artifact["name"] for index in range(len(artifact["runs"]))]
    sys.exit(0 if supervise(args, parts) else 1)


main()

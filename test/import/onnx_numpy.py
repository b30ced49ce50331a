# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of ONNX, node by node in NumPy with doubles, by their public definitions: what a graph computes."""
import math

import numpy as np
from onnx import TensorProto, numpy_helper

DTYPES = {TensorProto.FLOAT: np.float64, TensorProto.DOUBLE: np.float64, TensorProto.FLOAT16: np.float64, TensorProto.INT64: np.int64,
          TensorProto.INT32: np.int64, TensorProto.BOOL: np.bool_}
erf = np.vectorize(math.erf, otypes=[float])


def softmax(x, axis=-1):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)


def windows(x, kernel, strides, pads):
    """[B, C, Y, X] -> [B, C, places of Y, of X, P, Q], for one axis or two."""
    rank = len(kernel)
    x = np.pad(x, [(0, 0), (0, 0)] + [(pads[i], pads[rank + i]) for i in range(rank)])
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=tuple(range(2, 2 + rank)))
    return view[(slice(None), slice(None)) + tuple(slice(None, None, s) for s in strides)]


def conv(x, w, b=None, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, auto_pad=b"NOTSET"):
    rank = x.ndim - 2
    assert group == 1 and (dilations is None or set(dilations) == {1})
    view = windows(x, w.shape[2:], strides or [1] * rank, pads or [0] * 2 * rank)
    y = np.tensordot(view, w, ([1] + list(range(2 + rank, 2 + 2 * rank)), list(range(1, 2 + rank))))
    y = np.moveaxis(y, -1, 1)
    return y if b is None else y + b.reshape(1, -1, *[1] * rank)


def attention(q, k, v, mask=None, is_causal=0, q_num_heads=0, kv_num_heads=0, scale=None, softcap=0):
    flat = q.ndim == 3
    if flat:
        q, k, v = (x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3) for x, n in ((q, q_num_heads), (k, kv_num_heads), (v, kv_num_heads)))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    y = softmax(scores) @ v
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1) if flat else y


def rotary(x, cos, sin, positions=None, interleaved=0, num_heads=0, rotary_embedding_dim=0):
    flat = x.ndim == 3
    if flat:
        x = x.reshape(*x.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)
    if positions is not None:
        cos, sin = cos[positions], sin[positions]
    cos, sin = cos[:, None], sin[:, None]
    count = rotary_embedding_dim or x.shape[-1]
    part, rest = x[..., :count], x[..., count:]
    a, b = (part[..., 0::2], part[..., 1::2]) if interleaved else np.split(part, 2, -1)
    real, imaginary = a * cos - b * sin, a * sin + b * cos
    part = np.stack([real, imaginary], -1).reshape(part.shape) if interleaved else np.concatenate([real, imaginary], -1)
    y = np.concatenate([part, rest], -1)
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1) if flat else y


def heads_of(x, count):
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def attention_behind(q, k, v, past_k=None, past_v=None, bias=None, causal=True, scale=None, window=None, cap=0):
    """Queries [B, H, T, E] over past and new keys and values: the result [B, T, H * E], and all keys and values."""
    k, v = (x if past is None else np.concatenate([past, x], 2) for x, past in ((k, past_k), (v, past_v)))
    scores = q @ np.repeat(k, q.shape[1] // k.shape[1], 1).transpose(0, 1, 3, 2) * (scale or q.shape[-1] ** -0.5)
    scores = cap * np.tanh(scores / cap) if cap else scores
    scores = scores if bias is None else scores + bias
    i, j = np.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2], np.arange(k.shape[2])
    seen = np.ones(scores.shape[-2:], bool) if not causal else j <= i
    seen = seen if window is None else seen & (i - j < window)
    y = softmax(np.where(seen, scores, -np.inf)) @ np.repeat(v, q.shape[1] // v.shape[1], 1)
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1), k, v


def packed_attention(x, w, b=None, mask=None, past=None, added=None, num_heads=0, unidirectional=0, scale=None, mask_filter_value=-10000.0):
    """com.microsoft.Attention; masks are [batch, keys]."""
    parts = np.split(x @ w + (0 if b is None else b), 3, -1)
    past = (None, None) if past is None else past
    y, k, v = several_heads(*parts, None, mask, added, *past, num_heads=num_heads, unidirectional=unidirectional, scale=scale,
                            mask_filter_value=mask_filter_value)
    return y, np.stack([k, v])


def several_heads(q, k, v, b=None, mask=None, added=None, past_k=None, past_v=None, num_heads=0, unidirectional=0, scale=None,
                  mask_filter_value=-10000.0):
    """com.microsoft.MultiHeadAttention."""
    if b is not None:
        q, k, v = (x + part for x, part in zip((q, k, v), np.split(b, 3)))
    bias = 0.0 if mask is None else ((1 - mask) * mask_filter_value)[:, None, None]
    bias = bias if added is None else bias + added
    return attention_behind(*(heads_of(x, num_heads) for x in (q, k, v)), past_k, past_v, bias, unidirectional, scale)


def group_query(q, k, v, past_k, past_v, lengths, total, cos=None, sin=None, num_heads=0, kv_num_heads=0, do_rotary=0, rotary_interleaved=0, scale=None,
                local_window_size=-1, softcap=0):
    """com.microsoft.GroupQueryAttention, whose positions stand behind the past."""
    if k is None:
        each = q.shape[-1] // (num_heads + 2 * kv_num_heads)
        q, k, v = np.split(q, [num_heads * each, (num_heads + kv_num_heads) * each], -1)
    q, k, v = heads_of(q, num_heads), heads_of(k, kv_num_heads), heads_of(v, kv_num_heads)
    if do_rotary:
        places = np.broadcast_to(past_k.shape[2] + np.arange(q.shape[2]), (q.shape[0], q.shape[2]))
        q, k = (rotary(x, cos, sin, places, rotary_interleaved, rotary_embedding_dim=2 * cos.shape[-1]) for x in (q, k))
    return attention_behind(q, k, v, past_k, past_v, None, True, scale, local_window_size if local_window_size > 0 else None, softcap)


def skip_simple(x, skip, w, bias=None, epsilon=1e-12):
    total = x + skip + (0 if bias is None else bias)
    return total / np.sqrt((total * total).mean(-1, keepdims=True) + epsilon) * w, None, None, total


def skip_norm(x, skip, w, b=None, bias=None, epsilon=1e-12):
    return layernorm(x + skip + (0 if bias is None else bias), w, b, epsilon=epsilon)


def layernorm(x, w, b=None, axis=-1, epsilon=1e-5, stash_type=1):
    axes = tuple(range(axis % x.ndim, x.ndim))
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon) * w
    return y if b is None else y + b


def reshape(x, shape, allowzero=0):
    return x.reshape([x.shape[i] if s == 0 and not allowzero else s for i, s in enumerate(shape)])


def slices(x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        end = int(end)
        index[axis] = slice(int(start), None if step < 0 and end < -x.shape[axis] else min(end, 1 << 40), int(step))
    return x[tuple(index)]


def split(x, lengths=None, axis=0, num_outputs=None, count=None):
    if lengths is None:
        each = -(-x.shape[axis] // count)
        lengths = [min(each, x.shape[axis] - i * each) for i in range(count)]
    return np.split(x, np.cumsum(lengths)[:-1], axis)


def unsqueeze(x, axes):
    for axis in sorted(int(a) % (x.ndim + len(axes)) for a in axes):
        x = np.expand_dims(x, axis)
    return x


def reduce(function):
    def call(x, axes=None, keepdims=1, noop_with_empty_axes=0):
        return function(x, axis=None if axes is None else tuple(int(a) for a in np.atleast_1d(axes)), keepdims=bool(keepdims))
    return call


def trilu(x, k=0, upper=1):
    return np.triu(x, int(k)) if upper else np.tril(x, int(k))


def gelu(x, approximate=b"none"):
    if approximate == b"tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    return x * (1 + erf(x / math.sqrt(2))) / 2


def gemm(a, b, c=0, transA=0, transB=0, alpha=1, beta=1):
    return alpha * (a.T if transA else a) @ (b.T if transB else b) + beta * c


def divide(a, b):
    return a // b if a.dtype.kind == "i" and b.dtype.kind == "i" else a / b


OPERATORS = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": divide, "Pow": np.power, "Sqrt": np.sqrt, "Exp": np.exp, "Log": np.log,
    "Tanh": np.tanh, "Erf": erf, "Neg": np.negative, "Abs": np.abs, "Sin": np.sin, "Cos": np.cos, "Floor": np.floor, "Identity": lambda x: x,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Relu": lambda x: np.maximum(x, 0), "Reciprocal": lambda x: 1 / x, "Not": np.logical_not,
    "And": np.logical_and, "Or": np.logical_or, "Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal, "Where": np.where, "IsNaN": np.isnan, "MatMul": np.matmul, "Gemm": gemm, "Softmax": softmax,
    "LayerNormalization": layernorm, "Gelu": gelu, "Reshape": reshape, "Slice": slices, "Split": split, "Trilu": trilu, "Conv": conv,
    "RMSNormalization": lambda x, w, axis=-1, epsilon=1e-5, stash_type=1: x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * w,
    "SimplifiedLayerNormalization": lambda x, w, axis=-1, epsilon=1e-5, stash_type=1: x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * w,
    "Transpose": lambda x, perm=None: x.transpose(perm), "Concat": lambda *x, axis: np.concatenate(x, axis), "Unsqueeze": unsqueeze,
    "Squeeze": lambda x, axes=None: x.squeeze(None if axes is None else tuple(int(a) for a in axes)), "Shape": lambda x: np.array(x.shape, np.int64),
    "Flatten": lambda x, axis=1: x.reshape(math.prod(x.shape[:axis]), -1), "Expand": lambda x, shape: x * np.ones([int(s) for s in shape], x.dtype),
    "Gather": lambda x, i, axis=0: np.take(x, i, axis), "ReduceMean": reduce(np.mean), "ReduceSum": reduce(np.sum), "ReduceMax": reduce(np.max),
    "ReduceL2": reduce(lambda x, **how: np.sqrt((x * x).sum(**how))), "Clip": lambda x, low=None, high=None, **how: np.clip(x, low, high),
    "Range": lambda a, b, c: np.arange(a, b, c), "Dropout": lambda x, *rest, **how: x, "Attention": attention, "RotaryEmbedding": rotary,
    "MultiHeadAttention": several_heads, "GroupQueryAttention": group_query, "SkipSimplifiedLayerNormalization": skip_simple, "SkipLayerNormalization": skip_norm, "BiasGelu": lambda x, b: gelu(x + b),
    "FastGelu": lambda x, b=0: gelu(x + b, b"tanh"), "QuickGelu": lambda x, alpha=1.702: x / (1 + np.exp(-alpha * x)),
    "Min": np.minimum, "Max": np.maximum, "Swish": lambda x, alpha=1: x / (1 + np.exp(-alpha * x)), "CumSum": lambda x, axis: np.cumsum(x, int(axis)),
}


def attributes(node):
    values = {}
    for a in node.attribute:
        kind = {1: a.f, 2: a.i, 3: a.s, 6: list(a.floats), 7: list(a.ints), 8: list(a.strings)}
        values[a.name] = numpy_helper.to_array(a.t) if a.type == 4 else kind[a.type]
    return values


def double(value):
    return value.astype(np.float64) if value.dtype.kind == "f" else value


def evaluate(model, inputs):
    """The outputs of a model by their names."""
    values = {name: double(np.asarray(value)) for name, value in inputs.items()}
    compute(model.graph, values)
    return {output.name: values[output.name] for output in model.graph.output}


def compute(graph, values):
    """Adds the values of a graph, whose nodes stand in any order."""
    values.update((t.name, double(numpy_helper.to_array(t))) for t in graph.initializer)
    waiting = list(graph.node)
    while waiting:
        node = next(n for n in waiting if all(not name or name in values for name in n.input))
        waiting.remove(node)
        values.update(zip(node.output, results_of(node, values)))


def results_of(node, values):
    given = [values[name] if name else None for name in node.input]
    if node.op_type == "If":
        branch = next(a.g for a in node.attribute if a.name == ("then_branch" if given[0].all() else "else_branch"))
        inner = dict(values)
        compute(branch, inner)
        return [inner[output.name] for output in branch.output]
    how = attributes(node)
    if node.op_type == "Constant":
        return [double(np.asarray(next(iter(how.values()))))]
    if node.op_type == "ConstantOfShape":
        return [np.full([int(s) for s in given[0]], double(how["value"])[0] if "value" in how else 0.0)]
    if node.op_type == "Cast":
        return [given[0].astype(DTYPES[how["to"]])]
    if node.op_type == "Split":
        return split(*given, axis=how.get("axis", 0), count=len(node.output))
    if node.domain and node.op_type == "Attention":
        return packed_attention(*given, **how)
    result = OPERATORS[node.op_type](*given, **how)
    return result if isinstance(result, tuple) else [result]

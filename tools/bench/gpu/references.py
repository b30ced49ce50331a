# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels and models are held against: the same in NumPy (f32) and PyTorch (any type)."""
import math

import numpy as np


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

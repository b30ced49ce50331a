# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that are recurrences, of hybrids: gated delta nets (Yang et al. 2024, "Gated Delta Networks", equation 10), in NumPy, step by step, and
the names and shapes of their tensors."""
import numpy as np

from numpy_layers import ACTIVATIONS, linear, sigmoid


def sizes_of(c):
    """Heads of keys and of values, their features, and tokens of the convolution."""
    return (c["linear_num_key_heads"], c["linear_num_value_heads"], c["linear_key_head_dim"], c["linear_value_head_dim"], c["linear_conv_kernel_dim"])


def is_recurrent(c, n):
    if "linear_num_key_heads" not in c:
        return False
    return c["layer_types"][n] == "linear_attention" if "layer_types" in c else (n + 1) % c.get("full_attention_interval", 4) != 0


def delta_net_shapes(c, p):
    """By name; `p` is the layer's prefix."""
    (n, m, k, v, taps), d = sizes_of(c), c["hidden_size"]
    mixed = 2 * n * k + m * v
    maps = ({"in_proj_qkvz": mixed + m * v, "in_proj_ba": 2 * m} if c["model_type"] == "qwen3_next" else
            {"in_proj_qkv": mixed, "in_proj_z": m * v, "in_proj_a": m, "in_proj_b": m})
    shapes = {f"{p}linear_attn.{name}.weight": (size, d) for name, size in maps.items()}
    shapes |= {f"{p}linear_attn.{name}": (m,) for name in ("A_log", "dt_bias")}
    return shapes | {f"{p}linear_attn.conv1d.weight": (mixed, 1, taps), f"{p}linear_attn.norm.weight": (v,),
                     f"{p}linear_attn.out_proj.weight": (d, m * v)}


def projected(c, w, p, x):
    """Queries, keys and values side by side, [B, T, ...]; gates, decays and strengths of writing, by head of values."""
    (n, m, k, v, _), (b, t, _) = sizes_of(c), x.shape
    own = lambda name: linear(x, w, p + "linear_attn." + name)
    if c["model_type"] != "qwen3_next":
        return own("in_proj_qkv"), own("in_proj_z"), own("in_proj_a"), own("in_proj_b")
    share = m // n * v  # of a head of keys
    whole, both = own("in_proj_qkvz").reshape(b, t, n, -1), own("in_proj_ba").reshape(b, t, n, -1)
    q, key, value, z = np.split(whole, np.cumsum([k, k, share]), -1)
    beta, a = np.split(both, 2, -1)
    flat = lambda y: y.reshape(b, t, -1)
    return np.concatenate([flat(q), flat(key), flat(value)], -1), flat(z), flat(a), flat(beta)


def delta_net(c, w, p, x, eps):
    (n, m, k, v, taps), (b, t, _) = sizes_of(c), x.shape
    mixed, z, a, beta = projected(c, w, p, x)
    filters = w[p + "linear_attn.conv1d.weight"][:, 0]
    before = np.concatenate([np.zeros((b, taps - 1, mixed.shape[-1])), mixed], 1)
    mixed = ACTIVATIONS[c["hidden_act"]](sum(before[:, i:i + t] * filters[:, i] for i in range(taps)))
    q, key, value = np.split(mixed, [n * k, 2 * n * k], -1)
    unit = lambda y: y / np.sqrt((y * y).sum(-1, keepdims=True) + 1e-6)
    q, key = (np.repeat(unit(y.reshape(b, t, n, k)), m // n, 2) for y in (q, key))
    value = value.reshape(b, t, m, v)
    decay = np.exp(-np.exp(w[p + "linear_attn.A_log"]) * np.logaddexp(0, a + w[p + "linear_attn.dt_bias"]))
    memory, read = np.zeros((b, m, k, v)), np.zeros((b, t, m, v))
    for step in range(t):
        memory = memory * decay[:, step, :, None, None]
        said = np.einsum("bmkv,bmk->bmv", memory, key[:, step])
        write = (value[:, step] - said) * sigmoid(beta[:, step])[..., None]
        memory = memory + key[:, step][..., None] * write[:, :, None]
        read[:, step] = np.einsum("bmkv,bmk->bmv", memory, q[:, step]) * k ** -0.5
    read = read / np.sqrt((read * read).mean(-1, keepdims=True) + eps) * w[p + "linear_attn.norm.weight"]
    return linear((read * ACTIVATIONS["silu"](z.reshape(b, t, m, v))).reshape(b, t, -1), w, p + "linear_attn.out_proj")

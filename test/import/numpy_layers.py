# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pieces that published transformers are made of, in NumPy. `w` are weights by the names of their tensors."""
import numpy as np

erf = np.vectorize(__import__("math").erf)
sigmoid = lambda x: 1 / (1 + np.exp(-x))
ACTIVATIONS = {"silu": lambda x: x * sigmoid(x), "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2, "relu": lambda x: np.maximum(x, 0),
               "tanh": np.tanh}
ACTIVATIONS["gelu_new"] = ACTIVATIONS["gelu_pytorch_tanh"] = lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))) / 2


def softmax(x):
    """A row without a finite number has no weights: it is padding that sees nothing."""
    e = np.exp(x - np.maximum(x.max(-1, keepdims=True), -1e300))
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)


def layer_norm(x, w, name, eps):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)


def heads_of(x, count):
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attention(q, k, v, count, live=True, scale=None, bias=0):
    q, k, v = heads_of(q, count), heads_of(k, count), heads_of(v, count)
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or q.shape[-1] ** -0.5) + bias
    return joined(softmax(np.where(live, scores, -np.inf)) @ v)


def frequencies(features, base, scaling, is_long=False):
    """Of each pair of features, per position; `is_long`: where there can be more of these than the model was trained on."""
    f = base ** (-np.arange(0, features, 2) / features)
    kind = (scaling or {}).get("rope_type", (scaling or {}).get("type", "default"))
    if kind == "linear":
        return f / scaling["factor"]
    if kind == "llama3":
        turns = scaling["original_max_position_embeddings"] * f / (2 * np.pi)
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        part = np.clip((turns - low) / (high - low), 0, 1)
        return (1 - part) * f / scaling["factor"] + part * f
    if kind == "yarn":  # as _compute_yarn_parameters of transformers has it
        pair = lambda turns: features * np.log(scaling["original_max_position_embeddings"] / (turns * 2 * np.pi)) / (2 * np.log(base))
        low, high = pair(scaling.get("beta_fast", 32)), pair(scaling.get("beta_slow", 1))
        if scaling.get("truncate", True):
            low, high = np.floor(low), np.ceil(high)
        low, high = max(low, 0), min(high, features - 1)
        ramp = np.clip((np.arange(features // 2) - low) / (high - low), 0, 1)
        return f / scaling["factor"] * ramp + f * (1 - ramp)
    if kind == "longrope":
        return f / np.array(scaling["long_factor" if is_long else "short_factor"])
    assert kind in ("default", "dynamic"), kind  # which changes nothing within max_position_embeddings
    return f


def strength(config, scaling):
    """What YaRN and LongRoPE multiply cosines and sines by."""
    kind, factor = scaling["rope_type"], scaling.get("factor")
    if kind not in ("yarn", "longrope"):
        return 1
    original = scaling["original_max_position_embeddings"]
    if factor is None:
        factor = config["max_position_embeddings"] / original
    if scaling.get("attention_factor") is not None:
        return scaling["attention_factor"]
    if factor <= 1:
        return 1
    if kind == "longrope":
        return np.sqrt(1 + np.log(factor) / np.log(original))
    grown = lambda weight: 0.1 * weight * np.log(factor) + 1
    if scaling.get("mscale") and scaling.get("mscale_all_dim"):
        return grown(scaling["mscale"]) / grown(scaling["mscale_all_dim"])
    return grown(1)


def rotate(x, f, strength=1):
    """x: [B, H, T, E]; of each head, the first 2 * len(f) features, halves against each other; the others stay as they are."""
    angles = np.arange(x.shape[2])[:, None] * f
    cos, sin, half = np.cos(angles) * strength, np.sin(angles) * strength, len(f)
    a, b, rest = x[..., :half], x[..., half:2 * half], x[..., 2 * half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, rest], -1)

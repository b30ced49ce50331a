# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models that see pictures in their prompts, in NumPy with double precision, from the publications: Qwen2-VL (Wang et al. 2024), Qwen2.5-VL
(Bai et al. 2025) and Qwen3-VL (Qwen Team 2025). A picture is resized to sides of whole squares of patches, cut, and encoded; its rows stand in the
text, at positions by time, row and column."""
import math

import numpy as np
from PIL import Image

from numpy_layers import ACTIVATIONS, layer_norm, linear, sigmoid, softmax

MEAN, DEVIATION = (np.array(each) for each in ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)))


ACTIVATIONS = {**ACTIVATIONS, "quick_gelu": lambda x: x * sigmoid(1.702 * x)}


def form(c):
    """Models with experts see and read as those without."""
    return c["model_type"].removesuffix("_moe")


def heads_of(x, count):
    return x.reshape(len(x), count, -1).swapaxes(0, 1)


def joined(x):
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def resized(size, square, least, most):
    """Width and height of a picture whose sides are multiples of `square`, between two numbers of pixels."""
    width, height = size
    near = lambda length: round(length / square) * square
    if near(width) * near(height) > most:
        shrunk = math.sqrt(width * height / most)
        return tuple(max(square, math.floor(length / shrunk / square) * square) for length in (width, height))
    if near(width) * near(height) < least:
        grown = math.sqrt(least / (width * height))
        return tuple(math.ceil(length * grown / square) * square for length in (width, height))
    return near(width), near(height)


def patches_of(path, c):
    """Patches in the order of squares, [patches, C, P, P], and the row and column of each."""
    v, p = c["vision_config"], c["picture"]
    side, merged = v["patch_size"], v["spatial_merge_size"]
    picture = Image.open(path).convert("RGB")
    picture = picture.resize(resized(picture.size, side * merged, p["min_pixels"], p["max_pixels"]), Image.BICUBIC)
    pixels = (np.asarray(picture) / 255 - MEAN) / DEVIATION
    rows, columns = pixels.shape[0] // side, pixels.shape[1] // side
    grid = np.moveaxis(pixels.reshape(rows, side, columns, side, 3), (0, 2, 4, 1, 3), range(5))
    places = [(y + i, x + j) for y in range(0, rows, merged) for x in range(0, columns, merged) for i in range(merged) for j in range(merged)]
    return np.array([grid[place] for place in places]), np.array(places)


def rms(x, w, name, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[name + ".weight"]


def turned(x, angles):
    """Halves of heads as pairs: x [..., heads, T, E], angles [T, E / 2]."""
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], -1)


def learnt(w, p, places, side):
    """A learnt grid, resized to that of the picture so that the corners meet: bilinear."""
    table = w[p + "pos_embed.weight"].reshape(side, side, -1)
    y, x = (places / np.maximum(places.max(0), 1) * (side - 1)).T
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    bottom, right = np.minimum(top + 1, side - 1), np.minimum(left + 1, side - 1)
    dy, dx = (y - top)[:, None], (x - left)[:, None]
    above = table[top, left] * (1 - dx) + table[top, right] * dx
    return above * (1 - dy) + (table[bottom, left] * (1 - dx) + table[bottom, right] * dx) * dy


def see(c, w, path):
    """The rows of a picture for the first layer, and those for layers behind it; its squares by row and column."""
    v, kind, p = c["vision_config"], form(c), c["eyes"]
    patches, places = patches_of(path, c)
    norm = (lambda x, name: rms(x, w, name, 1e-6)) if kind == "qwen2_5_vl" else (lambda x, name: layer_norm(x, w, name, 1e-6))
    kernel = w[p + "patch_embed.proj.weight"].sum(2)  # all frames show the same
    x = np.einsum("ncyx,dcyx->nd", patches, kernel) + w.get(p + "patch_embed.proj.bias", 0)
    if kind == "qwen3_vl":
        x = x + learnt(w, p, places, math.isqrt(v["num_position_embeddings"]))
    heads = v["num_heads"]
    pairs = x.shape[-1] // heads // 4
    angles = np.concatenate([places[:, [axis]] / 10000 ** (np.arange(pairs) / pairs) for axis in (0, 1)], 1)
    squares, merged = [], v["spatial_merge_size"] ** 2
    for n in range(v["depth"]):
        b = f"{p}blocks.{n}."
        q, k, value = (heads_of(part, heads) for part in np.split(linear(norm(x, b + "norm1"), w, b + "attn.qkv"), 3, -1))
        scores = turned(q, angles) @ np.swapaxes(turned(k, angles), -1, -2) / np.sqrt(q.shape[-1])
        if kind == "qwen2_5_vl" and n not in v["fullatt_block_indexes"]:
            window = places // (v["window_size"] // v["patch_size"])
            scores = np.where((window[:, None] == window[None]).all(-1), scores, -np.inf)
        x = x + linear(joined(softmax(scores) @ value), w, b + "attn.proj")
        y = norm(x, b + "norm2")
        if kind == "qwen2_5_vl":
            y = linear(ACTIVATIONS["silu"](linear(y, w, b + "mlp.gate_proj")) * linear(y, w, b + "mlp.up_proj"), w, b + "mlp.down_proj")
        else:
            first, second, act = ("fc1", "fc2", "quick_gelu") if kind == "qwen2_vl" else ("linear_fc1", "linear_fc2", "gelu_pytorch_tanh")
            y = linear(ACTIVATIONS[act](linear(y, w, f"{b}mlp.{first}")), w, f"{b}mlp.{second}")
        x = x + y
        if n in v.get("deepstack_visual_indexes", ()):
            m = f"{p}deepstack_merger_list.{v['deepstack_visual_indexes'].index(n)}."
            y = layer_norm(x.reshape(-1, merged * x.shape[-1]), w, m + "norm", 1e-6)
            squares.append(linear(ACTIVATIONS["gelu"](linear(y, w, m + "linear_fc1")), w, m + "linear_fc2"))
    m = p + "merger."
    before, first, second = ("norm", "linear_fc1", "linear_fc2") if kind == "qwen3_vl" else ("ln_q", "mlp.0", "mlp.2")
    y = norm(x, m + before).reshape(-1, merged * x.shape[-1])
    first = linear(ACTIVATIONS["gelu"](linear(y, w, m + first)), w, m + second)
    return [first, *squares], places[::merged] // v["spatial_merge_size"]


def positions_of(c, ids, pictures):
    """By time, row and column, [T, 3]: a picture begins where the text before ends, and is as long as its longer side."""
    at, next_position, pictures = [], 0, list(pictures)
    while len(at) < len(ids):
        if ids[len(at)] == c["image_token_id"] and pictures:
            places = pictures.pop(0)[1]
            at += [(next_position, next_position + y, next_position + x) for y, x in places]
            next_position += 1 + places.max()
        else:
            at.append((next_position,) * 3)
            next_position += 1
    return np.array(at)


def angles_of(c, at):
    t = c["text_config"]
    values = t.get("rope_parameters") or t.get("rope_scaling")
    half, sections = t["head_dim"] // 2, values["mrope_section"]
    speeds = t.get("rope_theta", values.get("rope_theta")) ** (-np.arange(half) / half)
    if form(c) == "qwen3_vl":  # each position has each third pair, as long as it has some
        kinds = [next((axis for axis in (1, 2) if pair % 3 == axis and pair < 3 * sections[axis]), 0) for pair in range(half)]
    else:
        kinds = np.repeat(range(3), sections)
    return at[:, kinds] * speeds


def fed(w, p, y):
    return linear(ACTIVATIONS["silu"](linear(y, w, p + "gate_proj")) * linear(y, w, p + "up_proj"), w, p + "down_proj")


def routed(t, w, p, y):
    """What the chosen experts of each row make of it, by their shares. They are stored as [in, out]."""
    chances = softmax(linear(y, w, p + "gate"))
    chosen = np.argsort(-chances, -1, kind="stable")[:, :t["num_experts_per_tok"]]
    made = np.zeros_like(y)
    for row, places in enumerate(chosen):
        for place in places:
            gate, up = np.split(y[row] @ w[p + "experts.gate_up_proj"][place], 2)
            share = chances[row, place] / chances[row, places].sum()
            made[row] += share * (ACTIVATIONS["silu"](gate) * up) @ w[p + "experts.down_proj"][place]
    return made


def read(c, w, ids, pictures):
    """Scores of what follows a text with pictures, each as `see` gives it."""
    t, p, eps = c["text_config"], c["text"], c["text_config"]["rms_norm_eps"]
    heads, keys = t["num_attention_heads"], t["num_key_value_heads"]
    x = w[p + "embed_tokens.weight"][ids]
    there = np.array(ids) == c["image_token_id"]
    rows = [np.concatenate([picture[0][depth] for picture in pictures]) for depth in range(len(pictures[0][0]))] if pictures else []
    angles = angles_of(c, positions_of(c, ids, pictures))
    if pictures:
        x[there] = rows[0]
    for n in range(t["num_hidden_layers"]):
        b = f"{p}layers.{n}."
        y = rms(x, w, b + "input_layernorm", eps)
        q, k, v = (heads_of(linear(y, w, f"{b}self_attn.{name}_proj"), count) for name, count in (("q", heads), ("k", keys), ("v", keys)))
        if form(c) == "qwen3_vl":
            q, k = rms(q, w, b + "self_attn.q_norm", eps), rms(k, w, b + "self_attn.k_norm", eps)
        k, v = (np.repeat(part, heads // keys, -3) for part in (turned(k, angles), v))
        scores = turned(q, angles) @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        scores = np.where(np.tri(len(ids), dtype=bool), scores, -np.inf)
        x = x + linear(joined(softmax(scores) @ v), w, b + "self_attn.o_proj")
        y = rms(x, w, b + "post_attention_layernorm", eps)
        x = x + (routed(t, w, b + "mlp.", y) if b + "mlp.gate.weight" in w else fed(w, b + "mlp.", y))
        if 0 < n + 1 < len(rows):
            x[there] += rows[n + 1]
    return rms(x[-1], w, p + "norm", eps) @ w["lm_head.weight"].T


def prompt_shapes(c):
    t, v, p = c["text_config"], c["vision_config"], c["text"]
    d, f, e, h, g = t["hidden_size"], t["intermediate_size"], t["head_dim"], t["num_attention_heads"], t["num_key_value_heads"]
    kind, shapes = form(c), {p + "embed_tokens.weight": (t["vocab_size"], d), p + "norm.weight": (d,), "lm_head.weight": (t["vocab_size"], d)}

    def add(name, out, *taken, bias=True):
        shapes[name + ".weight"] = (out, *taken)
        if bias:
            shapes[name + ".bias"] = (out,)

    for n in range(t["num_hidden_layers"]):
        b = f"{p}layers.{n}."
        for name, size in (("q", h), ("k", g), ("v", g)):
            add(f"{b}self_attn.{name}_proj", size * e, d, bias=kind != "qwen3_vl")
        add(b + "self_attn.o_proj", d, h * e, bias=False)
        if "num_experts" in t and n not in t["mlp_only_layers"]:
            count, wide = t["num_experts"], t["moe_intermediate_size"]
            shapes |= {b + "mlp.gate.weight": (count, d), b + "mlp.experts.gate_up_proj": (count, d, 2 * wide), b + "mlp.experts.down_proj": (count, wide, d)}
        else:
            for name, *shape in (("gate_proj", f, d), ("up_proj", f, d), ("down_proj", d, f)):
                add(f"{b}mlp.{name}", *shape, bias=False)
        norms = ["input_layernorm", "post_attention_layernorm"] + ["self_attn.q_norm", "self_attn.k_norm"] * (kind == "qwen3_vl")
        shapes |= {f"{b}{name}.weight": (e if "attn" in name else d,) for name in norms}
    p, side, merged = c["eyes"], v["patch_size"], v["spatial_merge_size"] ** 2
    width = v["embed_dim"] if kind == "qwen2_vl" else v["hidden_size"]
    wide = int(width * v["mlp_ratio"]) if kind == "qwen2_vl" else v["intermediate_size"]
    add(p + "patch_embed.proj", width, 3, v["temporal_patch_size"], side, side, bias=kind == "qwen3_vl")
    maps = {"qwen2_vl": (("fc1", wide, width), ("fc2", width, wide)), "qwen3_vl": (("linear_fc1", wide, width), ("linear_fc2", width, wide)),
            "qwen2_5_vl": (("gate_proj", wide, width), ("up_proj", wide, width), ("down_proj", width, wide))}[kind]
    for n in range(v["depth"]):
        b = f"{p}blocks.{n}."
        add(b + "attn.qkv", 3 * width, width), add(b + "attn.proj", width, width)
        for name, *shape in maps:
            add(f"{b}mlp.{name}", *shape)
        for name in ("norm1", "norm2"):
            add(b + name, width, bias=kind != "qwen2_5_vl")
    mergers = [("merger.", width)] + [(f"deepstack_merger_list.{i}.", width * merged) for i in range(len(v.get("deepstack_visual_indexes", ())))]
    norm, first, second = ("norm", "linear_fc1", "linear_fc2") if kind == "qwen3_vl" else ("ln_q", "mlp.0", "mlp.2")
    for merger, size in mergers:
        add(p + merger + norm, size, bias=kind != "qwen2_5_vl")
        add(p + merger + first, width * merged, width * merged), add(p + merger + second, d, width * merged)
    if kind == "qwen3_vl":
        shapes[p + "pos_embed.weight"] = (v["num_position_embeddings"], width)
    return shapes


def tower_shapes(c):
    """Of a tower of CLIP or SigLIP with a map, and a language model in Llama's or Gemma's form, by the names as they are published."""
    t, v = c["text_config"], c["vision_config"]
    d, f, e = t["hidden_size"], t["intermediate_size"], t.get("head_dim", t["hidden_size"] // t["num_attention_heads"])
    isGemma, text, eyes = c["model_type"] == "gemma3", "language_model.model.", "vision_tower.vision_model."
    shapes = {text + "embed_tokens.weight": (t["vocab_size"], d), text + "norm.weight": (d,)}
    if not c["tie_word_embeddings"]:
        shapes["language_model.lm_head.weight"] = (t["vocab_size"], d)
    for n in range(t["num_hidden_layers"]):
        b = f"{text}layers.{n}."
        for name, heads in (("q", t["num_attention_heads"]), ("k", t["num_key_value_heads"]), ("v", t["num_key_value_heads"])):
            shapes[f"{b}self_attn.{name}_proj.weight"] = (heads * e, d)
        shapes |= {b + "self_attn.o_proj.weight": (d, t["num_attention_heads"] * e), b + "mlp.gate_proj.weight": (f, d),
                   b + "mlp.up_proj.weight": (f, d), b + "mlp.down_proj.weight": (d, f)}
        norms = ["input_layernorm", "post_attention_layernorm"] + ["pre_feedforward_layernorm", "post_feedforward_layernorm"] * isGemma
        shapes |= {f"{b}{name}.weight": (d,) for name in norms}
        shapes |= {f"{b}self_attn.{name}_norm.weight": (e,) for name in "qk" if isGemma}
    width, wide, places = v["hidden_size"], v["intermediate_size"], (v["image_size"] // v["patch_size"]) ** 2 + (not isGemma)
    both = lambda name, *shape: {name + ".weight": shape, name + ".bias": shape[:1]}
    shapes[eyes + "embeddings.patch_embedding.weight"] = (width, 3, v["patch_size"], v["patch_size"])
    shapes[eyes + "embeddings.position_embedding.weight"] = (places, width)
    for n in range(v["num_hidden_layers"]):
        b = f"{eyes}encoder.layers.{n}."
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            shapes |= both(f"{b}self_attn.{name}", width, width)
        shapes |= both(b + "mlp.fc1", wide, width) | both(b + "mlp.fc2", width, wide) | both(b + "layer_norm1", width) | both(b + "layer_norm2", width)
    shapes |= both(eyes + "post_layernorm", width)
    m = "multi_modal_projector."
    if isGemma:
        return shapes | {eyes + "embeddings.patch_embedding.bias": (width,), m + "mm_input_projection_weight": (width, d),
                         m + "mm_soft_emb_norm.weight": (width,)}
    shapes |= both(eyes + "pre_layrnorm", width) | both(m + "linear_1", d, width) | both(m + "linear_2", d, d)
    return shapes | {eyes + "embeddings.class_embedding": (width,)}

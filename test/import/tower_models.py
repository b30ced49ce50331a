# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models that see by SigLIP, in NumPy with double precision, from the publications: PaliGemma (Beyer et al. 2024; Steiner et al. 2024,
"PaliGemma 2") and Idefics 3 (Laurençon et al. 2024, "Building and better understanding vision-language models"), of which SmolVLM is (Marafioti et al.
2025). The names and shapes of their tensors are those of published folders."""
import math

import numpy as np
from PIL import Image

from numpy_layers import ACTIVATIONS, attention, frequencies, layer_norm, linear, rotate

GELU = ACTIVATIONS["gelu_pytorch_tanh"]
# What the names begin with: of the text, the encoder, and the map between.
_TILED = ("model.text_model.", "model.vision_model.", "model.connector.modality_projection.proj")
NAMES = {"idefics3": _TILED, "smolvlm": _TILED, "paligemma": ("language_model.model.", "vision_tower.vision_model.", "multi_modal_projector.linear")}


def pixels_of(picture, p):
    """[C, side, side]."""
    return ((np.asarray(picture) / 255 - np.array(p["image_mean"])) / np.array(p["image_std"])).transpose(2, 0, 1)


def seen_by(c, w, pixels):
    """What the encoder makes of pictures [N, C, side, side]: [N, patches, features]."""
    v, p = c["vision_config"], NAMES[c["model_type"]][1]
    side, eps = v["patch_size"], v.get("layer_norm_eps", 1e-6)
    grid = pixels.shape[-1] // side
    pixels = pixels[..., :grid * side, :grid * side]
    patches = pixels.reshape(len(pixels), 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(len(pixels), grid * grid, -1)
    x = patches @ w[p + "embeddings.patch_embedding.weight"].reshape(v["hidden_size"], -1).T + w[p + "embeddings.patch_embedding.bias"]
    x = x + w[p + "embeddings.position_embedding.weight"]
    for n in range(v["num_hidden_layers"]):
        b = f"{p}encoder.layers.{n}."
        y = layer_norm(x, w, b + "layer_norm1", eps)
        q, k, value = (linear(y, w, f"{b}self_attn.{name}_proj") for name in "qkv")
        x = x + linear(attention(q, k, value, v["num_attention_heads"]), w, b + "self_attn.out_proj")
        x = x + linear(GELU(linear(layer_norm(x, w, b + "layer_norm2", eps), w, b + "mlp.fc1")), w, b + "mlp.fc2")
    return layer_norm(x, w, p + "post_layernorm", eps)


def tiles_of(path, p):
    """The tiles of a picture, line by line, and the whole one behind them; how many lines and columns there are."""
    picture, edge, tile = Image.open(path).convert("RGB"), p["size"]["longest_edge"], p["max_image_size"]["longest_edge"]
    width, height = picture.size
    even = lambda length: length + length % 2
    size = (edge, even(int(edge / (width / height)))) if width >= height else (even(int(edge * (width / height))), edge)
    picture = picture.resize(tuple(max(length, 1) for length in size), Image.LANCZOS)
    (width, height), up = picture.size, lambda length: math.ceil(length / tile) * tile
    if width >= height:
        size = up(width), up(int(up(width) / (width / height)))
    else:
        size = up(int(up(height) * (width / height))), up(height)
    picture = picture.resize(size, Image.LANCZOS)
    columns, lines = size[0] // tile, size[1] // tile
    tiles = [picture.crop((x * tile, y * tile, (x + 1) * tile, (y + 1) * tile)) for y in range(lines) for x in range(columns)]
    return tiles + [picture.resize((tile, tile), Image.LANCZOS)] * (len(tiles) > 1), (lines, columns)


def shuffled(x, square):
    """Squares of patches as one row each: [N, rows, features]."""
    side = math.isqrt(x.shape[1])
    x = x.reshape(len(x), side // square, square, side // square, square, -1).transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(len(x), (side // square) ** 2, -1)


def see_tiles(c, w, path):
    """The rows of each tile, [tiles, rows, D], and the grid."""
    tiles, grid = tiles_of(path, c["picture"])
    pixels = np.array([pixels_of(tile, c["picture"]) for tile in tiles])
    return linear(shuffled(seen_by(c, w, pixels), c["scale_factor"]), w, NAMES[c["model_type"]][2]), grid


def told(seen):
    """What stands in a prompt for a picture in tiles."""
    (rows, (lines, columns)), fake = seen, "<fake_token_around_image>"
    one = "<image>" * rows.shape[1]
    whole = f"{fake}<global-img>{one}{fake}"
    if len(rows) == 1:
        return whole
    return "".join("".join(f"{fake}<row_{y + 1}_col_{x + 1}>{one}" for x in range(columns)) + "\n" for y in range(lines)) + "\n" + whole


def see(c, w, path):
    """The rows of a picture."""
    side = c["vision_config"]["image_size"]
    picture = Image.open(path).convert("RGB").resize((side, side), Image.BICUBIC)
    return linear(seen_by(c, w, pixels_of(picture, c["picture"])[None])[0], w, NAMES[c["model_type"]][2])


def normed(x, w, name, t):
    weight = w[name + ".weight"] + t["model_type"].startswith("gemma")
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + t.get("rms_norm_eps", 1e-6)) * weight


def read(c, w, ids, rows):
    """Scores of what follows a text with the rows of its pictures."""
    t, p = c["text_config"], NAMES[c["model_type"]][0]
    isGemma, four, heads, keys = t["model_type"].startswith("gemma"), t["model_type"] == "gemma2", t["num_attention_heads"], t["num_key_value_heads"]
    x = w[p + "embed_tokens.weight"][ids] * (np.sqrt(t["hidden_size"]) if isGemma else 1)
    there = np.array(ids) == c["image_token_id"]
    if len(rows):
        x[there] = rows
    i = np.arange(len(ids))
    speeds = frequencies(t["head_dim"], t.get("rope_theta", 1e4), None)
    scale = t["query_pre_attn_scalar"] ** -0.5 if four else t["head_dim"] ** -0.5
    for n in range(t["num_hidden_layers"]):
        b = f"{p}layers.{n}."
        y = normed(x, w, b + "input_layernorm", t)
        q, k, v = (linear(y, w, f"{b}self_attn.{name}_proj").reshape(len(ids), -1, t["head_dim"]).swapaxes(0, 1) for name in "qkv")
        if b + "self_attn.q_norm.weight" in w:
            q, k = normed(q, w, b + "self_attn.q_norm", t), normed(k, w, b + "self_attn.k_norm", t)
        q, k = rotate(q[None], speeds)[0], rotate(k[None], speeds)[0]
        k, v = (np.repeat(part, heads // keys, 0) for part in (k, v))
        scores = q @ k.swapaxes(1, 2) * scale
        if four:
            scores = 50 * np.tanh(scores / 50)
        live = i[None] <= i[:, None]
        if four and n % 2 == 0:
            live &= i[:, None] - i[None] < t["sliding_window"]
        if c["model_type"] == "paligemma":  # tokens of a prompt see each other, in any layer
            live |= (i[:, None] < c["prompt"]) & (i[None] < c["prompt"])
        e = np.where(live, np.exp(scores - scores.max(-1, keepdims=True)), 0)
        y = linear(((e / e.sum(-1, keepdims=True)) @ v).swapaxes(0, 1).reshape(len(ids), -1), w, b + "self_attn.o_proj")
        x = x + (normed(y, w, b + "post_attention_layernorm", t) if four else y)
        y = normed(x, w, b + ("pre_feedforward_layernorm" if four else "post_attention_layernorm"), t)
        act = GELU if isGemma else ACTIVATIONS["silu"]
        y = linear(act(linear(y, w, b + "mlp.gate_proj")) * linear(y, w, b + "mlp.up_proj"), w, b + "mlp.down_proj")
        x = x + (normed(y, w, b + "post_feedforward_layernorm", t) if four else y)
    head = p + "embed_tokens.weight" if c["tie_word_embeddings"] else "lm_head.weight"
    return normed(x[-1], w, p + "norm", t) @ w[head].T


def seen_shapes(c):
    t, v, (text, eyes, mapped) = c["text_config"], c["vision_config"], NAMES[c["model_type"]]
    d, f, e = t["hidden_size"], t["intermediate_size"], t.get("head_dim", t["hidden_size"] // t["num_attention_heads"])
    shapes = {text + "embed_tokens.weight": (t["vocab_size"], d), text + "norm.weight": (d,)}
    if not c.get("tie_word_embeddings", t.get("tie_word_embeddings")):
        shapes["lm_head.weight"] = (t["vocab_size"], d)
    for n in range(t["num_hidden_layers"]):
        b = f"{text}layers.{n}."
        for name, heads in (("q", t["num_attention_heads"]), ("k", t["num_key_value_heads"]), ("v", t["num_key_value_heads"])):
            shapes[f"{b}self_attn.{name}_proj.weight"] = (heads * e, d)
        shapes |= {b + "self_attn.o_proj.weight": (d, t["num_attention_heads"] * e), b + "mlp.gate_proj.weight": (f, d),
                   b + "mlp.up_proj.weight": (f, d), b + "mlp.down_proj.weight": (d, f)}
        if t["model_type"] == "qwen3":
            shapes |= {f"{b}self_attn.{name}_norm.weight": (e,) for name in "qk"}
        if t["model_type"] == "qwen2":
            shapes |= {f"{b}self_attn.{name}_proj.bias": shapes[f"{b}self_attn.{name}_proj.weight"][:1] for name in "qkv"}
        norms = ["input_layernorm", "post_attention_layernorm"]
        norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"] * (t["model_type"] == "gemma2")
        shapes |= {f"{b}{name}.weight": (d,) for name in norms}
    if mapped.endswith("."):  # another encoder
        return shapes
    width, wide = v["hidden_size"], v["intermediate_size"]
    both = lambda name, *shape: {name + ".weight": shape, name + ".bias": shape[:1]}
    shapes |= both(eyes + "embeddings.patch_embedding", width, 3, v["patch_size"], v["patch_size"]) | both(eyes + "post_layernorm", width)
    shapes[eyes + "embeddings.position_embedding.weight"] = ((v.get("image_size", 224) // v["patch_size"]) ** 2, width)
    for n in range(v["num_hidden_layers"]):
        b = f"{eyes}encoder.layers.{n}."
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            shapes |= both(f"{b}self_attn.{name}", width, width)
        shapes |= both(b + "mlp.fc1", wide, width) | both(b + "mlp.fc2", width, wide) | both(b + "layer_norm1", width) | both(b + "layer_norm2", width)
    if c["model_type"] != "paligemma":
        return shapes | {mapped + ".weight": (d, width * c["scale_factor"] ** 2)}
    return shapes | both(mapped, d, width)

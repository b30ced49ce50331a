# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""InternVL (Chen et al. 2024, "How Far Are We to GPT-4V?"; Zhu et al. 2025, "InternVL3") in NumPy with double precision: a picture is cut into the grid of
tiles whose ratio of sides is nearest, a ViT with scaled layers sees each, and squares of its patches are rows of a text."""
import numpy as np
from PIL import Image

from numpy_layers import ACTIVATIONS, attention, layer_norm, linear
from tower_models import NAMES, pixels_of, seen_shapes, shuffled

NAMES["internvl"] = ("model.language_model.", "model.vision_tower.", "model.multi_modal_projector.")


def tiles_of(path, p):
    """The tiles of a picture, line by line, and the whole one behind them."""
    picture, tile = Image.open(path).convert("RGB"), p["size"]["height"]
    ratio, area = picture.width / picture.height, picture.width * picture.height
    grids = sorted(((x, y) for x in range(1, 13) for y in range(1, 13) if p["min_patches"] <= x * y <= p["max_patches"]), key=lambda grid: grid[0] * grid[1])
    best = grids[0]
    for x, y in grids:
        near, nearest = abs(ratio - x / y), abs(ratio - best[0] / best[1])
        if near < nearest or near == nearest and area > x * y * tile * tile / 2:
            best = x, y
    large = picture.resize((best[0] * tile, best[1] * tile), Image.BICUBIC)
    tiles = [large.crop((x * tile, y * tile, (x + 1) * tile, (y + 1) * tile)) for y in range(best[1]) for x in range(best[0])]
    return tiles + [picture.resize((tile, tile), Image.BICUBIC)] * (len(tiles) > 1)


def rms(x, w, name):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w[name + ".weight"]


def see(c, w, path):
    """The rows of a picture, those of all tiles behind each other."""
    v, p, m = c["vision_config"], *NAMES["internvl"][1:]
    pixels = np.array([pixels_of(tile, c["picture"]) for tile in tiles_of(path, c["picture"])])
    side, norm = v["patch_size"], rms if v.get("norm_type") == "rms_norm" else lambda *of: layer_norm(*of, 1e-6)
    grid = pixels.shape[-1] // side
    patches = pixels.reshape(len(pixels), 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(len(pixels), grid * grid, -1)
    e = p + "embeddings."
    x = patches @ w[e + "patch_embeddings.projection.weight"].reshape(v["hidden_size"], -1).T + w[e + "patch_embeddings.projection.bias"]
    x = np.concatenate([np.repeat(w[e + "cls_token"], len(x), 0), x], 1) + w[e + "position_embeddings"]
    for n in range(v["num_hidden_layers"]):
        b = f"{p}encoder.layer.{n}."
        y = norm(x, w, b + "layernorm_before")
        q, k, value = (linear(y, w, f"{b}attention.{name}_proj") for name in "qkv")
        if v.get("use_qk_norm"):
            q, k = rms(q, w, b + "attention.q_norm"), rms(k, w, b + "attention.k_norm")
        x = x + w[b + "lambda_1"] * linear(attention(q, k, value, v["num_attention_heads"]), w, b + "attention.projection_layer")
        y = ACTIVATIONS["gelu"](linear(norm(x, w, b + "layernorm_after"), w, b + "mlp.fc1"))
        x = x + w[b + "lambda_2"] * linear(y, w, b + "mlp.fc2")
    y = layer_norm(shuffled(x[:, 1:], round(1 / c["downsample_ratio"])), w, m + "layer_norm", 1e-5)
    y = linear(ACTIVATIONS["gelu"](linear(y, w, m + "linear_1")), w, m + "linear_2")
    return y.reshape(-1, y.shape[-1])


def intern_shapes(c):
    v, t, p, m = c["vision_config"], c["text_config"], *NAMES["internvl"][1:]
    shapes = seen_shapes(c)  # of the language model
    width, wide, patch = v["hidden_size"], v["intermediate_size"], v["patch_size"] if isinstance(v["patch_size"], int) else v["patch_size"][0]
    side = v["image_size"] if isinstance(v["image_size"], int) else v["image_size"][0]
    both = lambda name, *shape: {name + ".weight": shape, name + ".bias": shape[:1]}
    shapes |= {p + "embeddings.cls_token": (1, 1, width), p + "embeddings.position_embeddings": (1, 1 + (side // patch) ** 2, width)}
    shapes |= both(p + "embeddings.patch_embeddings.projection", width, 3, patch, patch)
    for n in range(v["num_hidden_layers"]):
        b = f"{p}encoder.layer.{n}."
        for name in ("q_proj", "k_proj", "v_proj", "projection_layer"):
            shapes |= both(f"{b}attention.{name}", width, width)
            if not v["attention_bias"] and name != "projection_layer":
                del shapes[f"{b}attention.{name}.bias"]
        shapes |= both(b + "mlp.fc1", wide, width) | both(b + "mlp.fc2", width, wide)
        for name in ("layernorm_before", "layernorm_after"):
            shapes |= {f"{b}{name}.weight": (width,)} if v.get("norm_type") == "rms_norm" else both(b + name, width)
        shapes |= {f"{b}attention.{name}_norm.weight": (width,) for name in "qk" if v.get("use_qk_norm")}
        shapes |= {b + "lambda_1": (width,), b + "lambda_2": (width,)}
    squares, d = width * round(1 / c["downsample_ratio"]) ** 2, t["hidden_size"]
    return shapes | both(m + "layer_norm", squares) | both(m + "linear_1", d, squares) | both(m + "linear_2", d, d)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of pictures, and of pictures and texts, as text_models.py has those of texts."""
import numpy as np

from numpy_layers import ACTIVATIONS, attention, heads_of, joined, layer_norm, linear, sigmoid, softmax


def beit_bias(w, p, grid):
    """[H, N, N] of a table under `p`, whose rows are asked for one by one; 0 without a table."""
    table = w.get(p + "relative_position_bias.relative_position_bias_table")
    if table is None:
        return 0
    rows, n = np.empty((1 + grid * grid,) * 2, int), 2 * grid - 1
    for i in range(grid * grid):
        for j in range(grid * grid):
            rows[1 + i, 1 + j] = (i // grid - j // grid + grid - 1) * n + i % grid - j % grid + grid - 1
    rows[0, :], rows[:, 0], rows[0, 0] = n * n, n * n + 1, n * n + 2
    return table[rows].transpose(2, 0, 1)


def vit(c, w, image):
    import torch
    kind, count = c["model_type"], c["num_attention_heads"]
    dino, classify = kind.startswith("dinov2"), "For" in c["architectures"][0]
    p = ("vit." if kind == "vit_msn" else kind.replace("-", "_") + ".") if classify else ""
    w = {name[len(p):] if name.startswith(p) else name: value for name, value in w.items()}
    norm = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"])
    side, b = c["patch_size"], len(image)
    grid = image.shape[2] // side
    patches = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid * grid, -1)
    kernel = w["embeddings.patch_embeddings.projection.weight"]
    x = patches @ kernel.reshape(len(kernel), -1).T + w["embeddings.patch_embeddings.projection.bias"]
    front = [w[name] for name in ("embeddings.cls_token",) if name in w] + ([w["embeddings.distillation_token"]] if kind == "deit" else [])
    at, learnt = w.get("embeddings.position_embeddings", np.zeros((1, 1, 1))), c["image_size"] // side
    shared, table = beit_bias(w, "encoder.", grid), "attention.attention."
    if grid != learnt:
        map_ = torch.tensor(at[:, len(front):].reshape(1, learnt, learnt, -1)).permute(0, 3, 1, 2)
        map_ = torch.nn.functional.interpolate(map_, size=(grid, grid), mode="bicubic", align_corners=False,
                                               antialias=kind == "dinov2_with_registers")
        at = np.concatenate([at[:, :len(front)], map_.permute(0, 2, 3, 1).reshape(1, grid * grid, -1).numpy()], 1)
    x = np.concatenate([*(np.repeat(token, b, 0) for token in front), x], 1) + at
    if "embeddings.register_tokens" in w:
        x = np.concatenate([x[:, :1], np.repeat(w["embeddings.register_tokens"], b, 0), x[:, 1:]], 1)
    first, second = ("norm1", "norm2") if dino else ("layernorm_before", "layernorm_after")
    for n in range(c["num_hidden_layers"]):
        l = f"encoder.layer.{n}."
        y = norm(x, l + first)
        q, k, v = (heads_of(linear(y, w, l + f"attention.attention.{name}"), count) for name in ("query", "key", "value"))
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]) + beit_bias(w, l + table, grid) + shared
        a = linear(joined(softmax(scores) @ v), w, l + "attention.output.dense")
        x = x + a * w.get(l + ("layer_scale1.lambda1" if dino else "lambda_1"), 1)
        y = norm(x, l + second)
        if c.get("use_swiglu_ffn"):
            gate, up = np.split(linear(y, w, l + "mlp.weights_in"), 2, -1)
            y = linear(ACTIVATIONS["silu"](gate) * up, w, l + "mlp.weights_out")
        else:
            up, down = ("mlp.fc1", "mlp.fc2") if dino else ("intermediate.dense", "output.dense")
            y = linear(ACTIVATIONS[c["hidden_act"]](linear(y, w, l + up)), w, l + down)
        x = x + y * w.get(l + ("layer_scale2.lambda1" if dino else "lambda_2"), 1)
    if c.get("use_mean_pooling"):
        return {"scores": linear(norm(x[:, 1:].mean(1), "pooler.layernorm"), w, "classifier")}
    x = norm(x, "layernorm")
    if not classify:
        return {"hidden": x}
    if kind == "ijepa":
        return {"scores": linear(x.mean(1), w, "classifier")}
    if kind == "deit":
        return {"scores": (linear(x[:, 0], w, "cls_classifier") + linear(x[:, 1], w, "distillation_classifier")) / 2}
    return {"scores": linear(np.concatenate([x[:, 0], x[:, 1 + c.get("num_register_tokens", 0):].mean(1)], -1) if dino else x[:, 0], w, "classifier")}


def trocr_memory(c, w, image):
    """What a decoder sees of a picture."""
    memory = vit({**c["encoder"], "architectures": [""]},
                 {name.removeprefix("encoder."): value for name, value in w.items() if name.startswith("encoder.")}, image)["hidden"]
    return linear(memory, w, "enc_to_dec_proj") if "enc_to_dec_proj.weight" in w else memory


def trocr(c, w, token, image):
    """Scores of what a decoder writes of a picture."""
    return trocr_scores(c, w, token, trocr_memory(c, w, image))


def trocr_scores(c, w, token, memory):
    c, body = c["decoder"], "decoder.model.decoder."
    d, t = c["d_model"], np.arange(token.shape[1])
    x = w[body + "embed_tokens.weight"][token] * (np.sqrt(d) if c["scale_embedding"] else 1)
    if c["use_learned_position_embeddings"]:
        x = x + w[body + "embed_positions.weight"][t + 2]
    else:
        angles = (t[:, None] + c["pad_token_id"] + 1) * np.exp(-np.arange(d // 2) * np.log(10000) / (d // 2 - 1))
        x = x + np.concatenate([np.sin(angles), np.cos(angles)], -1)
    norm = lambda x, name: layer_norm(x, w, name, 1e-5)
    if c["layernorm_embedding"]:
        x = norm(x, body + "layernorm_embedding")
    for n in range(c["decoder_layers"]):
        p = f"{body}layers.{n}."
        for name, over, live in ("self_attn", None, np.tril(np.ones((len(t),) * 2, bool))), ("encoder_attn", memory, True):
            over = x if over is None else over
            q, k, v = linear(x, w, p + name + ".q_proj"), linear(over, w, p + name + ".k_proj"), linear(over, w, p + name + ".v_proj")
            x = norm(x + linear(attention(q, k, v, c["decoder_attention_heads"], live), w, p + name + ".out_proj"), p + name + "_layer_norm")
        y = ACTIVATIONS[c["activation_function"]](linear(x, w, p + "fc1"))
        x = norm(x + linear(y, w, p + "fc2"), p + "final_layer_norm")
    return {"scores": x @ w.get("decoder.output_projection.weight", w[body + "embed_tokens.weight"]).T}


def continuous_table(w, p, m, trained):
    """Of Swin v2: what its mlp makes of the differences of places, [R, H]."""
    far = np.arange(1 - m, m) * 8 / (trained - 1)
    far = np.sign(far) * np.log2(np.abs(far) + 1) / np.log2(8)
    both = np.stack(np.meshgrid(far, far, indexing="ij"), -1).reshape(-1, 2)
    mlp = p + "attention.self.continuous_position_bias_mlp."
    return 16 * sigmoid(linear(np.maximum(linear(both, w, mlp + "0"), 0), w, mlp + "2"))


def swin_attention(x, w, p, count, m, shift, trained):
    """Of a map [B, Y, X, D], rolled by the shift: in each window, with the table, and none across what the roll brought together. `trained` is
    the side of the windows in training of Swin v2, 0 of v1."""
    b, rows, columns, d = x.shape
    y, z = rows // m, columns // m

    def windows(x):
        return x.reshape(-1, y, m, z, m, x.shape[-1]).transpose(0, 1, 3, 2, 4, 5).reshape(-1, m * m, x.shape[-1])

    place = np.stack(np.meshgrid(np.arange(m), np.arange(m), indexing="ij"), -1).reshape(-1, 2)
    apart = place[:, None] - place + m - 1
    rows_of_table = apart[..., 0] * (2 * m - 1) + apart[..., 1]
    table = (continuous_table(w, p, m, trained) if trained else w[p + "attention.self.relative_position_bias_table"])[rows_of_table]
    table = table.transpose(2, 0, 1)
    region = np.zeros((1, rows, columns, 1))
    if shift:
        part = lambda n: np.digitize(np.arange(n), [n - m, n - shift])
        region[0, ..., 0] = part(rows)[:, None] * 3 + part(columns)
    own = windows(region)
    live = np.tile((own == own.transpose(0, 2, 1)), (b, 1, 1))[:, None]
    x = windows(np.roll(x, (-shift, -shift), (1, 2)))
    q, k, v = (linear(x, w, p + f"attention.self.{name}") for name in ("query", "key", "value"))
    if trained:  # scores are cosines, times at most 100
        q, k = (joined(x / np.linalg.norm(x, axis=-1, keepdims=True)) for x in (heads_of(q, count), heads_of(k, count)))
        q = joined(heads_of(q, count) * np.exp(np.minimum(w[p + "attention.self.logit_scale"], np.log(100))))
    a = linear(attention(q, k, v, count, live, scale=1 if trained else None, bias=table), w, p + "attention.output.dense")
    a = a.reshape(b, y, z, m, m, d).transpose(0, 1, 3, 2, 4, 5).reshape(b, rows, columns, d)
    return np.roll(a, (shift, shift), (1, 2))


def swin(c, w, image):
    v2 = c["model_type"] == "swinv2"
    w = {name.removeprefix(c["model_type"] + "."): value for name, value in w.items()}
    norm = lambda x, name, eps=c["layer_norm_eps"]: layer_norm(x, w, name, eps)
    kernel, side, b = w["embeddings.patch_embeddings.projection.weight"], c["patch_size"], len(image)
    grid = image.shape[2] // side
    x = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid, grid, -1)
    x = norm(x @ kernel.reshape(len(kernel), -1).T + w["embeddings.patch_embeddings.projection.bias"], "embeddings.norm", 1e-5)
    for s, (depth, count) in enumerate(zip(c["depths"], c["num_heads"])):
        m = min(c["window_size"], x.shape[1])
        trained = (c.get("pretrained_window_sizes", [0] * (s + 1))[s] or m) if v2 else 0
        for n in range(depth):
            p = f"encoder.layers.{s}.blocks.{n}."
            shift = m // 2 if n % 2 and x.shape[1] > m else 0
            mlp = lambda y: linear(ACTIVATIONS[c["hidden_act"]](linear(y, w, p + "intermediate.dense")), w, p + "output.dense")
            if v2:  # norms stand behind
                x = x + norm(swin_attention(x, w, p, count, m, shift, trained), p + "layernorm_before")
                x = x + norm(mlp(x), p + "layernorm_after")
            else:
                x = x + swin_attention(norm(x, p + "layernorm_before"), w, p, count, m, shift, trained)
                x = x + mlp(norm(x, p + "layernorm_after"))
        if s + 1 < len(c["depths"]):
            p = f"encoder.layers.{s}.downsample."
            x = np.concatenate([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
            down = lambda x: x @ w[p + "reduction.weight"].T
            x = norm(down(x), p + "norm", 1e-5) if v2 else down(norm(x, p + "norm", 1e-5))
    return {"scores": linear(norm(x, "layernorm").mean((1, 2)), w, "classifier")}


def decomposed_attention(x, w, p, count):
    """Of maps [B, Y, X, D]: to the score come the query's products with a vector for the rows and one for the columns between two places."""
    b, rows, columns, d = x.shape
    q, k, v = (heads_of(part, count) for part in np.split(linear(x.reshape(b, -1, d), w, p + "qkv"), 3, -1))
    place = np.arange(rows * columns)
    apart = lambda at, side: at[:, None] - at + side - 1
    down, right = w[p + "rel_pos_h"][apart(place // columns, rows)], w[p + "rel_pos_w"][apart(place % columns, columns)]
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]) + np.einsum("bhie,ije->bhij", q, down + right)
    return linear(joined(softmax(scores) @ v), w, p + "proj").reshape(x.shape)


def sam(c, w, image):
    """What SAM's encoder of pictures gives, channels first."""
    c, w = c["vision_config"], {name.removeprefix("vision_encoder."): value for name, value in w.items()}
    kernel, side, b, m = w["patch_embed.projection.weight"], c["patch_size"], len(image), c["window_size"]
    grid = image.shape[2] // side
    x = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid, grid, -1)
    x = x @ kernel.reshape(len(kernel), -1).T + w["patch_embed.projection.bias"] + w["pos_embed"]
    for n in range(c["num_hidden_layers"]):
        p = f"layers.{n}."
        y = layer_norm(x, w, p + "layer_norm1", c["layer_norm_eps"])
        if n not in c["global_attn_indexes"]:
            more, count = -grid % m, -(-grid // m)
            y = np.pad(y, ((0, 0), (0, more), (0, more), (0, 0)))
            y = y.reshape(b, count, m, count, m, -1).transpose(0, 1, 3, 2, 4, 5).reshape(-1, m, m, y.shape[-1])
            y = decomposed_attention(y, w, p + "attn.", c["num_attention_heads"])
            y = y.reshape(b, count, count, m, m, -1).transpose(0, 1, 3, 2, 4, 5).reshape(b, count * m, count * m, -1)[:, :grid, :grid]
        else:
            y = decomposed_attention(y, w, p + "attn.", c["num_attention_heads"])
        x = x + y
        y = ACTIVATIONS[c["hidden_act"]](linear(layer_norm(x, w, p + "layer_norm2", c["layer_norm_eps"]), w, p + "mlp.lin1"))
        x = x + linear(y, w, p + "mlp.lin2")
    x = np.pad(layer_norm(x @ w["neck.conv1.weight"][:, :, 0, 0].T, w, "neck.layer_norm1", 1e-6), ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = sum(x[:, i:i + grid, j:j + grid] @ w["neck.conv2.weight"][:, :, i, j].T for i in range(3) for j in range(3))
    return {"hidden": layer_norm(y, w, "neck.layer_norm2", 1e-6).transpose(0, 3, 1, 2)}


def resnet(w, p, image):
    """ResNet-50 of PyTorch's convolutions, in double precision: [B, C, H, W] to [B, Y, X, D]."""
    import torch
    f, w = torch.nn.functional, {name: torch.tensor(value) for name, value in w.items() if name.startswith(p)}

    def conv(x, name, norm, stride=1):
        kernel = w[p + name + ".weight"]
        mean, variance, weight, bias = (w[f"{p}{norm}.{kind}"] for kind in ("running_mean", "running_var", "weight", "bias"))
        return f.batch_norm(f.conv2d(x, kernel, stride=stride, padding=kernel.shape[-1] // 2), mean, variance, weight, bias)

    x = f.max_pool2d(f.relu(conv(torch.tensor(image.astype(np.float64)), "conv1", "bn1", 2)), 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for n in range(blocks):
            own, stride = f"layer{stage + 1}.{n}.", 2 if stage and n == 0 else 1
            y = f.relu(conv(x, own + "conv1", own + "bn1"))
            y = conv(f.relu(conv(y, own + "conv2", own + "bn2", stride)), own + "conv3", own + "bn3")
            x = f.relu(y + (conv(x, own + "downsample.0", own + "downsample.1", stride) if n == 0 else x))
    return x.numpy().transpose(0, 2, 3, 1)


def picture_sines(there, d):
    """[B, Y, X, d]: of rows in the first half, of columns in the second, counted where `there` is true."""
    halves = []
    for axis in (1, 2):
        at = there.cumsum(axis).astype(np.float64)
        at = at / (at.max(axis, keepdims=True) + 1e-6) * 2 * np.pi
        angles = at[..., None] / 10000.0 ** (2 * np.arange(d // 4) / (d // 2))
        halves.append(np.stack([np.sin(angles), np.cos(angles)], -1).reshape(*there.shape, d // 2))
    return np.concatenate(halves, -1)


def detr(c, w, image, there=None):
    """Logits and boxes of each query; `there`, [B, H, W], is true where a picture is."""
    x = linear(resnet(w, "model.backbone.conv_encoder.model.", image),
               {"i.weight": w["model.input_projection.weight"][:, :, 0, 0], "i.bias": w["model.input_projection.bias"]}, "i")
    b, rows, columns, d = x.shape
    if there is None:
        there = np.ones(image.shape[:1] + image.shape[2:], bool)
    grid = there[:, np.arange(rows) * there.shape[1] // rows][:, :, np.arange(columns) * there.shape[2] // columns]
    x, places = x.reshape(b, -1, d), picture_sines(grid, d).reshape(b, -1, d)
    live, act = grid.reshape(b, 1, 1, -1), ACTIVATIONS[c["activation_function"]]

    def attend(p, q, k, v, live):
        q, k, v = (linear(x, w, f"{p}.{name}_proj") for x, name in ((q, "q"), (k, "k"), (v, "v")))
        return linear(attention(q, k, v, c[("decoder" if ".decoder." in p else "encoder") + "_attention_heads"], live), w, p + ".out_proj")

    norm = lambda x, name: layer_norm(x, w, name, 1e-5)
    mlp = lambda x, p: norm(x + linear(act(linear(x, w, p + "fc1")), w, p + "fc2"), p + "final_layer_norm")
    for n in range(c["encoder_layers"]):
        p = f"model.encoder.layers.{n}."
        x = mlp(norm(x + attend(p + "self_attn", x + places, x + places, x, live), p + "self_attn_layer_norm"), p)
    queries = np.repeat(w["model.query_position_embeddings.weight"][None], b, 0)
    y = np.zeros_like(queries)
    for n in range(c["decoder_layers"]):
        p = f"model.decoder.layers.{n}."
        y = norm(y + attend(p + "self_attn", y + queries, y + queries, y, True), p + "self_attn_layer_norm")
        y = norm(y + attend(p + "encoder_attn", y + queries, x + places, x, live), p + "encoder_attn_layer_norm")
        y = mlp(y, p)
    y = box = norm(y, "model.decoder.layernorm")
    for n in range(3):
        box = linear(np.maximum(box, 0) if n else box, w, f"bbox_predictor.layers.{n}")
    return {"logits": linear(y, w, "class_labels_classifier"), "boxes": sigmoid(box)}


def timm(c, w, image):
    """The same transformer under timm's names."""
    norm = lambda x, name: layer_norm(x, w, name, 1e-6)
    kernel, side, b = w["patch_embed.proj.weight"], w["patch_embed.proj.weight"].shape[2], len(image)
    grid = image.shape[2] // side
    patches = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid * grid, -1)
    front = [w[name] for name in ("cls_token", "dist_token") if name in w]
    x = np.concatenate([*(np.repeat(token, b, 0) for token in front), patches @ kernel.reshape(len(kernel), -1).T + w["patch_embed.proj.bias"]], 1)
    x = x + w["pos_embed"]
    for n in range(2):
        p = f"blocks.{n}."
        q, k, v = np.split(linear(norm(x, p + "norm1"), w, p + "attn.qkv"), 3, -1)
        x = x + linear(attention(q, k, v, c["model_args"]["num_heads"]), w, p + "attn.proj") * w.get(p + "ls1.gamma", 1)
        y = ACTIVATIONS["gelu"](linear(norm(x, p + "norm2"), w, p + "mlp.fc1"))
        x = x + linear(y, w, p + "mlp.fc2") * w.get(p + "ls2.gamma", 1)
    if c.get("global_pool") == "avg":
        return {"scores": linear(norm(x[:, len(front):].mean(1), "fc_norm"), w, "head")}
    x = norm(x, "norm")
    if "dist_token" in w:
        return {"scores": (linear(x[:, 0], w, "head") + linear(x[:, 1], w, "head_dist")) / 2}
    return {"scores": linear(x[:, 0], w, "head")} if c["num_classes"] else {"hidden": x}


def clip_tower(x, c, w, prefix, mask):
    norm = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"])
    act = lambda x: x * sigmoid(1.702 * x) if c["hidden_act"] == "quick_gelu" else ACTIVATIONS[c["hidden_act"]](x)
    for n in range(c["num_hidden_layers"]):
        p = f"{prefix}encoder.layers.{n}."
        y = norm(x, p + "layer_norm1")
        q, k, v = (heads_of(linear(y, w, p + f"self_attn.{name}_proj"), c["num_attention_heads"]) for name in "qkv")
        scores = np.where(mask, q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]), -np.inf)
        x = x + linear(joined(softmax(scores) @ v), w, p + "self_attn.out_proj")
        x = x + linear(act(linear(norm(x, p + "layer_norm2"), w, p + "mlp.fc1")), w, p + "mlp.fc2")
    return x


def clip_text(t, w, ids, siglip):
    """The states of a text's tokens."""
    live = np.ones((ids.shape[1],) * 2, bool)
    x = w["text_model.embeddings.token_embedding.weight"][ids] + w["text_model.embeddings.position_embedding.weight"][:ids.shape[1]]
    x = clip_tower(x, t, w, "text_model.", live if siglip else np.tril(live))
    return layer_norm(x, w, "text_model.final_layer_norm", t["layer_norm_eps"])


def clip_picture(v, w, image, siglip):
    """The states of a picture's tokens, and what stands for all of them."""
    side, b = v["patch_size"], len(image)
    grid = image.shape[2] // side
    patches = image.astype(np.float64).reshape(b, 3, grid, side, grid, side).transpose(0, 2, 4, 1, 3, 5).reshape(b, grid * grid, -1)
    kernel = w["vision_model.embeddings.patch_embedding.weight"]
    y = patches @ kernel.reshape(len(kernel), -1).T + w.get("vision_model.embeddings.patch_embedding.bias", 0)
    if not siglip:
        y = np.concatenate([np.broadcast_to(w["vision_model.embeddings.class_embedding"], (b, 1, y.shape[-1])), y], 1)
    y = y + w["vision_model.embeddings.position_embedding.weight"]
    eps = v["layer_norm_eps"]
    y = y if siglip else layer_norm(y, w, "vision_model.pre_layrnorm", eps)
    y = clip_tower(y, v, w, "vision_model.", True)
    if not siglip:
        return y, layer_norm(y[:, 0], w, "vision_model.post_layernorm", eps)
    y, h = layer_norm(y, w, "vision_model.post_layernorm", eps), "vision_model.head."
    wq, wk, wv = np.split(w[h + "attention.in_proj_weight"], 3)
    bq, bk, bv = np.split(w[h + "attention.in_proj_bias"], 3)
    q = heads_of(np.repeat(w[h + "probe"], b, 0) @ wq.T + bq, v["num_attention_heads"])
    k, values = (heads_of(y @ m.T + n, v["num_attention_heads"]) for m, n in ((wk, bk), (wv, bv)))
    a = linear(joined(softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])) @ values), w, h + "attention.out_proj")
    a = a + linear(ACTIVATIONS[v["hidden_act"]](linear(layer_norm(a, w, h + "layernorm", eps), w, h + "mlp.fc1")), w, h + "mlp.fc2")
    return y, a[:, 0]


def clip(c, w, ids, end, image):
    """The vectors of texts and of pictures, and how well they go together."""
    siglip = c["model_type"] == "siglip"
    unit = lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True)
    x, (_, y) = clip_text(c["text_config"], w, ids, siglip), clip_picture(c["vision_config"], w, image, siglip)
    text = unit(linear(x[:, -1], w, "text_model.head") if siglip else x[np.arange(len(ids)), end] @ w["text_projection.weight"].T)
    picture = unit(y if siglip else y @ w["visual_projection.weight"].T)
    return text, picture, picture @ text.T * np.exp(w["logit_scale"]).item() + (w["logit_bias"] if siglip else 0)


def tower(c, w, ids=None, end=None, image=None):
    """One of the two encoders by itself."""
    siglip, projected = c["model_type"].startswith("siglip"), c["architectures"][0].endswith("Projection")
    if image is not None:
        hidden, pooled = clip_picture(c, w, image, siglip)
        return {"embedding": pooled @ w["visual_projection.weight"].T} if projected else {"hidden": hidden, "pooled": pooled}
    hidden = clip_text(c, w, ids, siglip)
    pooled = linear(hidden[:, -1], w, "text_model.head") if siglip else hidden[np.arange(len(ids)), end]
    return {"embedding": pooled @ w["text_projection.weight"].T} if projected else {"hidden": hidden, "pooled": pooled}

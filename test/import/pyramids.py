# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of pictures whose maps become smaller and wider from stage to stage: their tensors, in NumPy what they compute, small folders of them, and
published configs. Maps are [B, Y, X, D]."""
import numpy as np

from numpy_layers import ACTIVATIONS, attention, layer_norm, linear
from shapes import pair

LABELS = {"0": "anger", "1": "joy", "2": "fear"}


def convolved(x, w, name, stride=1, border=0, groups=1):
    """A convolution of a map as PyTorch has it, place by place of its kernel."""
    kernel = w[name + ".weight"]
    outs, _, high, wide = kernel.shape
    x = np.pad(x, ((0, 0), (border, border), (border, border), (0, 0)))
    rows, columns = (x.shape[1] - high) // stride + 1, (x.shape[2] - wide) // stride + 1
    made = np.zeros((len(x), rows, columns, outs))
    for i in range(high):
        for j in range(wide):
            seen = x[:, i:i + stride * (rows - 1) + 1:stride, j:j + stride * (columns - 1) + 1:stride]
            if groups == 1:
                made += seen @ kernel[:, :, i, j].T
            else:
                seen = seen.reshape(*seen.shape[:3], groups, -1)
                made += np.einsum("byxgc,goc->byxgo", seen, kernel[:, :, i, j].reshape(groups, outs // groups, -1)).reshape(made.shape)
    return made + w.get(name + ".bias", 0)


# ConvNeXt: where stages are, and what a layer's tensors are called
CONVNEXT = {
    "convnext": ("encoder.stages.", "downsampling_layer", "dwconv", "layernorm", "pwconv1", "pwconv2", "layer_scale_parameter"),
    "convnextv2": ("encoder.stages.", "downsampling_layer", "dwconv", "layernorm", "pwconv1", "pwconv2", None),
    "dinov3_convnext": ("stages.", "downsample_layers", "depthwise_conv", "layer_norm", "pointwise_conv1", "pointwise_conv2", "gamma"),
}


def convnext_shapes(c):
    at, down, depthwise, norm, up, back, scale = CONVNEXT[c["model_type"]]
    dino, before, shapes = c["model_type"] == "dinov3_convnext", 3, {}
    p = "" if dino or "For" not in c["architectures"][0] else c["model_type"] + "."
    patch = c.get("patch_size", 4)
    for s, (d, depth) in enumerate(zip(c["hidden_sizes"], c["depths"])):
        stage = f"{p}{at}{s}."
        if s:
            shapes.update({**pair(f"{stage}{down}.0", before), **pair(f"{stage}{down}.1", d, before, 2, 2)})
        elif dino:
            shapes.update({**pair(f"{stage}{down}.0", d, 3, 4, 4), **pair(f"{stage}{down}.1", d)})
        else:
            shapes.update({**pair(p + "embeddings.patch_embeddings", d, 3, patch, patch), **pair(p + "embeddings.layernorm", d)})
        for n in range(depth):
            own = {**pair(depthwise, d, 1, 7, 7), **pair(norm, d), **pair(up, 4 * d, d), **pair(back, d, 4 * d)}
            own.update({scale: (d,)} if scale else {"grn.weight": (1, 1, 1, 4 * d), "grn.bias": (1, 1, 1, 4 * d)})
            shapes.update({f"{stage}layers.{n}.{name}": shape for name, shape in own.items()})
        before = d
    shapes.update(pair("layer_norm" if dino else p + "layernorm", before))
    return {**shapes, **(pair("classifier", len(c["id2label"]), before) if p else {})}


def convnext(c, w, image):
    at, down, depthwise, name, up, back, scale = CONVNEXT[c["model_type"]]
    dino = c["model_type"] == "dinov3_convnext"
    w = {key.removeprefix(c["model_type"] + "."): value for key, value in w.items()}
    norm = lambda x, key, eps=1e-6: layer_norm(x, w, key, c["layer_norm_eps"] if dino else eps)
    x = image.astype(np.float64).transpose(0, 2, 3, 1)
    for s, (d, depth) in enumerate(zip(c["hidden_sizes"], c["depths"])):
        first = f"{at}{s}.{down}."
        if s:
            x = convolved(norm(x, first + "0"), w, first + "1", 2)
        elif dino:
            x = norm(convolved(x, w, first + "0", 4), first + "1")
        else:
            x = norm(convolved(x, w, "embeddings.patch_embeddings", c["patch_size"]), "embeddings.layernorm")
        for n in range(depth):
            p = f"{at}{s}.layers.{n}."
            y = ACTIVATIONS[c["hidden_act"]](linear(norm(convolved(x, w, p + depthwise, border=3, groups=d), p + name), w, p + up))
            if not scale:
                length = np.sqrt((y ** 2).sum((1, 2), keepdims=True))
                y = w[p + "grn.weight"] * y * (length / (length.mean(-1, keepdims=True) + 1e-6)) + w[p + "grn.bias"] + y
            x = x + linear(y, w, p + back) * w.get(p + str(scale), 1)
    if dino:
        x = np.concatenate([x.mean((1, 2))[:, None], x.reshape(len(x), -1, x.shape[-1])], 1)
        x = norm(x, "layer_norm")
        return {"hidden": x, "pooled": x[:, 0]}
    pooled = norm(x.mean((1, 2)), "layernorm", c["layer_norm_eps"])
    return {"scores": linear(pooled, w, "classifier")} if "classifier.weight" in w else {"hidden": x.transpose(0, 3, 1, 2), "pooled": pooled}


# SegFormer and PVT v2: names of a stage's parts, then of a layer's
PYRAMIDS = {
    "segformer": ("encoder.patch_embeddings.{}.", "encoder.block.{}.", "encoder.layer_norm.{}",
                  ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"], "attention.self.sr",
                  "attention.self.layer_norm"),
    "pvt_v2": ("encoder.layers.{}.patch_embedding.", "encoder.layers.{}.blocks.", "encoder.layers.{}.layer_norm",
               ["attention.query", "attention.key", "attention.value", "attention.proj"], "attention.spatial_reduction", "attention.layer_norm"),
}


def pyramid_shapes(c):
    embed, block, norm, maps, reduce, reduce_norm = PYRAMIDS[c["model_type"]]
    classify, before, shapes = "For" in c["architectures"][0], 3, {}
    p, pooled = c["model_type"] + "." if classify else "", c.get("linear_attention")
    for s, d in enumerate(c["hidden_sizes"]):
        shapes.update({**pair(p + embed.format(s) + "proj", d, before, c["patch_sizes"][s], c["patch_sizes"][s]),
                       **pair(p + embed.format(s) + "layer_norm", d), **pair(p + norm.format(s), d)})
        f, ratio = int(d * c["mlp_ratios"][s]), 1 if pooled else c["sr_ratios"][s]
        for n in range(c["depths"][s]):
            own = {**pair("layer_norm_1", d), **pair("layer_norm_2", d), **pair("mlp.dense1", f, d), **pair("mlp.dwconv.dwconv", f, 1, 3, 3),
                   **pair("mlp.dense2", d, f)}
            for name in maps:
                own.update(pair(name, d, d))
            if pooled or ratio > 1:
                own.update({**pair(reduce, d, d, ratio, ratio), **pair(reduce_norm, d)})
            shapes.update({f"{p}{block.format(s)}{n}.{name}": shape for name, shape in own.items()})
        before = d
    if "Segmentation" in c["architectures"][0]:
        m = c["decoder_hidden_size"]
        for s, d in enumerate(c["hidden_sizes"]):
            shapes.update(pair(f"decode_head.linear_c.{s}.proj", m, d))
        shapes.update({"decode_head.linear_fuse.weight": (m, m * len(c["depths"]), 1, 1), **pair("decode_head.classifier", len(c["id2label"]), m, 1, 1),
                       **pair("decode_head.batch_norm", m), "decode_head.batch_norm.running_mean": (m,), "decode_head.batch_norm.running_var": (m,)})
    elif classify:
        shapes.update(pair("classifier", len(c["id2label"]), before))
    return shapes


def enlarged(x, size):
    """A map on a finer grid, with straight lines between the middles of its places."""
    for axis in (1, 2):
        old, new = x.shape[axis], size[axis - 1]
        at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if k == axis else 1 for k in range(4)])
        x = np.take(x, low, axis) * (1 - part) + np.take(x, np.minimum(low + 1, old - 1), axis) * part
    return x


def pyramid(c, w, image):
    embed, block, norm_name, maps, reduce, reduce_norm = PYRAMIDS[c["model_type"]]
    w = {key.removeprefix(c["model_type"] + "."): value for key, value in w.items()}
    eps, act, pooled = 1e-5 if c["model_type"] == "segformer" else c["layer_norm_eps"], ACTIVATIONS[c["hidden_act"]], c.get("linear_attention")
    norm, x, seen = lambda x, key: layer_norm(x, w, key, eps), image.astype(np.float64).transpose(0, 2, 3, 1), []
    for s, d in enumerate(c["hidden_sizes"]):
        x = norm(convolved(x, w, embed.format(s) + "proj", c["strides"][s], c["patch_sizes"][s] // 2), embed.format(s) + "layer_norm")
        for n in range(c["depths"][s]):
            p = f"{block.format(s)}{n}."
            y, ratio = norm(x, p + "layer_norm_1"), c["sr_ratios"][s]
            few, count = y, c["num_attention_heads"][s]
            if pooled:
                few = y.reshape(len(y), 7, y.shape[1] // 7, 7, y.shape[2] // 7, d).mean((2, 4))
                few = ACTIVATIONS["gelu"](norm(convolved(few, w, p + reduce), p + reduce_norm))
            elif ratio > 1:
                few = norm(convolved(y, w, p + reduce, ratio), p + reduce_norm)
            flat = lambda x: x.reshape(len(x), -1, d)
            a = attention(linear(flat(y), w, p + maps[0]), *(linear(flat(few), w, p + name) for name in maps[1:3]), count)
            x = x + linear(a, w, p + maps[3]).reshape(x.shape)
            f = linear(norm(x, p + "layer_norm_2"), w, p + "mlp.dense1")
            f = np.maximum(f, 0) if pooled else f
            x = x + linear(act(convolved(f, w, p + "mlp.dwconv.dwconv", border=1, groups=f.shape[-1])), w, p + "mlp.dense2")
        x = norm(x, norm_name.format(s))
        seen.append(x)
    if "decode_head.classifier.weight" in w:
        size = seen[0].shape[1:3]
        parts = [enlarged(linear(y, w, f"decode_head.linear_c.{s}.proj"), size) for s, y in enumerate(seen)]
        y, p = convolved(np.concatenate(parts[::-1], -1), w, "decode_head.linear_fuse"), "decode_head.batch_norm."
        y = (y - w[p + "running_mean"]) / np.sqrt(w[p + "running_var"] + 1e-5) * w[p + "weight"] + w[p + "bias"]
        return {"scores": convolved(np.maximum(y, 0), w, "decode_head.classifier").transpose(0, 3, 1, 2)}
    return {"scores": linear(x.mean((1, 2)), w, "classifier")} if "classifier.weight" in w else {"hidden": x.transpose(0, 3, 1, 2)}


def of_stages(kind, architecture, **more):
    return dict(model_type=kind, architectures=[architecture], num_channels=3, image_size=32, hidden_act="gelu", **more)


RATIO = {"preprocessor_config.json": dict(image_processor_type="ConvNextImageProcessor", crop_pct=0.875, do_normalize=True, do_resize=True, resample=3,
                                          image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225], size=dict(shortest_edge=38))}
CONV = dict(num_stages=3, hidden_sizes=[12, 20, 28], depths=[1, 2, 2], layer_norm_eps=1e-12, patch_size=4)
STAGED = dict(num_encoder_blocks=3, depths=[1, 2, 1], sr_ratios=[4, 2, 1], hidden_sizes=[12, 20, 32], patch_sizes=[7, 3, 3], strides=[4, 2, 2],
              num_attention_heads=[1, 2, 4], mlp_ratios=[4, 3, 2], layer_norm_eps=1e-6)
SEGMENTS = {"preprocessor_config.json": dict(do_normalize=True, do_resize=True, do_reduce_labels=True, feature_extractor_type="SegformerFeatureExtractor",
                                             image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225], resample=2, size=72)}
OF_PVT = {"preprocessor_config.json": dict(do_normalize=True, do_resize=True, image_processor_type="PvtImageProcessor", resample=2, rescale_factor=1 / 255,
                                           image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225], size=dict(height=112, width=112))}
FOLDERS = {
    "segformer": (of_stages("segformer", "SegformerForSemanticSegmentation", id2label=LABELS, decoder_hidden_size=24, **STAGED), pyramid_shapes, SEGMENTS),
    "segformer-classes": (of_stages("segformer", "SegformerForImageClassification", id2label=LABELS, **STAGED), pyramid_shapes, SEGMENTS),
    "pvt-v2": (of_stages("pvt_v2", "PvtV2ForImageClassification", id2label=LABELS, **STAGED), pyramid_shapes, {}),
    "pvt-v2-linear": (of_stages("pvt_v2", "PvtV2Model", linear_attention=True, **STAGED), pyramid_shapes, OF_PVT),
    "convnext": (of_stages("convnext", "ConvNextForImageClassification", id2label=LABELS, layer_scale_init_value=1e-6, **CONV), convnext_shapes, RATIO),
    "convnext-states": (of_stages("convnext", "ConvNextModel", **CONV), convnext_shapes, {}),
    "convnextv2": (of_stages("convnextv2", "ConvNextV2ForImageClassification", id2label=LABELS, **CONV), convnext_shapes, RATIO),
    "dinov3-convnext": (of_stages("dinov3_convnext", "DINOv3ConvNextModel", hidden_sizes=[12, 20, 28], depths=[1, 2, 2], layer_norm_eps=1e-6),
                        convnext_shapes, {}),
}
TWINS = {**dict.fromkeys(CONVNEXT, convnext), **dict.fromkeys(PYRAMIDS, pyramid)}


def side_of(config, files):
    """How high and wide the picture is."""
    size = files.get("preprocessor_config.json", {}).get("size", {})
    return size if isinstance(size, int) else size.get("shortest_edge", size.get("height", config["image_size"]))


THOUSAND = {str(n): f"LABEL_{n}" for n in range(1000)}
TINY = {**CONV, "num_stages": 4, "hidden_sizes": [96, 192, 384, 768], "depths": [3, 3, 9, 3], "image_size": 224}
B0 = dict(num_encoder_blocks=4, depths=[2, 2, 2, 2], sr_ratios=[8, 4, 2, 1], hidden_sizes=[32, 64, 160, 256], patch_sizes=[7, 3, 3, 3],
          strides=[4, 2, 2, 2], num_attention_heads=[1, 2, 5, 8], image_size=224)
PUBLISHED = {
    "facebook/convnext-tiny-224": ({**of_stages("convnext", "ConvNextForImageClassification", id2label=THOUSAND), **TINY,
                                    "layer_scale_init_value": 1e-6}, convnext_shapes, 28589128),
    "facebook/convnextv2-tiny-1k-224": ({**of_stages("convnextv2", "ConvNextV2ForImageClassification", id2label=THOUSAND), **TINY},
                                        convnext_shapes, 28635496),
    "facebook/dinov3-convnext-tiny-pretrain-lvd1689m": ({
        **of_stages("dinov3_convnext", "DINOv3ConvNextModel"), "hidden_sizes": [96, 192, 384, 768], "depths": [3, 3, 9, 3], "image_size": 224,
        "layer_norm_eps": 1e-6, "layer_scale_init_value": 1e-6, "drop_path_rate": 0.0}, convnext_shapes, 27820128),
    # With a norm of each batch, whose means and variances count here.
    "nvidia/segformer-b0-finetuned-ade-512-512": ({
        **of_stages("segformer", "SegformerForSemanticSegmentation", id2label={str(n): f"LABEL_{n}" for n in range(150)}), **B0,
        "mlp_ratios": [4, 4, 4, 4], "decoder_hidden_size": 256}, pyramid_shapes, 3752694 + 2 * 256),
    "OpenGVLab/pvt_v2_b0": ({**of_stages("pvt_v2", "PvtV2ForImageClassification", id2label=THOUSAND), **B0, "image_size": 224,
                             "mlp_ratios": [8, 8, 4, 4], "layer_norm_eps": 1e-6}, pyramid_shapes, 3666760),
}

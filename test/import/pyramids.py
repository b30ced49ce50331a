# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of pictures whose maps become smaller and wider from stage to stage: their tensors, in NumPy what they compute, small folders of them, and
published configs. Maps are [B, Y, X, D]."""
import numpy as np

from numpy_layers import ACTIVATIONS, layer_norm, linear
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


def of_stages(kind, architecture, **more):
    return dict(model_type=kind, architectures=[architecture], num_channels=3, image_size=32, hidden_act="gelu", **more)


RATIO = {"preprocessor_config.json": dict(image_processor_type="ConvNextImageProcessor", crop_pct=0.875, do_normalize=True, do_resize=True, resample=3,
                                          image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225], size=dict(shortest_edge=38))}
CONV = dict(num_stages=3, hidden_sizes=[12, 20, 28], depths=[1, 2, 2], layer_norm_eps=1e-12, patch_size=4)
FOLDERS = {
    "convnext": (of_stages("convnext", "ConvNextForImageClassification", id2label=LABELS, layer_scale_init_value=1e-6, **CONV), convnext_shapes, RATIO),
    "convnext-states": (of_stages("convnext", "ConvNextModel", **CONV), convnext_shapes, {}),
    "convnextv2": (of_stages("convnextv2", "ConvNextV2ForImageClassification", id2label=LABELS, **CONV), convnext_shapes, RATIO),
    "dinov3-convnext": (of_stages("dinov3_convnext", "DINOv3ConvNextModel", hidden_sizes=[12, 20, 28], depths=[1, 2, 2], layer_norm_eps=1e-6),
                        convnext_shapes, {}),
}
TWINS = {**dict.fromkeys(CONVNEXT, convnext)}


def side_of(config, files):
    """How high and wide the picture is."""
    size = files.get("preprocessor_config.json", {}).get("size", {})
    return size.get("shortest_edge", size.get("height", config["image_size"]))


THOUSAND = {str(n): f"LABEL_{n}" for n in range(1000)}
TINY = {**CONV, "num_stages": 4, "hidden_sizes": [96, 192, 384, 768], "depths": [3, 3, 9, 3], "image_size": 224}
PUBLISHED = {
    "facebook/convnext-tiny-224": ({**of_stages("convnext", "ConvNextForImageClassification", id2label=THOUSAND), **TINY,
                                    "layer_scale_init_value": 1e-6}, convnext_shapes, 28589128),
    "facebook/convnextv2-tiny-1k-224": ({**of_stages("convnextv2", "ConvNextV2ForImageClassification", id2label=THOUSAND), **TINY},
                                        convnext_shapes, 28635496),
    "facebook/dinov3-convnext-tiny-pretrain-lvd1689m": ({
        **of_stages("dinov3_convnext", "DINOv3ConvNextModel"), "hidden_sizes": [96, 192, 384, 768], "depths": [3, 3, 9, 3], "image_size": 224,
        "layer_norm_eps": 1e-6, "layer_scale_init_value": 1e-6, "drop_path_rate": 0.0}, convnext_shapes, 27820128),
}

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Depth Anything: its tensors, in NumPy what it computes, a small folder and a published config. Maps are [B, Y, X, D]."""
import numpy as np

from picture_models import vit
from pyramids import convolved
from shapes import pair, vit_shapes


def depth_shapes(c):
    b = c["backbone_config"]
    d, w, shapes = b["hidden_size"], c["fusion_hidden_size"], {"backbone." + name: shape for name, shape in vit_shapes({**b, "architectures": [""]}).items()}
    for i, (features, factor) in enumerate(zip(c["neck_hidden_sizes"], c["reassemble_factors"])):
        own = f"neck.reassemble_stage.layers.{i}."
        shapes.update({**pair(own + "projection", features, d, 1, 1), f"neck.convs.{i}.weight": (w, features, 3, 3)})
        if factor != 1:
            side = int(factor) if factor > 1 else 3
            shapes.update(pair(own + "resize", features, features, side, side))
        own = f"neck.fusion_stage.layers.{i}."
        shapes.update(pair(own + "projection", w, w, 1, 1))
        for part in ("residual_layer1.convolution1", "residual_layer1.convolution2", "residual_layer2.convolution1", "residual_layer2.convolution2"):
            shapes.update(pair(own + part, w, w, 3, 3))
    return {**shapes, **pair("head.conv1", w // 2, w, 3, 3), **pair("head.conv2", c["head_hidden_size"], w // 2, 3, 3),
            **pair("head.conv3", 1, c["head_hidden_size"], 1, 1)}


def spread(x, size):
    """A map on a finer grid, with straight lines from its first place to its last."""
    for axis in (1, 2):
        old, new = x.shape[axis], size[axis - 1]
        at = np.arange(new) * (old - 1) / max(new - 1, 1)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if k == axis else 1 for k in range(4)])
        x = np.take(x, low, axis) * (1 - part) + np.take(x, np.minimum(low + 1, old - 1), axis) * part
    return x


def depth(c, w, image):
    b, relu = c["backbone_config"], lambda x: np.maximum(x, 0)
    own, maps = {name.removeprefix("backbone."): value for name, value in w.items() if name.startswith("backbone.")}, []
    grid = image.shape[2] // c["patch_size"]
    for i, (layer, factor) in enumerate(zip(b["out_indices"], c["reassemble_factors"])):
        state = vit({**b, "architectures": [""], "num_hidden_layers": layer}, own, image)["hidden"][:, 1:]
        name = f"neck.reassemble_stage.layers.{i}."
        x = convolved(state.reshape(len(image), grid, grid, -1), w, name + "projection")
        if factor > 1:
            f = int(factor)
            x = np.einsum("byxd,dopq->bypxqo", x, w[name + "resize.weight"]).reshape(len(x), grid * f, grid * f, -1) + w[name + "resize.bias"]
        elif factor < 1:
            x = convolved(x, w, name + "resize", int(1 / factor), 1)
        maps.append(convolved(x, w, f"neck.convs.{i}", border=1))

    def residual(x, name):
        return x + convolved(relu(convolved(relu(x), w, name + ".convolution1", border=1)), w, name + ".convolution2", border=1)

    fused = None
    for i, x in enumerate(maps[::-1]):
        name = f"neck.fusion_stage.layers.{i}."
        fused = x if fused is None else fused + residual(x, name + "residual_layer1")
        fused = residual(fused, name + "residual_layer2")
        finer = maps[::-1][i + 1].shape[1:3] if i + 1 < len(maps) else [2 * side for side in fused.shape[1:3]]
        fused = convolved(spread(fused, finer), w, name + "projection")
    x = spread(convolved(fused, w, "head.conv1", border=1), (grid * c["patch_size"],) * 2)
    x = convolved(relu(convolved(x, w, "head.conv2", border=1)), w, "head.conv3")[..., 0]
    return {"depth": relu(x) if c["depth_estimation_type"] == "relative" else c["max_depth"] / (1 + np.exp(-x))}


BACKBONE = dict(model_type="dinov2", hidden_size=24, num_attention_heads=3, num_hidden_layers=5, mlp_ratio=2, image_size=56, patch_size=8,
                out_indices=[2, 3, 5], out_features=["stage2", "stage3", "stage5"], reshape_hidden_states=False, layer_norm_eps=1e-6, hidden_act="gelu",
                num_channels=3)
SMALL = dict(model_type="depth_anything", architectures=["DepthAnythingForDepthEstimation"], patch_size=8, reassemble_hidden_size=24,
             reassemble_factors=[2, 1, 0.5], neck_hidden_sizes=[10, 12, 14], fusion_hidden_size=16, head_hidden_size=6, head_in_index=-1,
             depth_estimation_type="relative", max_depth=None, backbone_config=BACKBONE)
KEPT = {"preprocessor_config.json": dict(do_normalize=True, do_rescale=True, do_resize=True, do_pad=False, ensure_multiple_of=8, keep_aspect_ratio=True,
                                         image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225], image_processor_type="DPTImageProcessor",
                                         resample=3, rescale_factor=1 / 255, size=dict(height=56, width=56), size_divisor=None)}
FOLDERS = {
    "depth-anything": (SMALL, depth_shapes, KEPT),
    "depth-anything-metric": ({**SMALL, "depth_estimation_type": "metric", "max_depth": 20}, depth_shapes, {}),
}


def check_depth(config, w, files, rng):
    image = rng.standard_normal((2, 3, 56, 56)).astype(np.float32)
    return {"image": image}, depth(config, w, image)


TWINS = {"depth_anything": check_depth}
PUBLISHED = {  # less the token of masks, and the tensors of a map that nothing is added to
    "LiheYoung/depth-anything-small-hf": ({
        **SMALL, "patch_size": 14, "reassemble_hidden_size": 384, "reassemble_factors": [4, 2, 1, 0.5], "neck_hidden_sizes": [48, 96, 192, 384],
        "fusion_hidden_size": 64, "head_hidden_size": 32, "backbone_config": {
            **BACKBONE, "hidden_size": 384, "num_attention_heads": 6, "num_hidden_layers": 12, "mlp_ratio": 4, "image_size": 518, "patch_size": 14,
            "out_indices": [9, 10, 11, 12], "out_features": ["stage9", "stage10", "stage11", "stage12"]}}, depth_shapes, 24785089 - 384 - 2 * (64 * 64 * 9 + 64)),
}

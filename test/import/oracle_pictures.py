# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of pictures whose maps become smaller from stage to stage, as the published library has them: as oracle_families.py has other families."""
import numpy as np
import torch

from oracle_families import VIT, results_of, tensor, viewer

STATES = dict(hidden="last_hidden_state", pooled="pooler_output")


def masked(model):
    """Of a class that leaves out patches at random: all of them, in their order."""
    config = model.config
    image = np.random.default_rng(4).standard_normal((2, config.num_channels, config.image_size, config.image_size)).astype(np.float32)
    config.mask_ratio = 0.0
    noise = torch.arange((config.image_size // config.patch_size) ** 2).repeat(2, 1)
    made = (model.vit if hasattr(model, "vit") else model)(pixel_values=tensor(image), noise=noise)
    return [(results_of(made, dict(hidden="last_hidden_state")), "encode", {"image": image})]


def framed(entry, **fields):
    """Of pictures that are not square."""
    def call(model):
        height, width = model.config.image_size
        image = np.random.default_rng(4).standard_normal((2, model.config.num_channels, height, width)).astype(np.float32)
        return [(results_of(model(pixel_values=tensor(image)), fields), entry, {"image": image})]

    return call


YOLOS = {**{key: value for key, value in VIT.items() if key != "num_labels"}, "image_size": [32, 48], "num_detection_tokens": 5}
MAE = {**{key: value for key, value in VIT.items() if key != "num_labels"}, "decoder_hidden_size": 16, "decoder_num_attention_heads": 2,
       "decoder_num_hidden_layers": 1, "decoder_intermediate_size": 16}
CONV = dict(image_size=36, hidden_sizes=[12, 20, 28], depths=[1, 2, 2])
FAMILIES = {
    "vit_mae": ("ViTMAEForPreTraining", MAE, masked),
    "yolos": ("YolosForObjectDetection", {**YOLOS, "num_labels": 3}, framed("detect", logits="logits", boxes="pred_boxes")),
    "convnext": ("ConvNextForImageClassification", {**CONV, "num_stages": 3, "num_labels": 5}, viewer("classify")),
    "convnextv2": ("ConvNextV2ForImageClassification", {**CONV, "num_stages": 3, "num_labels": 5}, viewer("classify")),
    "dinov3_convnext": ("DINOv3ConvNextModel", CONV, viewer("encode", **STATES)),
}
HEADS = {
    "vit_mae, states": ("ViTMAEModel", MAE, masked),
    "yolos, states": ("YolosModel", YOLOS, framed("encode", hidden="last_hidden_state")),
    "convnext, states": ("ConvNextModel", {**CONV, "num_stages": 3}, viewer("encode", **STATES)),
    "convnextv2, states": ("ConvNextV2Model", {**CONV, "num_stages": 3}, viewer("encode", **STATES)),
}

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


def square(side, entry, **fields):
    """Of a class whose config says nothing of the picture's size, which is a file's beside it."""
    def call(model):
        image = np.random.default_rng(4).standard_normal((2, model.config.num_channels, side, side)).astype(np.float32)
        return [(results_of(model(pixel_values=tensor(image)), fields), entry, {"image": image})]

    return call


def of_72(files, tensors):
    return files | {"preprocessor_config.json": dict(size=dict(height=72, width=72))}, tensors


of_72.keys = ()


def framed(entry, **fields):
    """Of pictures that are not square."""
    def call(model):
        height, width = model.config.image_size
        image = np.random.default_rng(4).standard_normal((2, model.config.num_channels, height, width)).astype(np.float32)
        return [(results_of(model(pixel_values=tensor(image)), fields), entry, {"image": image})]

    return call


def hearer(entry, **fields):
    """Of spectrograms, which the library has frames first."""
    def call(model):
        mel = np.random.default_rng(4).standard_normal((2, model.config.num_mel_bins, model.config.max_length)).astype(np.float32)
        return [(results_of(model(input_values=tensor(mel.transpose(0, 2, 1).copy())), fields), entry, {"mel": mel})]

    return call


AST = {**{key: value for key, value in VIT.items() if key not in ("num_labels", "image_size", "num_channels")}, "num_mel_bins": 24, "max_length": 40,
       "frequency_stride": 5, "time_stride": 6}
YOLOS = {**{key: value for key, value in VIT.items() if key != "num_labels"}, "image_size": [32, 48], "num_detection_tokens": 5}
MAE = {**{key: value for key, value in VIT.items() if key != "num_labels"}, "decoder_hidden_size": 16, "decoder_num_attention_heads": 2,
       "decoder_num_hidden_layers": 1, "decoder_intermediate_size": 16}
CONV = dict(image_size=36, hidden_sizes=[12, 20, 28], depths=[1, 2, 2])
STAGED = dict(num_encoder_blocks=3, depths=[1, 2, 1], sr_ratios=[4, 2, 1], hidden_sizes=[12, 20, 32], patch_sizes=[7, 3, 3], strides=[4, 2, 2],
              num_attention_heads=[1, 2, 4], mlp_ratios=[4, 3, 2])
def measurer(model):
    """Of a class around another, whose config says how large pictures are."""
    side = model.config.backbone_config.image_size
    image = np.random.default_rng(4).standard_normal((2, 3, side, side)).astype(np.float32)
    return [({"depth": model(pixel_values=tensor(image)).predicted_depth}, "depth", {"image": image})]


DEPTH = dict(patch_size=8, reassemble_hidden_size=24, reassemble_factors=[2, 1, 0.5], neck_hidden_sizes=[10, 12, 14], fusion_hidden_size=16,
             head_hidden_size=6, backbone_config=dict(
                 model_type="dinov2", hidden_size=24, num_attention_heads=3, num_hidden_layers=5, mlp_ratio=2, image_size=56, patch_size=8,
                 out_indices=[2, 3, 5], reshape_hidden_states=False))
FAMILIES = {
    "depth_anything": ("DepthAnythingForDepthEstimation", DEPTH, measurer),
    "segformer": ("SegformerForSemanticSegmentation", {**STAGED, "decoder_hidden_size": 24, "num_labels": 5}, square(72, "segment"), of_72),
    "pvt_v2": ("PvtV2ForImageClassification", {**STAGED, "image_size": 40, "num_labels": 5}, viewer("classify")),
    "audio-spectrogram-transformer": ("ASTForAudioClassification", {**AST, "num_labels": 3}, hearer("classify")),
    "vit_mae": ("ViTMAEForPreTraining", MAE, masked),
    "yolos": ("YolosForObjectDetection", {**YOLOS, "num_labels": 3}, framed("detect", logits="logits", boxes="pred_boxes")),
    "convnext": ("ConvNextForImageClassification", {**CONV, "num_stages": 3, "num_labels": 5}, viewer("classify")),
    "convnextv2": ("ConvNextV2ForImageClassification", {**CONV, "num_stages": 3, "num_labels": 5}, viewer("classify")),
    "dinov3_convnext": ("DINOv3ConvNextModel", CONV, viewer("encode", **STATES)),
}
HEADS = {
    "depth_anything, metric": ("DepthAnythingForDepthEstimation", {**DEPTH, "depth_estimation_type": "metric", "max_depth": 20}, measurer),
    "segformer, classes": ("SegformerForImageClassification", {**STAGED, "num_labels": 5}, square(72, "classify"), of_72),
    "segformer, states": ("SegformerModel", STAGED, square(72, "encode", hidden="last_hidden_state"), of_72),
    "pvt_v2, linear": ("PvtV2Model", {**STAGED, "image_size": 112, "linear_attention": True}, viewer("encode", hidden="last_hidden_state")),
    "audio-spectrogram-transformer, states": ("ASTModel", AST, hearer("encode", hidden="last_hidden_state", pooled="pooler_output")),
    "vit_mae, states": ("ViTMAEModel", MAE, masked),
    "yolos, states": ("YolosModel", YOLOS, framed("encode", hidden="last_hidden_state")),
    "convnext, states": ("ConvNextModel", {**CONV, "num_stages": 3}, viewer("encode", **STATES)),
    "convnextv2, states": ("ConvNextV2Model", {**CONV, "num_stages": 3}, viewer("encode", **STATES)),
}

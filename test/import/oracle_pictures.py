# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of pictures whose maps become smaller from stage to stage, as the published library has them: as oracle_families.py has other families."""
from oracle_families import viewer

STATES = dict(hidden="last_hidden_state", pooled="pooler_output")
CONV = dict(image_size=36, hidden_sizes=[12, 20, 28], depths=[1, 2, 2])
FAMILIES = {
    "convnext": ("ConvNextForImageClassification", {**CONV, "num_stages": 3, "num_labels": 5}, viewer("classify")),
    "convnextv2": ("ConvNextV2ForImageClassification", {**CONV, "num_stages": 3, "num_labels": 5}, viewer("classify")),
    "dinov3_convnext": ("DINOv3ConvNextModel", CONV, viewer("encode", **STATES)),
}
HEADS = {
    "convnext, states": ("ConvNextModel", {**CONV, "num_stages": 3}, viewer("encode", **STATES)),
    "convnextv2, states": ("ConvNextV2Model", {**CONV, "num_stages": 3}, viewer("encode", **STATES)),
}

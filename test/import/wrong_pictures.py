#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of models of pictures whose config.json says what is not read: the message has the file, the key, what was found and what was expected.
What is assumed or left out is a note.

usage: wrong_pictures.py FOLDER"""
import copy
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make import make

# Family, what its config says instead (None: nothing), by paths of keys, and what the message has.
WRONG = [
    ("beit", {"image_size": 64}, "`image_size` is `64`, expected the picture's side, 32, since a table of relative positions is of its grid"),
    ("beit", {"use_shared_relative_position_bias": True},
     "`use_shared_relative_position_bias` is `true`, expected false where each layer has a table of its own"),
    ("swinv2", {"window_size": 1}, "`window_size` is `1`, expected windows of 2 x 2 places or more, whose differences can be measured by their side"),
    ("swinv2", {"window_size": 6}, "`window_size` is `6`, expected windows that divide the grid of each stage"),
    ("trocr", {"decoder.model_type": "gpt2"}, "`config.json, decoder`: `model_type` is `\"gpt2\"`, expected trocr"),
    ("trocr", {"encoder.model_type": "swin"}, "`config.json, encoder`: `model_type` is `\"swin\"`, expected vit, deit or beit"),
    ("trocr", {"decoder.cross_attention_hidden_size": 40}, "`cross_attention_hidden_size` is `40`, expected 48, as wide as what is read"),
    ("trocr", {"decoder.d_model": 41}, "`d_model` is `41`, expected a multiple of the heads, even, and 4 or more"),
    ("trocr", {"decoder": None}, "`config.json, decoder`: `model_type` is missing, expected trocr"),
    ("detr", {"backbone": "resnet101"}, "`config.json`: `backbone` is `\"resnet101\"`, expected \"resnet50\""),
    ("detr", {"dilation": True}, "`dilation` is `true`, expected false"),
    ("detr", {"use_timm_backbone": False}, "`use_timm_backbone` is `false`, expected true: a backbone with timm's names"),
    ("detr", {"position_embedding_type": "learned"}, "`position_embedding_type` is `\"learned\"`, expected \"sine\""),
    ("detr", {"auxiliary_loss": True}, "`auxiliary_loss` is `true`"),
    ("detr", {"num_channels": 1}, "one number for each channel, of which `num_channels` says that there are 1"),
    ("detr", {"d_model": 50}, "`d_model` is `50`, expected a multiple of 4, for the sines of positions"),
    ("detr", {"decoder_attention_heads": 5}, "`decoder_attention_heads` is `5`, expected a divisor of `d_model`"),
    ("detr", {"architectures": ["DetrForSegmentation"]}, "expected a model `…ForObjectDetection`"),
    ("sam", {"vision_config.use_rel_pos": False}, "`config.json, vision_config`: `use_rel_pos` is `false`, expected true"),
    ("sam", {"vision_config.qkv_bias": False}, "`qkv_bias` is `false`, expected true"),
    ("sam", {"vision_config.num_attention_heads": 7}, "`num_attention_heads` is `7`, expected a divisor of `hidden_size`"),
    ("sam", {"vision_config.patch_size": 3}, "`image_size` is `40`, expected a multiple of `patch_size`"),
    ("sam", {"vision_config.num_hidden_layers": 300}, "`num_hidden_layers` is `300`, expected 256 or less"),
]
NOTES = [
    ("detr", {}, "note: a picture is resized to 70 x 90 as a whole; the published processor keeps the ratio of its sides, the shorter 70 long"),
    ("sam", {}, "note: the encoder of prompts and the decoder of masks are left out"),
    ("sam", {"vision_config.layer_norm_eps": None}, "does not say `layer_norm_eps`: those of sam-vit-base, the defaults of the published class"),
]


def imported(folder, config, changes):
    config = copy.deepcopy(config)
    for path, value in changes.items():
        *inner, key = path.split(".")
        place = config
        for name in inner:
            place = place[name]
        place[key] = value
        if value is None:
            del place[key]
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    return subprocess.run(["attn", "import", folder], capture_output=True, text=True)


def main():
    made = {}
    for code, cases in ((1, WRONG), (0, NOTES)):
        for family, changes, wanted in cases:
            folder = os.path.join(sys.argv[1], family)
            if family not in made:
                made[family] = make(family, folder, seed=1)[0]
            done = imported(folder, made[family], changes)
            assert done.returncode == code and wanted in done.stderr, f"{family}, {changes}: exit {done.returncode}, {done.stderr}"
            assert bool(done.stdout) == (code == 0), f"{family}, {changes}: {done.stdout}"
    print(len(WRONG), "mistakes,", len(NOTES), "notes")


if __name__ == "__main__":
    main()

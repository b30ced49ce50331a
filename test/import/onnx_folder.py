#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: onnx_folder.py FOLDER: writes a folder as onnx-community publishes them: `onnx/model.onnx` beside a tokenizer and configs."""
import json
import os
import sys

import onnx

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from onnx_decoders import V, gqa

WORDS = ("the a cat dog sees runs on big small red mat tree and or to of in is was it we you they he she eats sleeps walks looks new old good bad day "
         "night sun moon sea sky land who why how all one two").split()


def main():
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "onnx"))
    onnx.save(gqa(), os.path.join(folder, "onnx", "model.onnx"))
    vocabulary = {word: n + 1 for n, word in enumerate(WORDS)}
    assert len(vocabulary) < V
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, **vocabulary}, "unk_token": "[UNK]"}
    unknown = {"id": 0, "content": "[UNK]", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [unknown], "normalizer": None,
                 "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None, "model": model}
    for name, value in (("tokenizer.json", tokenizer), ("config.json", {"model_type": "llama"}), ("generation_config.json", {"eos_token_id": [9, 40]})):
        with open(os.path.join(folder, name), "w") as file:
            json.dump(value, file)


if __name__ == "__main__":
    main()

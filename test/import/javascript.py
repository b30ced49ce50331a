#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the raw input (text, picture, sound) to the answer: imported folders against Hugging Face's library for JavaScript, the npm package
@huggingface/transformers 4.3.2, which shares no code with the one in Python. Each family has three random folders, which both read.

What is held: tokenizers, padding, poolings, softmax and sigmoid with labels, chat templates, the rules of greedy generation and its ends, sizes,
crops and normalization of pictures, boxes, spectrograms. What is not: models, since a graph of ONNX of the library is a twin in NumPy here
(javascript_library.py); they are held by oracle.py. Beams, which the library does not have. Texts that are too long, of which it cuts the special
tokens off, too. Resized pixels, since it resizes by libvips; sizes and places are.

The library is not the measure of all: where it does other than the published one in Python, folders avoid it, and the place says how:
javascript_texts.py (LEFT_OUT, generation_keys), javascript_pictures.py (check_odd, processor_of).

usage: javascript.py [--sample] NODE_MODULES TEXT_DRIVER FOLDER PART [FAMILY...], where PART is one of texts, writers, pictures; with --sample
one folder of each family, another of the three from family to family"""
import argparse
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "numeric")]
from javascript_library import Library
from javascript_pictures import PICTURES
from javascript_prompts import PROMPTS
from javascript_sounds import SOUNDS
from javascript_texts import DECODERS, TEXTS
from javascript_writers import WRITERS

PARTS = {"texts": TEXTS, "writers": {**DECODERS, **WRITERS}, "pictures": {**PICTURES, **PROMPTS, **SOUNDS}}
FOLDERS = 3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("modules")
    parser.add_argument("driver")
    parser.add_argument("folder")
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("family", nargs="*")
    options = parser.parse_args()
    library, failures = Library(options.modules, options.driver), 0
    for number, (family, check) in enumerate(PARTS[options.part].items()):
        if options.family and family not in options.family:
            continue
        said = []
        for variant in [number % FOLDERS] if options.sample else range(FOLDERS):
            path, rng = os.path.join(options.folder, f"{family}-{variant}"), np.random.default_rng([*family.encode(), variant])
            try:
                said.append(check(library, path, rng, variant))
            except AssertionError as wrong:
                failures += 1
                print(f"{family}, folder {variant}: WRONG: {wrong}", flush=True)
        print(f"{family}: {'; '.join(said)}", flush=True)
    library.close()
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()

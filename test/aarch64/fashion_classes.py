#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classes that a program of Fashion ViT finds under an emulator, against those of the same model on this machine.

    fashion_classes.py --images X.npy --weights W.safetensors [--limit N] --native PROGRAM --emulated COMMAND...

Prints how many of the first N test images have the same class; ends with 3 where one has another.
"""
import argparse
import os
import subprocess
import tempfile

import numpy as np

BATCH = 250  # images of a run


def classes(command, images, weights):
    """The class of each image, by a program."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for begin in range(0, len(images), BATCH):
            np.save(f"{folder}/images.npy", images[begin : begin + BATCH])
            subprocess.run([*command, "--weights", weights, "--input", f"image={folder}/images.npy", "--output",
                            f"classify={folder}/scores.npy"], check=True, stdout=subprocess.DEVNULL)
            found.append(np.load(f"{folder}/scores.npy").argmax(1))
    return np.concatenate(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", required=True)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--native", required=True)
    parser.add_argument("--emulated", nargs="+", required=True)
    options, rest = parser.parse_known_args()
    images = np.load(options.images)[: options.limit]
    here = classes([os.path.abspath(options.native)], images, options.weights)
    there = classes([*options.emulated, *rest], images, options.weights)
    same = int((here == there).sum())
    print(f"{same} of {len(images)} images have the same class")
    raise SystemExit(0 if same == len(images) else 3)


if __name__ == "__main__":
    main()

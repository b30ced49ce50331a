#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's classes for the 10,000 test images of Fashion-MNIST, with the committed weights.

    fashion_twin.py --weights W.safetensors --output classes.npy [--images X.npy] [--logits Y.npy] [--limit N]
    fashion_twin.py --agree A.npy B.npy --at-least 9998 [--limit N]
    fashion_twin.py --pictures DIR 3

`--images` writes the normalised input tensor, for programs that take it as it is. `--agree`
counts equal classes of two files and ends with 3 where there are too few. `--pictures` writes the
first test images as 0.png, 1.png and so on.
"""
import argparse
import gzip
import struct
import sys

import numpy as np

import vit_twin

MEAN, STD, HEADS = 0.286, 0.353, 3


def read_idx(path):
    """An IDX file: two zero bytes, type 8 (u8), rank, big-endian sizes, data."""
    raw = gzip.open(path).read()
    rank = raw[3]
    sizes = struct.unpack(f">{rank}I", raw[4 : 4 + 4 * rank])
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(sizes)


def main():
    arg = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arg.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    arg.add_argument("--weights")
    arg.add_argument("--output")
    arg.add_argument("--images")
    arg.add_argument("--logits")
    arg.add_argument("--limit", type=int)
    arg.add_argument("--agree", nargs=2, metavar="NPY")
    arg.add_argument("--pictures", nargs=2, metavar=("DIR", "COUNT"))
    arg.add_argument("--at-least", type=int, default=9998)
    opt = arg.parse_args()
    if opt.agree:
        a, b = (np.load(path)[: opt.limit] for path in opt.agree)
        if a.shape != b.shape:
            sys.exit(f"shapes differ: {a.shape} and {b.shape}")
        print(f"{(a == b).sum()} of {len(a)} classes agree, at least {opt.at_least} expected")
        sys.exit(0 if (a == b).sum() >= opt.at_least else 3)

    pixels = read_idx(f"{opt.data}/t10k-images-idx3-ubyte.gz")[: opt.limit]
    if opt.pictures:
        from PIL import Image

        for n in range(int(opt.pictures[1])):
            Image.fromarray(pixels[n]).save(f"{opt.pictures[0]}/{n}.png")
        return
    labels = read_idx(f"{opt.data}/t10k-labels-idx1-ubyte.gz")[: opt.limit]
    images = ((pixels.astype(np.float32) / 255 - np.float32(MEAN)) / np.float32(STD))[:, None]
    scores = vit_twin.logits(vit_twin.build_model(vit_twin.read_safetensors(opt.weights), HEADS), images)
    classes = scores.argmax(1).astype(np.int32)
    for path, array in ((opt.images, images), (opt.logits, scores), (opt.output, classes)):
        if path:
            np.save(path, array)
    print(f"{(classes == labels).sum()} of {len(labels)} right")


if __name__ == "__main__":
    main()

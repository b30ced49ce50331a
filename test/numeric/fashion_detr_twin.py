#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The detector of examples/fashion-detr, compiled, against its class in PyTorch in double precision with the same weights.

    fashion_detr_twin.py FOLDER --canvases N

Canvases of its test file: how likely each class is for each query, and every box. The average precision is printed.
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "../../examples/fashion-detr")
sys.path[:0] = [HERE, EXAMPLE]
import canvases
import safetensors_file
import train
from measured import measured

# Of shares from 0 to 1, computed in f32: three convolutions and four layers.
BOUND = 1e-4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--canvases", type=int, default=100)
    arguments, flags = parser.parse_known_args()
    os.makedirs(arguments.folder, exist_ok=True)
    model = train.FashionDetr().double().eval()
    tensors = safetensors_file.read(f"{EXAMPLE}/fashion_detr.safetensors")
    model.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in tensors.items()})
    pictures, wanted = canvases.read_sheet(EXAMPLE)
    found, worst = [], 0
    for first in range(0, arguments.canvases, 50):
        image = train.normalised(pictures[first : min(first + 50, arguments.canvases)])
        np.save(f"{arguments.folder}/image.npy", image.numpy())
        outputs = [f"--output={name}={arguments.folder}/{name}.npy" for name in ("classes", "boxes")]
        subprocess.run(["attn", "run", f"{EXAMPLE}/fashion_detr.attn", "--weights", f"{EXAMPLE}/fashion_detr.safetensors",
                        "--input", f"image={arguments.folder}/image.npy", *outputs, *flags], check=True)
        classes, boxes = (np.load(f"{arguments.folder}/{name}.npy") for name in ("classes", "boxes"))
        with torch.no_grad():
            scores, twin_boxes = (part[-1] for part in model(image.double()))
        worst = max(worst, abs(classes - scores.softmax(-1).numpy()).max(), abs(boxes - twin_boxes.numpy()).max())
        best = classes[..., :10]
        found += zip(best.argmax(-1), best.max(-1), boxes)
    assert worst <= BOUND, f"classes or boxes differ by {worst:.1e}, bound {BOUND:.0e}"
    ap = canvases.average_precision(found, wanted[: arguments.canvases])
    measured("detr", worst)
    print(f"{len(found)} canvases: differ by at most {worst:.1e}, average precision {ap:.1f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of examples/fashion-swin, compiled, against its class in PyTorch in double precision with the same weights.

    fashion_swin_twin.py FOLDER --images N

The first test images, enlarged: all scores. The accuracy is printed.
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "../../examples/fashion-swin")
sys.path[:0] = [HERE, EXAMPLE]
import safetensors_file
import train
from measured import measured

# Relative L2 of the scores of a batch: two convolutions and four blocks of f32.
BOUND = 1e-5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--images", type=int, default=10000)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    arguments, flags = parser.parse_known_args()
    os.makedirs(arguments.folder, exist_ok=True)
    model = train.FashionSwin(**train.SIZES).double().eval()
    tensors = safetensors_file.read(f"{EXAMPLE}/fashion_swin.safetensors")
    model.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in tensors.items()})
    pictures = torch.from_numpy(train.read_idx(f"{arguments.data}/t10k-images-idx3-ubyte.gz")[: arguments.images].copy())
    labels = train.read_idx(f"{arguments.data}/t10k-labels-idx1-ubyte.gz")
    library = f"{arguments.folder}/swin.so"
    subprocess.run(["attn", "compile", f"{EXAMPLE}/fashion_swin.attn", "--emit=shared", "-o", library, *flags], check=True,
                   stderr=subprocess.DEVNULL)
    right, worst = 0, 0
    for first in range(0, len(pictures), 250):
        image = train.normalised(F.interpolate(pictures[first : first + 250, None].float(), (train.SIDE, train.SIDE), mode="bilinear"))
        np.save(f"{arguments.folder}/image.npy", image.numpy())
        subprocess.run(["attn", "run", library, "--weights", f"{EXAMPLE}/fashion_swin.safetensors", "--input",
                        f"image={arguments.folder}/image.npy", "--output", f"classify={arguments.folder}/scores.npy"], check=True)
        scores = np.load(f"{arguments.folder}/scores.npy")
        with torch.no_grad():
            wanted = model(image.double()).numpy()
        worst = max(worst, np.linalg.norm(scores - wanted) / np.linalg.norm(wanted))
        right += (scores.argmax(-1) == labels[first : first + len(scores)]).sum()
    assert worst <= BOUND, f"relative L2 {worst:.2e}, bound {BOUND:.0e}"
    measured("swin", worst)
    print(f"relative L2 at most {worst:.1e}; {right} of {len(pictures)} images right")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canvases of 96 x 96 pixels with two to five of Fashion-MNIST's pictures, and how well they were found.

Pictures are 22 to 44 pixels wide and may cover each other; lines and patches of grey lie among them. A box is that of the
pixels of a picture that are not black: (centre x, centre y, width, height), in parts of the canvas.

    python3 canvases.py FOLDER      # the first 100 of those with test pictures: canvases.png, and what is on them
"""
import os
import sys

import numpy as np
from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../training"))
from trainer import read_idx

SIDE, DATA = 96, "/usr/share/datasets/fashion-mnist"


def read(name, folder=DATA):
    return read_idx(f"{folder}/{name}-images-idx3-ubyte.gz"), read_idx(f"{folder}/{name}-labels-idx1-ubyte.gz")


def clutter(canvas, rng):
    for _ in range(rng.integers(2, 6)):
        y, x, h, w = (int(n) for n in (*rng.integers(0, SIDE, 2), *rng.integers(1, 7, 2)))
        canvas[y : y + h, x : x + w] = rng.integers(40, 200)
    for _ in range(rng.integers(1, 4)):
        (y, x), angle = rng.integers(0, SIDE, 2), rng.random() * np.pi
        along = np.arange(rng.integers(8, 30))
        ys, xs = (y + along * np.sin(angle)).astype(int), (x + along * np.cos(angle)).astype(int)
        there = (ys < SIDE) & (xs >= 0) & (xs < SIDE)
        canvas[ys[there], xs[there]] = rng.integers(80, 255)


def draw(images, labels, rng):
    """A canvas, u8 [SIDE, SIDE], the classes on it and their boxes. What lies on top was put down last."""
    canvas, classes, boxes = np.zeros((SIDE, SIDE), np.uint8), [], []
    clutter(canvas, rng)
    count, tries = rng.integers(2, 6), 0
    while len(boxes) < count and tries < 40:
        tries += 1
        n, size = rng.integers(len(images)), int(rng.integers(22, 45))
        y, x = rng.integers(0, SIDE - size + 1, 2)
        picture = np.asarray(Image.fromarray(images[n]).resize((size, size), Image.BILINEAR))
        ink = picture > 24
        rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
        top, bottom, left, right = y + rows[0], y + rows[-1] + 1, x + columns[0], x + columns[-1] + 1
        box = np.array([left + right, top + bottom, 2 * (right - left), 2 * (bottom - top)], np.float32) / (2 * SIDE)
        if any(overlap(box, other) > 0.2 for other in boxes):
            continue
        part = canvas[y : y + size, x : x + size]
        part[ink] = picture[ink]
        classes.append(int(labels[n]))
        boxes.append(box)
    return canvas, np.array(classes), np.array(boxes)


def corners(box):
    return np.concatenate([box[..., :2] - box[..., 2:] / 2, box[..., :2] + box[..., 2:] / 2], -1)


def overlap(a, b):
    """The area that two boxes share, of the area of both together."""
    a, b = corners(a), corners(b)
    shared = np.prod(np.clip(np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2]), 0, None), -1)
    area = lambda box: np.prod(box[..., 2:] - box[..., :2], -1)
    return shared / (area(a) + area(b) - shared)


def average_precision(found, wanted, least=0.5):
    """The mean over classes of the area below precision over recall. `found` and `wanted` are, for each canvas, (classes,
    scores, boxes) and (classes, boxes). A box is right where it overlaps one of its class by `least`, once."""
    areas = []
    for k in range(10):
        total = sum((classes == k).sum() for classes, _ in wanted)
        candidates = [(score, n, box) for n, (classes, scores, boxes) in enumerate(found)
                      for c, score, box in zip(classes, scores, boxes) if c == k]
        taken, right = set(), []
        for score, n, box in sorted(candidates, key=lambda c: -c[0]):
            own = [(overlap(box, other), m) for m, (c, other) in enumerate(zip(*wanted[n])) if c == k]
            best, m = max(own, default=(0, 0))
            right.append(best >= least and (n, m) not in taken)
            if right[-1]:
                taken.add((n, m))
        hits = np.cumsum(right)
        precision = hits / np.arange(1, len(hits) + 1)
        precision = np.maximum.accumulate(precision[::-1])[::-1]
        areas.append((precision * right).sum() / total if total else 0)
    return 100 * float(np.mean(areas))


def test(count, folder=DATA):
    """Canvases with pictures that are not learnt from, always the same: (canvas, classes, boxes)."""
    rng, pictures = np.random.default_rng(0), read("t10k", folder)
    return [draw(*pictures, rng) for _ in range(count)]


def read_sheet(folder):
    """The canvases of the files that are written below."""
    sheet = np.asarray(Image.open(f"{folder}/canvases.png"))
    canvases = sheet.reshape(10, SIDE, 10, SIDE).swapaxes(1, 2).reshape(100, SIDE, SIDE)
    wanted = [([], []) for _ in canvases]
    with open(f"{folder}/canvases.txt") as file:
        for n, k, *box in map(str.split, file):
            wanted[int(n)][0].append(int(k))
            wanted[int(n)][1].append([float(side) for side in box])
    return canvases, [(np.array(classes), np.array(boxes)) for classes, boxes in wanted]


if __name__ == "__main__":
    drawn = test(100)
    sheet = np.stack([canvas for canvas, _, _ in drawn]).reshape(10, 10, SIDE, SIDE).swapaxes(1, 2)
    Image.fromarray(sheet.reshape(10 * SIDE, 10 * SIDE)).save(f"{sys.argv[1]}/canvases.png", optimize=True)
    with open(f"{sys.argv[1]}/canvases.txt", "w") as file:
        for n, (_, classes, boxes) in enumerate(drawn):
            file.writelines(f"{n} {k} {' '.join(f'{side:.6f}' for side in box)}\n" for k, box in zip(classes, boxes))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes pictures of many formats, and what Pillow makes of them, for ImageTest.

For NAME there is NAME.png or NAME.jpg and NAME.raw: the 8-bit pixels of convert(MODE).resize(SIZE, FILTER).
cases.txt has a line per case: file mode width height filter raw-file.
"""
import os
import sys

import numpy as np
from PIL import Image

out = sys.argv[1]
rng = np.random.default_rng(20240917)
os.makedirs(out, exist_ok=True)
lines = []


def picture(width, height, channels):
    """Random rectangles under noise: edges as well as smooth parts."""
    pixels = np.zeros((height, width, channels), np.float64)
    for _ in range(12):
        x, y = rng.integers(0, width), rng.integers(0, height)
        pixels[y:y + height // 3 + 1, x:x + width // 3 + 1] = rng.integers(0, 256, channels)
    pixels += rng.normal(0, 20, pixels.shape)
    pixels = np.clip(pixels, 0, 255).astype(np.uint8)
    return pixels[:, :, 0] if channels == 1 else pixels


def case(file, mode, size, filter):
    raw = f"{len(lines)}.raw"
    with Image.open(os.path.join(out, file)) as image:
        resized = image.convert(mode).resize(size, filter)
    with open(os.path.join(out, raw), "wb") as target:
        target.write(resized.tobytes())
    lines.append(f"{file} {mode} {size[0]} {size[1]} {int(filter)} {raw}")


def save(name, image, **options):
    image.save(os.path.join(out, name), **options)
    for mode in ("L", "RGB"):
        case(name, mode, image.size, Image.NEAREST)


rgb = Image.fromarray(picture(37, 23, 3))
grey = Image.fromarray(picture(37, 23, 1))
save("rgb.png", rgb)
save("grey.png", grey)
save("rgba.png", Image.fromarray(picture(19, 31, 4), "RGBA"))
save("la.png", Image.fromarray(picture(19, 31, 2), "LA"))
save("palette.png", rgb.quantize(17))
save("palette2.png", rgb.quantize(2))
save("one.png", grey.convert("1"))
save("small.png", Image.fromarray(picture(1, 1, 3)))
save("rgb.jpg", rgb, quality=80)
save("grey.jpg", grey, quality=80)
save("progressive.jpg", rgb, quality=60, progressive=True)
save("full.jpg", rgb, quality=95, subsampling=0)
save("cmyk.jpg", rgb.convert("CMYK"), quality=90)

filters = {0: Image.NEAREST, 1: Image.BILINEAR, 2: Image.BICUBIC, 3: Image.LANCZOS}
for index in range(24):
    width, height = (int(v) for v in rng.integers(1, 90, 2))
    channels = (1, 3)[index % 2]
    name = f"random{index}.png"
    Image.fromarray(picture(width, height, channels)).save(os.path.join(out, name))
    for filter in filters.values():
        size = tuple(int(v) for v in rng.integers(1, 120, 2))
        case(name, "L" if channels == 1 else "RGB", size, filter)
        case(name, "L", (width, size[1]), filter)

code = {int(value): key for key, value in filters.items()}
with open(os.path.join(out, "cases.txt"), "w") as target:
    for line in lines:
        fields = line.split()
        fields[4] = str(code[int(fields[4])])
        target.write(" ".join(fields) + "\n")

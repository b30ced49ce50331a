#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures are turned as their files say before anything else, as Pillow's exif_transpose turns them: all eight orientations in JPEG and PNG files,
in both orders of bytes, between other tags, in several forms of the number, in XMP, and none where the data are damaged.

usage: upright.py FOLDER"""
import io
import os
import struct
import sys
import warnings
import zlib

import numpy as np
from PIL import Image, ImageOps

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import run

HEIGHT, WIDTH = 24, 36
SPEC = f"""attn 1
model See {{
  dim C = 3, Y = {HEIGHT}, X = {WIDTH}
  dyn B <= 128
  image input {HEIGHT} x {WIDTH} bilinear
  entry see(image: f32[B, C, Y, X]) -> [B, C, Y, X] = image + 0
}}
"""


def tiff(order, entries, first=8, cut=None, count=None):
    """A TIFF header and one directory of entries (tag, type, count, four bytes)."""
    body = struct.pack(order + "H", len(entries) if count is None else count)
    for tag, kind, number, value in entries:
        body += struct.pack(order + "HHI", tag, kind, number) + value
    data = (b"MM" if order == ">" else b"II") + struct.pack(order + "HI", 42, first) + b"\0" * (first - 8) + body + b"\0" * 4
    return data if cut is None else data[:cut]


def exif_cases(rng):
    """EXIF data, some of them damaged."""
    made = []
    for order in "<>":
        short = lambda value: struct.pack(order + "HH", value, 0)
        long = lambda value: struct.pack(order + "I", value)
        for orientation in range(1, 9):
            others = [(int(tag), 3, 1, short(int(rng.integers(1 << 16)))) for tag in sorted(rng.choice(np.arange(0x100, 0x200), 4, replace=False))
                      if tag != 0x112]
            entries = sorted([*others, (0x112, 3, 1, short(orientation))])
            made.append(tiff(order, entries, first=int(rng.choice([8, 10, 26]))))
        made.append(tiff(order, [(0x112, 4, 1, long(6))]))  # of 32 bits
        made.append(tiff(order, [(0x112, 1, 1, b"\x08\0\0\0")]))  # of 8, which is no number
        made.append(tiff(order, [(0x112, 3, 2, struct.pack(order + "HH", 5, 7))]))  # two of them
        made.append(tiff(order, [(0x112, 3, 1, short(3)), (0x112, 3, 1, short(6))]))  # the last counts
        made += [tiff(order, [(0x112, 3, 1, short(value))]) for value in (0, 9, 300)]  # none that there are
        made.append(tiff(order, [(0x112, 3, 1, short(6))], count=40))  # more entries than there are
        made.append(tiff(order, [(0x111, 4, 1, long(6)), (0x112, 3, 1, short(6))], cut=24))  # which end in the middle
        made.append(tiff(order, [(0x112, 3, 1, short(6))], first=4000)[:60])  # no directory
        made.append(tiff(order, [(0x112, 3, 9, long(4000))]))  # a value outside
    return made + [b"II*\0", b"", b"XX*\0" + bytes(20)]


def png(pixels, chunks):
    """A PNG file with chunks between its head and its pixels."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "png")
    data = buffer.getvalue()
    extra = b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks)
    return data[:33] + extra + data[33:]


def jpeg(pixels, segments):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "jpeg", quality=95)
    data = buffer.getvalue()
    extra = b"".join(b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body for body in segments)
    return data[:2] + extra + data[2:]


def files(rng):
    """Pictures of random sizes, with all that says how they are shown."""
    pixels = lambda: rng.integers(0, 256, (*rng.integers(9, 40, 2), 3), dtype=np.uint8)
    for number, exif in enumerate(exif_cases(rng)):
        own = pixels()
        yield (jpeg(own, [b"Exif\0\0" + exif]), jpeg(own, [])) if number % 3 else (png(own, [(b"eXIf", exif)]), png(own, []))
    profile = b"Exif\0\0" + tiff(">", [(0x112, 3, 1, b"\0\x08\0\0")])
    text = f"\nexif\n{len(profile):8d}\n{profile.hex()}\n".encode()
    yield png(pixels(), [(b"tEXt", b"Raw profile type exif\0" + text)]), None
    yield png(pixels(), [(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x tiff:Orientation=\"6\"/>")]), None
    yield png(pixels(), [(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<tiff:Orientation>3</tiff:Orientation>")]), None
    grey = rng.integers(0, 256, (20, 31), dtype=np.uint8)
    yield jpeg(grey, [b"Exif\0\0" + tiff("<", [(0x112, 3, 1, b"\5\0\0\0")])]), None


def shown(data, pixels):
    """As Pillow shows it; damaged data are passed over, where Pillow fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            picture = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        except (SyntaxError, struct.error, OSError, AttributeError, TypeError, ValueError):
            picture = Image.open(io.BytesIO(pixels))
    return np.asarray(picture.convert("RGB").resize((WIDTH, HEIGHT), Image.BILINEAR)).transpose(2, 0, 1)


def main():
    folder, = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(3)
    open(f"{folder}/see.attn", "w").write(SPEC)
    command, wanted = ["attn", "run", "-O0", f"{folder}/see.attn"], []
    for number, (data, pixels) in enumerate(files(rng)):
        name = f"{folder}/{number}.{'png' if data[:1] != bytes([255]) else 'jpg'}"
        open(name, "wb").write(data)
        command += ["--input", f"image={name}"]
        wanted.append(shown(data, pixels))
    got, = run(command, folder, {}, ["see"])
    most = np.abs(got.astype(np.float64) * 255 - np.stack(wanted)).max(axis=(1, 2, 3))
    assert most.max() <= 1.01, [(number, one) for number, one in enumerate(most) if one > 1.01]
    print(f"{len(wanted)} pictures as Pillow shows them, at most {most.max():.2f} levels")


if __name__ == "__main__":
    main()

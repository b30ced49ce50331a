#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings whose headers are of all kinds: the length of the samples is 0, the largest number, too large or right, chunks of any size stand before
and behind them, the file is cut, it is one of RF64. What is heard is what a reader in NumPy takes of the file, which goes on to its end where the
length cannot be. A FLAC file of many hours is decoded as far as it is heard.

usage: recordings.py FOLDER"""
import os
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import run
from sound_twin import crc, log_mel, resampled

BANDS, FRAMES = 20, 50
SPEC = f"""attn 1
model hear {{
  dyn B <= 128
  sound input {BANDS} x {FRAMES}
  entry run(mel: f32[B, {BANDS}, {FRAMES}]) -> f32[B, {BANDS}, {FRAMES}] = mel * 1
}}
"""


def recording(rng):
    """A file, and the samples that it holds: the mean of its channels."""
    width, count, rate = int(rng.integers(1, 4)), int(rng.integers(2000, 7000)), int(rng.choice([8000, 16000, 22050]))
    whole = (3000 * rng.standard_normal((count, width))).clip(-32768, 32767).astype("<i2")
    data = whole.tobytes()
    head = struct.pack("<HHIIHH", 1, width, rate, rate * 2 * width, 2 * width, 16)
    if rng.random() < 0.3:  # WAVE_FORMAT_EXTENSIBLE
        head = struct.pack("<HHIIHHHHI", 0xFFFE, *struct.unpack("<HIIHH", head[2:]), 22, 16, 0) + struct.pack("<H", 1)
        head += bytes.fromhex("000000001000800000aa00389b71")

    def chunk(name, body):
        return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)

    before = b"".join(chunk(name, rng.bytes(int(rng.integers(0, 40)))) for name in (b"LIST", b"fact", b"JUNK") if rng.random() < 0.4)
    behind = chunk(b"LIST", rng.bytes(int(rng.integers(1, 30)))) if rng.random() < 0.3 else b""
    kind = rng.choice(["right", "zero", "most", "large", "cut", "rf64", "rf64 unknown", "empty"])
    is64 = kind.startswith("rf64")
    ds64 = chunk(b"ds64", struct.pack("<QQQI", 0, 0 if kind == "rf64 unknown" else len(data), 0, 0)) if is64 else b""
    said = {"zero": 0, "most": 0xFFFFFFFF, "large": len(data) + int(rng.integers(1, 1 << 30)), "empty": 0}.get(kind, len(data))
    if kind == "empty":
        data = b""
    elif kind == "cut":
        data, behind = data[:int(rng.integers(1, len(data)))], b""
    elif kind != "right" and kind != "rf64":
        behind = b""
    body = b"WAVE" + ds64 + before + chunk(b"fmt ", head) + b"data" + struct.pack("<I", 0xFFFFFFFF if is64 else said) + data + behind
    name = rng.choice([b"RF64", b"BW64"]) if is64 else b"RIFF"
    frames = len(data) // (2 * width)
    held = np.frombuffer(data[:frames * 2 * width], "<i2").reshape(frames, width) / 32768.0
    return name + struct.pack("<I", int(rng.choice([0, 0xFFFFFFFF, len(body)]))) + body, held.mean(axis=1) if frames else np.zeros(0), rate, kind


def long_flac(frames, rate=16000):
    """Frames of 65,535 samples, all the same: 13 bytes each."""
    info = struct.pack(">HH", 65535, 65535) + bytes(6) + (rate << 44 | 15 << 36).to_bytes(8, "big") + bytes(16)
    parts = [b"fLaC\x80" + len(info).to_bytes(3, "big") + info]
    for number in range(frames):
        code = number.to_bytes(1, "big") if number < 128 else chr(number).encode("utf-8", "surrogatepass")
        head = b"\xff\xf8\x70\x08" + code + struct.pack(">H", 65534)
        frame = head + bytes([crc(head, 0x07, 8)]) + b"\0\x12\x34"
        parts.append(frame + struct.pack(">H", crc(frame, 0x8005, 16)))
    return b"".join(parts)


def check_long(folder, spec):
    """Four seconds at a time are 65,535 samples: 20 hours, of which one second is heard within little memory."""
    path = f"{folder}/long.flac"
    open(path, "wb").write(long_flac(17600))
    limited = f"ulimit -v 1500000; exec attn run -O0 {spec} --input mel={path}"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    print("20 hours are heard as far as they are needed")


def main():
    folder, = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(5)
    spec = f"{folder}/hear.attn"
    open(spec, "w").write(SPEC)
    command, wanted, kinds = ["attn", "run", "-O0", spec], [], []
    for number in range(60):
        data, samples, rate, kind = recording(rng)
        open(f"{folder}/{number}.wav", "wb").write(data)
        command += ["--input", f"mel={folder}/{number}.wav"]
        wanted.append(log_mel(resampled(samples, rate) if len(samples) else samples, BANDS, FRAMES * 160))
        kinds.append(kind)
    got, = run(command, folder, {}, ["run"])
    apart = np.abs(got - np.stack(wanted)).max(axis=(1, 2))
    assert apart.max() < 1e-4, [(kinds[n], float(one)) for n, one in enumerate(apart) if one >= 1e-4]
    print(f"{len(kinds)} recordings of {len(set(kinds))} kinds, largest difference {apart.max():.1e}")
    check_long(folder, spec)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sounds of all kinds, read by `attn run`, against Whisper's recipe in NumPy with float64.

The spec gives its input back, so that what it answers is the spectrogram. Prints the number of sounds and the largest
difference; with Whisper's own filters in `--filters`, bands are compared with those, too.
"""
import argparse
import os
import struct
import subprocess

import numpy as np

RATE, LENGTH = 16000, 480000
SPEC = """attn 1
model hear {{
  sound input {bands} x {frames}{more}
  entry run(mel: f32[1, {bands}, {frames}]) -> f32[1, {bands}, {frames}] {{
    return mel * 1
  }}
}}
"""


def filters(bands, rate=RATE, fft=400):
    """Slaney's triangles of unit area from 0 to half the rate: [bands, fft / 2 + 1]."""
    linear = 200 / 3
    top = rate / 2 / linear if rate < 2000 else 15 + np.log(rate / 2000) / (np.log(6.4) / 27)
    mel = np.linspace(0, top, bands + 2)
    edges = np.where(mel < 15, mel * linear, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))
    at = np.linspace(0, rate / 2, fft // 2 + 1)
    triangles = [np.interp(at, edges[b:b + 3], [0, 1, 0]) * 2 / (edges[b + 2] - edges[b]) for b in range(bands)]
    return np.stack(triangles)


def log_mel(samples, bands, length=LENGTH, rate=RATE, fft=400, hop=160):
    padded = np.zeros(length)
    padded[:min(len(samples), length)] = samples[:length]
    padded = np.pad(padded, fft // 2, mode="reflect")
    rows = np.lib.stride_tricks.sliding_window_view(padded, fft)[::hop][:length // hop]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(fft) / fft)
    power = np.abs(np.fft.rfft(rows * hann)) ** 2
    values = np.log10(np.maximum(filters(bands, rate, fft) @ power.T, 1e-10))
    return (np.maximum(values, values.max() - 8) + 4) / 4


def kaldi(samples, bands, frames, rate=RATE, fft=400, hop=160, mean=0, std=1):
    """Kaldi's filter bank as published feature extractors take it: no dither, a Hann window, logarithms of energies."""
    rows = np.lib.stride_tricks.sliding_window_view(np.concatenate([samples, np.zeros(fft)]), fft)[::hop]
    rows = rows[:max(0, 1 + (len(samples) - fft) // hop)][:frames]
    rows = rows - rows.mean(1, keepdims=True)
    rows = rows - 0.97 * np.concatenate([rows[:, :1], rows[:, :-1]], 1)
    power = np.abs(np.fft.rfft(rows * np.hanning(fft), 1 << (fft - 1).bit_length())) ** 2
    mel = lambda hertz: 1127 * np.log1p(hertz / 700)
    edges, at = np.linspace(mel(20), mel(rate / 2), bands + 2), mel(np.linspace(0, rate / 2, power.shape[1]))
    bank = np.stack([np.interp(at, edges[b:b + 3], [0, 1, 0]) for b in range(bands)])
    values = np.zeros((bands, frames))
    values[:, :len(rows)] = np.log(np.maximum(bank @ power.T, 2.0 ** -23))
    return (values - mean) / std


def resampled(samples, rate, wanted=RATE):
    """The filter that the manual states, summed directly."""
    if rate == wanted:
        return samples
    cutoff = 0.95 * min(1, wanted / rate)
    count = -(-len(samples) * wanted // rate)
    time = np.arange(count) * rate / wanted
    reach = int(np.ceil(32 / cutoff))
    result = np.zeros(count)
    for offset in range(-reach, reach + 1):
        index = np.floor(time).astype(int) + offset
        x = (time - index) * cutoff
        part = np.clip(1 - (x / 32) ** 2, 0, None)
        weight = np.where(part > 0, np.sinc(x) * np.i0(9 * np.sqrt(part)) / np.i0(9) * cutoff, 0)
        inside = (index >= 0) & (index < len(samples))
        result += np.where(inside, weight * samples[np.clip(index, 0, len(samples) - 1)], 0)
    return result


def wav(path, channels, rate, kind):
    """Writes [n, channels] as `kind`, and returns what the file then holds, in float64."""
    if kind in ("f32", "f64"):
        stored = channels.astype("<f4" if kind == "f32" else "<f8")
        data, bits, held = stored.tobytes(), stored.itemsize * 8, stored.astype("f8")
    else:
        bits = int(kind)
        whole = np.round(channels * (2 ** (bits - 1) - 1)).astype("<i8")
        held = whole / 2.0 ** (bits - 1)
        if bits == 8:
            data = (whole + 128).astype("u1").tobytes()
        else:
            data = whole.astype("<i8").reshape(-1, 1).view("u1")[:, :bits // 8].tobytes()
    frame = channels.shape[1] * bits // 8
    tag = 3 if kind.startswith("f") else 1
    head = struct.pack("<HHIIHH", tag, channels.shape[1], rate, rate * frame, frame, bits)
    if kind == "24":  # as most programs write 24 bits
        head = struct.pack("<HHIIHHHHI", 0xFFFE, channels.shape[1], rate, rate * frame, frame, bits, 22, bits, 0)
        head += struct.pack("<H", 1) + bytes.fromhex("000000001000800000aa00389b71")
    chunks = b"fmt " + struct.pack("<I", len(head)) + head
    chunks += b"LIST" + struct.pack("<I", 3) + b"odd\0"  # a chunk of odd size, which is passed over
    chunks += b"data" + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    with open(path, "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks)
    return held.mean(axis=1)


def crc(data, polynomial, bits):
    value = 0
    for byte in data:
        value ^= byte << (bits - 8)
        for _ in range(8):
            value = value << 1 ^ (polynomial if value >> (bits - 1) & 1 else 0)
        value &= (1 << bits) - 1
    return value


def flac(path, channels, rate):
    """Writes 16-bit samples as FLAC without compression: frames of 4096 samples or fewer, stored verbatim."""
    whole = np.round(channels * 32767).astype(">i2")
    count, width = whole.shape
    info = struct.pack(">HH", 4096, 4096) + bytes(6)
    info += (rate << 44 | (width - 1) << 41 | 15 << 36 | count).to_bytes(8, "big") + bytes(16)
    body = b"fLaC" + b"\x80" + len(info).to_bytes(3, "big") + info
    for number, first in enumerate(range(0, count, 4096)):
        part = whole[first:first + 4096]
        assert number < 128
        head = bytes([0xFF, 0xF8, 0x70, (width - 1) << 4 | 8, number]) + struct.pack(">H", len(part) - 1)
        head += bytes([crc(head, 0x07, 8)])
        frame = head + b"".join(b"\x02" + part[:, c].tobytes() for c in range(width))
        body += frame + struct.pack(">H", crc(frame, 0x8005, 16))
    with open(path, "wb") as file:
        file.write(body)
    return (whole / 32768.0).mean(axis=1)


def hear(folder, path, bands, frames=3000, more=""):
    spec = f"{folder}/hear{bands}.attn"
    with open(spec, "w") as file:
        file.write(SPEC.format(bands=bands, frames=frames, more=more))
    command = ["attn", "run", "-O0", spec, "--input", f"mel={path}", "--output", f"run={folder}/mel.npy"]
    subprocess.run(command, check=True)
    return np.load(f"{folder}/mel.npy")[0]


def hear_samples(folder, paths, size, more):
    spec, dynamic = f"{folder}/samples.attn", "" if isinstance(size, int) else ", N <= 9000"
    with open(spec, "w") as file:
        file.write(f"attn 1\nmodel hear {{\n  dyn B <= 4{dynamic}\n  sound input samples{more}\n"
                   f"  entry run(samples: f32[B, {size}], lengths: i32[B]) -> own: f32[B, {size}], counts: i32[B] {{\n"
                   "    return samples * 1, lengths + 0\n  }\n}\n")
    command = ["attn", "run", "-O0", spec, *(word for path in paths for word in ("--input", f"samples={path}")),
               "--output", f"own={folder}/own.npy", "--output", f"counts={folder}/counts.npy"]
    subprocess.run(command, check=True)
    return np.load(f"{folder}/own.npy"), np.load(f"{folder}/counts.npy")


def sound(rate, width, seconds, seed):
    """Tones that change, noise, and silence, in some channels."""
    random = np.random.default_rng(seed)
    time = np.arange(int(rate * seconds)) / rate
    channels = [0.3 * np.sin(2 * np.pi * (200 + 300 * c + 400 * time) * time) + 0.05 * random.standard_normal(len(time))
                for c in range(width)]
    return np.clip(np.stack(channels, axis=1), -1, 1) * (time < 0.8 * seconds)[:, None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--weights", help="a folder with Whisper's filters and a speech")
    folder, weights = (arguments := parser.parse_args()).folder, arguments.weights
    cases = [(16000, 1, "16", 80, 2), (8000, 2, "8", 80, 1.5), (22050, 1, "24", 128, 1), (44100, 2, "32", 80, 1),
             (48000, 3, "f32", 128, 1), (16000, 1, "f64", 80, 31), (44100, 2, "flac", 80, 1), (16000, 1, "flac", 128, 0.1)]
    if os.environ.get("ATTN_FULL_TESTS") == "1":
        cases += [(rate, 1, kind, 80, 1) for rate in (8000, 11025, 22050, 44100, 48000, 96000, 12347)
                  for kind in ("8", "16", "24", "32", "f32", "f64", "flac")]
    worst = 0
    for number, (rate, width, kind, bands, seconds) in enumerate(cases):
        channels = sound(rate, width, seconds, number)
        path = f"{folder}/sound.{'flac' if kind == 'flac' else 'wav'}"
        held = flac(path, channels, rate) if kind == "flac" else wav(path, channels, rate, kind)
        difference = np.abs(hear(folder, path, bands) - log_mel(resampled(held, rate), bands)).max()
        assert difference < 1e-4, (rate, width, kind, bands, difference)
        worst = max(worst, difference)
    # Other numbers than Whisper's.
    path = f"{folder}/sound.wav"
    held = wav(path, sound(16000, 1, 0.9, 1), 16000, "16")
    for rate, fft, hop, bands, frames in ((22050, 512, 300, 20, 40), (8000, 64, 100, 7, 90)):
        got = hear(folder, path, bands, frames, f" rate {rate} fft {fft} hop {hop}")
        difference = np.abs(got - log_mel(resampled(held, 16000, rate), bands, frames * hop, rate, fft, hop)).max()
        assert difference < 1e-4, (rate, difference)
    # Kaldi's filter bank, of sounds that end before the frames do, and behind.
    for rate, fft, hop, bands, frames in ((16000, 400, 160, 128, 1024), (16000, 400, 160, 23, 40), (8000, 200, 80, 20, 60), (22050, 512, 220, 40, 70)):
        got = hear(folder, path, bands, frames, f" kaldi rate {rate} fft {fft} hop {hop} mean -4.2677393 std 9.1379948")
        wanted = kaldi(resampled(held, 16000, rate), bands, frames, rate, fft, hop, -4.2677393, 9.1379948)
        assert np.abs(got - wanted).max() < 1e-4, (rate, np.abs(got - wanted).max())
    # Samples: of a length, or of several sounds with the length of the longest, and how many each has.
    short = wav(f"{folder}/short.wav", sound(16000, 1, 0.3, 2), 16000, "16")
    for size, unit in ((9000, ""), (9000, " unit"), ("7*N + 2", ""), ("7*N + 2", " unit")):
        own, given = hear_samples(folder, [path, f"{folder}/short.wav"], size, unit)
        length = size if isinstance(size, int) else 7 * -(-(len(held) - 2) // 7) + 2
        assert own.shape == (2, length) and list(given) == [min(len(held), length), len(short)], (own.shape, given)
        for row, of in zip(own, (held, short)):
            kept = of[:length]
            kept = (kept - kept.mean()) / np.sqrt(kept.var() + 1e-7) if unit else kept
            assert np.abs(row - np.pad(kept, (0, length - len(kept)))).max() < 1e-5
    # A tone stays the same tone at any rate; one above 8 kHz is gone.
    for rate in (22050, 48000):
        time = np.arange(rate) / rate
        tone = resampled(np.sin(2 * np.pi * 1000 * time), rate)[2000:-2000]
        exact = np.sin(2 * np.pi * 1000 * np.arange(2000, 2000 + len(tone)) / RATE)
        assert np.abs(tone - exact).max() < 1e-4
        assert np.abs(resampled(np.sin(2 * np.pi * 10000 * time), rate)[2000:-2000]).max() < 1e-4
    if weights and os.path.isdir(weights):
        stored = np.load(f"{weights}/mel_filters.npz")
        for bands in (80, 128):
            assert np.abs(stored[f"mel_{bands}"] - filters(bands)).max() < 1e-7
        # libFLAC compares the samples with their MD5 in the file.
        spoken = hear(folder, f"{weights}/jfk.flac", 80)
        assert spoken.shape == (80, 3000) and spoken.max() > 1 and spoken.max() - spoken.min() <= 2 + 1e-6
    print(f"{len(cases)} sounds, largest difference {worst:.1e}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parakeet with a head for CTC, of one sound by itself in NumPy: the spectrogram of the published feature extractor, convolutions that make fewer
frames, conformer's layers. Its tensors, a small folder, a published config."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
from numpy_layers import ACTIVATIONS, layer_norm, linear, sigmoid, softmax
from shapes import pair
from sound_twin import filters
from sounds import convolved


def features(samples, bands, rate=16000, fft=512, hop=160, window=400, emphasis=0.97):
    """[T, bands]: rows that begin within the sound, normed over these, and one of silence."""
    sharp = np.concatenate([samples[:1], samples[1:] - emphasis * samples[:-1]])
    hann = np.pad(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / (window - 1)), ((fft - window) // 2, fft - window - (fft - window) // 2))
    rows = np.lib.stride_tricks.sliding_window_view(np.pad(sharp, fft // 2), fft)[::hop]
    mel = np.log(np.abs(np.fft.rfft(rows * hann)) ** 2 @ filters(bands, rate, fft).T + 2.0 ** -24)
    count = len(samples) // hop
    mel = mel[:count + 1]
    mean = mel[:count].mean(0)
    mel = (mel - mean) / (np.sqrt(((mel[:count] - mean) ** 2).sum(0) / max(count - 1, 1)) + 1e-5)
    mel[count:] = 0
    return mel, count


def shapes(c):
    e = c["encoder_config"]
    d, f, ch, k, h = e["hidden_size"], e["intermediate_size"], e["subsampling_conv_channels"], e["conv_kernel_size"], e["num_attention_heads"]
    at, deep = "encoder.subsampling.", e["subsampling_factor"].bit_length() - 1
    made = {**pair(at + "layers.0", ch, 1, 3, 3), **pair(at + "linear", d, ch * (e["num_mel_bins"] // e["subsampling_factor"]))}
    for n in range(1, deep):
        made.update({**pair(f"{at}layers.{3 * n - 1}", ch, 1, 3, 3), **pair(f"{at}layers.{3 * n}", ch, ch, 1, 1)})
    for n in range(e["num_hidden_layers"]):
        own = {"self_attn.relative_k_proj.weight": (d, d), "self_attn.bias_u": (h, d // h), "self_attn.bias_v": (h, d // h), **pair("conv.norm", d),
               "conv.norm.running_mean": (d,), "conv.norm.running_var": (d,)}
        for part in ("feed_forward1", "feed_forward2"):
            own.update({**pair(part + ".linear1", f, d), **pair(part + ".linear2", d, f), **pair("norm_" + part, d)})
        for name in "qkvo":
            own.update(pair(f"self_attn.{name}_proj", d, d))
        own.update({**pair("norm_self_att", d), **pair("norm_conv", d), **pair("norm_out", d), **pair("conv.pointwise_conv1", 2 * d, d, 1),
                    **pair("conv.depthwise_conv", d, 1, k), **pair("conv.pointwise_conv2", d, d, 1)})
        biased = lambda name: not (name.endswith("bias") and (name.startswith("conv.") and "norm" not in name and not e["convolution_bias"] or (
            "proj" in name or "linear" in name) and not e["attention_bias"]))
        made.update({f"encoder.layers.{n}.{name}": shape for name, shape in own.items() if biased(name)})
    return {**made, **pair("ctc_head", c["vocab_size"], d, 1)}


def fewer(x, w, name, groups):
    """x: [T, M, C]; every second place of both axes of a convolution of 3 x 3 with borders."""
    kernel, rows, columns = w[name + ".weight"], (len(x) - 1) // 2 + 1, (x.shape[1] - 1) // 2 + 1
    x, made = np.pad(x, ((1, 1), (1, 1), (0, 0))), 0
    for i in range(3):
        for j in range(3):
            seen = x[i:i + 2 * rows - 1:2, j:j + 2 * columns - 1:2]
            made = made + (seen * kernel[:, 0, i, j] if groups else seen @ kernel[:, :, i, j].T)
    return made + w[name + ".bias"]


def scores(c, w, samples):
    e, (x, count) = c["encoder_config"], features(samples.astype(np.float64), c["encoder_config"]["num_mel_bins"])
    act, h, d = ACTIVATIONS[e["hidden_act"]], e["num_attention_heads"], e["hidden_size"]
    x, at = x[:count, :, None], "encoder.subsampling."
    for n in range(e["subsampling_factor"].bit_length() - 1):
        y = fewer(x, w, f"{at}layers.{max(3 * n - 1, 0)}", n > 0)
        x = np.maximum(y @ w[f"{at}layers.{3 * n}.weight"][:, :, 0, 0].T + w[f"{at}layers.{3 * n}.bias"] if n else y, 0)
    t = len(x)
    x = linear(x.transpose(0, 2, 1).reshape(t, -1), w, at + "linear") * (np.sqrt(d) if e["scale_input"] else 1)
    apart = np.arange(t)[:, None] - np.arange(t)
    angles = apart[..., None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    distances = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(t, t, d)
    for n in range(e["num_hidden_layers"]):
        p = f"encoder.layers.{n}."
        norm = lambda x, name: layer_norm(x, w, p + "norm_" + name, 1e-5)
        half = lambda x, name: x + 0.5 * linear(act(linear(norm(x, name), w, p + name + ".linear1")), w, p + name + ".linear2")
        x = half(x, "feed_forward1")
        y = norm(x, "self_att")
        q, k, v = (linear(y, w, f"{p}self_attn.{name}_proj").reshape(t, h, -1) for name in "qkv")
        far = linear(distances, w, p + "self_attn.relative_k_proj").reshape(t, t, h, -1)
        found = np.einsum("ihe,jhe->hij", q + w[p + "self_attn.bias_u"], k) + np.einsum("ihe,ijhe->hij", q + w[p + "self_attn.bias_v"], far)
        seen = np.einsum("hij,jhe->ihe", softmax(found / np.sqrt(d // h)), v)
        x = x + linear(seen.reshape(t, d), w, p + "self_attn.o_proj")
        one = {name: value[..., 0] for name, value in w.items() if name.startswith(p + "conv.pointwise") and name.endswith("weight")}
        a = linear(norm(x, "conv"), {**w, **one}, p + "conv.pointwise_conv1")
        a = a[:, :d] * sigmoid(a[:, d:])
        side = (e["conv_kernel_size"] - 1) // 2
        a = convolved(a, w, p + "conv.depthwise_conv", border=(side, side), groups=d)
        b = p + "conv.norm."
        a = (a - w[b + "running_mean"]) / np.sqrt(w[b + "running_var"] + 1e-5) * w[b + "weight"] + w[b + "bias"]
        x = x + linear(act(a), {**w, **one}, p + "conv.pointwise_conv2")
        x = norm(half(x, "feed_forward2"), "out")
    return x @ w["ctc_head.weight"][..., 0].T + w["ctc_head.bias"]


def check(config, w, files, rng):
    """Three sounds together, each of which is heard as if it were alone."""
    step = 160 * config["encoder_config"]["subsampling_factor"]
    lengths = np.array([5 * step, 2 * step + 900, 700], np.int32)
    samples, wanted = np.zeros((3, 5 * step), np.float32), np.zeros((3, 5, config["vocab_size"]))
    tokens = np.full((3, 5), -1)
    for row, length, each, ids in zip(samples, lengths, wanted, tokens):
        row[:length] = rng.standard_normal(length) * 0.1
        made = scores(config, w, row[:length])
        each[:len(made)], ids[:len(made)] = made, made.argmax(-1)
    return {"samples": samples, "lengths": lengths}, {"tokens": tokens, "scores": wanted}


ENCODER = dict(model_type="parakeet_encoder", hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, hidden_act="silu",
               attention_bias=True, convolution_bias=True, conv_kernel_size=5, subsampling_factor=4, subsampling_conv_channels=6, num_mel_bins=16,
               subsampling_conv_kernel_size=3, subsampling_conv_stride=2, scale_input=True)
SMALL = dict(model_type="parakeet_ctc", architectures=["ParakeetForCTC"], vocab_size=19, pad_token_id=18, encoder_config=ENCODER)
HEARD = {"preprocessor_config.json": dict(feature_extractor_type="ParakeetFeatureExtractor", feature_size=16, hop_length=160, n_fft=512, win_length=400,
                                          padding_side="right", padding_value=0.0, preemphasis=0.97, return_attention_mask=True, sampling_rate=16000)}
FOLDERS = {"parakeet": (SMALL, shapes, HEARD),
           "parakeet-unbiased": ({**SMALL, "encoder_config": {**ENCODER, "attention_bias": False, "convolution_bias": False, "scale_input": False,
                                                               "subsampling_factor": 8}}, shapes, HEARD)}
TWINS = {"parakeet_ctc": check}
LARGE = {**ENCODER, "hidden_size": 1024, "num_hidden_layers": 42, "num_attention_heads": 8, "intermediate_size": 4096, "conv_kernel_size": 9,
         "subsampling_factor": 8, "subsampling_conv_channels": 256, "num_mel_bins": 80}
# No more is known of it than 1.1 billion; means and variances of norms are counted, too.
PUBLISHED = {"nvidia/parakeet-ctc-1.1b": ({**SMALL, "vocab_size": 1025, "pad_token_id": 1024, "encoder_config": LARGE}, shapes, 1062626305)}

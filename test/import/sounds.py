# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of the samples of sounds: their tensors, in NumPy what they compute of one sound by itself, small folders of them, and published configs."""
import numpy as np

from numpy_layers import ACTIVATIONS, attention, layer_norm, linear, sigmoid
from shapes import pair

# of what the tensors' names begin with where there is a head
BODIES = {"wav2vec2": "wav2vec2.", "hubert": "hubert.", "wavlm": "wavlm.", "unispeech-sat": "unispeech_sat.", "unispeech": "unispeech.",
          "data2vec-audio": "data2vec_audio."}
# both ways in which PyTorch names directions and lengths of a weight
NORMED = {"hubert": ("weight_v", "weight_g"), "wavlm": ("weight_v", "weight_g")}
NEWER = ("parametrizations.weight.original1", "parametrizations.weight.original0")


def body_of(c):
    return BODIES[c["model_type"]] if "For" in c["architectures"][0] else ""


def places_of(c):
    return c.get("conv_pos_kernel_size", c["num_conv_pos_embeddings"])


def conv_shapes(c, p):
    shapes, before = {}, 1
    for n, (d, kernel) in enumerate(zip(c["conv_dim"], c["conv_kernel"])):
        name = f"{p}feature_extractor.conv_layers.{n}."
        shapes[name + "conv.weight"] = (d, before, kernel)
        shapes.update({name + "conv.bias": (d,)} if c["conv_bias"] else {})
        shapes.update(pair(name + "layer_norm", d) if n == 0 or c["feat_extract_norm"] == "layer" else {})
        before = d
    return shapes


def position_shapes(c, p):
    d, groups, kernel, at = c["hidden_size"], c["num_conv_pos_embedding_groups"], places_of(c), p + "encoder.pos_conv_embed."
    if c["model_type"] == "data2vec-audio":
        return {key: of for n in range(c["num_conv_pos_embeddings"]) for key, of in pair(f"{at}layers.{n}.conv", d, d // groups, kernel).items()}
    directions, lengths = NORMED.get(c["model_type"], NEWER)
    return {f"{at}conv.{directions}": (d, d // groups, kernel), f"{at}conv.{lengths}": (1, 1, kernel), at + "conv.bias": (d,)}


def sound_shapes(c):
    d, f, p = c["hidden_size"], c["intermediate_size"], body_of(c)
    shapes = {**conv_shapes(c, p), **pair(p + "feature_projection.layer_norm", c["conv_dim"][-1]),
              **pair(p + "feature_projection.projection", d, c["conv_dim"][-1]), **position_shapes(c, p), **pair(p + "encoder.layer_norm", d)}
    if c.get("mask_time_prob", 0.05) > 0:
        shapes[p + "masked_spec_embed"] = (d,)
    for n in range(c["num_hidden_layers"]):
        own = {**pair("layer_norm", d), **pair("final_layer_norm", d), **pair("feed_forward.intermediate_dense", f, d),
               **pair("feed_forward.output_dense", d, f)}
        for name in ("q", "k", "v", "out"):
            own.update(pair(f"attention.{name}_proj", d, d))
        if c["model_type"] == "wavlm":
            own.update({"attention.gru_rel_pos_const": (1, c["num_attention_heads"], 1, 1),
                        **pair("attention.gru_rel_pos_linear", 8, d // c["num_attention_heads"])})
            own.update({} if n else {"attention.rel_attn_embed.weight": (c["num_buckets"], c["num_attention_heads"])})
        if c.get("adapter_attn_dim"):
            a = c["adapter_attn_dim"]
            own.update({**pair("adapter_layer.norm", d), **pair("adapter_layer.linear_1", a, d), **pair("adapter_layer.linear_2", d, a)})
        shapes.update({f"{p}encoder.layers.{n}.{name}": shape for name, shape in own.items()})
    if "ForCTC" in c["architectures"][0]:
        shapes.update(pair("lm_head", c["vocab_size"], d))
    if "Classification" in c["architectures"][0]:
        k = c["classifier_proj_size"]
        shapes.update({**pair("projector", k, d), **pair("classifier", len(c["id2label"]), k)})
        shapes.update({"layer_weights": (c["num_hidden_layers"] + 1,)} if c["use_weighted_layer_sum"] else {})
    return shapes


def convolved(x, w, name, stride=1, border=(0, 0), groups=1):
    """x: [T, C]; a convolution as PyTorch has it."""
    kernel = w[name + ".weight"] if name + ".weight" in w else whole(w, name)
    outs, _, wide = kernel.shape
    x = np.pad(x, (border, (0, 0)))
    rows, made = (len(x) - wide) // stride + 1, 0
    for k in range(wide):
        seen = x[k:k + stride * (rows - 1) + 1:stride].reshape(rows, groups, -1)
        made = made + np.einsum("tgc,goc->tgo", seen, kernel[:, :, k].reshape(groups, outs // groups, -1)).reshape(rows, outs)
    return made + w.get(name + ".bias", 0)


def whole(w, name):
    """A weight that is kept as directions and, for each place of the kernel, a length."""
    found = [(w[f"{name}.{v}"], w[f"{name}.{g}"]) for v, g in {*NORMED.values(), NEWER} if f"{name}.{v}" in w]
    directions, lengths = found[0]
    return lengths * directions / np.sqrt((directions ** 2).sum((0, 1), keepdims=True))


def frames_of(c, samples):
    act, x = ACTIVATIONS[c["feat_extract_activation"]], samples[:, None]
    for n, stride in enumerate(c["conv_stride"]):
        name = f"feature_extractor.conv_layers.{n}."
        x = convolved(x, c["w"], name + "conv", stride)
        if c["feat_extract_norm"] == "layer":
            x = layer_norm(x, c["w"], name + "layer_norm", 1e-5)
        elif n == 0:
            x = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * c["w"][name + "layer_norm.weight"] + c["w"][name + "layer_norm.bias"]
        x = act(x)
    return x


def positions_of(c, x):
    act, kernel, groups, name = ACTIVATIONS[c["feat_extract_activation"]], places_of(c), c["num_conv_pos_embedding_groups"], "encoder.pos_conv_embed."
    border = (kernel // 2, kernel - 1 - kernel // 2)
    if c["model_type"] != "data2vec-audio":
        return act(convolved(x, c["w"], name + "conv", border=border, groups=groups))
    for n in range(c["num_conv_pos_embeddings"]):
        x = convolved(x, c["w"], f"{name}layers.{n}.conv", border=border, groups=groups)
        x = act((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5))
    return x


def distances(c, x, p):
    """WavLM's bias, [H, T, T]: a table of distances in buckets, times what gates of a head say."""
    w, h, half, t = c["w"], c["num_attention_heads"], c["num_buckets"] // 2, len(x)
    apart = np.arange(t)[None] - np.arange(t)[:, None]
    far = half // 2 + (np.log(np.maximum(abs(apart), 1) / (half // 2)) / np.log(c["max_bucket_distance"] / (half // 2)) * (half - half // 2)).astype(int)
    bucket = (apart > 0) * half + np.where(abs(apart) < half // 2, abs(apart), np.minimum(far, half - 1))
    gates = sigmoid(linear(x.reshape(t, h, -1), w, p + "gru_rel_pos_linear").reshape(t, h, 2, 4).sum(-1))
    gate = gates[..., 0] * (gates[..., 1] * w[p + "gru_rel_pos_const"].reshape(h) - 1) + 2
    return gate.T[:, :, None] * w["encoder.layers.0.attention.rel_attn_embed.weight"][bucket].transpose(2, 0, 1)


def heard(c, w, samples):
    """The states in front of each layer and behind the last one, [T, D], of one sound."""
    c = {**c, "w": {name.removeprefix(body_of(c)): value for name, value in w.items()}}
    w, eps, stable, act = c["w"], c["layer_norm_eps"], c.get("do_stable_layer_norm"), ACTIVATIONS[c["hidden_act"]]
    x = frames_of(c, samples)
    x = linear(layer_norm(x, w, "feature_projection.layer_norm", eps), w, "feature_projection.projection")
    x = x + positions_of(c, x)
    states = [x if stable else layer_norm(x, w, "encoder.layer_norm", eps)]
    for n in range(c["num_hidden_layers"]):
        p, x = f"encoder.layers.{n}.", states[-1]
        norm = lambda y, name: layer_norm(y, w, p + name, eps)
        mlp = lambda y: linear(act(linear(y, w, p + "feed_forward.intermediate_dense")), w, p + "feed_forward.output_dense")
        y = norm(x, "layer_norm") if stable else x
        q, k, v = (linear(y, w, f"{p}attention.{name}_proj")[None] for name in "qkv")
        bias = distances(c, y, p + "attention.") if c["model_type"] == "wavlm" else 0
        x = x + linear(attention(q, k, v, c["num_attention_heads"], bias=bias)[0], w, p + "attention.out_proj")
        if stable:
            x = x + mlp(norm(x, "final_layer_norm"))
        else:
            x = norm(x, "layer_norm")
            x = norm(x + mlp(x), "final_layer_norm")
        if c.get("adapter_attn_dim"):
            a = p + "adapter_layer."
            x = x + linear(np.maximum(linear(layer_norm(x, w, a + "norm", 1e-5), w, a + "linear_1"), 0), w, a + "linear_2")
        states.append(x)
    if stable:
        states[-1] = layer_norm(states[-1], w, "encoder.layer_norm", eps)
    return states


def results(c, w, samples):
    """What a model gives of one sound."""
    states = heard(c, w, samples.astype(np.float64))
    if "lm_head.weight" in w:
        scores = linear(states[-1], w, "lm_head")
        return {"tokens": scores.argmax(-1), "scores": scores}
    if "classifier.weight" not in w:
        return {"hidden": states[-1]}
    x = states[-1]
    if "layer_weights" in w:
        weights = np.exp(w["layer_weights"]) / np.exp(w["layer_weights"]).sum()
        x = sum(weight * state for weight, state in zip(weights, states))
    return {"scores": linear(linear(x, w, "projector").mean(0), w, "classifier")}


def sizes(c):
    """Samples from frame to frame, and how many the first one hears."""
    step, first = 1, 0
    for kernel, stride in zip(c["conv_kernel"][::-1], c["conv_stride"][::-1]):
        step, first = step * stride, (first - 1) * stride + kernel
    return step, first + step


def check_sounds(config, w, files, rng):
    """Three sounds together, each of which is heard as if it were alone; what is behind an end is 0, or no token."""
    step, first = sizes(config)
    lengths = np.array([first + 11 * step, first + 7 * step + step // 2, first + step - 1], np.int32)
    samples, rows = np.zeros((3, first + 11 * step), np.float32), []
    for row, length in zip(samples, lengths):
        row[:length] = rng.standard_normal(length)
        rows.append(results(config, w, row[:length]))
    wanted = {}
    for name in rows[0]:
        each = [row[name] for row in rows]
        if name == "scores" and each[0].ndim == 1:
            wanted[name] = np.stack(each)
            continue
        behind = -1 if name == "tokens" else 0
        wanted[name] = np.stack([np.concatenate([one, np.full((12 - len(one), *one.shape[1:]), behind)]) for one in each])
    return {"samples": samples, "lengths": lengths}, wanted


SMALL = dict(hidden_size=24, num_attention_heads=3, num_hidden_layers=3, intermediate_size=40, hidden_act="gelu", layer_norm_eps=1e-5, conv_dim=[8, 10, 12],
             conv_kernel=[10, 3, 2], conv_stride=[5, 2, 2], conv_bias=False, feat_extract_norm="group", feat_extract_activation="gelu",
             num_feat_extract_layers=3, num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=4, do_stable_layer_norm=False, vocab_size=19,
             apply_spec_augment=True, mask_time_prob=0.05)
STABLE = dict(SMALL, feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True)
OF_WAVLM = dict(model_type="wavlm", num_buckets=16, max_bucket_distance=20)
LABELS = {"0": "yes", "1": "no", "2": "up"}
CLASSES = dict(id2label=LABELS, classifier_proj_size=9, use_weighted_layer_sum=False)
UNIT = {"preprocessor_config.json": dict(feature_extractor_type="Wav2Vec2FeatureExtractor", do_normalize=True, feature_size=1, padding_side="right",
                                         padding_value=0.0, return_attention_mask=True, sampling_rate=16000)}
PLAIN = {"preprocessor_config.json": {**UNIT["preprocessor_config.json"], "do_normalize": False}}
FOLDERS = {
    "wav2vec2": ({**STABLE, "model_type": "wav2vec2", "architectures": ["Wav2Vec2ForCTC"], "adapter_attn_dim": 7}, sound_shapes, UNIT),
    "wav2vec2-states": ({**SMALL, "model_type": "wav2vec2", "architectures": ["Wav2Vec2Model"]}, sound_shapes, {}),
    "wav2vec2-classes": ({**STABLE, **CLASSES, "model_type": "wav2vec2", "architectures": ["Wav2Vec2ForSequenceClassification"],
                          "use_weighted_layer_sum": True}, sound_shapes, UNIT),
    "hubert": ({**SMALL, "model_type": "hubert", "architectures": ["HubertForCTC"], "feat_proj_layer_norm": True}, sound_shapes, PLAIN),
    "hubert-classes": ({**SMALL, **CLASSES, "model_type": "hubert", "architectures": ["HubertForSequenceClassification"], "mask_time_prob": 0.0},
                       sound_shapes, PLAIN),
    "unispeech-sat": ({**SMALL, "model_type": "unispeech-sat", "architectures": ["UniSpeechSatForCTC"]}, sound_shapes, UNIT),
    "unispeech": ({**STABLE, "model_type": "unispeech", "architectures": ["UniSpeechForCTC"]}, sound_shapes, UNIT),
    "wavlm": ({**SMALL, **OF_WAVLM, "architectures": ["WavLMForCTC"]}, sound_shapes, UNIT),
    "wavlm-stable": ({**STABLE, **OF_WAVLM, "architectures": ["WavLMModel"]}, sound_shapes, UNIT),
    "data2vec-audio": ({**{key: value for key, value in SMALL.items() if key not in ("do_stable_layer_norm",)}, "feat_extract_norm": "layer",
                        "model_type": "data2vec-audio", "architectures": ["Data2VecAudioForCTC"], "num_conv_pos_embeddings": 2,
                        "conv_pos_kernel_size": 5}, sound_shapes, UNIT),
}
TWINS = dict.fromkeys(BODIES, check_sounds)
BASE = dict(hidden_size=768, num_attention_heads=12, num_hidden_layers=12, intermediate_size=3072, hidden_act="gelu", layer_norm_eps=1e-5,
            conv_dim=[512] * 7, conv_kernel=[10, 3, 3, 3, 3, 2, 2], conv_stride=[5, 2, 2, 2, 2, 2, 2], conv_bias=False, feat_extract_norm="group",
            feat_extract_activation="gelu", num_feat_extract_layers=7, num_conv_pos_embeddings=128, num_conv_pos_embedding_groups=16,
            do_stable_layer_norm=False, vocab_size=32)
LARGE = dict(BASE, hidden_size=1024, num_attention_heads=16, num_hidden_layers=24, intermediate_size=4096)
WAVLM = dict(model_type="wavlm", architectures=["WavLMModel"], num_buckets=320, max_bucket_distance=800)
NORMED_LAYERS = dict(feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True)
LESS = lambda count, c: count - c["hidden_size"] - (0 if c["model_type"] == "data2vec-audio" else c["num_conv_pos_embeddings"])
PUBLISHED = {model: (c, sound_shapes, LESS(count, c)) for model, c, count in [  # less the embedding of masks, and lengths beside directions
    ("facebook/wav2vec2-base-960h", {**BASE, "model_type": "wav2vec2", "architectures": ["Wav2Vec2ForCTC"]}, 94396320),
    ("facebook/wav2vec2-large-960h-lv60-self", {**LARGE, **NORMED_LAYERS, "model_type": "wav2vec2", "architectures": ["Wav2Vec2ForCTC"]}, 315471520),
    ("facebook/hubert-large-ls960-ft", {**LARGE, **NORMED_LAYERS, "model_type": "hubert", "architectures": ["HubertForCTC"]}, 315471520),
    ("microsoft/wavlm-base-plus", {**BASE, **WAVLM}, 94381936),
    ("microsoft/wavlm-large", {**LARGE, **WAVLM, **NORMED_LAYERS, "conv_bias": False}, 315453120),
    ("facebook/data2vec-audio-base-960h", {**BASE, "feat_extract_norm": "layer", "model_type": "data2vec-audio", "num_conv_pos_embeddings": 5,
                                           "architectures": ["Data2VecAudioForCTC"], "conv_pos_kernel_size": 19}, 93188896)]}

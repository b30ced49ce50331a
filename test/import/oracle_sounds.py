# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of the samples of sounds, as the published library has them: as oracle_families.py has other families. Two sounds of different lengths are
heard together, where the library hears one by one."""
import numpy as np
import torch

from oracle_families import tensor
from parakeets import features


def sizes(config):
    """Samples of a frame, and those of several beyond that of each; what is left of a number of samples."""
    per, beyond = 1, 0
    for kernel, stride in zip(config.conv_kernel[::-1], config.conv_stride[::-1]):
        per, beyond = per * stride, (beyond - 1) * stride + kernel
    return per, beyond


def listener(entry, frames=13, **fields):
    def call(model):
        per, beyond = sizes(model.config)
        size = per * frames + beyond
        rng = np.random.default_rng(4)
        samples, lengths = np.zeros((2, size), np.float32), np.array([size - 1 if per > 1 else size, size - 4 * per - per // 3], np.int32)
        rows = []
        for row, length in zip(samples, lengths):
            row[:length] = rng.standard_normal(length)
            rows.append(model(input_values=tensor(row[None, :length])))
        results = {}
        for name, field in fields.items():
            each = [getattr(made, field)[0] for made in rows]
            if each[0].dim() == 1:
                results[name] = torch.stack(each)
                continue
            results[name] = torch.zeros(2, frames, each[0].shape[-1], dtype=torch.double)
            for at, one in zip(results[name], each):
                at[:len(one)] = one
        return [(results, entry, {"samples": samples, "lengths": lengths})]

    return call


def speaker(model):
    """Of a class that takes spectrograms, as its feature extractor makes them."""
    e = model.config.encoder_config
    step, rng = 160 * e.subsampling_factor, np.random.default_rng(4)
    samples, lengths = np.zeros((2, 6 * step), np.float32), np.array([6 * step - 70, 3 * step + 250], np.int32)
    scores = torch.zeros(2, 6, model.config.vocab_size, dtype=torch.double)
    for row, length, one in zip(samples, lengths, scores):
        row[:length] = 0.1 * rng.standard_normal(length)
        mel, count = features(row[:length].astype(np.float64), e.num_mel_bins)
        made = model(input_features=tensor(mel[None]), attention_mask=(torch.arange(len(mel)) < count)[None])
        frames = -(-count // e.subsampling_factor)
        one[:frames] = made.logits[0, :frames]
    return [({"scores": scores}, "transcribe", {"samples": samples, "lengths": lengths})]


SPOKEN = dict(vocab_size=19, pad_token_id=18, encoder_config=dict(
    hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, conv_kernel_size=5, subsampling_factor=4,
    subsampling_conv_channels=6, num_mel_bins=80))
HEARD = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, conv_dim=[8, 10, 12], conv_kernel=[10, 3, 2],
             conv_stride=[5, 2, 2], num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=4, vocab_size=19)
STABLE = dict(HEARD, do_stable_layer_norm=True, feat_extract_norm="layer", conv_bias=True)
CLASSES = {"num_labels": 4, "classifier_proj_size": 9}
scores, states, classes = listener("transcribe", scores="logits"), listener("encode", hidden="last_hidden_state"), listener("classify", scores="logits")
FAMILIES = {
    "parakeet_ctc": ("ParakeetForCTC", SPOKEN, speaker),
    "wav2vec2": ("Wav2Vec2ForCTC", dict(STABLE, adapter_attn_dim=7), scores),
    "hubert": ("HubertForCTC", HEARD, scores),
    "unispeech": ("UniSpeechForCTC", HEARD, scores),
    "unispeech-sat": ("UniSpeechSatForCTC", HEARD, scores),
    "wavlm": ("WavLMForCTC", dict(HEARD, num_buckets=16, max_bucket_distance=20), scores),
    "data2vec-audio": ("Data2VecAudioForCTC", dict(HEARD, num_conv_pos_embeddings=2, conv_pos_kernel_size=5), scores),
}
HEADS = {
    "wav2vec2, norms behind": ("Wav2Vec2ForCTC", HEARD, scores),
    "wav2vec2, states": ("Wav2Vec2Model", STABLE, states),
    "wav2vec2, classes": ("Wav2Vec2ForSequenceClassification", dict(STABLE, **CLASSES, use_weighted_layer_sum=True), classes),
    "hubert, batch norm": ("HubertModel", dict(HEARD, conv_pos_batch_norm=True, feat_proj_layer_norm=False, num_conv_pos_embeddings=7), states),
    "hubert, classes": ("HubertForSequenceClassification", dict(HEARD, **CLASSES), classes),
    "wavlm, stable": ("WavLMModel", dict(STABLE, num_buckets=16, max_bucket_distance=20), states),
    "wavlm, classes": ("WavLMForSequenceClassification", dict(HEARD, **CLASSES, use_weighted_layer_sum=True, num_buckets=16, max_bucket_distance=20), classes),
    "data2vec-audio, classes": ("Data2VecAudioForSequenceClassification", dict(HEARD, **CLASSES, num_conv_pos_embeddings=2, conv_pos_kernel_size=5), classes),
    "unispeech-sat, states": ("UniSpeechSatModel", STABLE, states),
}

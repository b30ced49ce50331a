# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vision transformers of other tokens than patches alone: their tensors, in NumPy what they compute, small folders of them, published configs."""
import numpy as np

from numpy_layers import ACTIVATIONS, attention, layer_norm, linear
from pyramids import convolved
from shapes import clip_shapes, pair

NAMES = {"0": "shirt", "1": "trouser", "2": "bag"}


def layer_shapes(c, p):
    d, f, shapes = c["hidden_size"], c["intermediate_size"], {}
    for n in range(c["num_hidden_layers"]):
        own = {**pair("attention.output.dense", d, d), **pair("layernorm_before", d), **pair("layernorm_after", d), **pair("intermediate.dense", f, d),
               **pair("output.dense", d, f)}
        for name in ("query", "key", "value"):
            own.update(pair("attention.attention." + name, d, d))
        shapes.update({f"{p}encoder.layer.{n}.{name}": shape for name, shape in own.items()})
    return {**shapes, **pair(p + "layernorm", d)}


def layers(c, w, p, x, behind=()):
    """The states of all tokens; `behind` is added to the results of layers, where there is something for them."""
    norm, act = lambda x, name: layer_norm(x, w, name, c["layer_norm_eps"]), ACTIVATIONS[c["hidden_act"]]
    for n in range(c["num_hidden_layers"]):
        l = f"{p}encoder.layer.{n}."
        y = norm(x, l + "layernorm_before")
        q, k, v = (linear(y, w, f"{l}attention.attention.{name}") for name in ("query", "key", "value"))
        x = x + linear(attention(q, k, v, c["num_attention_heads"]), w, l + "attention.output.dense")
        x = x + linear(act(linear(norm(x, l + "layernorm_after"), w, l + "intermediate.dense")), w, l + "output.dense")
        x = x + (behind[n] if n < len(behind) else 0)
    return norm(x, p + "layernorm")


# YOLOS
def yolos_shapes(c):
    d, r, p = c["hidden_size"], c["num_detection_tokens"], "vit." if "For" in c["architectures"][0] else ""
    learnt = 1 + r + np.prod([side // c["patch_size"] for side in c["image_size"]])
    shapes = {p + "embeddings.cls_token": (1, 1, d), p + "embeddings.detection_tokens": (1, r, d), p + "embeddings.position_embeddings": (1, learnt, d),
              **pair(p + "embeddings.patch_embeddings.projection", d, 3, c["patch_size"], c["patch_size"]), **layer_shapes(c, p)}
    if c["use_mid_position_embeddings"]:
        shapes[p + "encoder.mid_position_embeddings"] = (c["num_hidden_layers"] - 1, 1, learnt, d)
    if p:
        for head, outs in ("class_labels_classifier", len(c["id2label"]) + 1), ("bbox_predictor", 4):
            shapes.update({**pair(head + ".layers.0", d, d), **pair(head + ".layers.1", d, d), **pair(head + ".layers.2", outs, d)})
    else:
        shapes.update(pair("pooler.dense", d, d))
    return {name: tuple(int(size) for size in shape) for name, shape in shapes.items()}


def resized(at, c, rows, columns):
    """Learnt positions [..., 1 + Y * X + R, D] on another grid."""
    import torch
    y, x = (side // c["patch_size"] for side in c["image_size"])
    places = torch.tensor(at[..., 1:1 + y * x, :].reshape(-1, y, x, at.shape[-1])).permute(0, 3, 1, 2)
    places = torch.nn.functional.interpolate(places, size=(rows, columns), mode="bicubic", align_corners=False).permute(0, 2, 3, 1).numpy()
    return np.concatenate([at[..., :1, :], places.reshape(*at.shape[:-2], rows * columns, -1), at[..., 1 + y * x:, :]], -2)


def yolos(c, w, image):
    p, b = "vit." if "vit.layernorm.weight" in w else "", len(image)
    e = p + "embeddings."
    x = convolved(image.astype(np.float64).transpose(0, 2, 3, 1), w, e + "patch_embeddings.projection", c["patch_size"])
    rows, columns = x.shape[1:3]
    x = np.concatenate([np.repeat(w[e + "cls_token"], b, 0), x.reshape(b, rows * columns, -1), np.repeat(w[e + "detection_tokens"], b, 0)], 1)
    x = x + resized(w[e + "position_embeddings"], c, rows, columns)
    mid = w.get(p + "encoder.mid_position_embeddings")
    x = layers(c, w, p, x, () if mid is None else resized(mid, c, rows, columns))
    if not p:
        return {"hidden": x}
    found = x[:, -c["num_detection_tokens"]:]
    head = lambda name: linear(np.maximum(linear(np.maximum(linear(found, w, name + ".layers.0"), 0), w, name + ".layers.1"), 0), w, name + ".layers.2")
    return {"logits": head("class_labels_classifier"), "boxes": 1 / (1 + np.exp(-head("bbox_predictor")))}


# ViT-MAE, of which patches are left out in training alone
def mae_shapes(c):
    d, n, p = c["hidden_size"], (c["image_size"] // c["patch_size"]) ** 2, "vit."
    return {p + "embeddings.cls_token": (1, 1, d), p + "embeddings.position_embeddings": (1, 1 + n, d), **layer_shapes(c, p),
            **pair(p + "embeddings.patch_embeddings.projection", d, 3, c["patch_size"], c["patch_size"]),
            **pair("decoder.decoder_embed", c["decoder_hidden_size"], d), "decoder.mask_token": (1, 1, c["decoder_hidden_size"])}


def check_mae(config, w, files, rng):
    image = rng.standard_normal((2, 3, config["image_size"], config["image_size"])).astype(np.float32)
    x = convolved(image.astype(np.float64).transpose(0, 2, 3, 1), w, "vit.embeddings.patch_embeddings.projection", config["patch_size"])
    x = np.concatenate([np.repeat(w["vit.embeddings.cls_token"], 2, 0), x.reshape(2, -1, x.shape[-1])], 1) + w["vit.embeddings.position_embeddings"]
    return {"image": image}, {"hidden": layers(config, w, "vit.", x)}


# AST, whose picture is a spectrogram
def ast_shapes(c):
    d, side, p = c["hidden_size"], c["patch_size"], "audio_spectrogram_transformer." if "For" in c["architectures"][0] else ""
    grid = ((c["num_mel_bins"] - side) // c["frequency_stride"] + 1) * ((c["max_length"] - side) // c["time_stride"] + 1)
    shapes = {p + "embeddings.cls_token": (1, 1, d), p + "embeddings.distillation_token": (1, 1, d), **layer_shapes(c, p),
              p + "embeddings.position_embeddings": (1, 2 + grid, d), **pair(p + "embeddings.patch_embeddings.projection", d, 1, side, side)}
    return {**shapes, **({**pair("classifier.layernorm", d), **pair("classifier.dense", len(c["id2label"]), d)} if p else {})}


def ast(c, w, mel):
    """Of spectrograms [B, C, W]."""
    p, kernel, side = "audio_spectrogram_transformer." if "classifier.dense.weight" in w else "", "embeddings.patch_embeddings.projection", c["patch_size"]
    rows = range(0, c["num_mel_bins"] - side + 1, c["frequency_stride"])
    columns = range(0, c["max_length"] - side + 1, c["time_stride"])
    patches = np.stack([mel[:, i:i + side, j:j + side].reshape(len(mel), -1) for i in rows for j in columns], 1).astype(np.float64)
    x = patches @ w[p + kernel + ".weight"].reshape(c["hidden_size"], -1).T + w[p + kernel + ".bias"]
    front = [np.repeat(w[p + "embeddings." + name], len(mel), 0) for name in ("cls_token", "distillation_token")]
    x = layers(c, w, p, np.concatenate([*front, x], 1) + w[p + "embeddings.position_embeddings"])
    pooled = (x[:, 0] + x[:, 1]) / 2
    if not p:
        return {"hidden": x, "pooled": pooled}
    return {"scores": linear(layer_norm(pooled, w, "classifier.layernorm", c["layer_norm_eps"]), w, "classifier.dense")}


def check_ast(config, w, files, rng):
    mel = rng.standard_normal((2, config["num_mel_bins"], config["max_length"])).astype(np.float32)
    return {"mel": mel}, ast(config, w, mel)


SMALL = dict(hidden_size=48, num_attention_heads=6, num_hidden_layers=3, intermediate_size=80, hidden_act="gelu", layer_norm_eps=1e-12, qkv_bias=True)
YOLOS = dict(SMALL, model_type="yolos", image_size=[32, 48], patch_size=8, num_channels=3, num_detection_tokens=5, use_mid_position_embeddings=True)
FRAMED = {"preprocessor_config.json": dict(do_normalize=True, do_resize=True, do_pad=True, image_mean=[0.485, 0.456, 0.406], resample=2,
                                           image_std=[0.229, 0.224, 0.225], size=dict(shortest_edge=44, longest_edge=70))}
AST = dict(SMALL, model_type="audio-spectrogram-transformer", num_mel_bins=24, max_length=40, patch_size=8, frequency_stride=5, time_stride=6)
HEARD = {"preprocessor_config.json": dict(do_normalize=True, feature_extractor_type="ASTFeatureExtractor", feature_size=1, max_length=40, mean=-4.27,
                                          num_mel_bins=24, padding_side="right", padding_value=0.0, return_attention_mask=False, sampling_rate=16000,
                                          std=4.57)}
FOLDERS = {
    "ast": ({**AST, "architectures": ["ASTForAudioClassification"], "id2label": NAMES}, ast_shapes, HEARD),
    "ast-states": ({**AST, "architectures": ["ASTModel"]}, ast_shapes, {}),
    "yolos": ({**YOLOS, "architectures": ["YolosForObjectDetection"], "id2label": NAMES}, yolos_shapes, FRAMED),
    "yolos-once": ({**YOLOS, "architectures": ["YolosForObjectDetection"], "id2label": NAMES, "use_mid_position_embeddings": False}, yolos_shapes, {}),
    "vit-mae": (dict(SMALL, model_type="vit_mae", architectures=["ViTMAEForPreTraining"], image_size=32, patch_size=8, num_channels=3, mask_ratio=0.75,
                     decoder_hidden_size=16), mae_shapes, {}),
    "yolos-states": ({**YOLOS, "architectures": ["YolosModel"]}, yolos_shapes, {}),
}


def check_yolos(config, w, files, rng):
    """The inputs and what comes of them: of the published processor's picture of 4 to 3, in whole patches."""
    height, width = (40, 56) if files else config["image_size"]
    image = rng.standard_normal((2, 3, height, width)).astype(np.float32)
    return {"image": image}, yolos(config, w, image)


TWINS = {"yolos": check_yolos, "audio-spectrogram-transformer": check_ast, "vit_mae": check_mae}
COCO = {str(n): f"LABEL_{n}" for n in range(91)}
BASE = dict(SMALL, hidden_size=768, num_attention_heads=12, num_hidden_layers=12, intermediate_size=3072)
OF_TOWER = dict(hidden_size=768, intermediate_size=3072, num_attention_heads=12, num_hidden_layers=12, hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-6)
PUBLISHED = {
    # SigLIP 2 of a fixed grid is of the class of SigLIP.
    "google/siglip2-base-patch16-224": (dict(
        model_type="siglip", architectures=["SiglipModel"], text_config=dict(
            OF_TOWER, model_type="siglip_text_model", vocab_size=256000, max_position_embeddings=64, projection_size=768),
        vision_config=dict(OF_TOWER, model_type="siglip_vision_model", image_size=224, patch_size=16, num_channels=3)), clip_shapes, 375187970),
    "MIT/ast-finetuned-audioset-10-10-0.4593": (dict(
        BASE, model_type="audio-spectrogram-transformer", architectures=["ASTForAudioClassification"], num_mel_bins=128, max_length=1024, patch_size=16,
        frequency_stride=10, time_stride=10, id2label={str(n): f"LABEL_{n}" for n in range(527)}), ast_shapes, 86594063),
    "hustvl/yolos-tiny": (dict(
        BASE, hidden_size=192, num_attention_heads=3, intermediate_size=768, model_type="yolos", architectures=["YolosForObjectDetection"],
        id2label=COCO, image_size=[800, 1333], patch_size=16, num_channels=3, num_detection_tokens=100, use_mid_position_embeddings=False),
        yolos_shapes, 6488736),
}

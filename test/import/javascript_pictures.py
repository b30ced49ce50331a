# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Families that see: random folders, whose pictures have the size that the model takes, so that nothing is resized, or are cut or filled to it;
and pictures of odd sizes, whose tensors are compared loosely, since the library resizes by libvips."""
import re

import numpy as np
from PIL import Image

import javascript_tokenizers as tokenizers
from javascript_library import Folder
from javascript_texts import LABELS, check_ids, largest, texts_for
from make import backbone_weights, beit, clip, random_weights, swin, vit
from picture_models import clip as clip_twin, detr as detr_twin, sam as sam_twin, swin as swin_twin, vit as vit_twin
from program import call
from shapes import clip_shapes, detr_shapes, sam_shapes, swin_shapes, vit_shapes

LOOSE = 0.1  # root mean square of the distance of two resizings, in deviations: the library's lie up to a sixth of a pixel apart


def labels_of(rng):
    names = LABELS[:int(rng.integers(2, len(LABELS) + 1))]
    return {"id2label": dict(enumerate(names)), "label2id": {name: i for i, name in enumerate(names)}}


def numbers(rng):
    """What is made of levels, whatever the size. The library normalizes where it is told to alone."""
    own = dict(do_rescale=bool(rng.random() < 0.8), do_normalize=bool(rng.random() < 0.8), do_resize=True, resample=int(rng.choice([2, 3])),
               image_mean=rng.random(3).round(3).tolist(), image_std=(0.2 + rng.random(3)).round(3).tolist())
    if rng.random() < 0.3:
        own["rescale_factor"] = 1 / 127.5
    return own if own["do_rescale"] else {**own, "image_std": [90.0, 80.5, 100.0]}


def processor_of(name, rng, side):
    """A preprocessor_config.json, and a size of pictures that are not resized by it."""
    kind = dict(feature_extractor_type="BeitFeatureExtractor") if name == "Beit" else dict(
        image_processor_type=name + "ImageProcessor" + ["", "Fast"][rng.integers(2)])
    own = {**kind, **numbers(rng)}
    crops = name in ("Bit", "CLIP") or (name in ("DeiT", "Beit") and rng.random() < 0.7)
    if name in ("DeiT", "Beit", "Bit", "CLIP"):
        own["do_center_crop"] = crops
    if not crops:
        return {**own, "size": dict(height=side, width=side)}, (side, side)
    own["crop_size"], more = dict(height=side, width=side), int(rng.choice([0, 1, 5, 8]))
    if name in ("Bit", "CLIP"):
        return {**own, "size": dict(shortest_edge=side + more)}, (side + more, side + more + int(rng.integers(0, 20)))
    return {**own, "size": dict(height=side + more, width=side + more)}, (side + more, side + more)


def smooth(rng, height, width):
    """A picture that resizings of other makers see nearly alike."""
    y, x = np.meshgrid(np.linspace(0, 1, height), np.linspace(0, 1, width), indexing="ij")
    waves = [127 + 120 * np.sin((0.5 + rng.random()) * x + (0.5 + rng.random()) * y + c) for c in range(3)]
    return np.stack(waves, -1).round().clip(0, 255).astype(np.uint8)


def blocks(rng, height, width):
    """A picture whose places differ from each other."""
    colours = rng.integers(0, 256, (4, 4, 3), np.uint8)
    return colours[np.arange(height) * 4 // height][:, np.arange(width) * 4 // width]


def draw_pictures(path, rng, sizes, make=None):
    files = []
    for n, (height, width) in enumerate(sizes):
        files.append(f"{path}/{n}-{height}x{width}.png")
        Image.fromarray(make(rng, height, width) if make else rng.integers(0, 256, (height, width, 3), np.uint8)).save(files[-1])
    return files


def check_odd(folder, rng, keeps=False):
    """The library's tensors of pictures of odd sizes, and those of the line of the imported spec. The library blends the edges of what it resizes
    with black, so the middle is compared; `keeps` the ratio of sides, the picture lies in the corner."""
    line = re.search(r"image input [^/\n]*(\n    [^/\n]*)*", open(f"{folder.path}/spec.attn").read()).group()
    height, width, whole = re.match(r"image input (\d+) x (\d+)(?: from (\d+))?", line).groups()
    height, width = int(height), int(width)
    least = int(whole or max(height, width))
    files = draw_pictures(folder.path, rng, [[int(least * (1 + 0.5 * rng.random())) for _ in range(2)] for _ in range(3)], smooth)
    with open(f"{folder.path}/see.attn", "w") as out:
        out.write(f"attn 1\nmodel See {{\n  dim C = 3, Y = {height}, X = {width}\n  dyn B <= 3\n  {line}\n"
                  "  entry see(image: f32[B, C, Y, X]) -> [B, C, Y, X] = image + 0\n}\n")
    call(["attn", "run", "-O0", f"{folder.path}/see.attn", *(option for file in files for option in ("--input", f"image={file}")),
          "--output", f"see={folder.path}/see.npy"])
    wanted, deviation = folder.library.ask("pixels", folder.path, pictures=files), 0
    for file, got, own in zip(files, np.load(f"{folder.path}/see.npy"), wanted):
        assert own.shape == (1, *got.shape), f"{own.shape}, expected {got.shape}"
        whole = np.array([height, width])
        if keeps:
            whole = np.array(Image.open(file).size[::-1]) * height // max(Image.open(file).size)
        (top, left), (bottom, right) = whole // 8, whole - whole // 8
        got, own = (x[:, top:bottom, left:right] for x in (got, own[0]))
        deviation = max(deviation, np.sqrt(((got - own) ** 2).mean() / own.var((1, 2)).mean()))
    assert deviation < LOOSE, f"pictures of odd sizes are {deviation:.2f} deviations apart: `{line}`"
    return f"{len(files)} of odd sizes {deviation:.3f}"


def viewer_config(kind, rng, side, variant):
    heads, width, layers, middle = int(rng.choice([2, 3])), 24, int(rng.integers(1, 4)), 4 * int(rng.integers(5, 12))
    sizes = dict(hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers, image_size=side, **labels_of(rng))
    if kind == "swin":
        return {**swin(kind, "SwinForImageClassification", window_size=int(rng.choice([2, 4])), layer_norm_eps=1e-5), **labels_of(rng),
                "image_size": 32, "embed_dim": 16, "depths": [2, int(rng.integers(1, 3))], "num_heads": [2, 4]}
    if kind == "beit":
        return {**beit("BeitForImageClassification"), **sizes, "intermediate_size": middle}
    if kind == "dinov2":
        return {**vit(kind, "Dinov2ForImageClassification", mlp_ratio=2, use_swiglu_ffn=variant == 1), **sizes, "layer_norm_eps": 1e-6}
    name = "DeiTForImageClassificationWithTeacher" if kind == "deit" else "ViTForImageClassification"
    return {**vit(kind, name, intermediate_size=middle), **sizes, "qkv_bias": bool(rng.integers(2))}


VIEWERS = {"vit": "ViT", "deit": "DeiT", "dinov2": "Bit", "beit": "Beit", "swin": "ViT"}


def check_classes(kind):
    """Labels of pictures with percentages."""
    def check(library, path, rng, variant):
        side = 32 if kind == "swin" else 8 * int(rng.integers(2, 5))
        config = viewer_config(kind, rng, side, variant)
        processor, size = processor_of(VIEWERS[kind], rng, side)
        weights = random_weights((swin_shapes if kind == "swin" else vit_shapes)(config), int(rng.integers(1000)))
        folder = Folder.written(library, path, config, weights, {"preprocessor_config.json": processor})
        twin = swin_twin if kind == "swin" else vit_twin
        folder.graph("model", ["pixel_values"], lambda pixel_values: {"logits": twin(config, folder.w, pixel_values)["scores"]})
        folder.compile()
        sizes = [size, size[::-1], size]
        files = draw_pictures(path, rng, sizes)
        wanted = [row for file in files for row in library.ask("pipeline", path, task="image-classification", pictures=[file], options=dict(top_k=5))]
        _, given = folder.run({"image": files}, [])
        said = folder.said(*given).splitlines()[1:]
        printed = [f"  row {n}: " + ", ".join(f"{one['label']} {100 * one['score']:.1f} %" for one in row) for n, row in enumerate(wanted)]
        assert said == printed, f"{processor}: {said}, expected {printed}"
        return f"{len(files)} pictures, {check_odd(folder, rng)}"
    return check


def check_towers(kind):
    """Vectors of texts and of pictures, and how probable texts are for a picture."""
    def check(library, path, rng, variant):
        side, length = 8 * int(rng.integers(2, 5)), 24
        if kind == "clip":
            own, rows, names = tokenizers.clip(rng, model_max_length=length)
            config = clip("clip", "CLIPModel", "quick_gelu", projection_dim=20)
            config["text_config"].update(eos_token_id=names["<|endoftext|>"], bos_token_id=names["<|startoftext|>"])
        else:
            own, rows, names = tokenizers.t5(rng, "SiglipTokenizer", model_max_length=length)
            config = clip("siglip", "SiglipModel", "gelu_pytorch_tanh")
            config["vision_config"].update(hidden_size=32, num_attention_heads=4)
        text, seen = config["text_config"], config["vision_config"]
        text["vocab_size"], seen["image_size"] = rows, side
        text["num_hidden_layers"], seen["num_hidden_layers"] = (int(n) for n in rng.integers(1, 3, 2))
        processor, size = processor_of("CLIP" if kind == "clip" else "Siglip", rng, side)
        weights = random_weights(clip_shapes(config), int(rng.integers(1000)))
        folder = Folder.written(library, path, config, weights, {**own, "preprocessor_config.json": processor})

        def compute(input_ids, pixel_values):
            end = (input_ids == names["<|endoftext|>"]).argmax(1) if kind == "clip" else None
            texts, pictures, scores = clip_twin(config, folder.w, input_ids, end, pixel_values)
            return dict(text_embeds=texts, image_embeds=pictures, logits_per_image=scores, logits_per_text=scores.T)

        folder.graph("model", ["input_ids", "pixel_values"], compute)
        folder.compile()
        texts = texts_for(folder, rng, 5, length)
        check_ids(folder, texts)
        files = draw_pictures(path, rng, [size, size])
        wanted = library.ask("pipeline", path, task="zero-shot-image-classification", pictures=files, more=[texts],
                             options=dict(hypothesis_template="{}"))
        found = folder.ids(texts)
        fill = names["<|endoftext|>"] if kind == "clip" else names["<pad>"]
        ids = np.array([row + [fill] * (length - len(row)) for row in found], np.int32)
        ends = np.array([len(row) - 1 for row in found], np.int32)
        (vectors,), _ = folder.run({"ids": ids, **(dict(end=ends) if kind == "clip" else {})}, ["embedding"], "text")
        (pictures,), _ = folder.run({"image": files}, ["embedding"], "picture")
        (scores,), _ = folder.run({"picture": pictures, "text": vectors}, ["scores"], "compare")
        scores = scores.astype(np.float64)
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances = chances / chances.sum(1, keepdims=True) if kind == "clip" else 1 / (1 + np.exp(-scores))
        expected = np.array([[next(one["score"] for one in row if one["label"] == label) for label in texts] for row in wanted])
        return f"{len(texts)} texts, {len(files)} pictures {largest(chances, expected):.0e}, {check_odd(folder, rng)}"
    return check


def check_detr(library, path, rng, variant):
    """Labels and edges of objects."""
    height, width = [(64, 96), (66, 74), (70, 90)][variant]
    size = [dict(height=height, width=width), dict(height=height, width=width), dict(shortest_edge=70, longest_edge=90)][variant]
    heads, middle = int(rng.choice([2, 4])), 4 * int(rng.integers(5, 12))
    config = dict(model_type="detr", architectures=["DetrForObjectDetection"], d_model=16, encoder_layers=1, decoder_layers=int(rng.integers(1, 3)),
                  encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=middle, decoder_ffn_dim=middle, num_queries=17,
                  num_channels=3, activation_function="relu", backbone="resnet50", use_timm_backbone=True, dilation=False,
                  position_embedding_type="sine", auxiliary_loss=False, **labels_of(rng))
    seed = int(rng.integers(1000))
    weights = backbone_weights(random_weights(detr_shapes(config, 64), seed), seed)
    weights["model.query_position_embeddings.weight"] *= 20
    processor = dict(image_processor_type="DetrImageProcessor", do_pad=bool(rng.integers(2)), size=size, **numbers(rng))
    # Else one class is the best of every query, and hardly so.
    picture = blocks(rng, height, width) * (processor.get("rescale_factor", 1 / 255) if processor["do_rescale"] else 1)
    picture = (picture - processor["image_mean"]) / processor["image_std"] if processor["do_normalize"] else picture
    seen = detr_twin(config, {name: value.astype(np.float64) for name, value in weights.items()}, picture.transpose(2, 0, 1)[None])["logits"][0]
    weights["class_labels_classifier.bias"] -= seen.mean(0).astype(np.float32)
    for kind in ("weight", "bias"):
        weights["class_labels_classifier." + kind] *= np.float32(6 / seen.std(0).mean())
    folder = Folder.written(library, path, config, weights, {"preprocessor_config.json": processor})

    def compute(pixel_values, pixel_mask):
        assert pixel_mask.all()
        made = detr_twin(config, folder.w, pixel_values)
        return dict(logits=made["logits"], pred_boxes=made["boxes"])

    folder.graph("model", ["pixel_values", "pixel_mask"], compute)
    folder.compile()
    height, width = map(int, re.search(r"image input (\d+) x (\d+)", open(f"{path}/spec.attn").read()).groups())
    files = draw_pictures(path, rng, [(height, width)] * 3, blocks)
    printed = []
    for n, file in enumerate(files):
        for one in library.ask("pipeline", path, task="object-detection", pictures=[file], single=True, options=dict(threshold=0.5, percentage=True)):
            edges = " ".join(f"{one['box'][name]:.3f}" for name in ("xmin", "ymin", "xmax", "ymax"))
            printed.append(f"  picture {n}: {one['label']} {100 * one['score']:.1f} %; {edges}")
    _, given = folder.run({"image": files}, [], "detect")
    said = folder.said(*given).splitlines()[1:]
    assert said == printed, f"{said}, expected {printed}"
    assert printed, "nothing is found"
    return f"{len(printed)} objects" + (f", {check_odd(folder, rng)}" if "height" in size else "")


def check_sam(library, path, rng, variant):
    """Features of the places of a picture, which has the whole length on its longer side."""
    side, width, heads = 8 * int(rng.integers(3, 6)), 24, int(rng.choice([2, 3]))
    layers = int(rng.integers(1, 4))
    own = dict(model_type="sam_vision_model", hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers, image_size=side, patch_size=4,
               mlp_ratio=2.0, window_size=4, global_attn_indexes=[layers - 1], output_channels=12, hidden_act="gelu", layer_norm_eps=1e-6,
               qkv_bias=True, use_rel_pos=True, use_abs_pos=True)
    config = dict(model_type="sam", architectures=["SamModel"], vision_config=own)
    processor = dict(image_processor_type="SamImageProcessor", do_pad=True, pad_size=dict(height=side, width=side), size=dict(longest_edge=side),
                     **{**numbers(rng), "resample": 2})
    weights = random_weights(sam_shapes(config), int(rng.integers(1000)))
    folder = Folder.written(library, path, config, weights, {"preprocessor_config.json": processor})
    folder.graph("vision_encoder", ["pixel_values"], lambda pixel_values: {"image_embeddings": sam_twin(config, folder.w, pixel_values)["hidden"]})
    folder.graph("prompt_encoder_mask_decoder", [], None)
    folder.compile()
    files = draw_pictures(path, rng, [(side, side), (side, side - 5), (side - 9, side)])
    wanted = library.ask("outputs", path, kind="SamModel", method="get_image_embeddings", pictures=files)
    (got,), _ = folder.run({"image": files}, ["hidden"])
    error = largest(got, np.concatenate([one["image_embeddings"] for one in wanted]))
    return f"{len(files)} pictures {error:.0e}, {check_odd(folder, rng, keeps=True)}"


PICTURES = {**{kind: check_classes(kind) for kind in VIEWERS}, "clip": check_towers("clip"), "siglip": check_towers("siglip"),
            "detr": check_detr, "sam": check_sam}

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of language models that see pictures: `--image` with `--prompt` and `--chat` writes what NumPy chooses, which reads the files of the
pictures by itself and computes the whole text for each token.

usage: prompts.py FOLDER [--full]"""
import json
import os
import re
import subprocess
import sys
from typing import Callable, NamedTuple

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "numeric")]
import gemma4
import intern_models
import pixtral_models
import tower_models
from make import random_weights
from program import call, run
from prompt_models import prompt_shapes, read, see, tower_shapes
from vit_twin import write_safetensors

STORY, STEPS = os.path.join(HERE, "..", "..", "examples", "story"), 6
MARKS = ["<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>", "<|end|>"]
TEXT = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
            max_position_embeddings=512, rms_norm_eps=1e-5, hidden_act="silu", tie_word_embeddings=False)
EYES = dict(depth=3, num_heads=2, patch_size=14, spatial_merge_size=2, temporal_patch_size=2)
# Class of the processor, the config's own keys of the text and of the encoder of pictures, and what the names of both begin with.
KINDS = {
    "qwen2_vl": ("Qwen2VLForConditionalGeneration", dict(rope_theta=1e4, rope_scaling=dict(type="mrope", mrope_section=[1, 1, 2])),
                 dict(embed_dim=16, hidden_size=32, mlp_ratio=2), "model.", "visual."),
    "qwen2_5_vl": ("Qwen2_5_VLForConditionalGeneration", dict(rope_theta=1e4, rope_scaling=dict(type="mrope", mrope_section=[2, 1, 1])),
                   dict(hidden_size=16, out_hidden_size=32, intermediate_size=24, window_size=56, fullatt_block_indexes=[1], hidden_act="silu"),
                   "model.", "visual."),
    "qwen3_vl": ("Qwen3VLForConditionalGeneration",
                 dict(rope_theta=1e4, rope_scaling=dict(rope_type="default", mrope_interleaved=True, mrope_section=[2, 1, 1])),
                 dict(hidden_size=16, out_hidden_size=32, intermediate_size=24, num_position_embeddings=36, deepstack_visual_indexes=[0, 2],
                      hidden_act="gelu_pytorch_tanh"), "model.language_model.", "model.visual."),
}
KINDS["qwen3_vl_moe"] = ("Qwen3VLMoeForConditionalGeneration", {**KINDS["qwen3_vl"][1], "num_experts": 5, "num_experts_per_tok": 2,
                                                              "moe_intermediate_size": 16, "mlp_only_layers": [1]}, *KINDS["qwen3_vl"][2:])
TEMPLATE = ("{% for m in messages %}{{ m.role }}:{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}"
            "{% if part.type == 'image' %}MARK{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|end|>{% endfor %}assistant:")


# What stands for each byte in vocabularies of bytes: itself where it can be seen, else a character from 256 on.
_SEEN = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES = {chr(b): b for b in _SEEN} | {chr(256 + n): b for n, b in enumerate(b for b in range(256) if b not in _SEEN)}


def tokenizer_with(marks):
    """That of the story with special tokens behind its own, the number of those, and its vocabulary by numbers."""
    with open(os.path.join(STORY, "tokenizer.json")) as file:
        tokenizer = json.load(file)
    size = 1 + max(tokenizer["model"]["vocab"].values())
    for n, content in enumerate(marks):
        tokenizer["added_tokens"].append(dict(id=size + n, content=content, special=True, single_word=False, lstrip=False, rstrip=False, normalized=False))
    return tokenizer, size, {id: token for token, id in tokenizer["model"]["vocab"].items()}


def write_files(folder, files, tensors):
    os.makedirs(folder, exist_ok=True)
    for name, content in files.items():
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)
    write_safetensors(os.path.join(folder, "model.safetensors"), tensors)


def publish(folder, kind):
    """The folder, its config and its weights."""
    tokenizer, size, vocabulary = tokenizer_with(MARKS)
    architecture, of_text, of_eyes, text, eyes = KINDS[kind]
    tokens = {f"{name}_token_id": size + n for n, name in enumerate(["image", "video", "vision_start", "vision_end"])}
    words = {**TEXT, **of_text, "vocab_size": size + len(MARKS)}
    pixels = dict(min_pixels=56 * 56, max_pixels=28 * 28 * 30)
    config = dict(model_type=kind, architectures=[architecture], vision_config={**EYES, **of_eyes}, **tokens)
    config |= dict(text_config={**words, "model_type": kind + "_text"}) if kind.startswith("qwen3") else words
    files = {"config.json": config, "tokenizer.json": tokenizer, "chat_template.json": dict(chat_template=TEMPLATE.replace("MARK", FORMS[kind].alone)),
             "generation_config.json": dict(max_new_tokens=STEPS, eos_token_id=size + 4),
             "preprocessor_config.json": dict(image_processor_type="Qwen2VLImageProcessor", patch_size=14, merge_size=2, temporal_patch_size=2, **pixels)}
    whole = {**config, "text_config": words, "text": text, "eyes": eyes, "picture": pixels, "stop": size + 4}
    tensors = random_weights(prompt_shapes(whole), 3)
    write_files(folder, files, tensors)
    return whole, {name: value.astype(np.float64) for name, value in tensors.items()}, vocabulary


def draw(folder):
    """Pictures of odd sizes, forms and modes."""
    rng, files = np.random.default_rng(4), []
    for n, (mode, width, height) in enumerate([("RGB", 90, 61), ("L", 33, 47), ("RGBA", 200, 31), ("P", 64, 64)]):
        colours = np.kron(rng.integers(0, 256, (5, 6, 3)), np.ones((20, 20, 1))).astype(np.uint8)
        picture = Image.fromarray(colours).resize((width, height), Image.BILINEAR).convert(mode)
        files.append(os.path.join(folder, f"{n}.{'jpg' if mode == 'L' else 'png'}"))
        picture.save(files[-1])
    return files


def written(form, config, weights, vocabulary, ids, seen):
    """The text that follows, and its tokens."""
    chosen, config["prompt"] = [], len(ids)
    while len(chosen) < STEPS:
        token = int(np.argmax(form.read(config, weights, [*ids, *chosen], seen)))
        if token == config["stop"]:
            break
        chosen.append(token)
    return text_of(chosen, vocabulary), chosen


def text_of(tokens, vocabulary):
    return bytes(BYTES[c] for token in tokens for c in vocabulary.get(token, "")).decode("utf-8", "replace")


def said(command, text=None):
    done = subprocess.run(command, capture_output=True, text=True, input=text)
    return done.returncode, done.stdout, done.stderr


# Gemma 4, small and large: the config's keys of the text and of the encoder of pictures.
GEMMA_EYES = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=8, patch_size=8,
                  pooling_kernel_size=2, position_embedding_size=64, rms_norm_eps=1e-6)
GEMMAS = {
    "gemma4": (dict(num_hidden_layers=7, num_kv_shared_layers=3, use_double_wide_mlp=True, hidden_size_per_layer_input=12, final_logit_softcapping=30.0,
                    layer_types=[*["sliding_attention", "full_attention"] * 3, "full_attention"]), dict(use_clipped_linears=True)),
    "gemma4-experts": (dict(hidden_size_per_layer_input=0, use_bidirectional_attention="vision", attention_k_eq_v=True, num_global_key_value_heads=1,
                            enable_moe_block=True, num_experts=5, top_k_experts=2, moe_intermediate_size=16,
                            layer_types=[*["sliding_attention"] * 2, "full_attention"]), dict(standardize=True)),
}


def publish_gemma4(folder, kind):
    tokenizer, size, vocabulary = tokenizer_with(["<|image|>", "<|image>", "<image|>", "<|end|>"])
    of_text, of_eyes = GEMMAS[kind]
    words = {**TEXT, "model_type": "gemma4_text", "vocab_size": size + 4, "vocab_size_per_layer_input": size + 4, "pad_token_id": 0, "sliding_window": 9,
             "global_head_dim": 16, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True, **of_text}
    del words["hidden_act"]
    config = dict(model_type="gemma4", architectures=["Gemma4ForConditionalGeneration"], text_config=words, vision_config={**GEMMA_EYES, **of_eyes},
                  image_token_id=size)
    files = {"config.json": config, "tokenizer.json": tokenizer, "chat_template.json": dict(chat_template=TEMPLATE.replace("MARK", FORMS[kind].alone)),
             "generation_config.json": dict(max_new_tokens=STEPS, eos_token_id=size + 3),
             "preprocessor_config.json": dict(image_processor_type="Gemma4ImageProcessor", patch_size=8, pooling_kernel_size=2, max_soft_tokens=70)}
    whole = {**config, "text": "model.language_model.", "eyes": "model.vision_tower.", "map": "model.embed_vision.", "max_soft_tokens": 70, "stop": size + 3}
    tensors = random_weights(gemma4.gemma4_shapes(whole), 3)
    tensors |= {name: np.float32(-0.7 if name.endswith("_min") else 0.8) for name in tensors if name.endswith(("_min", "_max"))}
    write_files(folder, files, tensors)
    return whole, {name: value.astype(np.float64) for name, value in tensors.items()}, vocabulary


class Form(NamedTuple):
    """How models of a kind are published, what they see and read, and what stands for a picture: in a prompt, around its rows, in a prompt without a mark."""
    publish: Callable
    see: Callable
    read: Callable
    rows: Callable  # of what `see` gives
    mark: str
    around: object  # or a function of what `see` gives
    alone: str
    begin: str = ""  # behind the last picture of a prompt
    end: str = ""  # of a prompt with pictures


QWEN = Form(publish, see, read, lambda seen: seen[0][0], MARKS[0], "{}", "<|vision_start|><|image_pad|><|vision_end|>")
GEMMA = Form(publish_gemma4, gemma4.see, lambda *of: gemma4.read(*of)[-1], lambda seen: seen, "<|image|>", "<|image>{}<image|>", "<|image|>")
SEEING = {"paligemma": Form(lambda *of: publish_seeing(*of), tower_models.see,
                            lambda config, weights, ids, seen: tower_models.read(config, weights, ids, np.concatenate(seen) if seen else []),
                            lambda seen: seen, "<image>", "{}", "<image>", "<bos>", "\n")}
SEEING["paligemma2"] = SEEING["paligemma"]
SEEING["smolvlm"] = Form(lambda *of: publish_seeing(*of), tower_models.see_tiles,
                         lambda config, weights, ids, seen: tower_models.read(
                             config, weights, ids, np.concatenate([rows.reshape(-1, rows.shape[-1]) for rows, _ in seen]) if seen else []),
                         None, "<image>", tower_models.told, "<image>")
for name in ("internvl", "internvl-qwen3"):
    SEEING[name] = Form(lambda *of: publish_seeing(*of), intern_models.see,
                        lambda config, weights, ids, seen: tower_models.read(config, weights, ids, np.concatenate(seen) if seen else []), lambda seen: seen,
                        "<IMG_CONTEXT>", "<img>{}</img>", "<IMG_CONTEXT>\n")
SEEING["mistral3"] = Form(lambda *of: publish_seeing(*of), pixtral_models.see,
                          lambda config, weights, ids, seen: tower_models.read(
                              config, weights, ids, np.concatenate([rows for rows, _ in seen]) if seen else []),
                          None, "[IMG]", pixtral_models.told, "[IMG]")
FORMS = SEEING | dict.fromkeys(KINDS, QWEN) | dict.fromkeys(GEMMAS, GEMMA)


def around(form, rows):
    return form.around.format(form.mark * len(form.rows(rows))) if isinstance(form.around, str) else form.around(rows)


def shown(form, text, seen):
    """A prompt as the model reads it: as many marks as a picture has rows."""
    if form.mark not in text:
        text = form.alone * len(seen) + text
    parts = text.split(form.mark)
    if seen:
        parts[-1] = form.begin + parts[-1] + form.end
    return parts[0] + "".join(around(form, rows) + part for rows, part in zip(seen, parts[1:]))


# Whose encoders are SigLIP's: special tokens, of which the first is that of rows, and the config's own keys of the text and of all.
MODELS = {"paligemma": (["<image>", "<bos>"], dict(model_type="gemma"), dict(model_type="paligemma", projection_dim=32, tie_word_embeddings=True)),
          "paligemma2": (["<image>", "<bos>"], dict(model_type="gemma2", query_pre_attn_scalar=8, sliding_window=6),
                         dict(model_type="paligemma", projection_dim=32, tie_word_embeddings=True)),
          "smolvlm": (["<image>", "<fake_token_around_image>", "<global-img>", *(f"<row_{y}_col_{x}>" for y in (1, 2, 3) for x in (1, 2, 3))],
                      dict(model_type="llama"), dict(model_type="smolvlm", scale_factor=2, tie_word_embeddings=False)),
          "internvl": (["<IMG_CONTEXT>", "<img>", "</img>"], dict(model_type="qwen2"),
                       dict(model_type="internvl", downsample_ratio=0.5, tie_word_embeddings=True)),
          "internvl-qwen3": (["<IMG_CONTEXT>", "<img>", "</img>"], dict(model_type="qwen3"),
                             dict(model_type="internvl", downsample_ratio=0.5, tie_word_embeddings=False))}
MODELS["mistral3"] = (["[IMG]", "[IMG_BREAK]", "[IMG_END]"], dict(model_type="mistral", sliding_window=None),
                      dict(model_type="mistral3", spatial_merge_size=2, tie_word_embeddings=False))
SHAPES = dict(internvl=intern_models.intern_shapes, mistral3=pixtral_models.pixtral_shapes)
NORMED = dict(norm_type="rms_norm", use_qk_norm=True)  # as the large encoder has it


def publish_seeing(folder, kind):
    marks, of_text, of_all = MODELS[kind]
    tokenizer, size, vocabulary = tokenizer_with([*marks, "<|end|>"])
    words = {**TEXT, "vocab_size": size + len(marks) + 1, **of_text}
    if words["model_type"].startswith("gemma"):
        words["hidden_activation"] = "gelu_pytorch_tanh"
    eyes = dict(model_type="siglip_vision_model", hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, image_size=32,
                patch_size=8)
    config = dict(architectures=["ForConditionalGeneration"], text_config=words, vision_config=eyes, image_token_index=size, **of_all)
    picture = dict(image_processor_type="SiglipImageProcessor", size=dict(height=32, width=32), image_mean=[0.5, 0.4, 0.6], image_std=[0.5, 0.4, 0.3],
                   image_seq_length=16)
    if "scale_factor" in of_all:
        eyes |= dict(image_size=35, model_type="smolvlm_vision")  # of which three columns are not seen
        picture = dict(image_processor_type="SmolVLMImageProcessor", do_image_splitting=True, max_image_size=dict(longest_edge=35),
                       size=dict(longest_edge=102), image_mean=[0.5, 0.4, 0.6], image_std=[0.5, 0.4, 0.3], resample=1)
    if "downsample_ratio" in of_all:
        eyes |= dict(image_size=[32, 32], model_type="internvl_vision", attention_bias=kind == "internvl", **(NORMED if kind != "internvl" else {}))
        picture = dict(image_processor_type="GotOcr2ImageProcessorFast", crop_to_patches=False, min_patches=1, max_patches=6,
                       size=dict(height=32, width=32), image_mean=[0.5, 0.4, 0.6], image_std=[0.5, 0.4, 0.3], resample=3)
    if "spatial_merge_size" in of_all:
        eyes |= dict(model_type="pixtral", image_size=96, hidden_act="silu", rope_theta=10000.0)
        picture = dict(image_processor_type="PixtralImageProcessor", size=dict(longest_edge=80), patch_size=dict(height=8, width=8),
                       image_mean=[0.5, 0.4, 0.6], image_std=[0.5, 0.4, 0.3], resample=3)
    files = {"config.json": config, "tokenizer.json": tokenizer, "preprocessor_config.json": picture,
             "chat_template.json": dict(chat_template=TEMPLATE.replace("MARK", SEEING[kind].alone)),
             "generation_config.json": dict(max_new_tokens=STEPS, eos_token_id=size + len(marks))}
    whole = {**config, "image_token_id": size, "picture": picture, "stop": size + len(marks)}
    tensors = random_weights(SHAPES.get(config["model_type"], tower_models.seen_shapes)(whole), 3)
    write_files(folder, files, tensors)
    return whole, {name: value.astype(np.float64) for name, value in tensors.items()}, vocabulary


def check(folder, kind):
    form = FORMS[kind]
    config, weights, vocabulary = form.publish(folder, kind)
    files, spec, program = draw(folder), os.path.join(folder, "spec.attn"), os.path.join(folder, "program")
    call(["attn", "import", folder, "-o", spec])
    call(["attn", "compile", spec, "--weights", folder, "--embed-weights", "-O0", "-o", program])
    eyes = {file: form.see(config, weights, file) for file in files}
    follows = lambda ids, seen: written(form, config, weights, vocabulary, ids, seen)
    one = form.alone
    for text, pictures in [("And it came to pass", []), ("And it came to pass", files[:1]), (f"In {one} and {one} the", [files[2], files[1]]),
                           (f"{one}{one}{one} begat", [files[3], files[0], files[3]])]:
        seen = [eyes[file] for file in pictures]
        ids = tokens_of(folder, shown(form, text, seen))
        wanted, _ = follows(ids, seen)
        options = [word for file in pictures for word in ("--image", file)]
        code, got, notes = said([program, "--prompt", text, *options])
        assert code == 0 and got.rstrip("\n") == wanted.rstrip("\n"), f"{kind}, {text}: {got!r}, expected {wanted!r}\n{notes}"
        assert notes.split()[0] == str(len(ids)), f"{notes}, expected {len(ids)} tokens"
    if kind in SEEING and form.end:  # no chats are published
        return program, files, one
    # A chat: the picture is in the first turn, and what was read of it is kept.
    code, got, notes = said([program, "--chat", "--image", files[0]], "And\nthe king\n")
    first = shown(form, f"user:{one}And<|end|>assistant:", [eyes[files[0]]])
    answer, chosen = follows(tokens_of(folder, first), [eyes[files[0]]])
    then = tokens_of(folder, first + answer + "<|end|>user:the king<|end|>assistant:")
    second, _ = follows(then, [eyes[files[0]]])
    assert code == 0 and got == f"{answer}\n{second}\n", f"{kind}: {got!r}, expected {answer!r} and {second!r}\n{notes}"
    assert " behind " in notes.splitlines()[1], notes
    return program, files, one


# Towers with a map: the token of a row, what stands for a picture in a prompt, what that becomes around its rows, and the processor.
TOWERS = {
    "gemma3": ("<image_soft_token>", "<start_of_image>", "\n\n<start_of_image>{}<end_of_image>\n\n", dict(
        image_processor_type="Gemma3ImageProcessor", size=dict(height=32, width=32), do_pan_and_scan=None)),
    "llava": ("<image>", "<image>", "{}", dict(image_processor_type="CLIPImageProcessor", size=dict(shortest_edge=40), crop_size=32)),
}


def publish_tower(folder, kind):
    token, mark, _, processor = TOWERS[kind]
    marks = [token, *(["<start_of_image>", "<end_of_image>"] if kind == "gemma3" else [])]
    tokenizer, size, vocabulary = tokenizer_with(marks)
    isGemma = kind == "gemma3"
    words = {**TEXT, "vocab_size": size + len(marks), "model_type": "gemma3_text" if isGemma else "llama", "rope_theta": 1e4,
             "tie_word_embeddings": isGemma}
    if isGemma:
        words |= dict(query_pre_attn_scalar=8, sliding_window=6, sliding_window_pattern=2, rope_local_base_freq=1e3, hidden_activation="gelu_pytorch_tanh")
        del words["hidden_act"]
    eyes = dict(model_type="siglip_vision_model" if isGemma else "clip_vision_model", hidden_size=16, intermediate_size=24, num_hidden_layers=3,
                num_attention_heads=2, image_size=32, patch_size=8, layer_norm_eps=1e-6, hidden_act="gelu_pytorch_tanh" if isGemma else "quick_gelu",
                **(dict(vision_use_head=False) if isGemma else {}))
    config = dict(model_type=kind, architectures=["ForConditionalGeneration"], text_config=words, vision_config=eyes, image_token_index=size,
                  tie_word_embeddings=isGemma, **(dict(mm_tokens_per_image=4) if isGemma else dict(vision_feature_layer=-2)))
    picture = dict(image_mean=[0.5, 0.4, 0.6], image_std=[0.5, 0.4, 0.3], resample=2, do_resize=True, do_rescale=True, do_normalize=True, **processor)
    files = {"config.json": config, "tokenizer.json": tokenizer, "preprocessor_config.json": picture,
             "generation_config.json": dict(max_new_tokens=STEPS, eos_token_id=size)}
    write_files(folder, files, random_weights(tower_shapes(config), 3))
    return size, vocabulary


def check_tower(folder, kind):
    """The text of a prompt with two pictures is that of the entry which generates, given what the entry gives that sees each, and their places."""
    row, vocabulary = publish_tower(folder, kind)
    files, spec = draw(folder), os.path.join(folder, "spec.attn")
    token, mark, around, _ = TOWERS[kind]
    call(["attn", "import", folder, "-o", spec])
    command = ["attn", "run", spec, "--weights", folder, "-O0"]
    seen = []
    for file in files[:2]:
        call([*command, "--entry", "see", "--input", f"image={file}", "--output", f"seen={folder}/seen.npy"])
        seen.append(np.load(f"{folder}/seen.npy"))
    text = f"And {mark} it came {mark} to pass"
    ids = np.array([tokens_of(folder, text.replace(mark, around.format(token * len(seen[0]))))], np.int32)
    there = ids == row
    inputs = dict(ids=ids, seen=np.concatenate(seen), picked=np.where(there, np.cumsum(there) - 1, -1).astype(np.int32))
    if kind == "gemma3":
        own, inside = np.arange(ids.size, dtype=np.int32), np.flatnonzero(there[0]).reshape(2, -1)
        since, until = own.copy(), own.copy()
        for places in inside:
            since[places], until[places] = places[0], places[-1]
        inputs |= dict(since=since[None], until=until[None])
    tokens, count = run([*command, "--entry", "generate"], folder, inputs, ["tokens", "count"])
    wanted = text_of(tokens[0][:count[0]], vocabulary)
    code, got, notes = said([*command, "--prompt", text, "--image", files[0], "--image", files[1]])
    assert code == 0 and got == wanted + "\n", f"{kind}: {got!r}, expected {wanted!r}\n{notes}"
    assert notes.split()[0] == str(ids.size), f"{notes}, expected {ids.size} tokens"


# The entry that sees gives rows of three numbers; the one that reads takes rows of others.
OTHER_ROWS = """attn 1
model M {
  dim C = 3, P = 4, Q = P, W = 3, D = 6, V = 1024
  dyn B <= 2, R <= 64, N <= 64
  cache kv capacity 64
  linear see_map: C, P, Q -> W
  linear map: D -> D
  embedding tokens: V -> D
  linear head: D -> V
  image input 4 x 4 patches 1 of 16 to 1024 pixels prompt "<image>"
  entry see(image: f32[N, C, P, Q]) -> seen: [N, W] = see_map(image)
  block Read[T](x: [B, T, D], kv: cache) -> [B, T, V] {
    return head(attend x over kv.push(x, x) along T as S { mask causal })
  }
  entry prefill[T](ids: i32[B, T], seen: [R, D], picked: i32[B, T], kv: cache) -> [B, V] {
    let row = min(max(picked, 0), R - 1)
    return last(T, Read(if repeat(picked, D) < 0 then tokens(ids) else map(pick(seen, R at row)), kv))
  }
  forward[T](token: i32[B, T], kv: cache) -> [B, T, V] = Read(tokens(token), kv)
  entry decode = forward[T: 1] last T
  entry generate = unfold(prefill, decode, token = token, limit = 2)
}
"""


def check_other_rows(folder):
    spec = os.path.join(folder, "other.attn")
    with open(spec, "w") as file:
        file.write(OTHER_ROWS)
    code, out, notes = said(["attn", "run", spec, "-O0", "--weights", "random", "--tokenizer", os.path.join(STORY, "tokenizer.json"), "--prompt", "And",
                             "--entry", "generate"])
    print(f"exit {code}: {notes}")


def tokens_of(folder, text):
    """By the tokenizer, whose special tokens stand in the text."""
    code, out, notes = said(["attn", "tokenize", "--ids", os.path.join(folder, "tokenizer.json"), text])
    assert code == 0, notes
    return [int(word) for word in re.findall(r"\d+", out)]


def main():
    left = ["paligemma", "internvl-qwen3"] if "--full" not in sys.argv else []  # of which another of the kind is there
    for kind in [kind for kind in [*SEEING, *GEMMAS, *KINDS] if kind not in left]:
        program, files, one = check(os.path.join(sys.argv[1], kind), kind)
        print(f"{kind}: the same texts")
    for kind in TOWERS:
        check_tower(os.path.join(sys.argv[1], kind), kind)
        print(f"{kind}: the same texts")
    check_other_rows(sys.argv[1])
    thin = os.path.join(sys.argv[1], "thin.png")
    Image.new("RGB", (2010, 10)).save(thin)
    for arguments in ([program, "--prompt", one + one, "--image", files[0]], [program, "--prompt", "And", "--image", thin],
                      [program, "--image", files[0], "--input", "ids=random"]):
        code, _, notes = said(arguments)
        print(f"exit {code}: {notes.replace(sys.argv[1], '')}")


if __name__ == "__main__":
    main()

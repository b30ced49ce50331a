# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models that see, as the published library has them: as oracle_families.py, with the rows of a picture and their places as inputs."""
import numpy as np
import torch

from oracle_families import LLAMA, TOWER, tensor

GRID = 6, 4  # rows and columns of a picture's patches
# Of a picture in the prompt: the tokens that stand for it, and its encoder.
PICTURED = dict(image_token_id=50, video_token_id=51, vision_start_token_id=52, vision_end_token_id=53)
_MROPE = {**LLAMA, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}}


def prompted(model):
    """A picture of an odd number of squares, what it becomes, and a text around it: the places of squares are given, as the runtime counts them."""
    config, vision = model.config, model.config.vision_config
    side, merged, (rows, columns) = vision.patch_size, vision.spatial_merge_size, GRID
    patches = np.random.default_rng(4).standard_normal((rows * columns, vision.in_channels, side, side)).astype(np.float32)
    square = [(y + i, x + j) for y in range(0, rows, merged) for x in range(0, columns, merged) for i in range(merged) for j in range(merged)]
    row, column = (np.array(axis, np.int32) for axis in zip(*square))
    grid = torch.tensor([[1, rows, columns]])
    pixels = tensor(np.repeat(patches[:, :, None], vision.temporal_patch_size, 2).reshape(len(patches), -1))
    made = model.model.visual(pixels, grid)
    seen = [made.pooler_output, *(getattr(made, "deepstack_features", None) or ())]
    seen = torch.stack(seen, -1) if getattr(vision, "deepstack_visual_indexes", None) else seen[0]
    count, across = len(patches) // merged ** 2, columns // merged
    ids = np.array([[5, 6, 7, config.vision_start_token_id, *[config.image_token_id] * count, config.vision_end_token_id, 8, 9, 5]], np.int32)
    picked = np.where(ids == config.image_token_id, np.arange(ids.shape[1]) - 4, -1).astype(np.int32)
    places = [(n, n, n) if row < 0 else (4, 4 + row // across, 4 + row % across) for n, (row,) in enumerate(picked.T)]
    behind = 4 + max(rows // merged, across) - (4 + count)
    at = np.array([[p if n < 4 + count else p + behind for p in place] for n, place in enumerate(places)], np.int32).T[:, None]
    kinds = tensor((ids == config.image_token_id).astype(np.int32))
    scores = model(input_ids=tensor(ids), pixel_values=pixels, image_grid_thw=grid, mm_token_type_ids=kinds, use_cache=False).logits
    inputs = {"image": patches, "row": row, "column": column}
    if hasattr(vision, "num_position_embeddings"):
        inputs["grid"] = np.array(GRID, np.int32)
    rows_seen = np.ascontiguousarray(seen.float().numpy())
    return [({"seen": seen}, "see", inputs), ({"scores": scores}, "scores", {"ids": ids, "seen": rows_seen, "picked": picked, "at": np.ascontiguousarray(at)})]


def pictured(model):
    """A picture of one size in a text, whose rows see each other in Gemma."""
    config, side = model.config, model.config.vision_config.image_size
    image = np.random.default_rng(4).standard_normal((3, side, side)).astype(np.float32)
    token = config.image_token_id if getattr(config, "image_token_id", None) is not None else config.image_token_index
    made = model.model.get_image_features(tensor(image[None])).pooler_output
    seen = made[0] if isinstance(made, list) else made.reshape(-1, made.shape[-1])
    ids = np.array([[5, 6, 7, *[token] * len(seen), 8, 9, 5, 8]], np.int32)
    there = ids == token
    picked = np.where(there, np.arange(ids.shape[1]) - 3, -1).astype(np.int32)
    inputs = {"ids": ids, "seen": np.ascontiguousarray(seen.float().numpy()), "picked": picked}
    more = {}
    if config.model_type == "paligemma":  # the whole text is the prompt
        inputs["final"] = np.array([ids.shape[1] - 1], np.int32)
        inputs["ids"] = np.where(ids < config.text_config.vocab_size, ids, 0).astype(np.int32)  # as the class has it
        more["token_type_ids"] = tensor(np.zeros_like(ids))
    if config.model_type == "gemma3":
        own = np.arange(ids.shape[1])[None]
        inputs["since"], inputs["until"] = (np.where(there, end, own).astype(np.int32) for end in (3, 2 + len(seen)))
        more["token_type_ids"] = tensor(there.astype(np.int32))
    scores = model(input_ids=tensor(ids), pixel_values=tensor(image[None]), use_cache=False, **more).logits
    return [({"seen": seen}, "see", {"image": image}), ({"scores": scores}, "scores", inputs)]


def tiled(model, pixels=lambda image: image[None]):
    """The same of pictures in several tiles of one size, with text between them."""
    config, side = model.config, model.config.vision_config.image_size
    side = side if isinstance(side, int) else side[0]
    image = np.random.default_rng(4).standard_normal((2, 3, side, side)).astype(np.float32)
    given = tensor(pixels(image))
    seen = model.model.get_image_features(given).pooler_output
    rows = [config.image_token_id] * seen.shape[1]
    ids = np.array([[5, 6, 7, *rows, 8, *rows, 9, 5, 8]], np.int32)
    there = ids == config.image_token_id
    seen = seen.reshape(-1, seen.shape[-1])
    inputs = {"ids": ids, "seen": np.ascontiguousarray(seen.float().numpy()), "picked": np.where(there, np.cumsum(there) - 1, -1).astype(np.int32)}
    scores = model(input_ids=tensor(ids), pixel_values=given, use_cache=False).logits
    return [({"seen": seen}, "see", {"image": image}), ({"scores": scores}, "scores", inputs)]


def cut(model):
    """Tiles of all pictures are one batch."""
    return tiled(model, lambda image: image)


def rowed(model):
    """A picture of any shape as patches in the order of squares; a token stands behind each line of them."""
    config, vision, (lines, columns) = model.config, model.config.vision_config, GRID
    side, merged = vision.patch_size, config.spatial_merge_size
    square = [(y + i, x + j) for y in range(0, lines, merged) for x in range(0, columns, merged) for i in range(merged) for j in range(merged)]
    row, column = (np.array(axis, np.int32) for axis in zip(*square))
    patches = np.random.default_rng(4).standard_normal((lines * columns, 3, side, side)).astype(np.float32)
    grid = np.zeros((lines, columns, 3, side, side), np.float32)
    grid[row, column] = patches
    pixels = tensor(grid.transpose(2, 0, 3, 1, 4).reshape(1, 3, lines * side, columns * side))
    sizes = torch.tensor([[lines * side, columns * side]])
    seen = model.model.get_image_features(pixels, sizes, vision_feature_layer=config.vision_feature_layer).pooler_output[0]
    ids = np.array([[5, 6, 7, *([config.image_token_id] * (columns // merged) + [8]) * (lines // merged), 9, 5, 8]], np.int32)
    there = ids == config.image_token_id
    inputs = {"ids": ids, "seen": np.ascontiguousarray(seen.float().numpy()), "picked": np.where(there, np.cumsum(there) - 1, -1).astype(np.int32)}
    scores = model(input_ids=tensor(ids), pixel_values=pixels, image_sizes=sizes, use_cache=False).logits
    return [({"seen": seen}, "see", {"image": patches, "row": row, "column": column}), ({"scores": scores}, "scores", inputs)]


def filled(model):
    """The same of Gemma 4, whose pictures are of any shape: patches in the order of squares."""
    config, vision = model.config, model.config.vision_config
    side, merged, (rows, columns) = vision.patch_size, vision.pooling_kernel_size, GRID
    square = [(y + i, x + j) for y in range(0, rows, merged) for x in range(0, columns, merged) for i in range(merged) for j in range(merged)]
    row, column = (np.array(axis, np.int32) for axis in zip(*square))
    patches = np.random.default_rng(4).standard_normal((rows * columns, 3, side, side)).astype(np.float32)
    # The class takes pixels of 0 to 1, channels last, patches row by row.
    pixels = np.zeros((rows * columns, side * side * 3), np.float64)
    pixels[row * columns + column] = patches.transpose(0, 2, 3, 1).reshape(len(patches), -1) / 2 + 0.5
    places = tensor(np.array([[(x, y) for y in range(rows) for x in range(columns)]], np.int32))
    seen = model.model.get_image_features(tensor(pixels[None]), places).pooler_output[0]
    count = len(seen)
    ids = np.array([[5, 6, 7, *[config.image_token_id] * count, 8, 9, 5, 8]], np.int32)
    there = ids == config.image_token_id
    inputs = {"ids": ids, "seen": np.ascontiguousarray(seen.float().numpy()), "picked": np.where(there, np.arange(ids.shape[1]) - 3, -1).astype(np.int32)}
    if config.text_config.use_bidirectional_attention == "vision":
        own = np.arange(ids.shape[1])[None]
        inputs["since"], inputs["until"] = (np.where(there, end, own).astype(np.int32) for end in (3, 2 + count))
    scores = model(input_ids=tensor(ids), pixel_values=tensor(pixels[None]), image_position_ids=places, mm_token_type_ids=tensor(there.astype(np.int32)),
                   use_cache=False).logits
    return [({"seen": seen}, "see", {"image": patches, "row": row, "column": column}), ({"scores": scores}, "scores", inputs)]


_GEMMA4 = {**LLAMA, "head_dim": 8, "global_head_dim": 16, "sliding_window": 5, "vocab_size_per_layer_input": LLAMA["vocab_size"]}
_GEMMA4_EYES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, patch_size=4,
                    pooling_kernel_size=2, position_embedding_size=16)

PROMPTED = {
    "gemma4": ("Gemma4ForConditionalGeneration", dict(
        image_token_id=50, audio_config=None,
        text_config={**_GEMMA4, "num_hidden_layers": 6, "num_kv_shared_layers": 2, "use_double_wide_mlp": True, "hidden_size_per_layer_input": 12,
                     "final_logit_softcapping": 30.0,
                     "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
                                     "full_attention"]},
        vision_config={**_GEMMA4_EYES, "use_clipped_linears": True}), filled),
    "gemma4-moe": ("Gemma4ForConditionalGeneration", dict(
        image_token_id=50, audio_config=None,
        text_config={**_GEMMA4, "num_hidden_layers": 3, "hidden_size_per_layer_input": 0, "use_bidirectional_attention": "vision",
                     "attention_k_eq_v": True, "num_global_key_value_heads": 1, "enable_moe_block": True, "num_experts": 5, "top_k_experts": 2,
                     "moe_intermediate_size": 24, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
        vision_config={**_GEMMA4_EYES, "standardize": True}), filled),
    "qwen2_vl": ("Qwen2VLForConditionalGeneration", dict(
        **PICTURED, text_config=_MROPE, vision_config=dict(depth=2, embed_dim=32, hidden_size=32, num_heads=2, mlp_ratio=2, patch_size=4)), prompted),
    "qwen2_5_vl": ("Qwen2_5_VLForConditionalGeneration", dict(
        **PICTURED, text_config=_MROPE, vision_config=dict(depth=3, hidden_size=32, out_hidden_size=32, intermediate_size=48, num_heads=2, patch_size=4,
                                                           window_size=16, fullatt_block_indexes=[1])), prompted),
    "qwen3_vl": ("Qwen3VLForConditionalGeneration", dict(
        **PICTURED, text_config={**_MROPE, "head_dim": 8, "num_hidden_layers": 3},
        vision_config=dict(depth=3, hidden_size=32, out_hidden_size=32, intermediate_size=48, num_heads=2, patch_size=4, num_position_embeddings=25,
                           deepstack_visual_indexes=[0, 2])), prompted),
    "qwen3_vl_moe": ("Qwen3VLMoeForConditionalGeneration", dict(
        **PICTURED, text_config={**_MROPE, "head_dim": 8, "num_hidden_layers": 3, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24},
        vision_config=dict(depth=3, hidden_size=32, out_hidden_size=32, intermediate_size=48, num_heads=2, patch_size=4, num_position_embeddings=25,
                           deepstack_visual_indexes=[0, 2])), prompted),
    "qwen3_5": ("Qwen3_5ForConditionalGeneration", dict(
        **PICTURED, text_config={**_MROPE, "head_dim": 16, "num_hidden_layers": 4, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                                 "linear_key_head_dim": 8, "linear_value_head_dim": 6,
                                 "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1], "partial_rotary_factor": 0.5}},
        vision_config=dict(depth=2, hidden_size=32, out_hidden_size=32, intermediate_size=48, num_heads=2, patch_size=4, num_position_embeddings=25)),
        prompted),
    "qwen3_5_moe": ("Qwen3_5MoeForConditionalGeneration", dict(
        **PICTURED, text_config={**_MROPE, "head_dim": 16, "num_hidden_layers": 4, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                                 "linear_key_head_dim": 8, "linear_value_head_dim": 6, "num_experts": 4, "num_experts_per_tok": 2,
                                 "moe_intermediate_size": 24, "shared_expert_intermediate_size": 16,
                                 "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1], "partial_rotary_factor": 0.5}},
        vision_config=dict(depth=2, hidden_size=32, out_hidden_size=32, intermediate_size=48, num_heads=2, patch_size=4, num_position_embeddings=25)),
        prompted),
    "paligemma": ("PaliGemmaForConditionalGeneration", dict(
        image_token_index=50, projection_dim=32, text_config={**LLAMA, "model_type": "gemma", "head_dim": 8},
        vision_config=dict(model_type="siglip_vision_model", **TOWER, image_size=16, patch_size=8, vision_use_head=False)), pictured),
    "paligemma2": ("PaliGemmaForConditionalGeneration", dict(
        image_token_index=50, projection_dim=32, text_config={
            **LLAMA, "model_type": "gemma2", "head_dim": 8, "sliding_window": 5, "query_pre_attn_scalar": 8,
            "layer_types": ["sliding_attention", "full_attention"]},
        vision_config=dict(model_type="siglip_vision_model", **TOWER, image_size=16, patch_size=8, vision_use_head=False)), pictured),
    "idefics3": ("Idefics3ForConditionalGeneration", dict(
        image_token_id=50, scale_factor=2, pad_token_id=0, text_config={**LLAMA, "model_type": "llama"},
        vision_config=dict(**TOWER, image_size=32, patch_size=8)), tiled),
    "smolvlm": ("SmolVLMForConditionalGeneration", dict(
        image_token_id=50, scale_factor=3, pad_token_id=0, text_config={**LLAMA, "model_type": "llama"},
        vision_config=dict(**TOWER, image_size=26, patch_size=8)), tiled),
    "internvl": ("InternVLForConditionalGeneration", dict(
        image_token_id=50, text_config={**LLAMA, "model_type": "qwen2"}, vision_config=dict(model_type="internvl_vision", **TOWER, image_size=[32, 32], patch_size=[8, 8], attention_bias=True)), cut),
    "internvl-qwen3": ("InternVLForConditionalGeneration", dict(
        image_token_id=50, text_config={**LLAMA, "model_type": "qwen3", "head_dim": 8}, tie_word_embeddings=False, vision_config=dict(
            model_type="internvl_vision", **TOWER, image_size=[32, 32], patch_size=[8, 8], use_qk_norm=True, norm_type="rms_norm")), cut),
    "mistral3": ("Mistral3ForConditionalGeneration", dict(
        image_token_index=50, spatial_merge_size=2, text_config={**LLAMA, "model_type": "mistral", "head_dim": 8, "sliding_window": None},
        vision_config=dict(model_type="pixtral", **TOWER, image_size=64, patch_size=8, hidden_act="silu")), rowed),
    "gemma3": ("Gemma3ForConditionalGeneration", dict(
        image_token_id=50, boi_token_id=51, eoi_token_id=52, mm_tokens_per_image=4,
        text_config={**LLAMA, "head_dim": 8, "sliding_window": 5, "query_pre_attn_scalar": 8, "layer_types": ["sliding_attention", "full_attention"]},
        vision_config=dict(model_type="siglip_vision_model", **TOWER, image_size=32, patch_size=8)), pictured),
    "llava": ("LlavaForConditionalGeneration", dict(
        image_token_id=50, text_config={**LLAMA, "model_type": "llama"},
        vision_config=dict(model_type="clip_vision_model", **TOWER, image_size=32, patch_size=8)), pictured),
}

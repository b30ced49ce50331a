# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Families that read a text, a picture or a sound, and write another text."""
import numpy as np
from PIL import Image

import javascript_tokenizers as tokenizers
from javascript_library import Folder, write_json
from javascript_texts import Margin, POSITIONS, check_ids, generation_keys, liven, sizes, texts_for, unsettle
from make import bart, random_weights, t5, trocr, vit
from picture_models import trocr_memory, trocr_scores
from shapes import bart_shapes, t5_shapes, trocr_shapes
from text_models import T5, bart_memory, bart_scores

FIRST = {"bart": "model.shared.weight", "marian": "model.shared.weight", "t5": "shared.weight"}


def reader_config(kind, rng, rows, names, variant):
    heads, width, layers, middle = sizes(rng)
    layers = dict(encoder_layers=layers, decoder_layers=int(rng.integers(1, 4)))
    if kind == "t5":
        return {**t5(feed_forward_proj="relu" if variant == 1 else "gated-gelu", tie_word_embeddings=variant == 1), "d_model": width,
                "num_heads": heads, "d_kv": 8, "d_ff": middle, "vocab_size": rows, "n_positions": POSITIONS,
                "num_layers": layers["encoder_layers"], "num_decoder_layers": layers["decoder_layers"], "eos_token_id": 1, "pad_token_id": 0,
                "is_encoder_decoder": True, "decoder_start_token_id": 0}
    more = dict(d_model=width, encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=middle, decoder_ffn_dim=middle,
                vocab_size=rows, max_position_embeddings=POSITIONS, eos_token_id=names["</s>"], is_encoder_decoder=True, **layers)
    if kind == "bart":
        return {**bart("bart", "BartForConditionalGeneration", activation_function="gelu", scale_embedding=variant == 1), **more,
                "bos_token_id": 0, "pad_token_id": 1, "decoder_start_token_id": 2}
    return {**bart("marian", "MarianMTModel", activation_function="swish", scale_embedding=True), **more, "pad_token_id": names["<pad>"],
            "decoder_start_token_id": names["<pad>"]}


def check_reader(kind):
    """A text becomes another one."""
    def check(library, path, rng, variant):
        tokenizer = {"bart": lambda rng, **more: tokenizers.roberta(rng, "BartTokenizer", **more), "t5": tokenizers.t5,
                     "marian": lambda rng, **more: tokenizers.t5(rng, "MarianTokenizer", **more)}[kind]
        own, rows, names = tokenizer(rng, model_max_length=POSITIONS)
        ends = [names["</s>"], *(names[end] for end in tokenizers.ENDS)]
        config = reader_config(kind, rng, rows, names, variant)
        weights = random_weights((t5_shapes if kind == "t5" else bart_shapes)(config), int(rng.integers(1000)))
        liven(weights, FIRST[kind], ends)
        if kind == "bart":
            weights["final_logits_bias"] *= 0.1
        if kind != "t5" and variant == 2:
            weights["final_logits_bias"] -= 30  # all scores are below 0, which penalties multiply
            weights["model.shared.weight"][ends] /= 2
        unsettle(weights)
        folder = Folder.written(library, path, config, weights, own)
        keys = {**generation_keys(rng, rows, names, ends, 1), "decoder_start_token_id": config["decoder_start_token_id"]}
        if kind == "bart" and rng.integers(2):
            keys["forced_bos_token_id"] = 0
        write_json(f"{path}/generation_config.json", keys)
        margin, both = Margin(), T5(config, folder.w)

        def encode(input_ids, attention_mask):
            assert attention_mask.all()
            source = dict(source=input_ids, lengths=np.array([input_ids.shape[1]]))
            return {"last_hidden_state": (both.memory(**source) if kind == "t5" else bart_memory(config, folder.w, **source))[0]}

        def decode(input_ids, encoder_hidden_states, encoder_attention_mask):
            memory = encoder_hidden_states.astype(np.float64)
            return margin.seen((both.scores(input_ids, memory, True) if kind == "t5" else
                                bart_scores(config, folder.w, input_ids, memory, True))["scores"])

        folder.graph("encoder_model", ["input_ids", "attention_mask"], encode)
        folder.graph("decoder_model_merged", ["input_ids", "encoder_hidden_states", "encoder_attention_mask"], decode, cache="0.decoder.key")
        folder.compile()
        texts = [text for text in texts_for(folder, rng, 6, POSITIONS) if text.strip()]
        check_ids(folder, texts)
        wanted = library.ask("each", path, task="text2text-generation", given=texts, options=dict(max_new_tokens=keys.get("max_new_tokens")))
        for text, one in zip(texts, wanted):
            got = folder.said("--prompt", text)
            assert got == one[0]["generated_text"] + "\n", f"{text!r} {keys}: {got!r}, expected {one[0]['generated_text']!r}"
        assert margin.least > 1e-5, margin.least
        return f"{len(texts)} texts, {sum(len(one[0]['generated_text']) for one in wanted)} characters"
    return check


def check_trocr(library, path, rng, variant):
    """A picture becomes a text."""
    own, rows, names = (tokenizers.xlm_roberta if variant == 1 else tokenizers.roberta)(rng, model_max_length=POSITIONS)
    heads, width, layers, middle = sizes(rng)
    ends, side = [names["</s>"], *(names[end] for end in tokenizers.ENDS)], 8 * int(rng.integers(3, 6))
    kind = ["vit", "deit", "vit"][variant]
    encoder = {**vit(kind, "ViTModel", intermediate_size=middle), "hidden_size": width, "num_attention_heads": heads, "num_hidden_layers": layers,
               "image_size": side, "qkv_bias": bool(rng.integers(2))}
    config = trocr(encoder, cross_attention_hidden_size=width, vocab_size=rows, decoder_layers=layers, eos_token_id=2, decoder_start_token_id=2)
    config.update(is_encoder_decoder=True, eos_token_id=2, decoder_start_token_id=2)
    weights = random_weights(trocr_shapes(config), int(rng.integers(1000)))
    liven(weights, "decoder.model.decoder.embed_tokens.weight", ends)
    processor = dict(image_processor_type="ViTImageProcessor", do_normalize=True, do_rescale=True, do_resize=True,
                     image_mean=rng.random(3).round(2).tolist(), image_std=(0.2 + rng.random(3)).round(2).tolist(), resample=2,
                     size=dict(height=side, width=side))
    keys = {**generation_keys(rng, rows, names, ends, 1), "decoder_start_token_id": 2}
    folder = Folder.written(library, path, config, weights, {**own, "preprocessor_config.json": processor, "generation_config.json": keys})
    margin = Margin()
    folder.graph("encoder_model", ["pixel_values"], lambda pixel_values: {"last_hidden_state": trocr_memory(config, folder.w, pixel_values)})
    folder.graph("decoder_model_merged", ["input_ids", "encoder_hidden_states"], lambda input_ids, encoder_hidden_states: margin.seen(
        trocr_scores(config, folder.w, input_ids, encoder_hidden_states.astype(np.float64))["scores"]), cache="0.decoder.key")
    folder.compile()
    files = []
    for n in range(3):
        files.append(f"{path}/{n}.png")
        Image.fromarray(rng.integers(0, 256, (side, side, 3), np.uint8)).save(files[-1])
    wanted = library.ask("pipeline", path, task="image-to-text", pictures=files, options=dict(max_new_tokens=keys.get("max_new_tokens")))
    for file, one in zip(files, wanted):
        got = folder.said("--input", f"image={file}")
        assert got.strip() == one[0]["generated_text"], f"{keys}: {got!r}, expected {one[0]['generated_text']!r}"
    assert margin.least > 1e-5, margin.least
    return f"{len(files)} pictures, {sum(len(one[0]['generated_text']) for one in wanted)} characters"


WRITERS = {**{kind: check_reader(kind) for kind in FIRST}, "trocr": check_trocr}

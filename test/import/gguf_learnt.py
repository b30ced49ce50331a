# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPT-2, BERT and Nomic's BERT with their vocabularies, as llama.cpp's converter writes them: for gguf.py."""
import numpy as np

from gguf_file import FORMATS, draw, write_gguf
from numpy_layers import linear
from shapes import bert_shapes, gpt2_shapes, nomic_shapes, pair
from text_models import bert as bert_twin, gpt2 as gpt2_twin, nomic_bert as nomic_twin

LEARNT = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "lm_head": "output", "ln_1": "attn_norm", "ln_2": "ffn_norm",
          "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
          "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
          "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm", "attention.self.query": "attn_q",
          "attention.self.key": "attn_k", "attention.self.value": "attn_v", "attention.output.dense": "attn_output",
          "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up", "output.dense": "ffn_down",
          "output.LayerNorm": "layer_output_norm", "emb_ln": "token_embd_norm", "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output",
          "norm1": "attn_output_norm", "norm2": "layer_output_norm", "mlp.fc11": "ffn_up", "mlp.fc12": "ffn_gate", "mlp.fc2": "ffn_down",
          "classifier.dense": "cls", "classifier.out_proj": "cls.output"}
LEARNT_KEYS = {"embedding_length": ("n_embd", "hidden_size"), "block_count": ("n_layer", "num_hidden_layers"),
               "attention.head_count": ("n_head", "num_attention_heads"), "context_length": ("n_positions", "max_position_embeddings"),
               "attention.layer_norm_epsilon": ("layer_norm_epsilon", "layer_norm_eps")}
# A text, and the tokens that it becomes: of byte-level BPE with three merges, and of WordPiece.
WORDS = {"gpt2": ("the cat, the end", ["the", "\u0120", "c", "a", "t", ",", "\u0120the", "\u0120", "e", "n", "d"]),
         "nomic-bert": ("Plays", ["[CLS]", "[UNK]", "[SEP]"]),
         "bert": ("The play\u00e9d, Playing a ship", ["[CLS]", "the", "play", "##ed", ",", "play", "##ing", "[UNK]", "[UNK]", "[SEP]"])}


def vocabulary(architecture, count):
    """The values of a tokenizer, and its tokens as Hugging Face's files write them."""
    if architecture == "gpt2":
        tokens = [*map(chr, range(0x21, 0x7F)), "\u0120", "he", "the", "\u0120the", "<|endoftext|>"][-count:]
        values = {"model": "gpt2", "pre": "gpt-2", "merges": ["h e", "t he", "\u0120 the"], "eos_token_id": count - 1}
        kinds = [1] * (count - 1) + [3]
    else:
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "play", "##ing", "##ed", ",", "##ly"]
        tokens += [f"[unused{i}]" for i in range(count - len(tokens))]
        values = {"model": "bert", "pre": "jina-v2-en"}
        kinds = [3 if token.startswith("[") else 1 for token in tokens]
    # What begins a word has a mark in BERT's, instead of what continues one.
    marked = [token if architecture == "gpt2" or kind == 3 else token[2:] if token.startswith("##") else "\u2581" + token
              for token, kind in zip(tokens, kinds)]
    return {f"tokenizer.ggml.{key}": value for key, value in {**values, "tokens": marked, "token_type": kinds}.items()}, tokens


def write_learnt(architecture, c, path):
    """A file of GPT-2, BERT or Nomic's BERT; the weights as Hugging Face's model has them; the tokens."""
    rng, kinds, tensors, weights = np.random.default_rng(3), list(FORMATS), {}, {}
    shapes = {"gpt2": gpt2_shapes, "bert": bert_shapes, "nomic-bert": nomic_shapes}[architecture](c)
    if not c.get("tie_word_embeddings", True):
        shapes["lm_head.weight"] = (c["vocab_size"], c["n_embd"])
    if c.get("pooling") == 4:
        shapes.update({**pair("classifier.dense", c["hidden_size"], c["hidden_size"]), **pair("classifier.out_proj", 1, c["hidden_size"])})
    for i, (name, shape) in enumerate(shapes.items()):
        if name.endswith(".attn.bias") or name.startswith("pooler.") or not shape[0]:
            continue  # which llama.cpp's converter leaves out
        component, part = name.rsplit(".", 1)
        layer = component.removeprefix("encoder.layer.").removeprefix("encoder.layers.").removeprefix("h.")
        n, own = layer.split(".", 1) if layer != component else (None, component)
        ours = ("" if n is None else f"blk.{n}.") + f"{LEARNT[own]}.{part}"
        if len(shape) == 1:
            tensors[ours] = value = rng.standard_normal(shape).astype(np.float32) * np.float32(0.1) + np.float32(part == "weight")
        else:
            turns = own.startswith(("attn.c_", "mlp.c_"))  # Hugging Face's GPT-2 multiplies from the left
            given = shape[::-1] if turns else shape
            data, value = draw(rng, kinds[i % len(kinds)], given, spread=1 / np.sqrt(given[1]))
            tensors[ours] = (kinds[i % len(kinds)], given[1:] if c.get("squeezed") and given[0] == 1 else given, data)
            value = value.T if turns else value
        weights[name] = value.astype(np.float64)
    own, tokens = vocabulary(architecture, c["vocab_size"])
    values = {key: c[names[architecture == "bert"]] for key, names in LEARNT_KEYS.items()}
    values["feed_forward_length"] = c.get("intermediate_size") or c.get("n_inner") or 4 * c["n_embd"]
    values.update({key: c[theirs] for key, theirs in {"pooling_type": "pooling", "rope.freq_base": "rotary_emb_base"}.items() if theirs in c})
    values = {"general.architecture": architecture, **{f"{architecture}.{key}": value for key, value in values.items()}, **own}
    write_gguf(path, values, tensors)
    return weights, tokens


def learnt_twin(c, weights, ids):
    """What GPT-2, BERT or Nomic's BERT gives, by name, and what it is given besides ids."""
    if c["model_type"] == "gpt2":
        return gpt2_twin(c, weights, ids), {}
    lengths, segments = np.array([21, 5, 13], np.int32), np.random.default_rng(7).integers(0, 2, ids.shape, dtype=np.int32)
    if c["model_type"] == "nomic_bert":
        inputs = {"lengths": lengths, "segments": segments}
        return {"embedding": nomic_twin(c, weights, ids, **inputs)["embedding"]}, inputs
    count = c["type_vocab_size"]
    absent = {"pooler.dense.weight": np.zeros((256, 256)), "pooler.dense.bias": np.zeros(256)}
    if not count:
        absent["embeddings.token_type_embeddings.weight"] = np.zeros((1, 256))
    found = bert_twin(c, {**weights, **absent}, ids, lengths, segments if count > 1 else None)
    if c.get("pooling") == 2:
        found["embedding"] = found["hidden"][:, 0] / np.linalg.norm(found["hidden"][:, 0], axis=-1, keepdims=True)
    if c.get("pooling") == 4:  # a score of the pair of texts, by the head that RoBERTa has
        found["scores"] = linear(np.tanh(linear(found["hidden"][:, 0], weights, "classifier.dense")), weights, "classifier.out_proj")
    name = {None: "hidden", 4: "scores"}.get(c.get("pooling"), "embedding")
    return {name: found[name]}, {"lengths": lengths, **({"segments": segments} if count > 1 else {})}

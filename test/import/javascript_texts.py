# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Families that read texts: random folders, and what is held against the library of each."""
import numpy as np

import javascript_tokenizers as tokenizers
from javascript_library import Folder, write_json
from make import GEMMA, NOMIC, bert, llama, modernbert, random_weights
from make_tokenizers import make_texts
from shapes import bert_shapes, gpt2_shapes, llama_shapes, modernbert_shapes, nomic_shapes
from text_models import bert as bert_twin, gpt2 as gpt2_twin, llama as llama_twin, modernbert as modernbert_twin, nomic_bert as nomic_twin

BOUND, POSITIONS = 1e-4, 64
# Of texts: what ends a line or a string of C; and where the library's tokenizers differ from the published ones in Rust, since JavaScript lowers
# a sigma by what is around it, and counts U+FEFF among spaces, but not U+0085.
LEFT_OUT = set("\n\r\0" "\u03a3\ufeff\x85")
LABELS = ["anger", "joy", "fear", "\u00e9lan", "a, b", "6", "last"]


def largest(got, wanted):
    """The largest distance of two arrays, of which shapes have to be the same."""
    assert got.shape == wanted.shape, f"{got.shape}, expected {wanted.shape}"
    error = np.abs(got - wanted).max() / max(1, np.abs(wanted).max())
    assert error <= BOUND, f"an error of {error:.1e}"
    return error


def texts_for(folder, rng, count, most):
    """Random texts that have at most so many tokens, the empty one among them, and one that has as many as there is room for."""
    drawn = [text for text in make_texts(int(rng.integers(1 << 30)), 9 + 3 * count)[9:] if not set(text) & LEFT_OUT]
    drawn += [" ".join(["the quick brown"] + ["dog"] * more) for more in range(most)]
    fit = [text for text, ids in zip(drawn, folder.ids(drawn)) if len(ids) <= most]
    return ["", *fit[:count - 2], fit[-1]]


def check_ids(folder, texts):
    """Tokens of texts."""
    for text, got, wanted in zip(texts, folder.ids(texts), folder.library.ask("ids", folder.path, given=texts)):
        assert got == wanted, f"ids of {text!r}: {got}, expected {wanted}"


def sizes(rng):
    heads = int(rng.choice([2, 3, 4]))
    return heads, 8 * heads, int(rng.integers(1, 4)), 4 * int(rng.integers(5, 12))


def encoder_config(kind, architecture, rng, rows):
    heads, width, layers, middle = sizes(rng)
    roberta = kind.endswith("roberta")
    if kind == "distilbert":
        return dict(model_type=kind, architectures=[architecture], dim=width, n_heads=heads, n_layers=layers, hidden_dim=middle, vocab_size=rows,
                    max_position_embeddings=POSITIONS, activation="gelu")
    if kind == "modernbert":
        return {**modernbert(architecture), "hidden_size": width, "num_attention_heads": heads, "num_hidden_layers": layers + 1,
                "intermediate_size": middle, "vocab_size": rows, "max_position_embeddings": POSITIONS, "classifier_pooling": "mean"}
    if kind == "nomic_bert":
        return {**NOMIC, "n_embd": width, "n_head": heads, "n_layer": layers, "n_inner": middle, "vocab_size": rows, "n_positions": POSITIONS,
                "max_trained_positions": POSITIONS, "rotary_scaling_factor": None}
    return {**bert(kind, architecture), "hidden_size": width, "num_attention_heads": heads, "num_hidden_layers": layers, "intermediate_size": middle,
            "vocab_size": rows, "max_position_embeddings": POSITIONS + 2 if roberta else POSITIONS, "type_vocab_size": 1 if roberta else 2,
            "pad_token_id": 1 if roberta else 0, "layer_norm_eps": 1e-5 if roberta else 1e-12}


ENCODERS = {"bert": ("Bert", tokenizers.bert), "roberta": ("Roberta", tokenizers.roberta), "xlm-roberta": ("XLMRoberta", tokenizers.xlm_roberta),
            "distilbert": ("DistilBert", lambda rng, **more: tokenizers.bert(rng, "DistilBertTokenizer", **more)),
            "modernbert": ("ModernBert", tokenizers.modernbert), "nomic_bert": ("NomicBert", tokenizers.bert)}


def make_encoder(library, path, kind, head, rng, files=(), **more):
    """A folder of a family of encoders, and its graph."""
    name, tokenizer = ENCODERS[kind]
    own, rows, names = tokenizer(rng, model_max_length=POSITIONS)
    config = {**encoder_config(kind, name + head, rng, rows), **more}
    shapes = {"modernbert": modernbert_shapes, "nomic_bert": nomic_shapes}.get(kind, bert_shapes)(config)
    folder = Folder.written(library, path, config, random_weights(shapes, int(rng.integers(1000))), {**own, **dict(files)})
    folder.names, folder.segments = names, kind in ("bert", "nomic_bert")

    def compute(input_ids, attention_mask, token_type_ids=None):
        lengths = attention_mask.sum(1)
        assert (attention_mask == (np.arange(input_ids.shape[1]) < lengths[:, None])).all()
        if kind == "modernbert":
            made = modernbert_twin(config, folder.w, input_ids, lengths)
        else:
            more = dict(segments=token_type_ids) if folder.segments else {}
            made = (nomic_twin if kind == "nomic_bert" else bert_twin)(config, folder.w, input_ids, lengths, **more)
        return {"last_hidden_state": made["hidden"]} if "hidden" in made else {"logits": made["scores"]}

    folder.graph("model", ["input_ids", "attention_mask"] + ["token_type_ids"] * folder.segments, compute)
    return folder


def batch(folder, texts):
    """Arrays of a padded batch."""
    rows = folder.ids(texts)
    lengths = np.array([len(row) for row in rows], np.int32)
    ids = np.zeros((len(rows), lengths.max()), np.int32)
    for row, own in zip(ids, rows):
        row[:len(own)] = own
    return {"ids": ids, **({"segments": np.zeros_like(ids)} if folder.segments else {}), "lengths": lengths}


def pooling_files(pooling, normal):
    """The modules of a sentence encoder."""
    module = lambda i, kind, where: dict(idx=i, name=str(i), path=where, type="sentence_transformers.models." + kind)
    modules = [module(0, "Transformer", ""), module(1, "Pooling", "1_Pooling")] + [module(2, "Normalize", "2_Normalize")] * normal
    names = dict(cls="cls_token", mean="mean_tokens", last_token="lasttoken")
    own = {"pooling_mode_" + name: pooling == theirs for theirs, name in names.items()}
    return {"modules.json": modules, "1_Pooling/config.json": own}


def check_embedding(kind):
    """Vectors of sentences: pooled, and of length 1 or not."""
    def check(library, path, rng, variant):
        pooling, normal = ["mean", "cls", "mean"][variant], variant != 1
        folder = make_encoder(library, path, kind, "Model", rng, pooling_files(pooling, normal))
        folder.compile()
        texts = texts_for(folder, rng, 9, POSITIONS)
        check_ids(folder, texts)
        wanted = library.ask("pipeline", path, task="feature-extraction", given=texts, options=dict(pooling=pooling, normalize=normal))
        folder.said("--embed", "--file", "-", "--output", f"embedding={path}/rows.npy", text="\n".join(texts) + "\n")
        return f"{len(texts)} vectors {largest(np.load(f'{path}/rows.npy'), wanted):.0e}"
    return check


def check_classes(kind):
    """Labels with percentages: a softmax, or a sigmoid of each where several may hold."""
    def check(library, path, rng, variant):
        problem = [None, "multi_label_classification", "single_label_classification"][variant]
        labels = dict(enumerate(LABELS[:int(rng.integers(2, len(LABELS) + 1))]))
        more = dict(id2label=labels, label2id={name: i for i, name in labels.items()}, **({"problem_type": problem} if problem else {}))
        folder = make_encoder(library, path, kind, "ForSequenceClassification", rng, **more)
        folder.compile()
        texts = texts_for(folder, rng, 6, POSITIONS)
        check_ids(folder, texts)
        wanted = library.ask("pipeline", path, task="text-classification", given=texts, options=dict(top_k=5))
        _, given = folder.run(batch(folder, texts), [])
        said = folder.said(*given).splitlines()[1:]
        printed = [f"  row {n}: " + ", ".join(f"{one['label']} {100 * one['score']:.1f} %" for one in row) for n, row in enumerate(wanted)]
        assert said == printed, f"{said}, expected {printed}"
        return f"{len(texts)} texts of {len(labels)} labels"
    return check


def check_tokens(library, path, rng, variant):
    """Labels of tokens."""
    kind = ["bert", "roberta", "distilbert"][variant]
    folder = make_encoder(library, path, kind, "ForTokenClassification", rng, id2label=dict(enumerate(LABELS)))
    folder.compile()
    texts = [text for text in texts_for(folder, rng, 7, POSITIONS) if text]
    check_ids(folder, texts)
    wanted = library.ask("pipeline", path, task="token-classification", given=texts, options=dict(ignore_labels=[]))
    inputs, count = batch(folder, texts), 0
    (scores,), _ = folder.run(inputs, ["scores"])
    for rows, entities in zip(scores, wanted):
        chances = np.exp(rows) / np.exp(rows).sum(-1, keepdims=True)
        for one in entities:
            best = chances[one["index"]].argmax()
            assert LABELS[best] == one["entity"] and abs(chances[one["index"], best] - one["score"]) <= BOUND, one
            count += 1
    return f"{count} tokens"


def check_fill(library, path, rng, variant):
    """The likeliest tokens in place of a mask."""
    folder = make_encoder(library, path, ["bert", "xlm-roberta", "modernbert"][variant], "ForMaskedLM", rng)
    folder.compile()
    mask = next(name for name in folder.names if "mask" in name.lower())
    texts = [f"{text} {mask} {text}" for text in texts_for(folder, rng, 5, POSITIONS // 2 - 4)]
    check_ids(folder, texts)
    wanted, inputs, error = library.ask("pipeline", path, task="fill-mask", given=texts, options=dict(top_k=5)), batch(folder, texts), 0
    (scores,), _ = folder.run(inputs, ["scores"])
    for rows, ids, tokens in zip(scores, inputs["ids"], wanted):
        row = rows[list(ids).index(folder.names[mask])].astype(np.float64)
        chances = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        best = np.argsort(-chances, kind="stable")[:5]
        assert best.tolist() == [one["token"] for one in tokens], f"{best}, expected {tokens}"
        error = max(error, largest(chances[best], np.array([one["score"] for one in tokens])))
    return f"{len(texts)} masks {error:.0e}"


# ---- texts that are written


def decoder_config(kind, architecture, rng, rows, variant):
    heads, width, layers, middle = sizes(rng)
    if kind == "gpt2":
        return dict(model_type=kind, architectures=[architecture], n_embd=width, n_head=heads, n_layer=layers, n_positions=POSITIONS, n_ctx=POSITIONS,
                    vocab_size=rows, layer_norm_epsilon=1e-5, activation_function="gelu_new", n_inner=middle)
    more = dict(rope_theta=float(rng.choice([1e4, 5e5])), tie_word_embeddings=bool(rng.integers(2)))
    if kind in ("mistral", "gemma2", "gemma3_text", "gpt_oss"):
        more["sliding_window"] = int(rng.choice([4, 9]))
    if kind == "qwen2":
        more.update(use_sliding_window=variant == 1, sliding_window=5, max_window_layers=1)
    if kind.startswith("gemma"):
        more.update(GEMMA, head_dim=8, tie_word_embeddings=True, **({} if kind == "gemma" else dict(query_pre_attn_scalar=8)))
    if kind == "gemma3_text":
        more.update(rope_local_base_freq=1e4, sliding_window_pattern=2)
    if kind == "gemma2":
        more.update(attn_logit_softcapping=5.0, final_logit_softcapping=30.0)
    if kind == "phi3":
        more.update(sliding_window=None, rope_scaling=None, original_max_position_embeddings=POSITIONS)
    if kind == "qwen3_moe":
        more.update(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24, norm_topk_prob=bool(rng.integers(2)), decoder_sparse_step=1,
                    mlp_only_layers=[], use_sliding_window=False)
    if kind == "gpt_oss":
        more.update(attention_bias=True, swiglu_limit=1.5, num_local_experts=4, num_experts_per_tok=2, tie_word_embeddings=False,
                    layer_types=["sliding_attention", "full_attention"] * 2, rope_scaling=dict(
                        rope_type="yarn", factor=32.0, original_max_position_embeddings=4096, truncate=False))
        layers = 4
    return {**llama(kind, architecture), "hidden_size": width, "num_attention_heads": heads, "num_key_value_heads": int(rng.choice([1, heads])),
            "num_hidden_layers": layers, "intermediate_size": middle, "vocab_size": rows, "head_dim": 8, "max_position_embeddings": POSITIONS, **more}


def generation_keys(rng, rows, names, ends, length):
    """Keys of a generation config that both know. The library has no beams. It forbids an end that is a bad word, and holds both minimal lengths,
    where the published rules let an end be and take `min_new_tokens` alone; nothing is suppressed that is forced."""
    keys = dict(eos_token_id=ends if rng.integers(2) else ends[0], bos_token_id=ends[0], pad_token_id=ends[-1])
    others = np.setdiff1d(np.arange(rows), ends)
    words = [rng.choice(others, int(rng.integers(1, 3))).tolist() for _ in range(30)]
    some = dict(repetition_penalty=float(rng.choice([1.3, 0.8])), no_repeat_ngram_size=int(rng.choice([1, 2, 3])), bad_words_ids=words,
                min_length=length + 4, min_new_tokens=5, forced_eos_token_id=ends[0],
                suppress_tokens=rng.choice(others, 30).tolist(),
                begin_suppress_tokens=rng.choice(others, 60).tolist())
    keys.update((name, value) for name, value in some.items() if rng.random() < 0.4 and not (name == "min_new_tokens" and "min_length" in keys))
    most = int(rng.integers(8, 16))
    keys.update(max_new_tokens=most) if rng.random() < 0.5 else keys.update(max_length=length + most)
    return keys


class Margin:
    """By how much the nearest of all choices was not another one."""

    def __init__(self):
        self.least = np.inf

    def seen(self, scores):
        best = np.sort(scores[:, -1], -1)[:, -2:]
        self.least = min(self.least, (best[:, 1] - best[:, 0]).min())
        return {"logits": scores}


def liven(weights, name, ends):
    """Makes tokens differ from each other, and ends likely."""
    weights[name] *= 3
    weights[name][ends] *= 1.6


def unsettle(weights, side="model.decoder"):
    """Lets a decoder see more than the last token, which else is followed by itself."""
    for name in weights:
        if name.startswith(side) and name.endswith((".v_proj.weight", ".fc2.weight")):
            weights[name] *= 3


LANGUAGE_MODELS = {"gpt2": ("GPT2LMHeadModel", tokenizers.gpt2), "llama": ("LlamaForCausalLM", tokenizers.llama2),
                   "llama-3": ("LlamaForCausalLM", tokenizers.llama3),
                   "mistral": ("MistralForCausalLM", tokenizers.llama2), "qwen2": ("Qwen2ForCausalLM", tokenizers.qwen2),
                   "qwen3": ("Qwen3ForCausalLM", tokenizers.qwen2), "qwen3_moe": ("Qwen3MoeForCausalLM", tokenizers.qwen2),
                   "gemma": ("GemmaForCausalLM", tokenizers.gemma), "gemma2": ("Gemma2ForCausalLM", tokenizers.gemma),
                   "gemma3_text": ("Gemma3ForCausalLM", tokenizers.gemma), "phi3": ("Phi3ForCausalLM", tokenizers.llama2),
                   "gpt_oss": ("GptOssForCausalLM", tokenizers.llama3)}


def check_generation(family):
    """Texts that go on from a prompt, by greedy choice and the rules of a generation config; and chats."""
    architecture, tokenizer = LANGUAGE_MODELS[family]
    kind = family.split("-")[0]

    def check(library, path, rng, variant):
        own, rows, names = tokenizer(rng, model_max_length=POSITIONS, chat_template=CHATS[variant])
        ends = [names[end] for end in tokenizers.ENDS]
        config = decoder_config(kind, architecture, rng, rows, variant)
        weights = random_weights((gpt2_shapes if kind == "gpt2" else llama_shapes)(config), int(rng.integers(1000)))
        liven(weights, "wte.weight" if kind == "gpt2" else "model.embed_tokens.weight", ends)
        folder = Folder.written(library, path, config, weights, own)
        texts = [text for text in texts_for(folder, rng, 5, POSITIONS - 30)[1:] if text.strip()]
        length = max(map(len, folder.ids(texts)))
        keys = generation_keys(rng, rows, names, ends, length)
        write_json(f"{path}/generation_config.json", keys)
        margin = Margin()

        def compute(input_ids, attention_mask):
            assert attention_mask.all() and attention_mask.shape == input_ids.shape
            return margin.seen((gpt2_twin if kind == "gpt2" else llama_twin)(config, folder.w, input_ids)["scores"])

        folder.graph("model", ["input_ids", "attention_mask"], compute, cache="0.key")
        folder.compile()
        check_ids(folder, texts)
        options = dict(max_new_tokens=keys.get("max_new_tokens"), return_full_text=False, add_special_tokens=True)
        wanted, tokens = library.ask("each", path, task="text-generation", given=texts, options=options), 0
        for text, one in zip(texts, wanted):
            got = folder.said("--prompt", text)
            assert got == one[0]["generated_text"] + "\n", f"{text!r} {folder.ids([text])} {keys}: {got!r}, expected {one[0]['generated_text']!r}"
            tokens += len(got)
        if variant:
            fit = [text for text in texts if "max_new_tokens" in keys or len(folder.ids([text])[0]) + 20 <= length]
            chats = [[dict(role="user", content=text)] for text in fit[:2]]
            wanted = library.ask("each", path, task="text-generation", given=chats, options=dict(max_new_tokens=keys.get("max_new_tokens")))
            for chat, one in zip(chats, wanted):
                got = folder.said("--chat", text=chat[0]["content"] + "\n")
                assert got == one[0]["generated_text"][-1]["content"] + "\n", f"{chat}: {got!r}, expected {one[0]['generated_text'][-1]!r}"
        assert margin.least > 1e-5, margin.least
        return f"{len(texts)} texts, {tokens} characters"
    return check


def check_decoder_embedding(kind):
    """Vectors of sentences by what was a language model."""
    def check(library, path, rng, variant):
        architecture, tokenizer = LANGUAGE_MODELS[kind]
        own, rows, _ = tokenizer(rng, model_max_length=POSITIONS)
        both, normal = kind == "gemma3_text", variant != 1
        pooling = "mean" if both else "last_token"
        config = {**decoder_config(kind, architecture, rng, rows, variant), **(dict(use_bidirectional_attention=True) if both else {})}
        weights = random_weights(llama_shapes(config), int(rng.integers(1000)))
        folder = Folder.written(library, path, config, weights, {**own, **pooling_files(pooling, normal)})
        folder.graph("model", ["input_ids", "attention_mask"], lambda input_ids, attention_mask: {"last_hidden_state": llama_twin(
            config, folder.w, input_ids, attention_mask.sum(1) if both else None)["hidden"]})
        folder.compile()
        texts = [text for text in texts_for(folder, rng, 7, POSITIONS) if text]
        check_ids(folder, texts)
        wanted = library.ask("each", path, task="feature-extraction", given=texts, options=dict(pooling=pooling, normalize=normal))
        folder.said("--embed", "--file", "-", "--output", f"embedding={path}/rows.npy", text="\n".join(texts) + "\n")
        return f"{len(texts)} vectors {largest(np.load(f'{path}/rows.npy'), np.concatenate(wanted)):.0e}"
    return check


CHATS = [None, "{% for m in messages %}<{{ m['role'] }}> {{ m['content'] | trim }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
         [dict(name="default", template="{{ bos_token }}{% for m in messages -%}\n[{{ loop.index }}] {{ m.content }}\n{%- endfor %}"),
          dict(name="tool_use", template="none")]]

TEXTS = {f"{kind}-vectors": check_embedding(kind) for kind in ENCODERS}
TEXTS.update({f"{kind}-vectors": check_decoder_embedding(kind) for kind in ("qwen3", "gemma3_text")})
TEXTS.update({f"{kind}-classes": check_classes(kind) for kind in ENCODERS if kind != "nomic_bert"})
TEXTS.update(tokens=check_tokens, masks=check_fill)
DECODERS = {family: check_generation(family) for family in LANGUAGE_MODELS}

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small T5, Marian and BART folders with tokenizers answer a `--prompt`: the text that NumPy finds in double precision, by greedy choice or by
beams. Tokens are single characters, so that this file needs no tokenizer to know them.

usage: translation.py FOLDER"""
import json
import os
import struct
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
from make import make
from program import call
from published_generation import NOTHING, beam_search, greedy
from text_models import bart, t5
from vit_twin import write_safetensors

SPACE, LETTERS = "\u2581", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?'-"
TEXT = "translate this: a small # text."


def template(begin, end):
    """Special tokens around a text, as tokenizer.json says them."""
    special = lambda one: [{"SpecialToken": {"id": one[0], "type_id": 0}}] if one else []
    single = special(begin) + [{"Sequence": {"id": "A", "type_id": 0}}] + special(end)
    known = {name: dict(id=name, ids=[id], tokens=[name]) for name, id in filter(None, (begin, end))}
    return dict(type="TemplateProcessing", single=single, pair=single + [{"Sequence": {"id": "B", "type_id": 1}}], special_tokens=known)


def write(path, model, specials, **parts):
    added = [dict(id=id, content=name, special=True, single_word=False, lstrip=False, rstrip=False, normalized=False)
             for name, id in specials.items()]
    known = dict(version="1.0", truncation=None, padding=None, added_tokens=added, normalizer=None, **parts, model=model)
    json.dump(known, open(f"{path}/tokenizer.json", "w"))


def piece_model(path, pieces):
    """A model of SentencePiece, by the fields of its protobuf: pieces with scores and kinds, and a normalizer."""
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    def piece(text, kind):
        return field(1, field(1, text.encode()) + bytes([2 << 3 | 5]) + struct.pack("<f", -1) + bytes([3 << 3, kind]))

    body = piece("<unk>", 2) + piece("<s>", 3) + piece("</s>", 3) + b"".join(piece(text, 1) for text in pieces)
    normalizer = field(1, b"identity") + bytes([3 << 3, 1, 4 << 3, 1, 5 << 3, 1])
    open(path, "wb").write(body + field(2, bytes([3 << 3, 1])) + field(3, normalizer))


def prepare_t5(folder):
    pieces = ["<pad>", "</s>", "<unk>", SPACE, *LETTERS]
    pieces += [f"<extra_id_{i}>" for i in range(97 - len(pieces))]
    space = dict(type="Metaspace", replacement=SPACE, prepend_scheme="always", split=True)
    write(folder, dict(type="Unigram", unk_id=2, vocab=[[piece, -1.0] for piece in pieces], byte_fallback=False),
          {"<pad>": 0, "</s>": 1, "<unk>": 2}, pre_tokenizer=space, decoder=space, post_processor=template(None, ("</s>", 1)))
    return pieces, [SPACE] + [SPACE if c == " " else c for c in TEXT], [], [1]


def prepare_bart(folder):
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "\u0120", *LETTERS]
    pieces += [f"unused{i}" for i in range(97 - len(pieces))]
    level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)
    write(folder, dict(type="BPE", dropout=None, unk_token="<unk>", continuing_subword_prefix="", end_of_word_suffix="", fuse_unk=False,
                       byte_fallback=False, ignore_merges=False, vocab={piece: i for i, piece in enumerate(pieces)}, merges=[]),
          {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}, pre_tokenizer=level, decoder=level, post_processor=template(("<s>", 0), ("</s>", 2)))
    return pieces, ["\u0120" if c == " " else c for c in TEXT], [0], [2]


def prepare_marian(folder):
    # Each language has its own pieces, and vocab.json the numbers of both.
    source, target = [SPACE, *LETTERS[:60]], [SPACE, *reversed(LETTERS)]
    piece_model(f"{folder}/source.spm", source)
    piece_model(f"{folder}/target.spm", target)
    pieces = ["<unk>", "x" * 9, "</s>", SPACE, *reversed(LETTERS)]
    pieces += [f"{SPACE}word{i}" for i in range(96 - len(pieces))] + ["<pad>"]
    json.dump({piece: i for i, piece in enumerate(pieces)}, open(f"{folder}/vocab.json", "w"))
    # What the source's pieces lack is looked up as it is.
    named = [SPACE] + [SPACE if c == " " else c for c in TEXT]
    return pieces, named, [], [2]


FAMILIES = {"flan-t5": (prepare_t5, t5), "bart": (prepare_bart, bart), "marian": (prepare_marian, bart)}


def check(family, folder, beams, limit):
    prepare, model = FAMILIES[family]
    config, weights = make(family, folder, seed=dict(marian=27).get(family, 7))
    if family != "flan-t5":  # else a token is followed by itself
        weights["model.shared.weight"] *= 0.4 if family == "marian" else 0.15
        for name in weights:
            if family == "bart":
                weights[name] *= dict(final_logits_bias=0.1).get(name, 12 if name == "model.decoder.layers.2.final_layer_norm.weight" else 1)
            elif name.startswith("model.decoder") and name.endswith((".v_proj.weight", ".fc2.weight")):
                weights[name] *= 3
        write_safetensors(f"{folder}/model.safetensors", weights)
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    pieces, named, before, behind = prepare(folder)
    unknown = pieces.index("<unk>")
    source = np.array([before + [pieces.index(piece) if piece in pieces else unknown for piece in named] + behind])
    spec = f"{folder}/spec.attn"
    call(["attn", "import", folder, "-o", spec])
    ids = subprocess.run(["attn", "tokenize", folder, TEXT, "--ids"], check=True, capture_output=True, text=True).stdout.split()
    assert [int(one) for one in ids] == source[0].tolist(), f"{family}: {ids}, expected {source[0].tolist()}"
    command = ["attn", "run", "-O0", spec, "--prompt", TEXT, "--max-tokens", str(limit), "--beams", str(beams)]
    said = subprocess.run(command, capture_output=True)
    assert said.returncode == 0, said.stderr.decode()

    start, stop = config["decoder_start_token_id"], 1 if family == "flan-t5" else 2
    length = np.array([source.shape[1]])
    scores = lambda ids: model(config, w, np.array([ids]), source=source, lengths=length)["scores"][0, -1]
    rules = dict(NOTHING, num_beams=beams, eos_token_id=[stop])
    if family == "bart":
        rules.update(length_penalty=2.0, forced_bos=[0], no_repeat_ngram_size=3)
    elif family == "marian":
        rules.update(bad_words_ids=[[96]])
    found, near = (beam_search if beams > 1 else greedy)(scores, [start], source[0].tolist(), limit, rules)
    assert near > 5e-6, f"{family}: another order of sums may find another text, {near:.1e}"
    specials = {"flan-t5": {0, 1, 2}, "bart": {0, 1, 2, 3}, "marian": {0, 2, 96}}[family]
    text = "".join(pieces[token] for token in found if token not in specials).replace(SPACE, " ").replace("\u0120", " ")
    text = text.removeprefix(" ") if family != "bart" else text
    assert said.stdout.decode() == text + "\n", f"{family}: {said.stdout.decode()!r}, but NumPy finds {text!r}"
    print(f"{family}: {len(found)} tokens by {beams} beams: {text}")


def check_long(folder):
    """More tokens than there are positions."""
    said = subprocess.run(["attn", "run", "-O0", f"{folder}/spec.attn", "--prompt", 3 * TEXT], capture_output=True, text=True)
    assert said.returncode == 1 and f"the prompt has {3 * len(TEXT) + 2} tokens, but the context has room for 40" in said.stderr, said.stderr


def main():
    folder, full = sys.argv[1], os.environ.get("ATTN_FULL_TESTS") == "1"
    for family, beams in [("marian", 6), ("flan-t5", 1), ("bart", 4), ("marian", 1), ("bart", 1), ("flan-t5", 3)][: 6 if full else 1]:
        os.makedirs(f"{folder}/{family}-{beams}", exist_ok=True)
        check(family, f"{folder}/{family}-{beams}", beams, 14)
    if full:
        check_long(f"{folder}/marian-6")


if __name__ == "__main__":
    main()

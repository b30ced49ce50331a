#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small GPT-2 and T5 folders with random generation configs write the tokens that NumPy chooses in double precision by the published rules;
what a config says in other words becomes the setting that it should, and what cannot be done is an error.

usage: generation.py FOLDER"""
import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
from make import make
from program import call, run
from published_generation import NOTHING, beam_search, greedy
from text_models import gpt2, t5
from vit_twin import write_safetensors

VOCABULARY, START, NEAR = 97, 0, 5e-6


def random_keys(rng, reads, length):
    """Some keys of a generation config, and what they are to the rules of the twin; `length` is that of the prompt."""
    keys = dict(eos_token_id=rng.integers(1, VOCABULARY, 2).tolist())
    words = [rng.integers(0, VOCABULARY, int(rng.integers(1, 4))).tolist() for _ in range(20)]
    some = dict(repetition_penalty=float(rng.choice([1.3, 1.1])), encoder_repetition_penalty=1.2, no_repeat_ngram_size=int(rng.choice([1, 2, 3])),
                encoder_no_repeat_ngram_size=1, bad_words_ids=words, min_length=length + 5, min_new_tokens=7, forced_eos_token_id=keys["eos_token_id"][0],
                exponential_decay_length_penalty=[3, 1.1], suppress_tokens=rng.integers(0, VOCABULARY, 20).tolist(),
                begin_suppress_tokens=rng.integers(0, VOCABULARY, 40).tolist(), **(dict(forced_bos_token_id=int(rng.integers(VOCABULARY))) if reads else {}))
    keys.update((name, value) for name, value in some.items() if rng.random() < 0.4)
    if rng.random() < 0.7:
        keys.update(num_beams=int(rng.integers(2, 5)), renormalize_logits=bool(rng.integers(2)))
        keys.update((name, value) for name, value in dict(early_stopping=[True, "never", False][int(rng.integers(3))],
                                                          length_penalty=float(rng.choice([0.5, 2, -1]))).items() if rng.random() < 0.7)
    rules = {**NOTHING, **{name: value for name, value in keys.items() if name in NOTHING}}
    as_list = lambda name: [keys[name]] if name in keys else []
    rules.update(forced_bos=as_list("forced_bos_token_id"), forced_eos_token_id=as_list("forced_eos_token_id"))
    return keys, rules


def check_twin(folder, family, rng):
    """Whether the tokens are the twin's; nothing where another order of sums may find others."""
    reads = family == "flan-t5"
    config, weights = make(family, folder, seed=int(rng.integers(1000)))
    weights = {name: value * (3 if name.endswith(("wte.weight", "shared.weight")) else 1) for name, value in weights.items()}
    write_safetensors(f"{folder}/model.safetensors", weights)
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    given = rng.integers(0, VOCABULARY, (1, int(rng.integers(3, 9))), dtype=np.int32)
    prompt = [START] if reads else given[0].tolist()
    keys, rules = random_keys(rng, reads, len(prompt))
    most = int(rng.integers(9, 14))
    most += len(prompt) + most == 20  # a `max_length` of 20 is what the published class assumes, so it counts as unsaid
    keys.update(max_new_tokens=most) if rng.random() < 0.5 else keys.update(max_length=len(prompt) + most)
    lengths = np.array([given.shape[1]], np.int32)
    keys["decoder_start_token_id"] = START
    # Folders of before 2023 say it in config.json.
    is_old = rng.random() < 0.4
    json.dump({**config, **keys} if is_old else config, open(f"{folder}/config.json", "w"))
    if is_old and os.path.exists(f"{folder}/generation_config.json"):
        os.remove(f"{folder}/generation_config.json")
    if not is_old:
        json.dump(keys if reads else {name: value for name, value in keys.items() if not name.startswith("decoder")},
                  open(f"{folder}/generation_config.json", "w"))
    call(["attn", "import", folder, "-o", f"{folder}/spec.attn"])
    results, command = ["tokens", "count"], ["attn", "run", "-O0", f"{folder}/spec.attn", "--entry", "write" if reads else "generate"]
    run(command, folder, dict(source=given, lengths=lengths) if reads else dict(ids=given), results)
    got = np.load(f"{folder}/tokens.npy")[0][:np.load(f"{folder}/count.npy")[0]].tolist()
    if reads:
        scores = lambda ids: t5(config, w, np.array([ids]), given, lengths)["scores"][0, -1]
    else:
        scores = lambda ids: gpt2(config, w, np.array([ids]))["scores"][0, -1]
    wanted, near = (beam_search if rules["num_beams"] > 1 else greedy)(scores, prompt, given[0].tolist(), most, rules)
    if near < NEAR:
        return 0
    assert got == wanted, f"{family}, {keys}: {got}, expected {wanted} for {given[0].tolist()}"
    return 1


def imported(folder, **keys):
    json.dump(keys, open(f"{folder}/generation_config.json", "w"))
    said = subprocess.run(["attn", "import", folder, "-o", f"{folder}/spec.attn"], capture_output=True, text=True)
    if said.returncode:
        return said.stderr
    return " ".join(open(f"{folder}/spec.attn").read().split("unfold(")[1].split()) + said.stderr


def check_words(folder):
    """Keys one by one."""
    make("gpt2", folder, seed=1)
    for said, keys in [("limit = 63, temperature = 1, top_k = 50, seed = 1", dict(do_sample=True)),
                       ("temperature = 1, seed = 1", dict(do_sample=True, top_k=0)),
                       ("temperature = 0.7, top_h = 0.4, top_p = 0.9, min_p = 0.1, typical_p = 0.5, epsilon = 0.01, eta = 0.02, top_k = 5, seed = 1",
                        dict(do_sample=True, temperature=0.7, top_h=0.4, top_p=0.9, min_p=0.1, typical_p=0.5, epsilon_cutoff=0.01, eta_cutoff=0.02, top_k=5)),
                       ("limit = 63, repetition = 1.5)", dict(repetition_penalty=1.5, temperature=0.1, top_p=0.2, length_penalty=3, early_stopping=True)),
                       ("beams = 3, length_penalty = 2, early_stopping = never)", dict(num_beams=3, length_penalty=2, early_stopping="never")),
                       ("limit = 29, max_length = 30, min_length = 9, bad_words = ((1, 2)))", dict(max_length=30, min_length=9, bad_words_ids=[[1, 2]])),
                       ("limit = 7, min_tokens = 3, bad_words = (1, (2, 3)))", dict(max_new_tokens=7, min_new_tokens=3, max_length=9, min_length=5,
                                                                                     bad_words_ids=[[1], [2, 3]])),
                       ("room for 64 tokens, fewer than `max_length`", dict(max_length=900)),
                       ("`num_beams` is `2`, expected 1, where `do_sample` is true", dict(num_beams=2, do_sample=True)),
                       ("`num_beams` is `33`, expected 1 to 32", dict(num_beams=33)),
                       ("`temperature` is `0`, expected more than 0", dict(do_sample=True, temperature=0)),
                       ("`early_stopping` is `\"soon\"`, expected true, false or \"never\"", dict(num_beams=2, early_stopping="soon")),
                       ("`bad_words_ids` is `[7]`, expected a list of lists of tokens", dict(bad_words_ids=[7]))]:
        found = imported(folder, **keys)
        assert said in found, f"{keys}: {found}, expected {said}"


def main():
    folder, full = sys.argv[1], os.environ.get("ATTN_FULL_TESTS") == "1"
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(5)
    rounds = 40 if full else 4
    clear = sum(check_twin(f"{folder}/{round_}", ["flan-t5", "gpt2"][round_ % 2], rng) for round_ in range(rounds))
    assert clear > rounds / 2, f"{clear} of {rounds} are clear"
    check_words(f"{folder}/words")
    print(f"{clear} of {rounds} folders have one answer, and gave it")


if __name__ == "__main__":
    main()

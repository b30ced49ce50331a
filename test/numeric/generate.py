#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens that a compiled loop chooses, with a cache, against NumPy in double precision, which computes the whole sequence again for each
token: greedy, drawn, with stops at which the rows of a batch end one after the other. Then a loop that passes tensors on by name."""
import argparse
import ctypes
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from caches import CAPACITY, V, logits, random_weights
from compiled_model import Model, ModelError
from measured import measured
from published_generation import NOTHING, greedy, processed
from vit_twin import write_safetensors

LIMIT, STOPS = 24, [3, 7, 12]
STATE = """attn 1
model State {
  dim V = 11, D = 8, A = 6
  dyn B <= 8, S <= 16
  embedding wte: V -> D
  linear mix: D -> D bias
  linear head: D -> V
  entry read(x: [B, S, D]) -> h: [B, D], memory: [B, S, D] = (last(S, x), tanh(mix(x)))
  entry next(token: i32[B], h: [B, D], memory: [B, S, D], bonus: [V]) -> scores: [B, V], h: [B, D], weights: [B, S] {
    let q = tanh(mix(h + wte(token)))
    let a, w = attend q over memory, memory along S { score dot return out, weights }
    return head(q + a) + bonus, q, w
  }
  entry write = unfold(read, next, begin = 1, stop = 0, limit = 9)
}
"""


def build(folder, name, text, arguments):
    spec, library = os.path.join(folder, name + ".attn"), os.path.join(folder, name + ".so")
    open(spec, "w").write(text)
    subprocess.run(["attn", "compile", spec, "--emit=shared", "-o", library] + arguments, check=True, stderr=subprocess.DEVNULL)
    return library


def kept(scores, numbers, ids):
    """The probabilities of what may be drawn behind these tokens."""
    scores = processed(scores, ids, len(ids), [], LIMIT, {**NOTHING, "repetition_penalty": numbers["repetition"]})
    p = np.exp((scores - scores.max()) / numbers["temperature"])
    if share := numbers.get("topH", 0):
        order = np.argsort(-p, kind="stable")
        q = p[order][:100] / p[order][:100].sum()
        terms = np.where(q > 0, -q * np.log(np.maximum(q, 1e-300)), 0)
        size = max(int((np.cumsum(terms) <= share * terms.sum()).sum()), 1)
        p[p < p[order[size - 1]]] = 0
    if numbers["topK"]:
        p[p < np.sort(p)[::-1][:numbers["topK"]][-1]] = 0
    order = np.argsort(-p)
    before = np.cumsum(p[order]) - p[order]
    p[order[before >= numbers["topP"] * p.sum()]] = 0
    p[p < numbers["minP"] * p.max()] = 0
    entropy = lambda p: -(p[p > 0] * np.log(p[p > 0])).sum()
    if 0 < numbers.get("typicalP", 1) < 1:
        p /= p.sum()
        far = np.full(len(p), np.inf)
        far[p > 0] = np.abs(-np.log(p[p > 0]) - entropy(p))
        order = np.argsort(far)
        p[far > far[order[(np.cumsum(p[order]) < numbers["typicalP"]).sum()]]] = 0
    for name in "epsilon", "eta":
        if least := numbers.get(name, 0):
            p /= p.sum()
            p[(p < (least if name == "epsilon" else min(least, np.sqrt(least) * np.exp(-entropy(p))))) & (p < p.max())] = 0
    return p / p.sum()


def check_row(prompt, tokens, count, weights, stops, numbers=None):
    """Each token follows from the whole sequence before it. Scores as near to each other as f32 may change are no mistake."""
    assert (tokens[count:] == -1).all() and (tokens[:count] >= 0).all()
    chosen = list(tokens[:count])
    for at in range(count + (count < LIMIT)):
        ids = np.concatenate([prompt, np.array(chosen[:at], np.int32)])
        scores = logits(ids[None], weights)[0, -1]
        if numbers:
            p = kept(scores, numbers, ids)
            assert at == count or p[chosen[at]] > 0, f"token {at}: {chosen[at]} could not be drawn"
            continue
        wanted = stops if at == count else [chosen[at]]
        assert scores.max() - scores[wanted].max() < 1e-4, f"token {at}: {wanted}, but {scores.argmax()} scores more"


def check_greedy(model, rng, weights, rounds):
    ended = 0
    for batch in [1, 7] * rounds:
        ids = rng.integers(0, V, (batch, int(rng.integers(1, 20))), dtype=np.int32)
        endless = model.run("generate", [ids], generation=model.generation("generate", stopCount=0))[0]
        stops = sorted(set(endless[:, LIMIT // 2].tolist()))[:2]
        numbers = model.generation("generate", stopCount=len(stops), stops=(ctypes.c_int64 * len(stops))(*stops))
        tokens, counts = model.run("generate", [ids], generation=numbers)
        for row in range(batch):
            check_row(ids[row], tokens[row], counts[row], weights, stops)
        ended += (counts < LIMIT).sum()
    assert ended >= rounds, "no row has met a stop"
    tokens, counts = model.run("generate", [ids])
    assert not np.isin(tokens[tokens >= 0], STOPS).any()
    print(f"{rounds} batches of 1 and of 7: {ended} rows ended at a stop")


def check_drawn(model, rng, weights, rounds):
    for round_ in range(rounds):
        numbers = dict(temperature=float(rng.choice([0.5, 1, 2])), topP=float(rng.choice([1, 0.9, 0.5])), topK=int(rng.choice([0, 5, 1])),
                       minP=float(rng.choice([0, 0.1])), repetition=float(rng.choice([1, 1.3])), typicalP=float(rng.choice([0, 0.5, 0.9])),
                       epsilon=float(rng.choice([0, 0.05])), eta=float(rng.choice([0, 0.1])), topH=float(rng.choice([0, 0.4, 0.8])))
        ids = rng.integers(0, V, (3, 5), dtype=np.int32)
        run = lambda seed: [array.copy() for array in
                            model.run("generate", [ids], generation=model.generation("generate", seed=seed, stopCount=0, **numbers))]
        tokens, counts = run(round_)
        assert (counts == LIMIT).all() and (run(round_)[0] == tokens).all()
        for row in range(3):
            check_row(ids[row], tokens[row], LIMIT, weights, [], numbers)
    # The first token of many seeds is distributed as it should be: chi squared over what is likely.
    for numbers in (dict(temperature=1.5, topP=0.95, topK=12, minP=0.0, repetition=1.0, typicalP=0.95, epsilon=0.01),
                    dict(temperature=1.5, topP=1.0, topK=0, minP=0.0, repetition=1.0, topH=0.6)):
        check_distribution(model, rng, weights, numbers)
    print(f"drawn: {rounds} settings")


def check_distribution(model, rng, weights, numbers, draws=2000):
    ids = rng.integers(0, V, (1, 6), dtype=np.int32)
    p = kept(logits(ids, weights)[0, -1], numbers, ids[0])
    seen = np.zeros(V)
    for seed in range(draws):
        seen[model.run("generate", [ids], generation=model.generation("generate", seed=seed, limit=1, stopCount=0, **numbers))[0][0, 0]] += 1
    assert not seen[p == 0].any()
    live = p > 0
    chi = ((seen[live] - draws * p[live]) ** 2 / (draws * p[live])).sum()
    assert chi < 45, f"chi squared {chi:.1f} of {live.sum()} tokens"
    assert 1 < live.sum() < V, "the settings leave out nothing"
    print(f"{numbers}: chi squared {chi:.1f} of {live.sum()} tokens")


def random_rules(rng, prompt):
    """Some of the rules, by their published names, and as the C API has them. Words are made of tokens that are likely to follow."""
    stops = sorted(set(rng.integers(0, V, int(rng.integers(0, 3))).tolist()))
    words = [[int(token) for token in rng.integers(0, V, int(rng.integers(1, 4)))] for _ in range(int(rng.integers(1, 6)))]
    words += [prompt[-2:].tolist() + [int(token)] for token in rng.integers(0, V, 12)]
    rules = dict(NOTHING, eos_token_id=stops)
    some = dict(repetition_penalty=float(rng.choice([1.3, 2, 0.7])), encoder_repetition_penalty=float(rng.choice([1.5, 0.8])),
                no_repeat_ngram_size=int(rng.choice([1, 2, 3])), encoder_no_repeat_ngram_size=int(rng.choice([1, 2])), bad_words_ids=words,
                min_length=len(prompt) + 6, min_new_tokens=int(rng.integers(1, 9)), forced_bos=[int(rng.integers(V))],
                forced_eos_token_id=stops[:1] or [3], exponential_decay_length_penalty=(2, 1.2), suppress_tokens=rng.integers(0, V, 4).tolist(),
                begin_suppress_tokens=rng.integers(0, V, 9).tolist())
    rules.update((name, value) for name, value in some.items() if rng.random() < 0.35)
    begin, factor = rules["exponential_decay_length_penalty"]
    return rules, dict(stops=stops, repetition=rules["repetition_penalty"], sourceRepetition=rules["encoder_repetition_penalty"],
                       noRepeat=rules["no_repeat_ngram_size"], sourceNoRepeat=rules["encoder_no_repeat_ngram_size"],
                       badWords=[n for word in rules["bad_words_ids"] for n in [len(word), *word]], minLength=rules["min_length"],
                       minTokens=rules["min_new_tokens"], forced=list(rules["forced_bos"]), forcedLast=list(rules["forced_eos_token_id"]),
                       decayFrom=begin, decay=factor, suppressed=list(rules["suppress_tokens"]),
                       suppressedFirst=list(rules["begin_suppress_tokens"]))


def scores_behind(weights):
    return lambda ids: logits(np.array(ids, np.int64)[None], weights)[0, -1]


def check_rules(model, rng, weights, rounds):
    """Greedy choice with rules over the tokens of a row, prompt included."""
    clear = 0
    for round_ in range(rounds):
        ids = rng.integers(0, V, (2, int(rng.integers(2, 12))), dtype=np.int32)
        rules, numbers = random_rules(rng, ids[0])
        most = min(LIMIT, 9 + round_ % 4)
        if round_ % 2:
            numbers["maxLength"] = ids.shape[1] + most
        else:
            numbers["limit"] = most
        tokens, counts = model.run("generate", [ids], generation=model.generation("generate", **numbers))
        for row in range(2):
            wanted, near = greedy(scores_behind(weights), ids[row].tolist(), ids[row].tolist(), most, rules)
            if near > 1e-4:
                clear += 1
                assert tokens[row, :counts[row]].tolist() == wanted, f"{tokens[row, :counts[row]]}, expected {wanted}, by {rules}"
    assert clear > rounds, f"{clear} of {2 * rounds} rows are clear"
    print(f"rules: {clear} rows of {rounds} settings")


def check_errors(model, rng):
    ids = rng.integers(0, V, (2, 30), dtype=np.int32)

    def refused(expected, given=ids, **numbers):
        try:
            model.run("generate", [given], generation=model.generation("generate", **numbers))
        except ModelError as error:
            assert expected in str(error), error
        else:
            raise AssertionError(f"this was not refused: {expected}")

    refused("error[R0207]: entry `generate` would fill cache `kv` with 53 positions, which holds 50")
    refused("a limit of 25 tokens, expected 1 to 24", limit=25)
    refused("`top_p` is a number from 0 to 1", topP=1.5)
    refused("`bad_words` is a list of tokens", badWords=[3, 1])
    refused("error[R0216]: entry `generate`: there are 30 tokens, and `max_length` is 30 with those that are written", maxLength=30)
    refused("error[R0206]", np.full((2, 3), V, np.int32))


def check_callback(model, rng):
    """What is told of each step, and that a false answer ends the loop."""
    ids, told = rng.integers(0, V, (3, 4), dtype=np.int32), []

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32), ctypes.c_int64)
    def on_tokens(user, tokens, rows):
        told.append(tokens[:rows])
        return len(told) < 5

    numbers = model.generation("generate", stopCount=0, onTokens=ctypes.cast(on_tokens, ctypes.c_void_p).value)
    tokens, counts = model.run("generate", [ids], generation=numbers)
    assert (counts == 5).all() and (np.array(told).T == tokens[:, :5]).all()


def check_state(folder, rng, arguments, threads):
    """A loop without a cache: a state that each step gives the next, a memory of the first entry, an input of the step's own."""
    weights = {"wte.weight": (11, 8), "mix.weight": (8, 8), "mix.bias": (8,), "head.weight": (11, 8)}
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in weights.items()}
    file = os.path.join(folder, "state.safetensors")
    write_safetensors(file, weights)
    model = Model(build(folder, "state", STATE, arguments), "attn_model_state", file, threads)
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    for batch in 1, 7:
        x, bonus = rng.standard_normal((batch, 5, 8)).astype(np.float32), rng.standard_normal(11).astype(np.float32)
        tokens, counts, alignment = model.run("write", [x, bonus])
        assert alignment.shape == (9, batch, 5)
        for row in range(batch):
            mix = lambda v: np.tanh(v @ w["mix.weight"].T + w["mix.bias"])
            memory, h, token = mix(x[row].astype(np.float64)), x[row, -1].astype(np.float64), 1
            for at in range(9):
                h = mix(h + w["wte.weight"][token])
                a = np.exp(memory @ h - (memory @ h).max())
                a /= a.sum()
                scores = w["head.weight"] @ (h + a @ memory) + bonus
                assert np.abs(alignment[at, row] - a).max() < 1e-5
                token = scores.argmax()
                if token == 0:
                    assert counts[row] == at
                    break
                assert tokens[row, at] == token
    print("a loop that passes its state on by name")


def set_up(rounds, rows, limit, stops):
    """The command line's options, a generator of numbers, a decoder of at most `rows` rows that generates, compiled, its weights, and
    the flags that it was compiled with."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--target", default="native")
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    os.makedirs(options.folder, exist_ok=True)
    decoder = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoder.attn")).read()
    decoder = decoder.replace("dyn B <= 3", f"dyn B <= {rows}").replace(
        "  entry prefill = forward\n",
        f"  entry prefill = forward last T\n  entry generate = unfold(prefill, decode, limit = {limit}, stop = ({', '.join(map(str, stops))}))\n")
    weights = random_weights(rng)
    file = os.path.join(options.folder, "weights.safetensors")
    write_safetensors(file, weights)
    arguments = [f"--target={options.target}"]
    model = Model(build(options.folder, "decoder", decoder, arguments), "attn_model_decoder", file, options.threads)
    return options, rng, model, weights, arguments


def main():
    options, rng, model, weights, arguments = set_up(rounds=3, rows=8, limit=LIMIT, stops=STOPS)
    check_greedy(model, rng, weights, options.rounds)
    check_rules(model, rng, weights, 10 * options.rounds)
    check_drawn(model, rng, weights, options.rounds)
    check_errors(model, rng)
    check_callback(model, rng)
    check_state(options.folder, rng, arguments, options.threads)
    measured("tokens", 0)


if __name__ == "__main__":
    main()

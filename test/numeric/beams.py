#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Beams of a compiled loop against a search in NumPy in double precision, which computes the whole sequence again for each hypothesis:
with a cache, and with a state that each step gives the next; tokens that are forced and suppressed."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from caches import V
from compiled_model import Model, ModelError
from generate import STATE, build, random_rules, scores_behind, set_up
from measured import measured
from published_generation import NOTHING, beam_search
from vit_twin import write_safetensors

LIMIT, NEAR = 12, 2e-5


def check_row(got, count, wanted, near):
    """Whether there was only one way: then it was taken."""
    assert (got[count:] == -1).all()
    if near < NEAR:
        return 0
    assert list(got[:count]) == wanted, f"{list(got[:count])}, expected {wanted}"
    return 1


def check_cached(model, rng, weights, rounds):
    clear = total = shorter = 0
    for round_ in range(rounds):
        for batch in 1, 5:
            beams, early = int(rng.choice([2, 3, 4])), [False, True, "never"][(2 * round_ + batch // 5) % 3]
            penalty, renormalizes = float(rng.choice([0, 0.6, 1, 2, -0.5])), bool(rng.integers(2))
            ids = rng.integers(0, V, (batch, int(rng.integers(2, 9))), dtype=np.int32)
            rules, numbers = random_rules(rng, ids[0])
            rules.update(num_beams=beams, length_penalty=penalty, early_stopping=early, renormalize_logits=renormalizes)
            if len(rules["eos_token_id"]) == 0:
                rules["eos_token_id"] = numbers["stops"] = [int(rng.integers(V))]
            numbers.update(beams=beams, lengthPenalty=penalty, earlyStopping=[False, True, "never"].index(early), renormalizes=renormalizes)
            tokens, counts = model.run("generate", [ids], generation=model.generation("generate", limit=LIMIT, **numbers))
            for row in range(batch):
                wanted, near = beam_search(scores_behind(weights), ids[row].tolist(), ids[row].tolist(), LIMIT, rules)
                clear += check_row(tokens[row], counts[row], wanted, near)
                total, shorter = total + 1, shorter + (len(wanted) < LIMIT)
    assert clear > total / 2 and shorter, f"{clear} of {total} rows have one best hypothesis, {shorter} end at a stop"
    print(f"with a cache: {total} rows, {clear} with one best hypothesis, {shorter} of which end at a stop")


def check_endings(model, rng, weights):
    """When rows are done, where many tokens end a hypothesis, so that it shows."""
    ends = set()
    ids = rng.integers(0, V, (8, 4), dtype=np.int32)
    stops = rng.choice(V, 9, replace=False).tolist()
    for penalty in 1.0, 2.0:
        for number, early in enumerate([False, True, "never"]):
            numbers = model.generation("generate", limit=LIMIT, beams=2, lengthPenalty=penalty, earlyStopping=number, stops=stops)
            tokens, counts = (array.copy() for array in model.run("generate", [ids], generation=numbers))
            rules = dict(NOTHING, num_beams=2, length_penalty=penalty, early_stopping=early, eos_token_id=stops)
            for row in range(len(ids)):
                check_row(tokens[row], counts[row], *beam_search(scores_behind(weights), ids[row].tolist(), [], LIMIT, rules))
            ends.add(tuple(counts))
    assert len(ends) > 3, "rows end at the same places whatever `early_stopping` says"


def check_state(folder, rng, arguments, threads, rounds):
    names = {"wte.weight": (11, 8), "mix.weight": (8, 8), "mix.bias": (8,), "head.weight": (11, 8)}
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in names.items()}
    file = os.path.join(folder, "state.safetensors")
    write_safetensors(file, weights)
    text = STATE.replace("limit = 9", f"limit = {LIMIT}, beams = 3, length_penalty = 0.5, early_stopping = true").replace("B <= 8", "B <= 24")
    model = Model(build(folder, "state", text, arguments), "attn_model_state", file, threads)
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    mix = lambda v: np.tanh(v @ w["mix.weight"].T + w["mix.bias"])
    worst = 0
    for batch in [1, 7] * rounds:
        x, bonus = rng.standard_normal((batch, 5, 8)).astype(np.float32), rng.standard_normal(11).astype(np.float32)
        tokens, counts, alignment = model.run("write", [x, bonus])
        for row in range(batch):
            def steps(chosen):
                """The weights of all steps behind these tokens, and the last scores."""
                memory, h, all_ = mix(x[row].astype(np.float64)), x[row, -1].astype(np.float64), []
                for token in (1, *chosen):
                    h = mix(h + w["wte.weight"][token])
                    a = np.exp(memory @ h - (memory @ h).max())
                    all_.append(a / a.sum())
                return all_, w["head.weight"] @ (h + all_[-1] @ memory) + bonus

            rules = dict(NOTHING, num_beams=3, length_penalty=0.5, eos_token_id=[0], early_stopping=True)
            wanted, near = beam_search(lambda ids: steps(ids[1:])[1], [1], [], LIMIT, rules)
            if not check_row(tokens[row], counts[row], wanted, near):
                continue
            weights_ = np.array(steps(wanted)[0][: LIMIT])
            worst = max(worst, np.abs(alignment[: len(weights_), row] - weights_).max())
            assert worst < 1e-5 and not alignment[len(weights_):, row].any()
    measured("weights", worst)
    print("with a state that is passed on")


def check_errors(model, rng):
    def refused(expected, rows=2, **numbers):
        try:
            model.run("generate", [rng.integers(0, V, (rows, 3), dtype=np.int32)], generation=model.generation("generate", **numbers))
        except ModelError as error:
            assert expected in str(error), error
        else:
            raise AssertionError(f"this was not refused: {expected}")

    refused("error[R0212]: entry `generate`: 7 rows with 5 beams each, but `B` <= 32", rows=7, beams=5)
    refused("`beams` is a number of hypotheses, at least 1", beams=-1)
    refused("`length_penalty` is a number from -1000 to 1000", beams=2, lengthPenalty=-1001.0)


def main():
    options, rng, model, weights, arguments = set_up(rounds=2, rows=32, limit=LIMIT, stops=[3])
    check_cached(model, rng, weights, options.rounds)
    check_endings(model, rng, weights)
    check_errors(model, rng)
    check_state(options.folder, rng, arguments, options.threads, options.rounds)
    measured("tokens", 0)


if __name__ == "__main__":
    main()

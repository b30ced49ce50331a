#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Beams of a compiled loop against a search in NumPy in double precision, which computes the whole sequence again for each hypothesis:
with a cache, and with a state that each step gives the next; tokens that are forced and suppressed."""
import ctypes
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from caches import V, logits
from compiled_model import Model, ModelError
from generate import STATE, build, set_up
from measured import measured
from vit_twin import write_safetensors

LIMIT, NEAR = 12, 2e-5


def tokens_of(values):
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def search(scores_of, beams, limit, stops, penalty, force=(), suppress=()):
    """The best hypothesis by its tokens, and by how little another order of candidates was missed."""
    live, finished, near = [((), 0.0)], [], np.inf
    for at in range(limit):
        candidates = []
        for tokens, total in live:
            scores = scores_of(tokens).astype(np.float64)
            scores[list(suppress)] = -np.inf
            if at < len(force):
                scores[:] = -np.inf
                scores[force[at]] = 0
            scores -= scores.max()
            scores -= np.log(np.exp(scores).sum())
            candidates += [(total + scores[token], tokens, token) for token in np.flatnonzero(scores > -np.inf)]
        candidates.sort(key=lambda candidate: -candidate[0])
        seen = np.array([total for total, _, _ in candidates[: beams * (1 + len(stops)) + 1]])
        near = min(near, np.diff(-seen).min(initial=np.inf))
        live = []
        for rank, (total, tokens, token) in enumerate(candidates):
            if token in stops:
                if rank < beams:
                    finished.append((total / (at + 1) ** penalty, tokens))
            elif len(live) < beams:
                live.append((tokens + (int(token),), total))
        finished = sorted(finished, key=lambda one: -one[0])[:beams]
        if len(finished) == beams or not live:
            break
    if len(finished) < beams:
        finished += [(total / len(tokens) ** penalty, tokens) for tokens, total in live]
    scores = sorted((score for score, _ in finished), reverse=True)
    if len(scores) > 1:
        near = min(near, scores[0] - scores[1])
    return list(max(finished, key=lambda one: one[0])[1]), near


def numbers_of(model, entry, beams, stops, penalty, **more):
    lists = {name: tokens_of(more[name]) for name in ("suppressed", "forced") if name in more}
    counts = {"suppressCount": len(more.get("suppressed", ())), "forceCount": len(more.get("forced", ()))}
    return model.generation(entry, beams=beams, lengthPenalty=penalty, stopCount=len(stops), stops=tokens_of(stops), limit=LIMIT, **counts, **lists)


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
            beams, penalty = int(rng.choice([2, 3, 4])), float(rng.choice([0, 0.6, 1, 2]))
            ids = rng.integers(0, V, (batch, int(rng.integers(1, 9))), dtype=np.int32)
            stops = sorted(set(rng.integers(0, V, 3).tolist()))
            more = dict(forced=[int(rng.integers(V))], suppressed=rng.integers(0, V, 4).tolist()) if round_ % 2 else {}
            more["suppressed"] = [token for token in more.get("suppressed", []) if token not in more.get("forced", [])]
            tokens, counts = model.run("generate", [ids], generation=numbers_of(model, "generate", beams, stops, penalty, **more))
            for row in range(batch):
                scores_of = lambda chosen: logits(np.concatenate([ids[row], np.array(chosen, np.int32)])[None], weights)[0, -1]
                wanted, near = search(scores_of, beams, LIMIT, stops, penalty, more.get("forced", ()), more["suppressed"])
                clear += check_row(tokens[row], counts[row], wanted, near)
                total, shorter = total + 1, shorter + (len(wanted) < LIMIT)
    assert clear > total / 2 and shorter, f"{clear} of {total} rows have one best hypothesis, {shorter} end at a stop"
    print(f"with a cache: {total} rows, {shorter} of which end at a stop")


def check_state(folder, rng, arguments, threads, rounds):
    names = {"wte.weight": (11, 8), "mix.weight": (8, 8), "mix.bias": (8,), "head.weight": (11, 8)}
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in names.items()}
    file = os.path.join(folder, "state.safetensors")
    write_safetensors(file, weights)
    text = STATE.replace("limit = 9", f"limit = {LIMIT}, beams = 3, length_penalty = 0.5").replace("B <= 8", "B <= 24")
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

            wanted, near = search(lambda chosen: steps(chosen)[1], 3, LIMIT, [0], 0.5)
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
    refused("`beams` is at least 1", beams=-1)
    refused("`length_penalty` is from 0 to 1000", beams=2, lengthPenalty=-1.0)


def main():
    options, rng, model, weights, arguments = set_up(rounds=2, rows=32, limit=LIMIT, stops=[3])
    check_cached(model, rng, weights, options.rounds)
    check_errors(model, rng)
    check_state(options.folder, rng, arguments, options.threads, options.rounds)
    measured("tokens", 0)


if __name__ == "__main__":
    main()

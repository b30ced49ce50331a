#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiled model of encoder_decoder.attn against torch.nn.Transformer in double precision, which computes all that was
written again for each token: the same tokens, in batches whose rows end one by one.

    encoder_decoder_twin.py FOLDER [--dtype bf16] [flags of attn compile]
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from compiled_model import Model, ModelError
from measured import measured
from twins import draw, tensors_of
from vit_twin import write_safetensors

V, E, H, F, P, LIMIT = 23, 24, 4, 40, 16, 14
# Of two scores that may change places: what f32 rounds, or what a cache of bf16 does.
NEAR = {"f32": 1e-4, "bf16": 5e-2}
# Of the scores of a call.
BOUND = {"f32": 1e-5, "bf16": 2e-2}


class Whole(torch.nn.Module):
    """The model, without caches."""

    def __init__(self):
        super().__init__()
        self.letters, self.tokens, self.places = (torch.nn.Embedding(n, E) for n in (V, V, P))
        whole = torch.nn.Transformer(E, H, 2, 3, F, dropout=0, batch_first=True)
        self.encoder, self.decoder = whole.encoder, whole.decoder
        self.out = torch.nn.Linear(E, V)

    def forward(self, tokens, source, n):
        """Scores of all positions."""
        hidden = torch.arange(source.shape[1])[None] >= n[:, None]
        memory = self.encoder(self.letters(source) + self.places(torch.arange(source.shape[1])), src_key_padding_mask=hidden)
        later = torch.ones(tokens.shape[1], tokens.shape[1]).triu(1).bool()
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.out(self.decoder(x, memory, tgt_mask=later, memory_key_padding_mask=hidden))


def written(model, source, n, near):
    """The tokens that each row becomes, and whether its last choice was close."""
    tokens, ended = np.ones((len(source), 1), np.int64), {}
    while len(ended) < len(source):
        best = model(torch.tensor(tokens), torch.tensor(source), torch.tensor(n))[:, -1].topk(2)
        chosen, ahead = best.indices[:, 0].numpy(), (best.values[:, 0] - best.values[:, 1]).numpy()
        for row in set(range(len(source))) - set(ended):
            if ahead[row] < near or chosen[row] == 0 or tokens.shape[1] > LIMIT:
                ended[row] = tokens[row, 1:].tolist(), ahead[row] < near
        tokens = np.concatenate([tokens, chosen[:, None]], 1)
    return [ended[row] for row in range(len(source))]


def check_tokens(compiled, model, sources, near):
    n = np.array([len(source) for source in sources], np.int32)
    padded = np.zeros((len(sources), n.max()), np.int32)
    for row, source in enumerate(sources):
        padded[row, : len(source)] = source
    begun = compiled.run("begin", [padded, n])
    first = compiled.run("write", [np.ones((len(sources), 1), np.int32), padded, n])
    for a, b in zip(begun, first):
        assert np.array_equal(a, b), "the first token in a call of its own: other tokens"
    tokens, count = begun
    for row, (wanted, is_close) in enumerate(written(model, padded, n, near)):
        got = tokens[row, : count[row]].tolist()
        assert got[: len(wanted)] == wanted if is_close else got == wanted, f"{sources[row]}: {got}, expected {wanted}"
        assert (tokens[row, count[row] :] == -1).all()
    return count


def empty(compiled):
    for cache in (0, 1):
        compiled.truncate(0, cache)


def refusal(compiled, entry, inputs):
    """Why a call cannot be."""
    try:
        compiled.run(entry, inputs)
    except ModelError as error:
        return str(error)
    raise AssertionError(f"{entry} is not refused")


def check_calls(compiled, model, source, rng, bound):
    """The scores of calls that continue each other, and of calls on two memories in turns."""
    n = np.array([len(row) for row in source], np.int32)
    source = np.array(source, np.int32)
    tokens = rng.integers(1, V, (len(source), 7)).astype(np.int32)
    wanted = model(torch.tensor(tokens), torch.tensor(source), torch.tensor(n)).numpy()
    for cuts in ([4, 1, 1, 1], [1, 1, 5]):
        empty(compiled)
        begin = 0
        for call, rows in enumerate(cuts):
            part = np.ascontiguousarray(tokens[:, begin : begin + rows])
            entry = "scores" if call == 0 or rows > 1 else "decode"
            given = [part, source, n] if entry == "scores" else [part, n]
            got = compiled.run(entry, given)[0].reshape(len(source), -1, V)
            own = wanted[:, begin : begin + rows]
            error = np.linalg.norm(got - own) / np.linalg.norm(own)
            measured("encoder and decoder" + (" in bf16" if bound > 1e-4 else ""), error)
            assert error < bound, f"{entry}: relative L2 {error:.1e}"
            begin += rows


def check_refusals(compiled, source, rng):
    """What cannot be leaves the caches as they were."""
    one, n = np.ones((1, 1), np.int32), np.array([len(source)], np.int32)
    empty(compiled)
    message = refusal(compiled, "decode", [one, n])
    assert "R0210" in message and "entry `scores`" in message, message
    compiled.run("read", [np.array([source], np.int32), n])
    scores = compiled.run("decode", [one, n])[0]
    message = refusal(compiled, "decode", [np.ones((2, 1), np.int32), np.array([len(source)] * 2, np.int32)])
    assert "was filled with `B` = 1, but it is 2 now" in message, message
    compiled.truncate(0)
    message = refusal(compiled, "decode", [np.ones((2, 1), np.int32), np.array([len(source)] * 2, np.int32)])
    assert "R0211" in message, message
    assert np.array_equal(scores, compiled.run("decode", [one, n])[0])
    for _ in range(P - 1):
        compiled.run("decode", [one, n])
    assert "R0207" in refusal(compiled, "decode", [one, n])
    # Another memory in the place of the first, for more rows.
    compiled.truncate(0)
    compiled.run("read", [rng.integers(0, V, (3, 5)).astype(np.int32), np.array([5, 4, 1], np.int32)])
    compiled.run("decode", [np.ones((3, 1), np.int32), np.array([5, 4, 1], np.int32)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--batches", type=int, default=1)
    parser.add_argument("--gpu", action="store_true", help="on GPU 0, with one batch")
    arguments, flags = parser.parse_known_args()
    os.makedirs(arguments.folder, exist_ok=True)
    model = draw(np.random.default_rng(5), Whole().double(), gain=2.0)
    model.out.bias.data[0] += 2.5  # so that rows end one by one
    weights = f"{arguments.folder}/weights.safetensors"
    write_safetensors(weights, {k: v.astype(np.float32) for k, v in tensors_of(model).items()})
    model.out.bias.data = model.out.bias.data.float().double()
    spec = open(f"{HERE}/encoder_decoder.attn").read()
    if arguments.dtype != "f32":
        spec = spec.replace("own capacity", f"own: {arguments.dtype} capacity").replace("cross capacity", f"cross: {arguments.dtype} capacity")
    open(f"{arguments.folder}/spec.attn", "w").write(spec)
    library = f"{arguments.folder}/model.so"
    subprocess.run(["attn", "compile", f"{arguments.folder}/spec.attn", "--emit=shared", "-o", library, *flags], check=True, stderr=subprocess.DEVNULL)
    rng, lengths = np.random.default_rng(1), []
    with torch.no_grad():
        for threads in (1,) if arguments.gpu else (1, 2):
            compiled = Model(library, "attn_model_encoder_decoder", weights, threads, gpu=0 if arguments.gpu else None)
            for batch in (2,) if arguments.gpu else (1, 7) * arguments.batches:
                sources = [rng.integers(0, V, rng.integers(1, 13)).tolist() for _ in range(batch)]
                lengths.extend(check_tokens(compiled, model, sources, NEAR[arguments.dtype]))
            check_calls(compiled, model, [[3, 1, 4, 1, 5], [2, 7, 1, 8, 2]], rng, BOUND[arguments.dtype])
            check_refusals(compiled, [3, 1, 4], rng)
    print(f"{len(lengths)} rows of {len(set(lengths))} lengths, {lengths.count(LIMIT)} to the limit")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the two models of pronounce: letters in, phonemes out.

    python3 train.py --model lstm --minutes 15 --out pronounce_lstm.safetensors | tee train-lstm.log
    python3 train.py --model transformer --minutes 15 --rate 1e-3 --out pronounce_transformer.safetensors | tee train-transformer.log

Needs Debian's python3-torch and festlex-cmu. The words of a batch have as many letters, so there is nothing to mask on the
side that is read; behind the end of what is written, the loss does not look. The transformer is torch.nn.Transformer.
"""
import math
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

import words
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../training"))
import trainer

LIMIT = 24  # tokens that are written at most
SYMBOLS = {"lstm": "attn_model_pronounce_lstm", "transformer": "attn_model_pronounce_transformer"}  # in the compiled libraries


class Lstm(nn.Module):
    """A bidirectional LSTM reads, an LSTM writes; the additive score of its state and what was read at each letter gives
    the context, which stands beside the state where the next phoneme is chosen."""

    def __init__(self, embedded=64, read=112, layers=2, written=224, scored=128, dropout=0.1):
        super().__init__()
        self.letters, self.phonemes = nn.Embedding(27, embedded), nn.Embedding(len(words.PHONEMES), embedded)
        self.encoder = nn.LSTM(embedded, read, layers, batch_first=True, bidirectional=True, dropout=dropout)
        self.h0, self.c0 = nn.Linear(2 * read, written), nn.Linear(2 * read, written)
        self.decoder = nn.LSTM(embedded, written, batch_first=True)
        self.A, self.C = nn.Linear(written, scored, bias=False), nn.Linear(2 * read, scored, bias=False)
        self.u = nn.Parameter(torch.randn(scored) / math.sqrt(scored))
        self.out = nn.Linear(written + 2 * read, len(words.PHONEMES))
        self.dropout = nn.Dropout(dropout)

    def read(self, source):
        memory, (h, _) = self.encoder(self.dropout(self.letters(source)))
        both = torch.cat([h[-2], h[-1]], -1)  # the last states of the last layer, forwards and backwards
        return self.dropout(memory), (torch.tanh(self.h0(both))[None], torch.tanh(self.c0(both))[None])

    def write(self, tokens, memory, state, lengths=None):
        hidden, state = self.decoder(self.dropout(self.phonemes(tokens)), state)
        hidden = self.dropout(hidden)
        scores = torch.tanh(self.A(hidden)[:, :, None] + self.C(memory)[:, None]) @ self.u
        if lengths is not None:
            scores = scores.masked_fill(torch.arange(memory.shape[1]) >= lengths[:, None, None], -math.inf)
        weights = scores.softmax(-1)
        return self.out(torch.cat([hidden, weights @ memory], -1)), state, weights

    def forward(self, source, tokens):
        memory, state = self.read(source)
        return self.write(tokens, memory, state)[0]

    def generate(self, source):
        memory, state = self.read(source)
        token, said = torch.ones(len(source), 1, dtype=torch.long), []
        for _ in range(LIMIT):
            scores, state, _ = self.write(token, memory, state)
            token = scores.argmax(-1)
            said.append(token)
        return torch.cat(said, 1)


class Transformer(nn.Module):
    def __init__(self, width=128, heads=4, layers=3, hidden=256, dropout=0.1):
        super().__init__()
        self.letters, self.phonemes = nn.Embedding(27, width), nn.Embedding(len(words.PHONEMES), width)
        for table in (self.letters, self.phonemes):
            nn.init.normal_(table.weight, std=width**-0.5)
        self.transformer = nn.Transformer(width, heads, layers, layers, hidden, dropout, batch_first=True, norm_first=True)
        self.out = nn.Linear(width, len(words.PHONEMES))
        self.dropout, self.width = nn.Dropout(dropout), width
        t, c = torch.arange(64)[:, None], torch.arange(width)[None]
        angle = t / 10000 ** ((c - c % 2) / width)
        self.places = torch.where(c % 2 == 0, angle.sin(), angle.cos())

    def embed(self, table, tokens):
        return self.dropout(table(tokens) * math.sqrt(self.width) + self.places[: tokens.shape[1]])

    def write(self, tokens, memory):
        later = torch.ones(tokens.shape[1], tokens.shape[1]).triu(1).bool()
        return self.out(self.transformer.decoder(self.embed(self.phonemes, tokens), memory, tgt_mask=later))

    def forward(self, source, tokens):
        return self.write(tokens, self.transformer.encoder(self.embed(self.letters, source)))

    def generate(self, source):
        memory = self.transformer.encoder(self.embed(self.letters, source))
        said = torch.ones(len(source), 1, dtype=torch.long)
        for _ in range(LIMIT):
            said = torch.cat([said, self.write(said, memory)[:, -1:].argmax(-1)], 1)
        return said[:, 1:]


def by_length(pairs):
    groups = {}
    for word, tokens in pairs:
        groups.setdefault(len(word), []).append((words.letters(word), tokens))
    return groups


def batches(groups, size):
    """Shuffled batches of words with as many letters: (letters, tokens behind a begin, tokens before a stop)."""
    found = []
    for group in groups.values():
        order = torch.randperm(len(group)).tolist()
        found += [[group[n] for n in order[k : k + size]] for k in range(0, len(group), size)]
    for n in torch.randperm(len(found)).tolist():
        longest = max(len(tokens) for _, tokens in found[n])
        given = torch.tensor([[1] + t + [0] * (longest - len(t)) for _, t in found[n]])
        wanted = torch.tensor([t + [0] + [-100] * (longest - len(t)) for _, t in found[n]])
        yield torch.tensor([source for source, _ in found[n]]), given, wanted


def loss(model, batch):
    source, given, wanted = batch
    return F.cross_entropy(model(source, given).flatten(0, 1), wanted.flatten(), label_smoothing=0.05)


def say(model, spelt):
    """What the model says to each word: lists of tokens."""
    said, groups = {}, {}
    for word in spelt:
        groups.setdefault(len(word), []).append(word)
    for group in groups.values():
        for k in range(0, len(group), 500):
            part = group[k : k + 500]
            for word, row in zip(part, model.generate(torch.tensor([words.letters(w) for w in part])).tolist()):
                said[word] = row[: row.index(0)] if 0 in row else row
    return [said[word] for word in spelt]


def main():
    arg = trainer.arguments(__doc__, "pronounce_lstm.safetensors", minutes=15.0, rate=3e-3, batch=256)
    arg.add_argument("--model", choices=["lstm", "transformer"], default="lstm")
    arg.add_argument("--dictionary", default=words.DICTIONARY)
    opt = arg.parse_args()
    torch.manual_seed(opt.seed)
    found = words.read(opt.dictionary)
    held = [word for word in found if words.held_out(word)]
    pairs = [(word, tokens) for word, several in found.items() if not words.held_out(word) for tokens in several]
    print(f"{len(pairs)} pronunciations to learn from, {len(held)} words held out")
    groups = by_length(pairs)
    score = lambda some: lambda model: words.report(say(model, some), [found[word] for word in some])
    model = Lstm() if opt.model == "lstm" else Transformer()
    run = trainer.Trainer(model, opt, decay=0.01, dtype="F32" if opt.model == "lstm" else "F16")
    run.run(lambda epoch: batches(groups, opt.batch), loss, score(held[::10]), score(held))


if __name__ == "__main__":
    main()

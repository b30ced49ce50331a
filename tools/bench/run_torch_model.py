# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a transformer of the base size in f32 or bf16 by PyTorch on the CPU, with random weights, as protocol.h says.

    run_torch_model.py MODEL TOKENS THREADS f32|bf16 VARIANT

MODEL: `vit_b16` (patches of 224 x 224, classes of the first token), `bert_base` (norms behind, no head) or `gpt2` (causal,
logits of the last token). VARIANT: `modules` (linears, matmul, softmax), `packed` (the same, the linears' weights in
oneDNN's layout) or `encoder` (nn.TransformerEncoder, whose layers are one operator each where it can).
"""
import math
import sys

from serve_torch import prepare, serve

MODEL, TOKENS, THREADS, PRECISION, VARIANT = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
torch = prepare(THREADS)

import torch.nn.functional as F
from torch import nn
from torch.utils import mkldnn

DTYPE = {"f32": torch.float32, "bf16": torch.bfloat16}[PRECISION]
WIDTH, HEADS, HIDDEN, LAYERS, WORDS, CLASSES = 768, 12, 3072, 12, {"bert_base": 30522, "gpt2": 50257}, 1000
IS_CAUSAL, NORMS_BEHIND = MODEL == "gpt2", MODEL == "bert_base"


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc1, self.fc2 = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def attend(self, x, mask):
        q, k, v = self.qkv(x).reshape(1, TOKENS, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q * (1 / math.sqrt(WIDTH // HEADS)), k.transpose(-1, -2))
        if mask is not None:
            scores += mask
        return self.out(torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(1, TOKENS, WIDTH))

    def forward(self, x, mask):
        if NORMS_BEHIND:
            x = self.norm1(x + self.attend(x, mask))
            return self.norm2(x + self.fc2(F.gelu(self.fc1(x))))
        x = x + self.attend(self.norm1(x), mask)
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 16, 16) if MODEL == "vit_b16" else None
        self.words = None if self.patches else nn.Embedding(WORDS[MODEL], WIDTH)
        self.positions = nn.Parameter(torch.randn(1, TOKENS, WIDTH))
        self.mask = torch.full((TOKENS, TOKENS), -math.inf, dtype=DTYPE).triu(1) if IS_CAUSAL else None
        if VARIANT == "encoder":
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, activation="gelu", batch_first=True,
                                               norm_first=not NORMS_BEHIND)
            self.layers = nn.TransformerEncoder(layer, LAYERS)
        else:
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = None if NORMS_BEHIND else nn.Linear(WIDTH, WORDS.get(MODEL, CLASSES))

    def forward(self, given):
        if self.patches:
            x = self.patches(given).flatten(2).transpose(1, 2)
            x = torch.cat([x[:, :1], x], 1)
        else:
            x = self.words(given)
        x = x + self.positions
        if VARIANT == "encoder":
            x = self.layers(x, self.mask)
        else:
            for layer in self.layers:
                x = layer(x, self.mask)
        x = self.norm(x)
        return x if self.head is None else self.head(x[:, -1 if IS_CAUSAL else 0])


torch.manual_seed(1)
model = Model().eval().to(DTYPE)
if VARIANT == "packed":
    for layer in model.layers:
        for name, linear in list(layer.named_children()):
            if isinstance(linear, nn.Linear):
                setattr(layer, name, mkldnn.to_mkldnn(linear, DTYPE))
given = torch.randn(1, 3, 224, 224).to(DTYPE) if model.patches else torch.randint(WORDS[MODEL], (1, TOKENS))
serve(lambda: model(given))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.nn.TransformerEncoder and TransformerDecoder, as torch_encoder.attn and torch_decoder.attn have them: post-norm,
ReLU, a norm behind the stack. The decoder's own attention is causal."""
from dataclasses import dataclass

import numpy as np

from architecture import Model


@dataclass
class TorchEncoder(Model):
    tokens: int

    entry, stack, given = "encode", "encoder", ("source",)

    @classmethod
    def read(cls, description, sizes):
        hidden, width = description.shape(cls.stack + ".layers.{n}.linear1.weight", 2)
        return cls(description.name, description.symbol, D=width, H=description.heads(width),
                   L=description.layers(cls.stack + ".layers.{n}.linear1.weight"), F=hidden, tokens=description.size("T", sizes))

    def input_types(self):
        return [(name, "f32", (1, self.tokens, self.D)) for name in self.given]

    def make_inputs(self, rng):
        return [rng.standard_normal(shape, np.float32) for _, _, shape in self.input_types()]

    def outputs(self):
        return [("hidden", (1, self.tokens, self.D))]

    def flop(self):
        return self.L * self.layer_flop(self.tokens, self.tokens**2)

    def add_norm(self, graph, name, x, y, **last):
        both = graph.op("Add", x, y)
        return graph.op("LayerNormalization", both, graph.weight(name + ".weight"), graph.weight(name + ".bias"), axis=-1,
                        epsilon=1e-5, **last)

    def attention(self, graph, name, x, **more):
        tensors = graph.store.tensors
        a = graph.attention(x, name, self.H, lambda: tensors[name + ".in_proj_weight"].T,
                            lambda: tensors[name + ".in_proj_bias"], **more)
        return graph.linear(name + ".out_proj", a)

    def feed_forward(self, graph, layer, x):
        return graph.linear(layer + "linear2", graph.op("Relu", graph.linear(layer + "linear1", x)))

    def write_layer(self, graph, layer, x):
        x = self.add_norm(graph, layer + "norm1", x, self.attention(graph, layer + "self_attn", x))
        return self.add_norm(graph, layer + "norm2", x, self.feed_forward(graph, layer, x))

    def write_graph(self, graph):
        x = self.given[0]
        for n in range(self.L):
            x = self.write_layer(graph, f"{self.stack}.layers.{n}.", x)
        name = self.stack + ".norm"
        graph.op("LayerNormalization", x, graph.weight(name + ".weight"), graph.weight(name + ".bias"), axis=-1, epsilon=1e-5,
                 name="hidden")


@dataclass
class TorchDecoder(TorchEncoder):
    entry, stack, given = "decode", "decoder", ("target", "memory")

    def flop(self):
        pairs = self.tokens * (self.tokens + 1) // 2
        cross = 2 * (4 * self.tokens * self.D**2 + 2 * self.tokens**2 * self.D)
        return self.L * (self.layer_flop(self.tokens, pairs) + cross)

    def write_layer(self, graph, layer, x):
        x = self.add_norm(graph, layer + "norm1", x,
                          self.attention(graph, layer + "self_attn", x, causal_length=self.tokens))
        x = self.add_norm(graph, layer + "norm2", x, self.attention(graph, layer + "multihead_attn", x, memory="memory"))
        return self.add_norm(graph, layer + "norm3", x, self.feed_forward(graph, layer, x))

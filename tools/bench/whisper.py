# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The encoder of Whisper, of whisper_encoder.attn, as ONNX: convolutions along time, then layers as exporters write them."""
from dataclasses import dataclass

import numpy as np

from architecture import Model

ENCODER = "model.encoder."
LAYER = ENCODER + "layers.{n}."


@dataclass
class WhisperEncoder(Model):
    C: int  # bands
    S: int  # places
    K: int  # of a convolution

    entry = "encode"

    @staticmethod
    def read(description, sizes):
        hidden, width = description.shape(LAYER + "fc1.weight", 2)
        _, bands, side = description.shape(ENCODER + "conv1.weight", 3)
        return WhisperEncoder(description.name, description.symbol, D=width, H=description.heads(width),
                              L=description.layers(LAYER + "fc1.weight"), F=hidden, C=bands,
                              S=description.shape(ENCODER + "embed_positions.weight", 2)[0], K=side)

    @property
    def tokens(self):
        return self.S

    def input_types(self):
        return [("mel", "f32", (1, self.C, 2 * self.S))]

    def make_inputs(self, rng):
        return [rng.standard_normal(self.input_types()[0][2], np.float32)]

    def outputs(self):
        return [("hidden", (1, self.S, self.D))]

    def flop(self):
        stem = 2 * self.S * self.C * self.K * self.D + self.S * self.K * self.D**2
        return self.L * self.layer_flop(self.S, self.S**2) + 2 * stem

    def convolution(self, graph, x, name, stride):
        return graph.gelu(graph.op("Conv", x, graph.weight(name + ".weight"), graph.weight(name + ".bias"),
                                   kernel_shape=[self.K], strides=[stride], pads=[self.K // 2] * 2))

    def write_graph(self, graph):
        tensors = graph.store.tensors
        x = self.convolution(graph, "mel", ENCODER + "conv1", 1)
        x = self.convolution(graph, x, ENCODER + "conv2", 2)
        places = graph.weight("places", lambda: tensors[ENCODER + "embed_positions.weight"][None])
        x = graph.op("Add", graph.op("Transpose", x, perm=[0, 2, 1]), places)
        for n in range(self.L):
            layer = LAYER.format(n=n)
            q, k, v = (f"{layer}self_attn.{part}_proj" for part in "qkv")
            a = graph.attention(
                graph.layernorm(layer + "self_attn_layer_norm", x, 1e-5), layer + "self_attn", self.H,
                lambda names=(q, k, v): np.concatenate([tensors[name + ".weight"].T for name in names], 1),
                lambda q=q, v=v: np.concatenate([tensors[q + ".bias"], np.zeros(self.D, np.float32), tensors[v + ".bias"]]))
            x = graph.op("Add", x, graph.linear(layer + "self_attn.out_proj", a))
            hidden = graph.gelu(graph.linear(layer + "fc1", graph.layernorm(layer + "final_layer_norm", x, 1e-5)))
            x = graph.op("Add", x, graph.linear(layer + "fc2", hidden))
        norm = ENCODER + "layer_norm"
        graph.op("LayerNormalization", x, graph.weight(norm + ".weight"), graph.weight(norm + ".bias"), axis=-1, epsilon=1e-5,
                 name="hidden")

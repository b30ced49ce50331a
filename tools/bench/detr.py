# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DETR with ResNet-50 of examples/vit/detr_r50.attn, or its transformer alone (detr_transformer.attn), as ONNX. Frozen norms
are folded into the convolutions in front of them, and positions are constants: faster than what exporters write."""
from dataclasses import dataclass

import numpy as np

from architecture import Model

BODY = "backbone.0.body."
STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))  # features between, blocks
ENCODER, DECODER = "transformer.encoder.layers.", "transformer.decoder.layers."


@dataclass
class Detr(Model):
    K: int  # classes
    N: int  # queries
    Y: int  # rows of features
    X: int  # columns of features
    height: int  # of the picture, 0 where features are given
    width: int

    entry = "detect"

    @staticmethod
    def read(description, sizes):
        hidden, width = description.shape(ENCODER + "{n}.linear1.weight", 2)
        layers = description.layers(ENCODER + "{n}.linear1.weight")
        dims = description.dims
        image = (dims["H"], dims["W"]) if BODY + "conv1.weight" in description.parameters else (0, 0)
        return Detr(description.name, description.symbol, D=width, H=dims["G"], L=layers, F=hidden,
                    K=description.shape("class_embed.weight", 2)[0], N=description.shape("query_embed.weight", 2)[0],
                    Y=dims["Y"], X=dims["X"], height=image[0], width=image[1])

    @property
    def tokens(self):
        return self.Y * self.X

    def input_types(self):
        if self.height:
            return [("image", "f32", (1, 3, self.height, self.width))]
        return [("features", "f32", (1, self.tokens, self.D))]

    def make_inputs(self, rng):
        return [rng.standard_normal(self.input_types()[0][2], np.float32)]

    def outputs(self):
        return [("logits", (1, self.N, self.K)), ("boxes", (1, self.N, 4))]

    def flop(self):
        S, N, D = self.tokens, self.N, self.D
        encoder = self.layer_flop(S, S**2)
        decoder = self.layer_flop(N, N**2) + 2 * (2 * N * D**2 + 2 * S * D**2 + 2 * N * S * D)
        return self.L * (encoder + decoder) + 2 * N * D * (self.K + 2 * D + 4) + 2 * self.backbone_sums()

    def backbone_sums(self):
        """Multiply-adds of the convolutions."""
        if not self.height:
            return 0
        halves = lambda size, times: halves((size + 1) // 2, times - 1) if times else size
        place = lambda times: halves(self.height, times) * halves(self.width, times)
        sums, taken = place(1) * 3 * 49 * 64 + place(5) * 2048 * self.D, 64
        for stage, (middle, blocks) in enumerate(STAGES, 2):
            before = place(max(stage - 1, 2))
            for n in range(blocks):
                sums += (before if n == 0 else place(stage)) * taken * middle
                sums += place(stage) * (9 * middle + 4 * middle) * middle
                sums += place(stage) * taken * 4 * middle if n == 0 else 0
                taken = 4 * middle
        return sums

    # ---- the backbone

    def convolution(self, graph, x, name, norm, side, stride=1):
        """Without a bias, and behind it a frozen norm, which becomes one."""
        tensors = graph.store.tensors
        weight, bias, mean, variance = (tensors[norm + "." + part] for part in ("weight", "bias", "running_mean", "running_var"))
        factor = weight / np.sqrt(variance + 1e-5)
        # That of a map of single places may have two axes.
        whole = lambda: tensors[name + ".weight"].reshape(len(factor), -1, side, side) * factor[:, None, None, None]
        folded = graph.weight(name + ".folded", whole)
        return graph.op("Conv", x, folded, graph.weight(name + ".bias", lambda: bias - mean * factor), kernel_shape=[side, side],
                        strides=[stride, stride], pads=[side // 2] * 4)

    def backbone(self, graph):
        x = graph.op("Relu", self.convolution(graph, "image", BODY + "conv1", BODY + "bn1", 7, 2))
        x = graph.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        for stage, (_, blocks) in enumerate(STAGES, 1):
            for n in range(blocks):
                name, stride = f"{BODY}layer{stage}.{n}.", 2 if n == 0 and stage > 1 else 1
                y = graph.op("Relu", self.convolution(graph, x, name + "conv1", name + "bn1", 1))
                y = graph.op("Relu", self.convolution(graph, y, name + "conv2", name + "bn2", 3, stride))
                y = self.convolution(graph, y, name + "conv3", name + "bn3", 1)
                kept = x if n else self.convolution(graph, x, name + "downsample.0", name + "downsample.1", 1, stride)
                x = graph.op("Relu", graph.op("Add", y, kept))
        whole = lambda: graph.store.tensors["input_proj.weight"].reshape(self.D, -1, 1, 1)
        x = graph.op("Conv", x, graph.weight("input_proj.whole", whole), graph.weight("input_proj.bias"), kernel_shape=[1, 1])
        return graph.op("Transpose", graph.op("Reshape", x, graph.ints(0, self.D, self.tokens)), perm=[0, 2, 1])

    # ---- the transformer

    def places(self):
        """[1, S, D]: sines of the row, then of the column, which count to 2 pi."""
        features, scale = self.D // 2, 2 * np.pi

        def sines(size):
            at = np.arange(1, size + 1) / (size + 1e-6) * scale
            angle = at[:, None] / 10000 ** (np.arange(features) // 2 * 2 / features)
            return np.where(np.arange(features) % 2, np.cos(angle), np.sin(angle))

        rows = np.broadcast_to(sines(self.Y)[:, None], (self.Y, self.X, features))
        columns = np.broadcast_to(sines(self.X)[None], (self.Y, self.X, features))
        return np.concatenate([rows, columns], 2).reshape(1, self.tokens, self.D)

    def attention(self, graph, name, query, key, value):
        tensors = graph.store.tensors
        matrix, bias = lambda: tensors[name + ".in_proj_weight"].T, lambda: tensors[name + ".in_proj_bias"]
        a = graph.attention_of(graph.projections_of(query, key, value, name, matrix, bias), name, self.H, bias)
        return graph.linear(name + ".out_proj", a)

    def add_norm(self, graph, name, x, y):
        return graph.layernorm(name, graph.op("Add", x, y), 1e-5)

    def feed_forward(self, graph, layer, x, norm):
        hidden = graph.op("Relu", graph.linear(layer + "linear1", x))
        return self.add_norm(graph, layer + norm, x, graph.linear(layer + "linear2", hidden))

    def write_graph(self, graph):
        tensors = graph.store.tensors
        x = self.backbone(graph) if self.height else "features"
        places = graph.weight("places", self.places)
        for n in range(self.L):
            layer = f"{ENCODER}{n}."
            placed = graph.op("Add", x, places)
            x = self.add_norm(graph, layer + "norm1", x, self.attention(graph, layer + "self_attn", placed, placed, x))
            x = self.feed_forward(graph, layer, x, "norm2")
        memory, placed = x, graph.op("Add", x, places)
        queries = graph.weight("queries", lambda: tensors["query_embed.weight"][None])
        y = graph.weight("none", lambda: np.zeros((1, self.N, self.D)))
        for n in range(self.L):
            layer = f"{DECODER}{n}."
            asked = graph.op("Add", y, queries)
            y = self.add_norm(graph, layer + "norm1", y, self.attention(graph, layer + "self_attn", asked, asked, y))
            a = self.attention(graph, layer + "multihead_attn", graph.op("Add", y, queries), placed, memory)
            y = self.feed_forward(graph, layer, self.add_norm(graph, layer + "norm2", y, a), "norm3")
        y = graph.layernorm("transformer.decoder.norm", y, 1e-5)
        graph.op("Add", graph.op("MatMul", y, graph.weight("class_embed.weight.T", lambda: tensors["class_embed.weight"].T)),
                 graph.weight("class_embed.bias"), name="logits")
        for n in range(2):
            y = graph.op("Relu", graph.linear(f"bbox_embed.layers.{n}", y))
        graph.op("Sigmoid", graph.linear("bbox_embed.layers.2", y), name="boxes")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swin of examples/vit/swin_t.attn as ONNX. A roll and the cut into windows are one Gather of rows, and the mask is added to
the table of positions beforehand: faster than what exporters write."""
from dataclasses import dataclass

import numpy as np

from architecture import Model


@dataclass
class Stage:
    """Blocks on one grid of tokens, side x side."""

    width: int
    heads: int
    layers: int
    hidden: int
    side: int


@dataclass
class Swin(Model):
    stages: list
    K: int  # classes
    M: int  # side of a window
    P: int  # side of a patch

    entry = "classify"

    @staticmethod
    def read(description, sizes):
        patch = description.shape("patch_embed.proj.weight", 4)[2]
        stages, side = [], description.entries[0]["inputs"][0]["axes"][2]["size"] // patch
        while f"layers.{len(stages)}.blocks.{{n}}.mlp.fc1.weight" in description.parameters:
            name = f"layers.{len(stages)}.blocks.{{n}}."
            places, heads = description.shape(name + "attn.relative_position_bias_table", 2)
            hidden, width = description.shape(name + "mlp.fc1.weight", 2)
            stages.append(Stage(width, heads, description.layers(name + "mlp.fc1.weight"), hidden, side))
            side //= 2
        window = (int(places**0.5) + 1) // 2
        last = stages[-1]
        return Swin(description.name, description.symbol, last.width, last.heads, sum(stage.layers for stage in stages), last.hidden,
                    stages, description.shape("head.bias", 1)[0], window, patch)

    @property
    def tokens(self):
        return self.stages[0].side ** 2

    def input_types(self):
        side = self.stages[0].side * self.P
        return [("image", "f32", (1, 3, side, side))]

    def make_inputs(self, rng):
        return [rng.standard_normal(self.input_types()[0][2], np.float32)]

    def outputs(self):
        return [("logits", (1, self.K))]

    def flop(self):
        sums = self.tokens * 3 * self.P**2 * self.stages[0].width + self.stages[-1].width * self.K
        for stage, after in zip(self.stages, self.stages[1:] + [None]):
            tokens, width = stage.side**2, stage.width
            sums += stage.layers * tokens * (4 * width**2 + 2 * self.M**2 * width + 2 * width * stage.hidden)
            if after:
                sums += tokens // 4 * 4 * width * after.width
        return 2 * sums

    def shift(self, stage, layer):
        return self.M // 2 if layer % 2 and stage.side > self.M else 0

    def rows(self, stage, shift):
        """The places of the grid, in the order of windows."""
        places = np.roll(np.arange(stage.side**2).reshape(stage.side, stage.side), (-shift, -shift), (0, 1))
        count = stage.side // self.M
        return places.reshape(count, self.M, count, self.M).swapaxes(1, 2).reshape(-1)

    def added(self, graph, stage, name, shift):
        """To the scores of windows: positions [1, H, M * M, M * M], and with a shift -1e9 for what lies apart."""
        table = graph.store.tensors[name + "attn.relative_position_bias_table"]
        y, x = np.divmod(np.arange(self.M**2), self.M)
        apart = lambda places: places[:, None] - places + self.M - 1
        bias = table[apart(y) * (2 * self.M - 1) + apart(x)].transpose(2, 0, 1)[None]
        if shift:
            line = np.searchsorted([stage.side - self.M, stage.side - shift], np.arange(stage.side), "right")
            region = (3 * line[:, None] + line).reshape(-1)
            region = np.roll(region.reshape(stage.side, stage.side), (shift, shift), (0, 1)).reshape(-1)
            region = region[self.rows(stage, shift)].reshape(-1, self.M**2)
            bias = bias + np.where(region[:, :, None] == region[:, None], 0, -1e9)[:, None]
        return bias

    def write_block(self, graph, stage, name, layer, x):
        tensors, shift = graph.store.tensors, self.shift(stage, layer)
        rows = self.rows(stage, shift)
        windows = graph.op("Gather", graph.layernorm(name + "norm1", x, 1e-5), graph.constant(rows, np.int64), axis=1)
        windows = graph.op("Reshape", windows, graph.ints(-1, self.M**2, stage.width))
        qkv = name + "attn.qkv"
        added = graph.weight(name + "attn.added", lambda: self.added(graph, stage, name, shift))
        a = graph.attention(windows, name + "attn", stage.heads, lambda: tensors[qkv + ".weight"].T,
                            lambda: tensors[qkv + ".bias"], added=added)
        a = graph.op("Reshape", graph.linear(name + "attn.proj", a), graph.ints(1, stage.side**2, stage.width))
        x = graph.op("Add", x, graph.op("Gather", a, graph.constant(np.argsort(rows), np.int64), axis=1))
        hidden = graph.gelu(graph.linear(name + "mlp.fc1", graph.layernorm(name + "norm2", x, 1e-5)))
        return graph.op("Add", x, graph.linear(name + "mlp.fc2", hidden))

    def write_merging(self, graph, stage, name, x):
        """2 x 2 tokens as one: those of the first column first."""
        places = np.arange(stage.side**2).reshape(stage.side // 2, 2, stage.side // 2, 2).transpose(0, 2, 3, 1).reshape(-1)
        x = graph.op("Gather", x, graph.constant(places, np.int64), axis=1)
        x = graph.op("Reshape", x, graph.ints(1, stage.side**2 // 4, 4 * stage.width))
        weight = graph.weight(name + "reduction.weight.T", lambda: graph.store.tensors[name + "reduction.weight"].T)
        return graph.op("MatMul", graph.layernorm(name + "norm", x, 1e-5), weight)

    def write_graph(self, graph):
        width = self.stages[0].width
        x = graph.op("Conv", "image", graph.weight("patch_embed.proj.weight"), graph.weight("patch_embed.proj.bias"),
                     kernel_shape=[self.P, self.P], strides=[self.P, self.P])
        x = graph.op("Transpose", graph.op("Reshape", x, graph.ints(0, width, self.tokens)), perm=[0, 2, 1])
        x = graph.layernorm("patch_embed.norm", x, 1e-5)
        for number, stage in enumerate(self.stages):
            for layer in range(stage.layers):
                x = self.write_block(graph, stage, f"layers.{number}.blocks.{layer}.", layer, x)
            if number + 1 < len(self.stages):
                x = self.write_merging(graph, stage, f"layers.{number}.downsample.", x)
        row = graph.mean(graph.layernorm("norm", x, 1e-5), 1)
        graph.op("Gemm", row, graph.weight("head.weight"), graph.weight("head.bias"), transB=1, name="logits")

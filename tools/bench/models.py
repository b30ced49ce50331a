# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformers as their artifacts describe them: sizes, random weights and inputs, operations, the same in ONNX.

Architectures are told apart by the names of their parameters, those of examples/vit, examples/language and torch.nn.
"""
import json
import math
import struct
from dataclasses import dataclass

import numpy as np

from architecture import Description, Model, pattern
from detr import ENCODER, Detr
from failure import BAD_INPUT, Failure
from swin import Swin
from torch_transformer import TorchDecoder, TorchEncoder
from whisper import WhisperEncoder


@dataclass
class Vit(Model):
    K: int  # classes
    C: int  # channels
    P: int  # height of a patch
    Q: int  # width of a patch
    Y: int  # patches from top to bottom
    X: int  # patches from left to right

    entry = "classify"

    @staticmethod
    def read(description, sizes):
        width, channels, *patch = description.shape("patch_embed.proj.weight", 4)
        image = [axis["size"] for axis in description.entries[0]["inputs"][0]["axes"]]
        return Vit(description.name, description.symbol, D=width, H=description.heads(width),
                   L=description.layers("blocks.{n}.mlp.fc1.weight"),
                   F=description.shape("blocks.{n}.mlp.fc1.weight", 2)[0], K=description.shape("head.bias", 1)[0],
                   C=channels, P=patch[0], Q=patch[1], Y=image[2] // patch[0], X=image[3] // patch[1])

    @property
    def tokens(self):
        return 1 + self.Y * self.X

    def input_types(self):
        return [("image", "f32", (1, self.C, self.Y * self.P, self.X * self.Q))]

    def make_inputs(self, rng):
        return [rng.standard_normal(self.input_types()[0][2], np.float32)]

    def outputs(self):
        return [("logits", (1, self.K))]

    def flop(self):
        patches = self.Y * self.X * self.C * self.P * self.Q * self.D
        return self.L * self.layer_flop(self.tokens, self.tokens**2) + 2 * (patches + self.D * self.K)

    def write_graph(self, graph):
        tensors, D = graph.store.tensors, self.D
        x = graph.op("Conv", "image", graph.weight("patch_embed.proj.weight"), graph.weight("patch_embed.proj.bias"),
                     kernel_shape=[self.P, self.Q], strides=[self.P, self.Q])
        x = graph.op("Transpose", graph.op("Reshape", x, graph.ints(0, D, self.Y * self.X)), perm=[0, 2, 1])
        first = graph.weight("cls_token.row", lambda: tensors["cls_token"].reshape(1, 1, D))
        positions = graph.weight("pos_embed.rows", lambda: tensors["pos_embed"].reshape(1, self.tokens, D))
        x = graph.op("Add", graph.op("Concat", first, x, axis=1), positions)
        for n in range(self.L):
            block = f"blocks.{n}."
            qkv = block + "attn.qkv"
            a = graph.attention(graph.layernorm(block + "norm1", x, 1e-6), block + "attn", self.H,
                                lambda qkv=qkv: tensors[qkv + ".weight"].T, lambda qkv=qkv: tensors[qkv + ".bias"])
            x = graph.op("Add", x, graph.linear(block + "attn.proj", a))
            hidden = graph.gelu(graph.linear(block + "mlp.fc1", graph.layernorm(block + "norm2", x, 1e-6)))
            x = graph.op("Add", x, graph.linear(block + "mlp.fc2", hidden))
        row = graph.op("Gather", graph.layernorm("norm", x, 1e-6), graph.constant(0, np.int64), axis=1)
        graph.op("Gemm", row, graph.weight("head.weight"), graph.weight("head.bias"), transB=1, name="logits")


@dataclass
class Bert(Model):
    V: int  # vocabulary
    tokens: int

    entry = "encode"

    @staticmethod
    def read(description, sizes):
        vocabulary, width = description.shape("embeddings.word_embeddings.weight", 2)
        hidden = "encoder.layer.{n}.intermediate.dense.weight"
        return Bert(description.name, description.symbol, D=width, H=description.heads(width),
                    L=description.layers(hidden), F=description.shape(hidden, 2)[0], V=vocabulary,
                    tokens=description.size("T", sizes))

    def input_types(self):
        tokens = (1, self.tokens)
        return [("ids", "i32", tokens), ("segments", "i32", tokens), ("lengths", "i32", (1,))]

    def make_inputs(self, rng):
        """Nothing is padding: attn's mask is true everywhere, and ONNX gets none."""
        return [rng.integers(0, self.V, (1, self.tokens), np.int32), rng.integers(0, 2, (1, self.tokens), np.int32),
                np.array([self.tokens], np.int32)]

    def outputs(self):
        return [("hidden", (1, self.tokens, self.D)), ("pooled", (1, self.D))]

    def flop(self):
        return self.L * self.layer_flop(self.tokens, self.tokens**2) + 2 * self.D**2

    def write_graph(self, graph):
        tensors = graph.store.tensors
        words, segments = (graph.op("Gather", graph.weight(f"embeddings.{kind}_embeddings.weight"), ids)
                           for kind, ids in (("word", "ids"), ("token_type", "segments")))
        positions = graph.weight("positions", lambda: tensors["embeddings.position_embeddings.weight"][None, :self.tokens])
        x = graph.op("Add", graph.op("Add", words, positions), segments)
        x = graph.layernorm("embeddings.LayerNorm", x, 1e-12)
        for n in range(self.L):
            layer = f"encoder.layer.{n}."
            names = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
            a = graph.attention(
                x, layer + "attention", self.H,
                lambda names=names: np.concatenate([tensors[name + ".weight"].T for name in names], 1),
                lambda names=names: np.concatenate([tensors[name + ".bias"] for name in names]))
            x = graph.layernorm(layer + "attention.output.LayerNorm",
                                graph.op("Add", x, graph.linear(layer + "attention.output.dense", a)), 1e-12)
            hidden = graph.gelu(graph.linear(layer + "intermediate.dense", x))
            last = {"name": "hidden"} if n + 1 == self.L else {}
            both = graph.op("Add", x, graph.linear(layer + "output.dense", hidden))
            x = graph.op("LayerNormalization", both, graph.weight(layer + "output.LayerNorm.weight"),
                         graph.weight(layer + "output.LayerNorm.bias"), axis=-1, epsilon=1e-12, **last)
        row = graph.op("Gather", x, graph.constant(0, np.int64), axis=1)
        graph.op("Tanh", graph.linear("pooler.dense", row), name="pooled")


@dataclass
class Gpt2(Model):
    """Of a prompt, the logits of what follows."""

    V: int  # vocabulary
    tokens: int

    entry = "prefill"

    @staticmethod
    def read(description, sizes):
        vocabulary, width = description.shape("wte.weight", 2)
        hidden = "h.{n}.mlp.c_fc.weight"  # [in, out]
        return Gpt2(description.name, description.symbol, D=width, H=description.heads(width),
                    L=description.layers(hidden), F=description.shape(hidden, 2)[1], V=vocabulary,
                    tokens=description.size("T", sizes))

    def input_types(self):
        return [("ids", "i32", (1, self.tokens))]

    def make_inputs(self, rng):
        return [rng.integers(0, self.V, (1, self.tokens), np.int32)]

    def outputs(self):
        return [("logits", (1, self.V))]

    def flop(self):
        pairs = self.tokens * (self.tokens + 1) // 2
        return self.L * self.layer_flop(self.tokens, pairs) + 2 * self.D * self.V

    def write_graph(self, graph):
        tensors = graph.store.tensors

        def conv1d(name, x):
            return graph.affine(x, graph.weight(name + ".weight"), graph.weight(name + ".bias"))

        x = graph.op("Add", graph.op("Gather", graph.weight("wte.weight"), "ids"),
                     graph.weight("positions", lambda: tensors["wpe.weight"][None, :self.tokens]))
        for n in range(self.L):
            layer = f"h.{n}."
            qkv = layer + "attn.c_attn"
            a = graph.attention(graph.layernorm(layer + "ln_1", x, 1e-5), layer + "attn", self.H,
                                lambda qkv=qkv: tensors[qkv + ".weight"], lambda qkv=qkv: tensors[qkv + ".bias"],
                                causal_length=self.tokens)
            x = graph.op("Add", x, conv1d(layer + "attn.c_proj", a))
            hidden = graph.gelu_tanh(conv1d(layer + "mlp.c_fc", graph.layernorm(layer + "ln_2", x, 1e-5)))
            x = graph.op("Add", x, conv1d(layer + "mlp.c_proj", hidden))
        row = graph.op("Gather", x, graph.constant(-1, np.int64), axis=1)
        row = graph.layernorm("ln_f", row, 1e-5)
        graph.op("MatMul", row, graph.weight("wte.weight.T", lambda: tensors["wte.weight"].T), name="logits")


# The first of these parameters that a model has says what it is.
ARCHITECTURES = {"layers.0.downsample.reduction.weight": Swin, "patch_embed.proj.weight": Vit,
                 "embeddings.word_embeddings.weight": Bert, "wte.weight": Gpt2,
                 ENCODER + "{n}.linear1.weight": Detr, "model.encoder.conv1.weight": WhisperEncoder,
                 "decoder.layers.{n}.multihead_attn.in_proj_weight": TorchDecoder,
                 "encoder.layers.{n}.self_attn.in_proj_weight": TorchEncoder}


def read_description(description, sizes=None):
    """The model in what `attn inspect --json` prints of an artifact; `sizes` of its dynamic dims."""
    read = Description(description)
    for parameter, architecture in ARCHITECTURES.items():
        if parameter in read.parameters:
            return architecture.read(read, sizes or {})
    raise Failure(BAD_INPUT, f"{read.name} has none of the parameters " + ", ".join(f"`{name}`" for name in ARCHITECTURES)
                  + ": only transformers with the tensor names of those in examples/ can be written as ONNX")


def random_weights(description, seed):
    """A tensor for every parameter, as the checkpoint names them. Matrices are N(0, 1/fan-in), so that activations
    keep their size through the layers; the scales of norms are around 1."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for parameter in description["parameters"]:
        name, shape = pattern(parameter["name"]), parameter["shape"]
        scale, mean = 0.05, 0
        if name in ("cls_token", "pos_embed"):
            scale = 0.5
        elif name.endswith("running_var"):
            scale, mean = 0.1, 1
        elif len(shape) > 1:
            scale = math.prod(shape[1:]) ** -0.5
        elif name.endswith("weight"):
            scale, mean = 0.1, 1
        layers = range(parameter["layers"]) if parameter["layers"] else [None]
        for layer in layers:
            values = rng.standard_normal(shape, np.float32) * np.float32(scale) + np.float32(mean)
            tensors[name if layer is None else name.replace("{n}", str(layer))] = values
    return tensors


def write_safetensors(path, tensors):
    """8 bytes of header length, JSON, data."""
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            values.tofile(file)

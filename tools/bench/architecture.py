# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What models.py reads of an artifact, and what it asks of an architecture."""
import re
from dataclasses import dataclass

from failure import BAD_INPUT, Failure


def pattern(name):
    """A parameter's name with its layer written as `{n}`."""
    return re.sub(r"\{\w+\}", "{n}", name)


class Description:
    """What `attn inspect --json` prints of an artifact."""

    def __init__(self, description):
        self.name, self.symbol, self.entries = description["name"], description["symbol"], description["entries"]
        self.parameters = {pattern(item["name"]): item for item in description["parameters"]}
        self.dims = {dim["name"]: dim["size"] for dim in description["dims"]}

    def shape(self, name, rank):
        """Of a parameter, as the checkpoint has it."""
        shape = self.parameters[name]["shape"] if name in self.parameters else []
        if len(shape) != rank:
            raise Failure(BAD_INPUT, f"{self.name}: expected a parameter `{name}` of {rank} axes, as those in examples/ "
                          "have it: others cannot be written as ONNX")
        return shape

    def layers(self, name):
        self.shape(name, 2)
        return self.parameters[name]["layers"]

    def heads(self, width):
        heads = self.dims.get("H")
        if not heads or width % heads:
            raise Failure(BAD_INPUT, f"{self.name}: expected a dim `H`, the number of heads, that divides the width {width}")
        return heads

    def size(self, name, sizes):
        """Of a dim that is chosen when running; else its bound, or that of positions."""
        return sizes.get(name, self.dims.get(name, self.dims.get("P", 1)))


@dataclass
class Model:
    """Sizes, under the names that the specs in examples/ have for them. Batch 1."""

    name: str
    symbol: str
    D: int  # width
    H: int  # heads
    L: int  # layers
    F: int  # width of the feed-forward part

    entry = None  # its name
    tokens = None

    @property
    def head_dim(self):
        return self.D // self.H

    def layer_flop(self, tokens, pairs):
        """Operations of one layer: two per multiply-add of its linears and of its attention."""
        return 2 * (4 * tokens * self.D**2 + 2 * pairs * self.D + 2 * tokens * self.D * self.F)

    def input_types(self):
        """(name, type, shape) of each."""
        raise NotImplementedError

    def make_inputs(self, rng):
        """The values of each, drawn at random."""
        raise NotImplementedError

    def outputs(self):
        """(name, shape) of each; the first is compared."""
        raise NotImplementedError

    def flop(self):
        raise NotImplementedError

    def write_graph(self, graph):
        """Adds the nodes that make the outputs of the inputs."""
        raise NotImplementedError

    def write_onnx(self, store, variant):
        """Writes VARIANT.onnx beside the data file; its path."""
        from onnx_graph import Graph

        graph = Graph(store, variant)
        self.write_graph(graph)
        return graph.write(self.name, self.input_types(), self.outputs())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: wrong_onnx.py FOLDER: writes ONNX files that are wrong, each in its way, and one that is right."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from onnx_codes import matmul
from onnx_graphs import MODELS, encoder

folder = sys.argv[1]


def write(name, change=None, model=None):
    model = model or encoder(18, "dynamo")
    if change:
        change(model)
    onnx.save(model, os.path.join(folder, name + ".onnx"))


def tensor(model, name):
    return next(t for t in model.graph.initializer if t.name == name)


def external(model, location="model.bin", length=None, offset=0, name="encoder.layer.1.mlp.fc1.weight"):
    of = tensor(model, name)
    raw = of.raw_data
    of.ClearField("raw_data")
    of.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length or len(raw))):
        of.external_data.add(key=key, value=str(value))
    return raw


def kinds(model):
    """Nodes that are no patterns, of two kinds."""
    for node in model.graph.node:
        if node.op_type == "Gelu" or node.op_type == "Erf":
            node.op_type = "Sin"
        elif node.op_type == "Softmax":
            node.op_type = "Hardmax"


def spread(model):
    of = tensor(model, "encoder.layer.0.norm1.bias")
    halves = numpy_helper.to_array(of).astype(np.float16)
    of.ClearField("raw_data")
    of.data_type = TensorProto.FLOAT16
    of.int32_data.extend(int(n) for n in halves.view(np.uint16)[1:])


def sizes(**changed):
    """A product with codes, whose sizes are not those of its tensors."""
    model = matmul()
    for attribute in next(node for node in model.graph.node if node.op_type == "MatMulNBits").attribute:
        attribute.i = changed.get(attribute.name, attribute.i)
    return model


write("good")
write("codes", model=sizes(N=23))
write("codes-overflow", model=sizes(N=2 ** 60, K=2 ** 60, block_size=2 ** 61))
write("codes-wrapped", model=sizes(N=2 ** 31, K=2 ** 33))
write("kinds", kinds)
raw = []
write("external", lambda m: raw.append(external(m)))
open(os.path.join(folder, "model.bin"), "wb").write(raw[0])
write("gone", lambda m: external(m, "gone.bin"))
write("short", lambda m: external(m, offset=64))
write("length", lambda m: external(m, length=12))
write("outside", lambda m: external(m, "../model.bin"))
write("bytes", lambda m: setattr(tensor(m, "encoder.layer.0.norm1.bias"), "raw_data", b"\0" * 44))
write("spread", spread)
write("type", lambda m: m.graph.input[0].type.tensor_type.__setattr__("elem_type", TensorProto.UINT8))
write("order", lambda m: m.graph.node.insert(0, m.graph.node.pop()))
write("circle", lambda m: m.graph.node[1].input.__setitem__(0, m.graph.node[-1].input[0]))
write("nothing", lambda m: m.graph.node[-1].input.__setitem__(0, "z"))
write("twice", lambda m: m.graph.initializer.append(m.graph.initializer[0]))
write("opset", lambda m: m.opset_import[0].__setattr__("version", 26))
write("shape", lambda m: m.graph.input[0].type.tensor_type.shape.dim[2].__setattr__("dim_value", 44))
whole = open(os.path.join(folder, "good.onnx"), "rb").read()
open(os.path.join(folder, "cut.onnx"), "wb").write(whole[:len(whole) // 2])
open(os.path.join(folder, "text.onnx"), "w").write("no graph")

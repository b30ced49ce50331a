# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make_onnx.py OUT [WORD...]: an ONNX model of one Attention operator.

Without words: float32 Q [2, 4, 3, 8], K and V [2, 4, 5, 8], opset 24, the output Y. A word changes that:
`Q:float16[2,B,3,8]` an input of the graph (TYPE an element type of ONNX; an axis may have a name, or be `?`; `Q:-` leaves
the input out), `=scale:0.5`, `=is_causal:1` an attribute, `>Y,,,scores` the outputs, `opset:25`, `op:MatMul`,
`domain:com.example`, `twice` two operators, `constant:attn_mask` an input as a constant, `graph:NAME`, `is:K:Q` the operator
takes Q as its K, `nameless` the graph's inputs have no types, `extra:x` a further output of the graph.
"""
import re
import sys

import onnx
from onnx import TensorProto, helper

ORDER = ["Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"]
out, words = sys.argv[1], sys.argv[2:]
inputs = {"Q": ("FLOAT", "2,4,3,8"), "K": ("FLOAT", "2,4,5,8"), "V": ("FLOAT", "2,4,5,8")}
attributes, outputs, constants, renamed, extra = {}, ["Y"], [], {}, []
opset, op, domain, graph_name, copies, typed = 24, "Attention", "", "g", 1, True
for word in words:
    if found := re.fullmatch(r"(\w+):(\w+)\[(.*)\]", word):
        name, kind, axes = found.groups()
        inputs[name] = ("FLOAT" if kind == "float32" else kind.upper(), axes)
    elif found := re.fullmatch(r"(\w+):-", word):
        inputs.pop(found[1], None)
    elif found := re.fullmatch(r"=(\w+):(.*)", word):
        value = found[2]
        attributes[found[1]] = int(value) if re.fullmatch(r"-?\d+", value) else float(value) if re.fullmatch(r"[-.e\dnaif]+", value) else value
    elif word.startswith(">"):
        outputs = word[1:].split(",")
    elif word == "twice":
        copies = 2
    elif word == "nameless":
        typed = False
    else:
        key, value = word.split(":", 1)
        if key == "opset": opset = int(value)
        elif key == "op": op = value
        elif key == "domain": domain = value
        elif key == "graph": graph_name = value
        elif key == "constant": constants.append(value)
        elif key == "extra": extra.append(value)
        elif key == "is":
            name, other = value.split(":")
            renamed[name] = other
        else: sys.exit(f"make_onnx.py: what is `{word}`?")


def axis(text):
    return None if text == "?" else int(text) if re.fullmatch(r"-?\d+", text) else text


def value(name):
    kind, axes = inputs[name]
    return helper.make_tensor_value_info(name, getattr(TensorProto, kind), [axis(a) for a in axes.split(",") if a])


taken = [name if name in inputs or name in renamed else "" for name in ORDER]
while taken and not taken[-1]:
    taken.pop()
taken = [renamed.get(name, name) for name in taken]
nodes = [helper.make_node(op, taken, outputs, domain=domain, **attributes) for _ in range(copies)]
given = [value(name) for name in inputs if name not in constants]
if not typed:
    for item in given:
        item.ClearField("type")
results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs + extra if name]
initializers = [helper.make_tensor(name, TensorProto.FLOAT, [1], [0.0]) for name in constants]
graph = helper.make_graph(nodes, graph_name, given, results, initializers)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)] if opset else [helper.make_opsetid("x", 1)]), out)

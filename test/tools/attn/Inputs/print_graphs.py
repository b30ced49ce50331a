# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the edges of an explanation's graphs, a line each. Usage: print_graphs.py EXPLANATION"""
import json
import sys

with open(sys.argv[1]) as file:
    target = json.load(file)["targets"][0]


def text(node, full):
    times = f"{node['calls']} x " if node.get("calls", 1) != 1 else ""
    weights = f" [{' '.join(node['weights'])}]" if full and "weights" in node else ""
    return f"{times}{node['kind']} {node['text']}{weights}"


for graph in target["graphs"]:
    nodes = graph["nodes"]
    assert [node["id"] for node in nodes] == list(range(len(nodes)))
    print(graph["function"])
    for begin, end, edge in graph["edges"]:
        later = ", of the turn before" if edge.get("later") else ""
        print(f"{text(nodes[begin], True)} -> {text(nodes[end], False)}: {edge.get('bytes', '?')}{later}")

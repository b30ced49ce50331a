# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether what `attn explore --export model-explorer` wrote is a collection of graphs as Model Explorer reads them, and has
the kernels that `attn explain --json` has. Usage: check_graphs.py GRAPHS EXPLANATION"""
import json
import sys

collection, explanation = (json.load(open(path)) for path in sys.argv[1:])
assert collection["label"] == explanation["model"]["name"]
targets = explanation["targets"]
entries = [(target, entry) for target in targets for entry in target["entries"]]
assert len(collection["graphs"]) == len(entries) == len({graph["id"] for graph in collection["graphs"]})


def functions(steps):
    for step in steps:
        if "steps" in step:
            yield from functions(step["steps"])
        else:
            yield step["function"]


for graph, (target, entry) in zip(collection["graphs"], entries):
    assert graph["id"] == entry["name"] + (f" for {target['name']}" if len(targets) > 1 else "")
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert len(nodes) == len(graph["nodes"]), "ids are unique"
    kernels = []
    for node in nodes.values():
        assert set(node) == {"id", "label", "namespace", "incomingEdges", "attrs"}, node
        assert node["id"].startswith(node["namespace"]) and node["id"] != node["namespace"], node
        attributes = {attribute["key"]: attribute["value"] for attribute in node["attrs"]}
        assert all(isinstance(value, str) for value in [node["label"], *attributes.values()]), node
        kernels += [attributes["function"]] if attributes else []
        for edge in node["incomingEdges"]:
            assert edge["sourceNodeId"] in nodes and edge["sourceNodeId"] != node["id"], (node, edge)
        assert len({edge["targetNodeInputId"] for edge in node["incomingEdges"]}) == len(node["incomingEdges"])
    assert sorted(kernels) == sorted(functions(entry["steps"])), (kernels, entry)
    # Namespaces are those of nodes, and all of them say how often they run.
    assert {node["namespace"] for node in nodes.values()} - {""} <= set(graph["groupNodeAttributes"])
    assert all(group["calls"] for group in graph["groupNodeAttributes"].values())
    begin = [node["id"] for node in nodes.values() if not node["incomingEdges"]]
    print(f"{graph['id']}: {len(kernels)} kernels in {len(graph['groupNodeAttributes'])} blocks, {sum(len(node['incomingEdges']) for node in nodes.values())} edges")
    assert begin and len(begin) < len(nodes), "data flows"

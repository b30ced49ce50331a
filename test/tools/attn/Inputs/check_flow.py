# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the graphs of `attn explain --json` against the steps of entries and blocks. Usage: check_flow.py EXAMPLES"""
import json
import os
import subprocess
import sys

SPECS = {  # and what the turn of a loop before has written, on CPUs
    "language/gpt2.attn": [],
    "pronounce/pronounce_lstm.attn": [(f"read.kept{number}", f"read.fh{number}") for number in ("", ".2", ".3", ".4")],
    "pronounce/pronounce_transformer.attn": [],
    "story/story.attn": [],
    "fashion-detr/fashion_detr.attn": [],
    "vit/swin_t.attn": [("SwinBlock.5", "SwinBlock.4")],
}


def steps_of(steps, name, found):
    found.setdefault(name, [step["function"] for step in steps])
    for step in steps:
        if "steps" in step:
            steps_of(step["steps"], step["function"], found)
    return found


def check(graph, steps):
    """All steps are nodes, what is written is read, and what is read was written. Returns what goes against the order."""
    nodes = graph["nodes"]
    assert [node["function"] for node in nodes if node["kind"] in ("kernel", "call")] == steps, graph["function"]
    begins, ends = ({edge[side] for edge in graph["edges"]} for side in (0, 1))
    later = []
    for node in nodes:
        if node["kind"] in ("kernel", "call", "input"):
            assert node["id"] in begins, (graph["function"], node)
        if node["kind"] == "output":
            assert node["id"] in ends, (graph["function"], node)
    for begin, end, edge in graph["edges"]:
        kinds = nodes[begin]["kind"], nodes[end]["kind"]
        assert edge.get("bytes", 1) > 0 and ("bytes" in edge or "cache" in kinds), (graph["function"], begin, end)
        if edge.get("later"):
            later.append((nodes[begin]["function"], nodes[end]["function"]))
        else:
            assert begin < end or "cache" in kinds, (graph["function"], begin, end)
    return later


for spec, loops in SPECS.items():
    path = os.path.join(sys.argv[1], *spec.split("/"))
    run = subprocess.run(["attn", "explain", path, "--target=x86-64-v4,sm_80", "--json"], capture_output=True, text=True, check=True)
    targets = json.loads(run.stdout)["targets"]
    assert len(targets) == 2
    for target in targets:
        functions = {}
        for entry in target["entries"]:
            steps_of(entry["steps"], entry["name"], functions)
        assert {graph["function"] for graph in target["graphs"]} == set(functions), spec
        later = [edge for graph in target["graphs"] for edge in check(graph, functions[graph["function"]])]
        assert later == loops or (target["kind"] == "gpu" and loops and later), (spec, target["name"], later)

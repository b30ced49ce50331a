# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the pipelines that `attn compile --print-pipeline` printed by attn-opt, each on what the one before made of
01-attn.mlir, and compares every stage with the one that the compiler dumped.

usage: run_pipelines.py PIPELINES STAGES FOLDER
"""
import pathlib
import subprocess
import sys



def text(stage, path):
    # The text of scf.for does not say where its arguments come from; in the llvm stage they are those of blocks, whose does.
    if stage == "llvm":
        return subprocess.run(["attn-opt", path], check=True, capture_output=True, text=True).stdout
    return path.read_text()


pipelines, stages, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(exist_ok=True)
dumped = {path.name.split("-", 1)[1].removesuffix(".mlir"): path for path in stages.iterdir()}
order = ["attn", "fused", "memory", "tiled", "kernels", "llvm"]
made = {"attn": dumped["attn"]}
for line in pipelines.read_text().splitlines():
    name, pipeline = line.split(": ", 1)
    if name == "object":
        continue  # LLVM's
    stage, _, level = name.partition(".")
    before = order[order.index(stage) - 1]
    source = made.get(f"{before}.{level}") or made[before]
    made[name] = folder / name
    subprocess.run(["attn-opt", "-mlir-print-debuginfo", f"--pass-pipeline={pipeline}", source, "-o", made[name]], check=True)
    if text(stage, made[name]) != text(stage, dumped[name]):
        sys.exit(f"{name}: {made[name]} differs from {dumped[name]}")
print(f"{len(made) - 1} stages are the same")

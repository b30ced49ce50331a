#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a folder that measure.py runs on a machine with a GPU, which needs neither Attn nor LLVM there.

    tools/bench/gpu/build.py FOLDER [--tiny] [--list] [--attn PROGRAM]

Compiles attentions, linears, ViT-B/16, BERT-base and GPT-2 in bf16, and some in f16, to shared libraries with code for sm_80, sm_90a and any CPU of
x86-64-v3: small ones, of kernels also with a watchdog, and those that are timed; and puts a list of them, artifacts.json, and the programs that are
run there beside. --tiny times some of the small ones, which the interpreter of PTX runs in seconds. --list compiles nothing: measure.py --plan needs the
list alone.
"""
import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples"
PROGRAMS = ["measure.py", "plan.py", "report.py", "work.py", "cases.py", "peers.py", "devices.py", "references.py", "attn_api.py", "instructions.py"]
KERNELS = {
    "attention": ("attention.attn", "BHTE", [{"entry": "full"}, {"entry": "masked"}]),
    "decoding": ("decoding.attn", "BHGTSE", [{}]),
    "linear": ("linear.attn", "MKN", [{}]),
}

# B, H, T, E: decoders', a vision transformer's, heads of 80 features, long ones. What is cut when the time is over comes last.
TIMED = {
    "attention": [(4, 16, 2048, 128), (32, 12, 197, 64), (8, 16, 2048, 64), (2, 8, 8192, 128), (4, 16, 2048, 80), (2, 16, 8192, 64)],
    # B, H, G, T, S, E: tokens that read a cache, of heads in groups.
    "decoding": [(8, 64, 8, 1, 8192, 128), (8, 64, 8, 8, 8192, 128), (1, 64, 8, 16, 32768, 128), (16, 12, 12, 1, 1024, 64)],
    # M, K, N: those of ViT-B/16 with 64 pictures, of one token, a square.
    "linear": [(12608, 768, 3072), (12608, 3072, 768), (12608, 768, 2304), (1, 768, 3072), (8192, 8192, 8192)],
}
TIMED_F16 = {"attention": [(4, 16, 2048, 128)], "decoding": [(8, 64, 8, 1, 8192, 128)], "linear": [(12608, 768, 3072)]}
MODELS = {
    "vit": ("vit/vit_b16.attn", [{"B": 64}, {"B": 8}, {"B": 1}]),
    "bert": ("language/bert_base.attn", [{"B": 16, "T": 512}, {"B": 1, "T": 128}]),
    "gpt2": ("language/gpt2.attn", [{"B": 8, "T": 512}, {"B": 1, "T": 512}]),
}

# Heads of every size, tails, several tiles; all tiles of linears.
SMALL = {
    "attention": [(2, 2, 150, 64), (1, 2, 33, 16), (1, 2, 300, 72), (1, 2, 300, 80), (1, 2, 300, 96), (1, 3, 400, 128), (1, 2, 300, 192), (1, 2, 200, 256)],
    "decoding": [(1, 8, 2, 3, 140, 64), (1, 16, 2, 1, 700, 128), (2, 8, 2, 16, 700, 128), (1, 8, 8, 1, 700, 72), (1, 8, 2, 1, 500, 256)],
    "linear": [(130, 256, 200), (17, 48, 40), (1, 96, 200), (7, 96, 200), (4000, 128, 768), (9000, 64, 256)],
}
SMALL_F16 = {"attention": [(2, 2, 150, 64)], "decoding": [(1, 8, 2, 3, 140, 64)], "linear": [(130, 256, 200)]}
SMALL_MODELS = {
    "vit": (dict(D=48, H=3, L=2, F=96, K=10, P=4, Q=4, Y=2, X=2), [{"B": 2}]),
    "bert": (dict(D=48, H=3, L=2, F=96, V=100, P=32), [{"B": 2, "T": 9}]),
    "gpt2": (dict(D=48, H=3, L=2, F=96, V=100, P=32), [{"B": 2, "T": 9}]),
}


class Folder:
    def __init__(self, args):
        self.args, self.artifacts = args, []

    def compile(self, spec, name, sizes, half, *flags):
        """The file's name."""
        if self.args.list:
            return f"{name}.so"
        text = spec.read_text().replace("bf16", half).replace("cache kv capacity", f"cache kv: {half} capacity")
        own = self.args.folder / spec.name
        own.write_text(text)
        command = [self.args.attn, "compile", str(own), "--emit=shared", f"--precision={half}", "--target=x86-64-v3,sm_80,sm_90a", *flags]
        command += [word for dim, size in sizes.items() for word in ("--set", f"{dim}={size}")]
        if subprocess.run([*command, "-o", str(self.args.folder / f"{name}.so")]).returncode:
            sys.exit(f"{name} could not be compiled")
        return f"{name}.so"

    def add(self, kind, spec, name, sizes, runs, half, phases, option=""):
        """`option`: what is compared with the same artifact without it."""
        name += ("" if half == "bf16" else f"-{half}") + (f"-{option}" if option else "")
        flags = [f"--gpu-{option}"] if option else []
        artifact = {"name": name, "kind": kind, "sizes": sizes, "runs": runs, "half": half, "phases": phases, "option": option,
                    "file": self.compile(spec, name, sizes, half, *flags)}
        if not self.args.list:
            inspected = subprocess.run([self.args.attn, "inspect", str(self.args.folder / artifact["file"]), "--json"], check=True, capture_output=True)
            artifact["symbol"] = json.loads(inspected.stdout)["symbol"]
        if "smoke" in phases and kind in KERNELS and half == "bf16" and not option:
            artifact["watched"] = self.compile(spec, f"{name}-watched", sizes, half, "--gpu-watchdog")
        self.artifacts.append(artifact)

    def add_kernels(self, shapes, half, phases, option=""):
        for kind, own in shapes.items():
            spec, dims, runs = KERNELS[kind]
            for shape in own:
                self.add(kind, HERE / spec, f"{kind}-" + "x".join(map(str, shape)), dict(zip(dims, shape)), runs, half, phases, option)

    def add_small(self):
        """In --tiny, the first of each kind goes through all phases."""
        phases = ["smoke"]
        if self.args.tiny:
            self.add_kernels({kind: own[:1] for kind, own in SMALL.items()}, "bf16", ["smoke", "times", "compiled"])
            phases = ["smoke", "times"]
        self.add_kernels({kind: own[1:2] if self.args.tiny else own for kind, own in SMALL.items()} | ({"decoding": []} if self.args.tiny else {}), "bf16", phases)
        self.add_kernels(SMALL_F16, "f16", ["smoke"])
        for kind, (sizes, runs) in SMALL_MODELS.items():
            self.add(kind, EXAMPLES / MODELS[kind][0], f"small-{kind}", sizes, runs, "bf16", phases)
        if not self.args.tiny:
            self.add_kernels({"linear": SMALL["linear"][4:]}, "bf16", ["smoke"], "bulk-stores")
        sizes, runs = SMALL_MODELS["gpt2"]
        self.add("gpt2", EXAMPLES / MODELS["gpt2"][0], "small-gpt2", sizes, runs, "bf16", ["smoke"], "overlap")

    def add_timed(self):
        phases = ["times", "compiled"]
        self.add_kernels(TIMED, "bf16", phases)
        self.add_kernels({"linear": TIMED["linear"][:3]}, "bf16", ["times"], "bulk-stores")
        for kind, (spec, runs) in MODELS.items():
            self.add(kind, EXAMPLES / spec, kind, {}, runs, "bf16", phases)
            self.add(kind, EXAMPLES / spec, kind, {}, runs[-1:], "bf16", ["times"], "overlap")
        self.add_kernels(TIMED_F16, "f16", phases)
        self.add("vit", EXAMPLES / MODELS["vit"][0], "vit", {}, MODELS["vit"][1][:1], "f16", phases)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--attn", default="attn")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    folder = Folder(args)
    folder.add_small()
    if not args.tiny:
        folder.add_timed()
    (args.folder / "artifacts.json").write_text(json.dumps(folder.artifacts, indent=1) + "\n")
    for program in PROGRAMS:
        shutil.copy(HERE / program, args.folder)
    print(f"on the machine with the GPU: python3 {args.folder.name}/measure.py")


main()

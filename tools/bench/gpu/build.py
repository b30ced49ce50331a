#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a folder that measure.py runs on a machine with a GPU, which needs neither Attn nor LLVM there.

    tools/bench/gpu/build.py FOLDER [--tiny] [--attn PROGRAM]

Compiles single attentions and linears, ViT-B/16, BERT-base and GPT-2 in bf16 to shared libraries with code for sm_80, sm_90a and any CPU of
x86-64-v3, and puts a list of them, artifacts.json, and the programs that are run there beside. --tiny takes sizes that the interpreter of PTX runs in seconds.
"""
import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples"

# B, H, T, E: a vision transformer's, two of a decoder's, heads of 80 features, long ones.
ATTENTIONS = [(32, 12, 197, 64), (8, 16, 2048, 64), (4, 16, 2048, 80), (4, 16, 2048, 128), (2, 16, 8192, 64), (2, 8, 8192, 128)]
# M, K, N: those of ViT-B/16 with 64 pictures, of one token, a square.
LINEARS = [(12608, 768, 2304), (12608, 768, 3072), (12608, 3072, 768), (1, 768, 3072), (8192, 8192, 8192)]
MODELS = {
    "vit": ("vit/vit_b16.attn", {}, [{"B": 1}, {"B": 8}, {"B": 64}]),
    "bert": ("language/bert_base.attn", {}, [{"B": 1, "T": 128}, {"B": 16, "T": 512}]),
    "gpt2": ("language/gpt2.attn", {}, [{"B": 1, "T": 512}, {"B": 8, "T": 512}]),
}

TINY_ATTENTIONS = [(2, 2, 33, 16), (2, 2, 150, 64)]
TINY_LINEARS = [(17, 48, 40), (130, 256, 200)]
TINY_MODELS = {
    "vit": ("vit/vit_b16.attn", dict(D=48, H=3, L=2, F=96, K=10, P=4, Q=4, Y=2, X=2), [{"B": 2}]),
    "bert": ("language/bert_base.attn", dict(D=48, H=3, L=2, F=96, V=100, P=32), [{"B": 2, "T": 9}]),
    "gpt2": ("language/gpt2.attn", dict(D=48, H=3, L=2, F=96, V=100, P=32), [{"B": 2, "T": 9}]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--attn", default="attn")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    artifacts = []

    def compile_spec(name, kind, spec, sizes, runs):
        command = [args.attn, "compile", str(spec), "--emit=shared", "--precision=bf16", "--target=x86-64-v3,sm_80,sm_90a"]
        command += [word for dim, size in sizes.items() for word in ("--set", f"{dim}={size}")]
        if subprocess.run([*command, "-o", str(args.folder / f"{name}.so")]).returncode:
            sys.exit(f"{name} could not be compiled")
        inspected = subprocess.run([args.attn, "inspect", str(args.folder / f"{name}.so"), "--json"], check=True, capture_output=True)
        artifacts.append({"name": name, "kind": kind, "symbol": json.loads(inspected.stdout)["symbol"], "sizes": sizes, "runs": runs})

    # What is cut when the time is over comes last.
    for kind, (spec, sizes, runs) in (TINY_MODELS if args.tiny else MODELS).items():
        compile_spec(kind, kind, EXAMPLES / spec, sizes, runs)
    for shape in TINY_ATTENTIONS if args.tiny else ATTENTIONS:
        compile_spec("attention-" + "x".join(map(str, shape)), "attention", HERE / "attention.attn", dict(zip("BHTE", shape)),
                     [{"entry": "full"}, {"entry": "masked"}])
    for shape in TINY_LINEARS if args.tiny else LINEARS:
        compile_spec("linear-" + "x".join(map(str, shape)), "linear", HERE / "linear.attn", dict(zip("MKN", shape)), [{}])
    (args.folder / "artifacts.json").write_text(json.dumps(artifacts, indent=1) + "\n")
    for program in ("measure.py", "instructions.py"):
        shutil.copy(HERE / program, args.folder)
    print(f"on the machine with the GPU: python3 {args.folder.name}/measure.py")


main()

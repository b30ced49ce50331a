#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a folder that measure.py runs on a machine with a GPU, which needs neither Attn nor LLVM there.

    tools/bench/gpu/build.py FOLDER [--tiny] [--attn PROGRAM]

Compiles single attentions and linears, ViT-B/16, BERT-base and GPT-2 in bf16, and some in f16, to shared libraries with code for sm_80, sm_90a and any CPU of
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
# B, H, G, T, S, E: tokens that read a cache, of heads in groups.
DECODINGS = [(8, 64, 8, 1, 8192, 128), (8, 64, 8, 8, 8192, 128), (1, 64, 8, 16, 32768, 128), (16, 12, 12, 1, 1024, 64)]
# M, K, N: those of ViT-B/16 with 64 pictures, of one token, a square.
LINEARS = [(12608, 768, 2304), (12608, 768, 3072), (12608, 3072, 768), (1, 768, 3072), (8192, 8192, 8192)]
MODELS = {
    "vit": ("vit/vit_b16.attn", {}, [{"B": 1}, {"B": 8}, {"B": 64}]),
    "bert": ("language/bert_base.attn", {}, [{"B": 1, "T": 128}, {"B": 16, "T": 512}]),
    "gpt2": ("language/gpt2.attn", {}, [{"B": 1, "T": 512}, {"B": 8, "T": 512}]),
}

TINY_ATTENTIONS = [(2, 2, 33, 16), (2, 2, 150, 64)]
TINY_DECODINGS = [(1, 8, 2, 3, 140, 64)]
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

    def compile_spec(name, kind, spec, sizes, runs, half="bf16"):
        name += "" if half == "bf16" else f"-{half}"
        text = spec.read_text().replace("bf16", half).replace("cache kv capacity", f"cache kv: {half} capacity")
        spec = args.folder / spec.name
        spec.write_text(text)
        command = [args.attn, "compile", str(spec), "--emit=shared", f"--precision={half}", "--target=x86-64-v3,sm_80,sm_90a"]
        command += [word for dim, size in sizes.items() for word in ("--set", f"{dim}={size}")]
        if subprocess.run([*command, "-o", str(args.folder / f"{name}.so")]).returncode:
            sys.exit(f"{name} could not be compiled")
        inspected = subprocess.run([args.attn, "inspect", str(args.folder / f"{name}.so"), "--json"], check=True, capture_output=True)
        artifacts.append({"name": name, "kind": kind, "symbol": json.loads(inspected.stdout)["symbol"], "sizes": sizes, "runs": runs, "half": half})

    def compile_all(half, models, attentions, decodings, linears):
        for kind in models:
            spec, sizes, runs = (TINY_MODELS if args.tiny else MODELS)[kind]
            compile_spec(kind, kind, EXAMPLES / spec, sizes, runs, half)
        for kind, dims, shapes, runs in (("attention", "BHTE", attentions, [{"entry": "full"}, {"entry": "masked"}]),
                                         ("decoding", "BHGTSE", decodings, [{}]), ("linear", "MKN", linears, [{}])):
            for shape in shapes:
                compile_spec(f"{kind}-" + "x".join(map(str, shape)), kind, HERE / f"{kind}.attn", dict(zip(dims, shape)), runs, half)

    # What is cut when the time is over comes last.
    if args.tiny:
        compile_all("bf16", TINY_MODELS, TINY_ATTENTIONS, TINY_DECODINGS, TINY_LINEARS)
        compile_all("f16", ["vit"], TINY_ATTENTIONS[1:], TINY_DECODINGS, TINY_LINEARS[1:])
    else:
        compile_all("bf16", MODELS, ATTENTIONS, DECODINGS, LINEARS)
        compile_all("f16", ["vit"], ATTENTIONS[3:4], DECODINGS[:1], LINEARS[1:2])
    (args.folder / "artifacts.json").write_text(json.dumps(artifacts, indent=1) + "\n")
    for program in ("measure.py", "instructions.py"):
        shutil.copy(HERE / program, args.folder)
    print(f"on the machine with the GPU: python3 {args.folder.name}/measure.py")


main()

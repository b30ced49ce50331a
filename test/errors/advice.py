#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Follows what errors advise. Each slip is made in a right spec; what the first help says in backquotes takes the place of the slip, and
the spec that was meant must come out. Other slips are answered by a sentence, of which a part is given.
usage: advice.py FOLDER"""
import json
import re
import subprocess
import sys

SPEC = """attn 1
use std.masks
model Mine {
  dim D = 64, H = 8, G = 2, E = D / H, F = 128, L = 2, V = 100
  dyn B <= 4, T <= 64
  embedding tok: V -> D
  stack layers: L of Layer
  rmsnorm norm: D
  linear head: D -> V
  bias slope(h, i, j) with param slopes: [H] = slopes[h] * (i - j)
  block Layer[T](x: [B, T, D]) -> [B, T, D] {
    rmsnorm norm1, norm2: D eps 1e-6
    linear q: D -> H, E
    linear k, v: D -> G, E
    linear o: H, E -> D
    linear up: D -> F bias
    linear down: F -> D
    param sink: [H]
    let n = norm1(x)
    let r = rotary(q(n), T, half)
    let a = attend r over k(n), v(n) along T as S group H by G {
      score scaled_dot
      bias alibi(H) + slope
      cap 30
      mask causal and (window(16, 0) or j < 4)
      weight softmax(sink = sink[h])
    }
    let y = x + o(a)
    return y + down(silu(up(norm2(y))))
  }
  entry run(ids: i32[B, T]) -> logits: [B, T, V] {
    return head(norm(layers(tok(ids))))
  }
}
"""

# The place, what is right there, what is written: the help has the right text in backquotes.
FOLLOWED = [
    ("sink = {})", "sink[h]", "sink[H]"),
    ("sink = {})", "sink[h]", "sink[i]"),
    ("= {} *", "slopes[h]", "slopes[H]"),
    ("or {} < 4", "j", "J"),
    ("along T as S {} {{", "group H by G", "group 8 by 2"),
    ("along T as S {} {{", "group H by G", "group 4"),
    ("along T as S {} {{", "group H by G", "group G by H"),
    ("along T as S {} {{", "group H by G", "group h by g"),
    ("bias {} +", "alibi(H)", "alibi"),
    ("bias {} +", "alibi(H)", "alibi()"),
    ("alibi({}) +", "H", "h"),
    ("{} norm1, norm2", "rmsnorm", "RMSNorm"),
    ("{} norm1, norm2", "rmsnorm", "rms_norm"),
    ("{} q: D", "linear", "Linear"),
    ("{} tok: V", "embedding", "Embedding"),
    ("{} sink: [H]", "param", "Param"),
    ("({}(up(norm2", "silu", "SiLU"),
    ("({}(up(norm2", "silu", "F.silu"),
    ("= {}(x)\n", "norm1", "self.norm1"),
    ("      {}\n", "cap 30", "cap = 30"),
    ("      {}\n", "score scaled_dot", "score: scaled_dot"),
    ("score {}\n", "scaled_dot", "Scaled_Dot"),
    ("      {}\n", "score scaled_dot", "score scaled_dot_product"),
    ("({} or", "window(16, 0)", "window(16)"),
    ("linear {}: D -> G", "k, v", "k v"),
    ("D -> F {}\n    linear down", "bias", "bias=True"),
    ("D {}\n", "eps 1e-6", "eps=1e-6"),
    ("up: {} ->", "D", "d"),
    ("causal {} (", "and", "&&"),
    ("causal {} (", "and", "&"),
]

# What is written in the place of what is right, and a part of the only error's help.
ANSWERED = [
    ("k(n), v(n) along", "k(n) v(n) along", "write `k(n), v`"),
    ("weight softmax(sink = sink[h])", "weight softmax(dim=-1)", "write `weight softmax`"),
    ("weight softmax(sink = sink[h])", "weight softmax(S)", "write `weight softmax`"),
    ("norm1(x)\n", "softmax(x @ x)\n", "a product with a parameter is a linear map"),
    ("norm1(x)\n", "norm1(x).T\n", "axes have names"),
    ("norm1(x)\n", "norm1(x).transpose(1, 2)\n", "axes have names"),
    ("norm1(x)\n", "x.view(B, T, D)\n", "axes have names"),
    ("norm1(x)\n", "softmax(x, dim=-1)\n", "write `softmax("),
    ("norm1(x)\n", "norm1(x, **kwargs)\n", "arguments are written out"),
    ("norm1(x)\n", "matmul(x, x)\n", "a product with a parameter is a linear map"),
    ("norm1(x)\n", "cat(x, x)\n", "write `pack("),
    ("norm1(x)\n", "x[:, 0]\n", "`slice("),
    ("rotary(q(n), T, half)", "rope(q(n))", "write `rotary(x, T, half)`"),
    ("silu(up", "swish(up", "write `silu(x)`"),
    ("mask causal and (window(16, 0) or j < 4)", "causal=True", "write `mask causal`"),
    ("cap 30", "softcap 30", "write `cap 30`"),
    ("score scaled_dot", "scale 0.125", "write `score mine`"),
    ("attend r over k(n), v(n)", "attend r, k(n), v(n)", "write `attend q over k, v along T as S`"),
    ("linear up: D -> F bias", "linear up(D, F)", "write `up: D -> F`"),
    ("linear up: D -> F bias", "linear up = Linear(D, F)", "write `up: D -> F`"),
    ("linear up: D -> F bias", "nn.Linear up: D -> F", "`linear q: D -> F`"),
    ("linear up: D -> F bias", "linear up: D -> F bias=False", "leave `bias` out"),
    ("block Layer[T](x", "class Layer[T](x", "`block Name["),
    ("use std.masks", "import std.masks", "`use std.masks`"),
    ("param sink: [H]", "param sink: [1, 1, H]", "`dim N = 1`"),
    ("along T as S", "along T + 3 as S", "`dim N = T + 3`"),
    ("norm1(x)\n", "windows(x, T + 3 = T as S)\n", "`dim N = T + 3`"),
]


def findings(path):
    done = subprocess.run(["attn", "check", path, "--diagnostics=json"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stderr.splitlines()], done.returncode


def slip(place, right, wrong):
    before = place.format(right)
    assert SPEC.count(before) == 1, before
    return lambda text: SPEC.replace(before, place.format(text))


def formatted(path):
    return subprocess.run(["attn", "fmt", "-"], stdin=open(path), capture_output=True, text=True, check=True).stdout


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def main():
    folder, wrong = sys.argv[1], 0
    path, meant = f"{folder}/slip.attn", f"{folder}/meant.attn"
    write(meant, SPEC)
    assert findings(meant)[1] == 0, findings(meant)
    goal = formatted(meant)
    for place, right, written in FOLLOWED:
        make = slip(place, right, written)
        write(path, make(written))
        found, code = findings(path)
        helps = [help for finding in found for help in finding.get("helps", [])]
        snippets = re.findall(r"`([^`]*)`", helps[0]) if helps else []
        errors = [finding for finding in found if finding["severity"] == "error"]
        results = []
        for snippet in snippets:
            write(path, make(snippet))
            results.append(findings(path)[1] == 0 and formatted(path) == goal)
        if code != 1 or len(errors) != 1 or not results or not results[-1]:
            print(f"{written}: {[f['message'] for f in found]} {helps} {results}")
            wrong += 1
    for right, written, answer in ANSWERED:
        assert SPEC.count(right) == 1, right
        write(path, SPEC.replace(right, written))
        found, code = findings(path)
        errors = [finding for finding in found if finding["severity"] == "error"]
        helps = [help for finding in errors for help in finding.get("helps", [])]
        if code != 1 or len(errors) != 1 or not any(answer in help for help in helps):
            print(f"{written}: {[f['message'] for f in errors]} {helps}")
            wrong += 1
    # A dim in the place of a position is one place for all pairs.
    write(path, SPEC.replace("sink = sink[h]", "sink = sink[G]"))
    found, code = findings(path)
    assert code == 0 and found[0]["code"] == "A0519" and "`sink[h]`" in found[0]["helps"][0], found
    print(f"{len(FOLLOWED)} followed, {len(ANSWERED)} answered, {wrong} wrong")


main()

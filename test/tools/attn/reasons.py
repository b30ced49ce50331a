#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every code of a reason is in the manual's list as in the table, and is given by a spec below.
usage: reasons.py FOLDER SOURCE"""
import json
import re
import subprocess
import sys

HEAD = """attn 1
model M {
  dim D = 64, H = 4, E = D / H, T = 256, U = T, F = 128
  dyn B <= 2, N <= 256
  linear q, k, v: D -> H, E
  linear up, gate: D -> F
  linear down: F -> D
  linear shifted: D -> F bias
  rmsnorm norm: D
"""
ATTEND = "return attend q(x) over k(x), v(x) along T as S {{ {} }}"

# code, declarations, the entry (with x: [B, T, D]), options, a part of what is said, a part of the help
CASES = [
    ("N0101", "", "dynamic(y: [B, N, D]) -> [B, N, H, E]", "return attend q(y) over k(y), v(y) along N as S", [],
     "known only when running", "a `dim` in the place of the `dyn`"),
    ("N0102", "mask odd(i, j) = (i * 7 + j * 13) % 5 == 0", "e(x: [B, T, D]) -> [B, T, H, E]", ATTEND.format("mask odd"), [],
     "`odd` is live somewhere in each tile of 48 queries and 32 keys that was looked at: its value repeats every 5 keys", "remainder by 5"),
    ("N0103", "bias late(i, j) = if j > i then -inf else 0", "e(x: [B, T, D]) -> [B, T, H, E]", ATTEND.format("bias late  cap 3"), [],
     "`late` is -inf for some pairs, but the cap", "write a `mask`"),
    ("N0103", "", "e(x: [B, T, D], m: [T, U]) -> [B, T, H, E]", ATTEND.format("bias m[i, j]"), [],
     "known only when running, which may hold -inf", "`… > -inf`"),
    ("N0104", "bias low(i, j) = if j > i then -1000000 else 0", "e(x: [B, T, D]) -> [B, T, H, E]", ATTEND.format("bias low"), [],
     "`low` adds -1000000 to scores", "write -inf"),
    ("N0105", "mask early(i, j) = i * T + j - i * T < 100", "e(x: [B, T, D]) -> [B, T, H, E]", ATTEND.format("mask early"), [],
     "`early` has empty tiles", "each position by itself"),
    ("N0105", "mask near(i, j) = exp(abs(i - j)) < 100", "e(x: [B, T, D]) -> [B, T, H, E]", ATTEND.format("mask near"), [],
     "`near` asks for what has no bounds", "comparisons, sums"),
    ("N0201", "", "e(x: [B, T, D]) -> [B, T, F], [B, T, F]", "let a = up(x)  return gelu(a), a", [], "is read once, and returned", ""),
    ("N0202", "", "e(x: [B, T, D], y: [B, T, H, F]) -> [B, T, H, F]", "return y * up(x)", [], "other axes", ""),
    ("N0203", "", "e(x: [B, T, D], keep: bool[B, T, F]) -> [B, T, F]", "return if keep then up(x) else 0", [], "truth values", "`float("),
    ("N0204", "", "e(x: [B, T, D]) -> [B, T, F], [B, T, F]", "return up(x), shifted(x)", [], "one of them has a bias", "a bias of zeros"),
    ("N0205", "stack layers: 2 of Layer\n  block Layer[R](x: [B, R, D]) -> [B, R, D] {\n    linear w: D -> D\n    return x + w(x)\n  }",
     "e(x: [B, T, D]) -> [B, D], [B, T, D]", "let y = layers(x)  return first(T, y), y", [], "the last layer is computed whole", "an entry that returns less"),
    ("N0301", "", "e(x: [B, T, D]) -> [B, D, T]", 'return split(x, "b t d -> b d t") * 2', ["--target=x86-64-v3"], "runs element by element", ""),
    ("N0302", "", "e(x: [B, T, D]) -> [B, T, F]", "return up(x)", ["--precision=bf16", "--target=x86-64-v3"], "multiplied as f32", "`avx512bf16`"),
    ("N0303", "", "e(x: [B, T, D]) -> [B, T, F]", "return up(x)", ["--target=sm_80"], "products are of f32", "tf32"),
    ("N0303", "", "e(x: [B, T, D]) -> [B, T, H, E]", ATTEND.format("weight sigmoid"), ["--target=sm_80", "--precision=bf16"],
     "not those of a softmax", ""),
    ("N0304", "linear a, b, c: D -> H, G\n  dim G = 12", "e(x: [B, T, D]) -> [B, T, H, G]",
     "return attend a(x) over b(x), c(x) along T as S", ["--target=sm_90a", "--precision=bf16"], "without the copy engine", "multiple of 8"),
]


def explain(path, options):
    text = subprocess.run(["attn", "explain", path, *options], capture_output=True, text=True)
    told = subprocess.run(["attn", "explain", path, "--diagnostics=json", *options], capture_output=True, text=True)
    assert text.returncode == 0 and told.returncode == 0, text.stderr + told.stderr
    assert "note[N" not in told.stdout
    return text.stdout, [json.loads(line) for line in told.stderr.splitlines()]


def main():
    folder, source = sys.argv[1:]
    with open(f"{source}/dialect/Reasons.def") as file:
        table = re.findall(r'ATTN_REASON\("(N\d+)", \w+, "(.*?)"\)', file.read())
    with open(f"{source}/compiler/frontend/REFERENCE.md") as file:
        listed = re.findall(r"^\| (N\d+) \| (.*) \|$", file.read(), re.M)
    assert listed == table, "the list of the reference is not the table of dialect/Reasons.def"
    for code, declared, entry, body, options, said, mend in CASES:
        path = f"{folder}/{code}.attn"
        with open(path, "w") as file:
            file.write(f"{HEAD}  {declared}\n  entry {entry} {{\n    {body}\n  }}\n}}\n")
        text, objects = explain(path, options)
        found = [o for o in objects if o.get("code") == code and o["severity"] == "note"]
        assert any(said in o["message"] and mend in "".join(o.get("helps", [])) for o in found), (code, objects, text)
        assert found[0]["file"] == path and found[0]["range"]["start"]["line"] > 9, found
        assert f"note[{code}]: " in text and said in text, (code, text)
    given = {case[0] for case in CASES}
    assert given == {code for code, _ in table}, {code for code, _ in table} ^ given
    print(f"{len(table)} codes, {len(CASES)} specs")


main()

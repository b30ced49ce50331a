# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models that the tests of the Python package share, and how a command line is run beside it."""
import subprocess

TINY = """attn 1
model Tiny {
  dim D = 4, V = 11, H = 2, E = 2
  dyn B <= 8, T <= 6
  cache kv capacity 6
  state h: [B, D]
  linear fc: D -> D
  embedding wte: V -> D
  entry apply(x: [B, D]) -> y: [B, D] = fc(x)
  entry halves(x: bf16[B, D], keep: bool[B, D]) -> y: bf16[B, D], z: f16[B, D] {
    let k = if keep then fc(x) else x
    return k, k
  }
  entry look(ids: i32[B, T]) -> rows: [B, T, D], total: [B, D] {
    let e = wte(ids)
    return e, sum(T, e)
  }
  entry step(x: [B, D]) -> y: [B, D], h: [B, D] {
    let n = tanh(fc(x) + h)
    return n, n
  }
  entry push[N](x: [B, N, H, E], kv: cache) -> [B, N, H, E] {
    return attend x over kv.push(x, x) along N as S { mask causal }
  }
}
"""


def run(*command):
    """Runs a command line, which has to succeed."""
    made = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert made.returncode == 0, f"{command}: {made.stderr}"
    return made.stdout


def compile_tiny(folder):
    """The shared library of TINY."""
    spec = f"{folder}/tiny.attn"
    with open(spec, "w") as file:
        file.write(TINY)
    run("attn", "compile", "-O0", spec, "--emit=shared", "-o", f"{folder}/tiny.so")
    return f"{folder}/tiny.so"

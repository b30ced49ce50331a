#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention along several axes against torch in double precision.

Each case is a random choice of sizes, heads, weights and inputs, along two axes or three. Torch sees one sequence of all
places; the biases and masks are made of the coordinates of each.
"""
import os
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from windows_twin import between, exact, main, normal


def places(*sizes):
    """The coordinates of all places, row by row: [axes, places]."""
    return torch.stack(torch.meshgrid(*[torch.arange(size) for size in sizes], indexing="ij")).flatten(1)


def heads_of(rng, x, names, heads, features):
    """Maps of x [B, places, D] to heads: weights, and [B, H, places, E] of each."""
    weights = {f"{name}.weight": normal(rng, heads * features, x.shape[-1], scale=x.shape[-1] ** -0.5) for name in names}
    made = [(exact(x) @ exact(weights[f"{name}.weight"]).T).unflatten(-1, (heads, features)).transpose(1, 2) for name in names]
    return weights, made


def attended(q, k, v, bias=0, mask=None):
    """out [B, places, H, E], lse [B, places, H], weights [B, places, H, keys]."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(-1)
    return [x.transpose(1, 2).numpy() for x in (weights @ v, scores.logsumexp(-1), weights)]


def swin(rng):
    """A bias for each difference of two places (Liu et al. 2021); all results."""
    B, Y, X, D, H, E = (between(rng, 1, most) for most in (3, 9, 9, 30, 4, 17))
    x = normal(rng, B, Y * X, D)
    weights, (q, k, v) = heads_of(rng, x, "qkv", H, E)
    weights["table"] = normal(rng, (2 * Y - 1) * (2 * X - 1), H)
    dy, dx = (p[:, None] - p[None] for p in places(Y, X))
    bias = exact(weights["table"])[(dy + Y - 1) * (2 * X - 1) + dx + X - 1].permute(2, 0, 1)
    out, lse, attention = attended(q, k, v, bias)
    spec = f"""attn 1
model Case {{
  dim Y = {Y}, X = {X}, D = {D}, H = {H}, E = {E}, R = (2 * Y - 1) * (2 * X - 1), V = Y, U = X
  dyn B <= 4
  linear q, k, v: D -> H, E
  bias relative(h, i, j) with param table: [R, H] = table[(i.y - j.y + Y - 1) * (2 * X - 1) + i.x - j.x + X - 1, h]
  entry run(x: [B, Y, X, D]) -> out: [B, Y, X, H, E], lse: [B, Y, X, H], weights: [B, Y, X, H, V, U] {{
    let out, lse, weights = attend q(x) over k(x), v(x) along (Y as V, X as U) {{
      bias relative
      return out, lse, weights
    }}
    return out, lse, weights
  }}
}}
"""
    wanted = {"out": out.reshape(B, Y, X, H, E), "lse": lse.reshape(B, Y, X, H), "weights": attention.reshape(B, Y, X, H, Y, X)}
    return spec, weights, {"x": x.reshape(B, Y, X, D)}, wanted


def sam(rng):
    """Decomposed relative positions (Li et al. 2022; Kirillov et al. 2023): a vector for each difference of rows, and of
    columns, times the query."""
    B, Y, X, D, H, E = (between(rng, 1, most) for most in (3, 9, 9, 30, 4, 17))
    x = normal(rng, B, Y * X, D)
    weights, (q, k, v) = heads_of(rng, x, "qkv", H, E)
    weights |= {"rel_pos_h": normal(rng, 2 * Y - 1, E), "rel_pos_w": normal(rng, 2 * X - 1, E)}
    rows, columns = (torch.arange(size)[:, None] - torch.arange(size)[None] + size - 1 for size in (Y, X))
    grid = q.unflatten(2, (Y, X))
    down = torch.einsum("bhyxe,yve->bhyxv", grid, exact(weights["rel_pos_h"])[rows])
    across = torch.einsum("bhyxe,xue->bhyxu", grid, exact(weights["rel_pos_w"])[columns])
    bias = (down[..., :, None] + across[..., None, :]).reshape(B, H, Y * X, Y * X)
    out, _, _ = attended(q, k, v, bias)
    spec = f"""attn 1
model Case {{
  dim Y = {Y}, X = {X}, D = {D}, H = {H}, E = {E}, RY = 2 * Y - 1, RX = 2 * X - 1
  dyn B <= 4
  linear q, k, v: D -> H, E
  param rel_pos_h: [RY, E], rel_pos_w: [RX, E]
  linear downward: E -> RY = tied(rel_pos_h)
  linear across: E -> RX = tied(rel_pos_w)
  bias decomposed(b, h, i, j) with input down: [B, Y, X, H, RY], input right: [B, Y, X, H, RX]
    = down[b, i.y, i.x, h, i.y - j.y + Y - 1] + right[b, i.y, i.x, h, i.x - j.x + X - 1]
  entry run(x: [B, Y, X, D]) -> out: [B, Y, X, H, E] {{
    let query = q(x)
    let down, right = (downward(query), across(query))
    return attend query over k(x), v(x) along (Y as V, X as U) {{ bias decomposed }}
  }}
}}
"""
    return spec, weights, {"x": x.reshape(B, Y, X, D)}, {"out": out.reshape(B, Y, X, H, E)}


def neighbours(rng):
    """Along three axes, the first known only when running, heads in groups: those at most one step away, or causal."""
    B, T, Y, X, D, G, E = (between(rng, 1, most) for most in (2, 6, 6, 6, 20, 3, 9))
    H, causal = 2 * G, bool(rng.integers(0, 2))
    x = normal(rng, B, T * Y * X, D)
    weights, (q,) = heads_of(rng, x, "q", H, E)
    more, (k, v) = heads_of(rng, x, "kv", G, E)
    number, apart = torch.arange(T * Y * X), [(p[:, None] - p[None]).abs() <= 1 for p in places(T, Y, X)]
    near = torch.stack(apart).all(0)
    mask = near & (number[None] <= number[:, None]) if causal else near
    out, lse, _ = attended(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), 0, mask)
    spec = f"""attn 1
model Case {{
  dim Y = {Y}, X = {X}, D = {D}, H = {H}, G = {G}, E = {E}
  dyn B <= 4, T <= {T + between(rng, 0, 3)}
  linear q: D -> H, E
  linear k, v: D -> G, E
  mask near(i, j) = abs(i.t - j.t) <= 1 and abs(i.y - j.y) <= 1 and abs(i.x - j.x) <= 1
  entry run(x: [B, T, Y, X, D]) -> out: [B, H, T, Y, X, E], lse: [B, H, T, Y, X] {{
    let query = split(q(x), "b t y x h e -> b h t y x e")
    let out, lse = attend query over k(x), v(x) along (T as W, Y as V, X as U) group H by G {{
      mask near{" and causal" if causal else ""}
      return out, lse
    }}
    return out, lse
  }}
}}
"""
    wanted = {"out": np.moveaxis(out, 2, 1).reshape(B, H, T, Y, X, E), "lse": np.moveaxis(lse, 2, 1).reshape(B, H, T, Y, X)}
    return spec, weights | more, {"x": x.reshape(B, T, Y, X, D)}, wanted


def memory(rng):
    """Queries along one axis over a picture, or a smaller picture over a larger one; axes that do not lie side by side."""
    B, Q, Y, X, D, H, E = (between(rng, 1, most) for most in (3, 12, 9, 9, 20, 4, 17))
    x, z = normal(rng, B, Q, D), normal(rng, B, Y * X, D)
    weights, (q,) = heads_of(rng, x, "q", H, E)
    more, (k, v) = heads_of(rng, z, "kv", H, E)
    weights |= more | {"slope": normal(rng, H)}
    row, column = places(Y, X)
    bias = exact(weights["slope"])[:, None, None] * (row - 2 * column)[None, None] * 0.1
    out, _, attention = attended(q, k, v, bias, ((row + column) % 3 != 1) | (row == 0))
    spec = f"""attn 1
model Case {{
  dim Y = {Y}, X = {X}, D = {D}, H = {H}, E = {E}, Q = {Q}
  dyn B <= 4
  linear q, k, v: D -> H, E
  bias sloped(h, j) with param slope: [H] = slope[h] * 0.1 * (j.y - 2 * j.x)
  mask seen(j) = (j.y + j.x) % 3 != 1 or j.y == 0
  entry run(x: [B, Q, D], z: [B, Y, X, D]) -> out: [B, Q, H, E], weights: [B, Q, H, Y, X] {{
    let keys, values = (split(k(z), "b y x h e -> b y h x e"), v(z))
    let out, weights = attend q(x) over keys, values along (Y, X) {{
      bias sloped
      mask seen
      return out, weights
    }}
    return out, weights
  }}
}}
"""
    return spec, weights, {"x": x, "z": z.reshape(B, Y, X, D)}, {"out": out, "weights": attention.reshape(B, Q, H, Y, X)}


if __name__ == "__main__":
    main([swin, sam, neighbours, memory], __doc__)

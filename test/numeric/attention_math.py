# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with hooks in NumPy, in double precision: plain formulas over all pairs of queries and keys.

Every result comes with the sum of the absolute values of its terms, by which errors are measured where terms cancel.
"""
import numpy as np

INF = float("inf")


def dot(q, k):
    """[..., T, E], [..., S, E] -> [..., T, S], and the same of absolute values."""
    return q @ np.swapaxes(k, -1, -2), np.abs(q) @ np.swapaxes(np.abs(k), -1, -2)


def scaled(pair, factor):
    return pair[0] * factor, pair[1] * np.abs(factor)


def scaled_dot(q, k):
    return scaled(dot(q, k), q.shape[-1] ** -0.5)


def unit(x):
    """Divided by its length; zeros stay zeros."""
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / np.where(length == 0, 1, length)


def additive(u, q, k):
    """sum over r of u[r] tanh(q[r] + k[r])."""
    terms = u * np.tanh(q[..., :, None, :] + k[..., None, :, :])
    return terms.sum(-1), np.abs(terms).sum(-1)


def l1(q, k):
    """sum over e of |q[e] - k[e]|."""
    distance = np.abs(q[..., :, None, :] - k[..., None, :, :]).sum(-1)
    return distance, distance


def softmax_weights(scores, sink):
    """Of rows that may be -inf altogether; and the log of the sum."""
    top = scores.max(-1, keepdims=True, initial=-INF)
    if sink is not None:
        top = np.maximum(top, sink)
    shift = np.where(np.isfinite(top), top, 0)
    power = np.exp(scores - shift)
    total = power.sum(-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - shift)
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + shift)[..., 0]
    return power / np.where(total == 0, 1, total), lse


def hardmax_weights(scores, live):
    """1 for the first of the largest live scores. NaN where another is so near that rounding decides."""
    alive = np.where(live, scores, -INF)
    top = alive.max(-1, keepdims=True, initial=-INF)
    near = (alive < top) & (alive > top - 1e-4 * (1 + np.abs(top)))
    first = np.arange(scores.shape[-1]) == np.argmax(alive, -1)[..., None]
    weights = (first & (top > -INF)).astype(float)
    return np.where(near.any(-1, keepdims=True), np.nan, weights)


def weigh(values, weights, live):
    """Weighted sums in which a value that is not finite reaches the queries that may see its key, and no other."""
    finite = np.isfinite(values)
    out = weights @ np.where(finite, values, 0)
    for place in zip(*np.nonzero(~finite)):
        *head, key, feature = place
        rows = out[(*head, slice(None), feature)]
        rows[...] = np.where(live[(*head, slice(None), key)], rows + weights[(*head, slice(None), key)] * values[place], rows)
    return out


def attention(raw, values, bias=0.0, cap=None, live=True, weight="softmax", sink=None):
    """`raw`: scores [..., T, S] and their magnitudes; `values`: [..., S, F]; the rest is broadcast to the scores.

    Gives what `return` can ask for by name: (result, magnitude).
    """
    score, size = (np.broadcast_to(x, raw[0].shape) for x in raw)
    bias = np.broadcast_to(np.asarray(bias, float), score.shape)
    live = np.broadcast_to(live, score.shape)
    values = np.broadcast_to(values, score.shape[:-2] + values.shape[-2:])
    results = {"scores(raw)": (score, size)}
    score, size = score + bias, size + np.where(np.isfinite(bias), np.abs(bias), 0)
    results["scores(biased)"] = (score, size)
    if cap is not None:
        score, size = cap * np.tanh(score / cap), np.minimum(size, cap)
    results["scores(capped)"] = (score, size)
    if weight == "softmax":
        weights, lse = softmax_weights(np.where(live, score, -INF), None if sink is None else np.broadcast_to(sink, score.shape)[..., :1])
        results["lse"] = (lse, np.maximum(np.abs(np.where(np.isfinite(lse), lse, 0)), 1))
        size = weights
    elif weight == "hardmax":
        weights = size = hardmax_weights(score, live)
    elif weight == "sigmoid":
        weights = size = 1 / (1 + np.exp(-np.clip(score, -700, 700)))
    else:
        weights = {"relu": np.maximum(score, 0), "relu / n": np.maximum(score, 0) / score.shape[-1], "none": score}[weight]
        size = size / score.shape[-1] if weight == "relu / n" else size
    weights, size = np.where(live, weights, 0), np.where(live, size, 0)
    results["weights"] = (weights, size)
    results["out"] = (weigh(values, weights, live), size @ np.abs(np.where(np.isfinite(values), values, 0)))
    return results


def difference(got, wanted, magnitude):
    """Relative L2 error: of the result, or of a tenth of what its terms amount to where they cancel. Infinite where numbers
    that are not finite are others; what is NaN in `magnitude` is not looked at."""
    known = ~np.isnan(magnitude)
    got, wanted, magnitude = got.astype(float)[known], wanted[known], magnitude[known]
    finite = np.isfinite(wanted)
    if not np.array_equal(got[~finite], wanted[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return INF
    norm = max(np.linalg.norm(wanted[finite]), 0.1 * np.linalg.norm(magnitude[finite]))
    error = np.linalg.norm(got[finite] - wanted[finite])
    return error / norm if norm else error

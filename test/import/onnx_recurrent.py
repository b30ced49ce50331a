# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs with LSTM, GRU and RNN, and what these compute, step by step. MODELS is as in onnx_graphs.py."""
import numpy as np

from onnx_graph import Graph

I, U = 6, 5


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def steps(kind, gates):
    """The operator `kind`, of weights [1, gates * U, ...]."""
    def call(x, w, r, b=None, lengths=None, h0=None, c0=None, hidden_size=0, direction=b"forward", linear_before_reset=0, layout=0, activations=None):
        assert lengths is None
        x = x.transpose(1, 0, 2) if layout else x
        inner, outer = (np.zeros(2 * gates * hidden_size) if b is None else b[0]).reshape(2, gates, hidden_size)
        h, c = (np.zeros((x.shape[1], hidden_size)) if s is None else (s[:, 0] if layout else s[0]) for s in (h0, c0))
        given = np.zeros((len(x), x.shape[1], hidden_size))
        w, r = w[0].reshape(gates, hidden_size, -1), r[0].reshape(gates, hidden_size, -1)
        for t in range(len(x))[::-1 if direction == b"reverse" else 1]:
            a, s = [x[t] @ w[n].T + inner[n] for n in range(gates)], [h @ r[n].T + outer[n] for n in range(gates)]
            if kind == "LSTM":
                i, o, f = (sigmoid(a[n] + s[n]) for n in range(3))
                c = f * c + i * np.tanh(a[3] + s[3])
                h = o * np.tanh(c)
            elif kind == "GRU":
                z, k = sigmoid(a[0] + s[0]), sigmoid(a[1] + s[1])
                n = np.tanh(a[2] + (k * s[2] if linear_before_reset else (k * h) @ r[2].T + outer[2]))
                h = (1 - z) * n + z * h
            else:
                h = np.maximum(a[0] + s[0], 0) if activations == [b"Relu"] else np.tanh(a[0] + s[0])
            given[t] = h
        if layout:
            return given.transpose(1, 0, 2)[:, :, None], h[:, None], c[:, None]
        return given[:, None], h[None], c[None]
    return call


OPERATORS = {"LSTM": steps("LSTM", 4), "GRU": steps("GRU", 3), "RNN": steps("RNN", 1)}


def layer(kind, gates, state=(), has_bias=True, **how):
    g = Graph(17, "dynamo")
    batch_first = how.get("layout", 0)
    w, r = g.weight("w", g.random(1, gates * U, I)), g.weight("r", g.random(1, gates * U, U))
    b = g.weight("b", g.random(1, 2 * gates * U)) if has_bias else ""
    results = g.op(kind, "x", w, r, b, "", *state, outputs=3 if kind == "LSTM" else 2, hidden_size=U, **how)
    g.result(g.op("Squeeze", results[0], g.ints(2 if batch_first else 1)), "states")
    for name, value in zip(("hn", "cn"), results[1:]):
        g.result(value, name)
    one = ["batch", 1, U] if batch_first else [1, "batch", U]
    x = ["batch", "sequence"] if batch_first else ["sequence", "batch"]
    return g.model([("x", "f32", [*x, I])] + [(s, "f32", one) for s in state],
                   [("states", "f32", [*x, U])] + [(n, "f32", one) for n in ("hn", "cn")[:len(results) - 1]])


def stacked():
    """Two layers of a small net that gives its last state, and a map behind them."""
    g = Graph(17, "dynamo")
    x = "x"
    for n, width in enumerate((I, U)):
        w, r, b = g.weight(f"w{n}", g.random(1, 4 * U, width)), g.weight(f"r{n}", g.random(1, 4 * U, U)), g.weight(f"b{n}", g.random(1, 8 * U))
        all_, last, _ = g.op("LSTM", x, w, r, b, outputs=3, hidden_size=U)
        x = g.op("Squeeze", all_, g.ints(1))
    g.result(g.linear("head", g.op("Squeeze", last, g.ints(0)), U, 3), "scores")
    return g.model([("x", "f32", ["sequence", "batch", I])], [("scores", "f32", ["batch", 3])])


MODELS = {
    "lstm": (lambda: layer("LSTM", 4, ("h0", "c0")), 30, ["cell Lstm", "from ("]),
    "lstm-reverse": (lambda: layer("LSTM", 4, layout=1, direction="reverse"), 30, ["reverse from zeros"]),
    "gru": (lambda: layer("GRU", 3, ("h0",), linear_before_reset=1), 30, ["cell Gru", "r * (nh(h) + b.nh)"]),
    "gru-before": (lambda: layer("GRU", 3, has_bias=False), 30, ["nh(r * h)"]),
    "rnn": (lambda: layer("RNN", 1, ("h0",)), 30, ["tanh("]),
    "rnn-relu": (lambda: layer("RNN", 1, activations=["Relu"]), 30, ["relu("]),
    "recurrent": (stacked, 45, ["scan lstm2", "cell Lstm2"]),
}

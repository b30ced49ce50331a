# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions with the language server, one for each feature: sessions.py FEATURE [FOLDER]."""
import json
import os
import pathlib
import stat
import struct
import sys

from client import WHOLE, Client, apply_edits

URI = "untitled:/spec.attn"
SPEC = """attn 1
use std.attention
model M {
  dim D = 8, H = 2, E = D / H, F = 16, Y = 4, X = 4
  dyn B <= 4, T <= 9
  linear q, k, v: D -> H, E bias
  linear out: H, E -> D bias
  linear fc1: D -> F
  param pos: [Y, X, D]
  embedding words: 50 -> D
  part other: MultiheadAttention[H: H](bias = false)

  mask near(i, j; reach = 2) = abs(i - j) <= reach

  block Layer[T](x: [B, T, D]) -> [B, T, D] {
    layernorm norm: D
    let n = norm(x)
    let o = attend q(n) over k(n), v(n) along T as S { score scaled_dot mask near(reach = 3) }
    return x + out(o)
  }

  entry run(ids: i32[B, T], flat: [B, Y*X, D]) -> [B, T, D], [B, F] {
    let x = words(ids)
    let grid = split(flat, "b (y x) d -> b y x d") + pos
    let y = x * 2
    let z = ids != 0
    let pooled = fc1(mean(Y, X, grid))
    return layers(other(y, y, y)) * float(z), pooled
  }
  stack layers: 2 of Layer
}
"""


def place(text, at, skip=0):
    """The position of some text, and of letters behind its beginning."""
    index = text.index(at) + skip
    return text[:index].count("\n"), index - (text.rfind("\n", 0, index) + 1)


def started(text=SPEC, uri=URI):
    client = Client()
    return client, client.show(uri, text)


def texts(text, ranges):
    return [(r["start"]["line"], text.split("\n")[r["start"]["line"]][r["start"]["character"]:r["end"]["character"]])
            for r in ranges]


def hints(_):
    client, found = started()
    assert not found, found
    ask = lambda within: {(h["position"]["line"], h["position"]["character"]): h["label"]
                          for h in client.about("inlayHint", URI, range=within)}
    everywhere = ask(WHOLE)
    behind = lambda name: place(SPEC, f"let {name}", 4 + len(name))
    assert everywhere[behind("n")] == ": [B, T, D]" and everywhere[behind("grid")] == ": [B, Y, X, D]", everywhere
    assert everywhere[behind("o")] == ": [B, T, H, E]" and everywhere[behind("pooled")] == ": [B, F]", everywhere
    z = behind("z")
    assert everywhere[z] == ": bool[B, T]" and everywhere[behind("y")] == ": [B, T, D]" and len(everywhere) == 7, everywhere
    line = z[0]
    some = ask({"start": {"line": line, "character": 0}, "end": {"line": line, "character": 30}})
    assert list(some) == [z], some
    # A line that does not parse leaves the hints of the others; those that depend on it stay as they were.
    half = SPEC.replace("let grid = split(", "let grid = = split((")
    client.show("untitled:/half.attn", half)
    broken = {h["position"]["line"] for h in client.about("inlayHint", "untitled:/half.attn", range=WHOLE)}
    assert {behind("n")[0], behind("y")[0]} <= broken and not {behind("grid")[0], behind("pooled")[0]} & broken, broken
    client.show(URI, half)
    assert ask(WHOLE) == everywhere, ask(WHOLE)
    client.show(URI, half.replace("let n =", "let number ="))
    assert behind("n") not in ask(WHOLE)
    # A block that nobody applies has no sizes.
    client.show(URI, "attn 1\nblock A(x: [D]) -> [D] {\n  let y = x\n  return y\n}\n")
    assert ask(WHOLE) == {}
    assert client.about("inlayHint", "untitled:/none.attn", range=WHOLE) == []
    client.close()


def symbols(_):
    client, _ = started()
    (model,) = client.about("documentSymbol", URI)
    own = {s["name"]: s for s in model["children"]}
    assert model["name"] == "M" and {"D", "B", "q", "v", "pos", "other", "near", "Layer", "run", "layers"} <= set(own), own
    assert [s["name"] for s in own["Layer"]["children"]] == ["T", "x", "norm", "n", "o"], own["Layer"]
    assert [s["name"] for s in own["run"]["children"]] == ["ids", "flat", "x", "grid", "y", "z", "pooled"], own["run"]
    assert own["q"]["detail"] == "linear q, k, v: D -> H, E bias", own["q"]
    assert texts(SPEC, [own["Layer"]["selectionRange"]])[0][1] == "Layer" and own["Layer"]["range"]["end"]["line"] > 18

    def check(symbol):
        pair = lambda position: (position["line"], position["character"])
        inside = lambda a, b: pair(b["start"]) <= pair(a["start"]) and pair(a["end"]) <= pair(b["end"])
        assert inside(symbol["selectionRange"], symbol["range"]), symbol
        for child in symbol.get("children", []):
            assert inside(child["range"], symbol["range"]), child
            check(child)

    check(model)
    client.show(URI, SPEC.replace("let n = norm(x)", "let n = norm(x").replace("linear fc1: D -> F", "linear fc1: D F F ="))
    names = {s["name"] for s in client.about("documentSymbol", URI)[0]["children"]}
    assert {"D", "out", "run"} <= names, names
    assert client.about("documentSymbol", "untitled:/none.attn") == []
    client.close()


def references(_):
    client, _ = started()
    uses = lambda at, skip=0, declared=True: texts(SPEC, [r["range"] for r in client.at(
        "references", URI, *place(SPEC, at, skip), context={"includeDeclaration": declared})])
    lines = SPEC.split("\n")
    line = lambda at: next(i for i, text in enumerate(lines) if at in text)
    assert uses("x = words", 0) == [(line("let x"), "x"), (line("let y"), "x")], uses("x = words")
    assert uses("words(ids)", 2, False) == [(line("let x"), "words")]
    # A dim of the block that is applied is not the model's; a pattern names dims in small letters.
    assert (line("part other"), "H") in uses("H = 2") and len(uses("H = 2")) == 5, uses("H = 2")
    assert uses("Y = 4").count((line("let grid"), "y")) == 2, uses("Y = 4")
    assert uses("reach = 2") == [(line("mask near"), "reach")] * 2 + [(line("let o"), "reach")], uses("reach = 2")
    assert uses("attn 1") == [] and client.at("references", URI, 999, 9, context={"includeDeclaration": True}) == []
    client.close()


def rename(_):
    client, _ = started()

    def to(name, at, skip=0, text=SPEC):
        line, character = place(text, at, skip)
        answer = client.answer("textDocument/rename", textDocument={"uri": URI},
                               position={"line": line, "character": character}, newName=name)
        if "error" in answer:
            assert answer["error"]["code"] == -32803, answer
            return answer["error"]["message"]
        after = apply_edits(text, answer["result"]["changes"][URI])
        assert not client.show("untitled:/after.attn", after), after
        return after

    after = to("Rows", "Y = 4")
    assert "Rows = 4" in after and '"b (rows x) d -> b rows x d"' in after and "mean(Rows, X, grid)" in after, after
    after = to("within", "reach = 3")
    assert "; within = 2) = abs(i - j) <= within" in after and "near(within = 3)" in after, after
    # The tensors of the checkpoint keep their names.
    assert 'linear mlp.up: D -> F = "fc1"' in to("mlp.up", "fc1(mean"), to("mlp.up", "fc1(mean")
    assert 'stack all: 2 of Layer = "layers.{n}"' in to("all", "layers(")
    assert "also the name of its tensor" in to("query", "q(n)")
    assert to("Width", "E = D").count("Width") == 3
    assert to("let", "o = attend") == to("a b", "o = attend").replace("a b", "let"), to("let", "o = attend")
    assert "is no name" in to("3x", "o = attend") and "is no name" in to("a.b", "o = attend") and "is no name" in to("", "o = attend")
    assert "declared already" in to("n", "o = attend") and "declared already" in to("D", "H = 2")
    assert "another file, at std/attention.attn:" in to("Mine", "MultiheadAttention")
    assert "nothing that is declared" in to("x", "attn 1")
    # A name that something else needs: positions of a hook are called like the axes.
    hooked = "attn 1\nmodel M {\n  dim D = 8, H = 2, E = 4\n  dyn B <= 4, T <= 8\n  linear q: D -> H, E\n" \
        "  bias away(h, i, j) with param slope: [H] = slope[h] * (i - j)\n  entry run(x: [B, T, D]) -> [B, T, H, E] {\n" \
        "    return attend q(x) over q(x), q(x) along T as S { bias away }\n  }\n}\n"
    assert not client.show(URI, hooked), client.published[URI]
    assert "the spec would be wrong: " in to("Heads", "H = 2", text=hooked)
    client.show(URI, SPEC)
    assert texts(SPEC, [client.at("prepareRename", URI, *place(SPEC, "words(ids)", 5))])[0][1] == "words"
    assert client.at("prepareRename", URI, *place(SPEC, "MultiheadAttention")) is None
    assert client.at("prepareRename", URI, 0, 0) is None and client.at("prepareRename", "untitled:/none.attn", 0, 0) is None
    answer = client.answer("textDocument/rename", textDocument={"uri": URI}, position={"line": 0, "character": 0})
    assert answer["error"]["code"] == -32602, answer
    client.close()


def safetensors(path, names):
    header = {name: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i, name in enumerate(names)}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4 * len(names)))


def completion(folder):
    client, _ = started()

    def offered(old, new, uri=URI, whole=False):
        """What is offered at the bar, with the spec changed."""
        text = SPEC.replace(old, new, 1)
        index = text.index("|")
        client.show(uri, text.replace("|", ""))
        line = text[:index].count("\n")
        answer = client.at("completion", uri, line, index - (text.rfind("\n", 0, index) + 1))
        return answer["items"] if whole else [item["label"] for item in answer["items"]]

    # Declarations, statements, and lines of an attention.
    assert "linear" in offered("model M {\n", "model M {\n  |\n") and "let" not in offered("model M {\n", "model M {\n  |\n")
    assert {"let", "return", "linear"} <= set(offered("    let n", "    |\n    let n"))
    assert offered("attn 1\n", "attn 1\n|\n") == ["use", "model", "block", "cell", "score", "bias", "mask"]
    assert offered("score scaled_dot", "sc|") == ["score", "bias", "cap", "mask", "weight", "return"]
    assert {"scaled_dot", "cosine", "cosines"} <= set(offered("score scaled_dot", "score |"))
    assert {"near", "causal", "none", "prefix"} <= set(offered("mask near(reach = 3)", "mask |"))
    assert {"softmax", "hardmax"} <= set(offered("mask near(reach = 3)", "weight |"))
    # Values: what is named before, of inner scopes first, functions, words.
    values = offered("let o = attend q(n)", "let o = |\n    let p = attend q(n)")
    assert values[:4] == ["T", "x", "norm", "n"] and {"q", "pos", "gelu", "attend", "softmax"} <= set(values), values
    assert "o" not in values and "p" not in values and "ids" not in values, values
    assert "along" in offered("along T", "|") and "as" in offered("as S", "|")
    sorted_by = [item["sortText"] for item in offered("let o = attend q(n)", "let o = |", whole=True)]
    assert sorted_by == sorted(sorted_by) and len(set(sorted_by)) == len(sorted_by), sorted_by
    # Axes and dtypes.
    axes = offered("linear fc1: D -> F", "linear fc1: D -> |")
    assert {"D", "F", "B"} <= set(axes) and not {"q", "gelu", "x"} & set(axes), axes
    assert {"T", "D"} <= set(offered("along T as S", "along |"))
    assert {"f32", "i32", "cache"} <= set(offered("ids: i32", "ids: |"))
    # Blocks, also those of libraries that are not used yet.
    blocks = {item["label"]: item for item in offered("of Layer", "of |", whole=True)}
    assert "Layer" in blocks and not blocks["MultiheadAttention"].get("additionalTextEdits"), blocks
    (edit,) = blocks["VitBlock"]["additionalTextEdits"]
    assert apply_edits(SPEC, [edit]).startswith("attn 1\nuse std.vision\nuse std.attention\n"), edit
    assert "std.vision" in offered("use std.attention", "use |") and "std.vision" in offered("use std.attention", "use std.vi|")
    # A path is replaced as a whole.
    (item,) = [i for i in offered("x + out(o)", "x + mlp.o|", whole=True) if i["label"] == "out"]
    assert item["textEdit"]["range"]["end"]["character"] - item["textEdit"]["range"]["start"]["character"] == 5, item
    # Names of tensors, of a checkpoint beside the spec.
    names = ["words.weight", "fc1.weight", "layers.0.norm.weight", "layers.0.norm.bias", "layers.1.norm.weight", "pos"]
    safetensors(pathlib.Path(folder, "small.safetensors"), names)
    uri = pathlib.Path(folder, "spec.attn").resolve().as_uri()
    with_weights = lambda line: "model M {\n  weights \"small.safetensors\"\n" + line
    assert offered("model M {\n", with_weights('  linear a: D -> F = "|"\n'), uri) == ["fc1", "layers.0.norm", "layers.1.norm", "pos", "words"]
    assert offered("model M {\n", with_weights('  ignore "l|"\n'), uri) == sorted(names)
    within = offered("model M {\n", with_weights('  block A(x: [D]) -> [D] {\n    layernorm a: D = "|"\n    return a(x)\n  }\n'), uri)
    assert within == ["norm"], within
    assert offered("model M {\n", 'model M {\n  weights "none.gguf"\n  linear a: D -> F = "|"\n', uri) == []
    assert offered("model M {\n", 'model M {\n  linear a: D -> F = "|"\n', uri) == []
    # Nothing in comments, in other strings, for new names, and where no document is.
    assert offered("model M {\n", "model M {\n  // |\n") == [] and offered("b (y x) d ->", "b (y |x) d ->") == []
    assert offered("let n =", "let | =") == []
    assert client.at("completion", "untitled:/none.attn", 0, 0)["items"] == []
    client.close()


def hover(_):
    client, _ = started()
    said = lambda at, skip=0: (client.at("hover", URI, *place(SPEC, at, skip)) or {"contents": {"value": ""}})["contents"]["value"]
    assert said("words(ids)") == "```attn\nembedding words: 50 -> D\n```\n`words(ids)`: `[B, T, D]`", said("words(ids)")
    # Inside of an attention each word is what it is.
    assert "A hook is a function of one pair of a query and a key." in said("attend"), said("attend")
    assert said("along T as S", 6).startswith("```attn\ndim T of Layer\n```"), said("along T", 6)
    assert said("as S", 3) == "`S`: `axis of the keys, as long as T`", said("as S", 3)
    assert said("as S", 0) == "" and "score is `scaled_dot` where none is given" in said("score "), said("score ")
    assert said("near(reach").startswith("```attn\nmask near(i, j; reach = 2)"), said("near(reach")
    assert said("i - j").endswith("`i`: `position along T`") and said("- j", 2).endswith("`j`: `position along S`"), said("i - j")
    assert said("reach\n").startswith("```attn\nstatic reach of near"), said("reach\n")
    assert said("mean(").startswith("`mean(Y, X, grid)`: `[B, D]`\n\n1. `sum(N, x)`"), said("mean(")
    assert "abs" in said("abs(i"), said("abs(i")
    assert said("attn 1", 5) == "" and client.at("hover", URI, 999, 0) is None
    client.close()


def library(folder):
    os.environ["XDG_CACHE_HOME"] = folder
    client, _ = started()
    (where,) = client.at("definition", URI, *place(SPEC, "MultiheadAttention"))
    path = pathlib.Path(where["uri"].removeprefix("file://"))
    assert path.is_relative_to(pathlib.Path(folder).resolve() / "attn") and path.name == "attention.attn", path
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    text = path.read_text()
    assert texts(text, [where["range"]])[0][1] == "MultiheadAttention", where
    assert text == pathlib.Path(sys.argv[3]).read_text()
    before = path.stat().st_mtime_ns
    # The copy is a document like others, and stays as it is.
    assert client.show(where["uri"], text) == [] and client.about("documentSymbol", where["uri"])
    assert client.at("definition", URI, *place(SPEC, "MultiheadAttention")) == [where] and path.stat().st_mtime_ns == before
    path.chmod(0o644)
    path.write_text("changed")
    assert client.at("definition", URI, *place(SPEC, "MultiheadAttention")) == [where] and path.read_text() == text
    (dim,) = client.at("definition", URI, *place(SPEC, "H: H"))
    assert dim["uri"] == where["uri"] and texts(text, [dim["range"]])[0][1] == "H", dim
    client.close()
    # Where no copy can be made there is no definition.
    os.environ["XDG_CACHE_HOME"] = "/dev/null"
    client, _ = started()
    assert client.at("definition", URI, *place(SPEC, "MultiheadAttention")) == []
    client.close()


def tokens(_):
    client, _ = started()
    types = client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
    data, line, column, found = client.about("semanticTokens/full", URI)["data"], 0, 0, []
    for i in range(0, len(data), 5):
        line, column = line + data[i], data[i + 1] + (0 if data[i] else column)
        found.append((SPEC.split("\n")[line][column:column + data[i + 2]], types[data[i + 3]], bool(data[i + 4])))
    for token in (("M", "namespace", True), ("D", "type", True), ("D", "type", False), ("words", "function", False),
                  ("Layer", "class", True), ("run", "method", True), ("ids", "parameter", False), ("pooled", "variable", False),
                  ("pos", "property", True), ("y", "type", False)):
        assert token in found, (token, found)
    assert client.about("semanticTokens/full", "untitled:/none.attn")["data"] == []
    client.close()


globals()[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else None)
print(sys.argv[1], "are right")

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long the server takes for each request about a spec, in milliseconds: the median and the most of several.

    times.py SPEC [TIMES]
"""
import pathlib
import statistics
import sys
import time

from client import WHOLE, Client, read_text


def main():
    path, times = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    text, uri, client, taken = read_text(path), path.as_uri(), Client(), {}
    lines = text.split("\n")
    line = max(range(len(lines)), key=lambda i: lines[i].startswith("    ") * len(lines[i]))
    place = {"line": line, "character": len(lines[line]) - 3}

    def clock(name, ask):
        start = time.perf_counter()
        ask()
        taken.setdefault(name, []).append(1000 * (time.perf_counter() - start))

    for i in range(times):
        clock("diagnostics of a change", lambda: client.show(uri, text + f"// {i}\n"))
        clock("diagnostics of a text with an error", lambda: client.show(uri, text[:len(text) * 2 // 3]))
        client.show(uri, text)
        for method in ("hover", "definition", "completion", "prepareRename"):
            clock(method, lambda: client.at(method, uri, **place))
        clock("references", lambda: client.at("references", uri, **place, context={"includeDeclaration": True}))
        clock("rename", lambda: client.answer("textDocument/rename", textDocument={"uri": uri}, position=place, newName="fresh"))
        clock("codeAction", lambda: client.about("codeAction", uri, range=WHOLE, context={"diagnostics": []}))
        clock("inlayHint", lambda: client.about("inlayHint", uri, range=WHOLE))
        for method in ("documentSymbol", "semanticTokens/full"):
            clock(method, lambda: client.about(method, uri))
        clock("formatting", lambda: client.about("formatting", uri, options={}))
    client.close()
    for name, list_of in taken.items():
        print(f"{name:40} {statistics.median(list_of):8.2f} {max(list_of):8.2f}")


main()

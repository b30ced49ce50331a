# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A client of attn-lsp-server for tests: a session over stdin and stdout, and edits of texts."""
import json
import pathlib
import subprocess


class Client:
    """A server that is running, and the documents that it was shown."""

    def __init__(self, server="attn-lsp-server", **parameters):
        self.process = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0
        self.versions = {}
        self.published = {}
        self.capabilities = self.request("initialize", processId=1, capabilities={}, **parameters)["capabilities"]
        self.notify("initialized")

    def send(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()

    def read(self):
        length = None
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert length is not None, "the server has ended"
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, **params):
        self.send({"method": method, "params": params})

    def answer(self, method, **params):
        """The answer to a request: an object with `result` or `error`. What is published before it is kept."""
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        while (message := self.read()).get("id") != self.last:
            if message.get("method") == "textDocument/publishDiagnostics":
                self.published[message["params"]["uri"]] = message["params"]["diagnostics"]
        return message

    def request(self, method, **params):
        answer = self.answer(method, **params)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def show(self, uri, text):
        """Opens a document, or gives it another text. What is wrong with it is returned."""
        version = self.versions[uri] = self.versions.get(uri, 0) + 1
        if version == 1:
            self.notify("textDocument/didOpen",
                        textDocument={"uri": uri, "languageId": "attn", "version": 1, "text": text})
        else:
            self.notify("textDocument/didChange", textDocument={"uri": uri, "version": version},
                        contentChanges=[{"text": text}])
        message = self.read()
        assert message["method"] == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri, message
        assert message["params"]["version"] == version, message
        self.published[uri] = message["params"]["diagnostics"]
        return self.published[uri]

    def at(self, method, uri, line, character, **more):
        """The result of a request about a position."""
        return self.request("textDocument/" + method, textDocument={"uri": uri},
                            position={"line": line, "character": character}, **more)

    def about(self, method, uri, **more):
        """The result of a request about a document."""
        return self.request("textDocument/" + method, textDocument={"uri": uri}, **more)

    def close(self):
        self.request("shutdown")
        self.notify("exit")
        assert self.process.wait(timeout=60) == 0, self.process.returncode


WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 1 << 30, "character": 0}}


def read_text(path):
    """A spec as an editor sends it, which is text."""
    return pathlib.Path(path).read_bytes().decode("utf-8", "replace")


def offset(text, position):
    """The index of a position in a text; its columns count UTF-16 units."""
    lines = text.splitlines(keepends=True) or [""]
    before = sum(len(line) for line in lines[:position["line"]])
    rest, units = text[before:], 0
    for i, letter in enumerate(rest):
        if units >= position["character"]:
            return before + i
        units += 2 if ord(letter) > 0xFFFF else 1
    return len(text)


def apply_edits(text, edits):
    """A text with the edits of one document made."""
    spans = sorted(((offset(text, e["range"]["start"]), offset(text, e["range"]["end"]), e["newText"]) for e in edits),
                   reverse=True)
    for begin, end, new in spans:
        text = text[:begin] + new + text[end:]
    return text

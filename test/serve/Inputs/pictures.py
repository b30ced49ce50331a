# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures in chats over HTTP: what a small Qwen2-VL folder with random weights (test/import/prompts.py) answers on the command line.

usage: pictures.py FOLDER"""
import base64
import json
import os
import subprocess
import sys

from server import Server

folder = os.path.join(sys.argv[1], "qwen2_vl")
for part in ("numeric", "import"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..", part))
from prompts import FORMS, draw  # noqa: E402


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


FORMS["qwen2_vl"].publish(folder, "qwen2_vl")
file, program = draw(folder)[0], f"{folder}/served"
run("attn", "import", folder, "-o", f"{folder}/spec.attn")
run("attn", "compile", "-O0", f"{folder}/spec.attn", "--weights", folder, "--embed-weights", "--with-server", "-o", program)
wanted = [run(program, "--chat", *options, text="And\n")[:-1] for options in (["--image", file], [])]
server = Server([program])
url = "data:image/png;base64," + base64.b64encode(open(file, "rb").read()).decode()
picture, text = {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}, {"type": "text", "text": "And"}


def ask(path, request):
    status, _, body = server.ask("POST", path, json.dumps(request))
    return status, json.loads(body)


def said(content):
    status, answer = ask("/v1/chat/completions", {"messages": [{"role": "user", "content": content}]})
    assert status == 200, answer
    return answer["choices"][0]["message"]["content"]


assert said([picture, text]) == wanted[0] != wanted[1] == said([text]), wanted
items = [{"role": "user", "content": [{"type": "input_image", "image_url": url}, {"type": "input_text", "text": "And"}]}]
assert ask("/v1/responses", {"input": items})[1]["output"][0]["content"][0]["text"] == wanted[0]
for given, words in [("data:image/png;base64,AAAA", "of the request"), ("data:image/png;base64,A?A", "something else than base64"), ("data:image/png,AAAA", "expected data:image/png")]:
    status, answer = ask("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": given}}]}]})
    assert status == 400 and words in answer["error"]["message"], answer
print(f"pictures in chats and responses, exit code {server.end()[0]}")

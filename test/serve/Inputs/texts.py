# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts over HTTP: vectors, scores and classes are those that the command line writes, to the bit, whatever other texts are asked for at
the same time; completions and chats are its answers, whole and piece by piece; mistakes get messages.

usage: texts.py FOLDER STORY [PROGRAM], where FOLDER is a new one and STORY that of the example; a program of that example is asked for completions alone
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
from server import Server

folder, story, *given = sys.argv[1:]
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../import"))
import make  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "a", "on", "mat", "prices", "is", "up", "!", "##s", "sit", "ris", "##e"]
TEXTS = ["the cat sat", "a cat sits on the mat", "prices rise", "the market is up!", "one", "cat cat cat cat cat cat", "the mat sat"]
LABELS = {str(i): name for i, name in enumerate(["bad", "good", "none"])}


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def compiled(family, config=None):
    """A program with a server and weights of a family of test/import/make.py, with a vocabulary."""
    if config:
        make.FAMILIES[family] = config
    path = f"{folder}/{family}"
    make.make(family, path, 1)
    vocabulary = json.load(open(f"{path}/config.json"))["vocab_size"]
    with open(f"{path}/vocab.txt", "w") as file:
        file.write("\n".join(WORDS + [f"word{i}" for i in range(vocabulary - len(WORDS))]) + "\n")
    run("attn", "import", path, "-o", f"{path}/spec.attn")
    run("attn", "compile", "-O0", f"{path}/spec.attn", "--weights", path, "--embed-weights", "--with-server", "-o", f"{path}/program")
    return f"{path}/program"


def post(server, path, request):
    status, headers, body = server.ask("POST", path, request if isinstance(request, str) else json.dumps(request))
    return status, json.loads(body)


def lines(program, rows):
    """What `--lines` makes of rows of JSON."""
    with open(f"{folder}/in.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    shutil.rmtree(f"{folder}/out", ignore_errors=True)
    run(program, "--lines", f"{folder}/in.jsonl", "--output", f"{folder}/out")
    return [json.loads(line) for line in open(f"{folder}/out/results.jsonl")]


def vectors():
    program = compiled("minilm")
    with open(f"{folder}/lines.txt", "w") as file:
        file.write("\n".join(TEXTS) + "\n")
    run(program, "--embed", "--file", f"{folder}/lines.txt", "--output", f"embedding={folder}/wanted.npy")
    wanted = np.load(f"{folder}/wanted.npy")
    server = Server([program])
    name = json.loads(server.ask("GET", "/v1/models")[2])["data"][0]["id"]
    status, answer = post(server, "/v1/embeddings", {"model": name, "input": TEXTS})
    assert status == 200 and answer["model"] == name, answer
    got = np.array([row["embedding"] for row in answer["data"]], np.float32)
    assert [row["index"] for row in answer["data"]] == list(range(len(TEXTS))) and got.tobytes() == wanted.tobytes()
    tokens = [[int(one) for one in run("attn", "tokenize", f"{folder}/minilm/vocab.txt", text, "--ids").split()] for text in TEXTS]
    assert answer["usage"] == {"prompt_tokens": sum(map(len, tokens)), "total_tokens": sum(map(len, tokens))}
    problems = []

    def ask(number):
        which = [(number + i) % len(TEXTS) for i in range(1 + number % 4)]
        given = [tokens[i] for i in which] if number % 3 == 0 else [TEXTS[i] for i in which]
        given = given[0] if len(given) == 1 else given
        coded, row = number % 2 == 0, {}
        status, answer = post(server, "/v1/embeddings", {"input": given, "encoding_format": "base64" if coded else "float", "user": "someone"})
        for i, row in zip(which, answer["data"]):
            values = np.frombuffer(base64.b64decode(row["embedding"]), "<f4") if coded else np.array(row["embedding"], np.float32)
            if values.tobytes() != wanted[i].tobytes():
                problems.append((number, i))

    threads = [threading.Thread(target=ask, args=[number]) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems
    most = int(post(server, "/v1/embeddings", {"input": " ".join(["cat"] * 5000)})[1]["error"]["message"].split(" takes ")[1].split()[0])
    cut = post(server, "/v1/embeddings", {"input": " ".join(["cat"] * 5000), "truncate": True})[1]["data"][0]["embedding"]
    assert cut == post(server, "/v1/embeddings", {"input": " ".join(["cat"] * (most - 2))})[1]["data"][0]["embedding"]
    for request, code, words in [
        ('{"input": "a"', 400, "the body is no JSON"),
        ([1], 400, "the request is no JSON object"),
        ({}, 400, "`input` is missing"),
        ({"input": []}, 400, "`input` is empty"),
        ({"input": [[]]}, 400, "an empty list of tokens"),
        ({"input": ["a", 3]}, 400, "an element of `input` is no string"),
        ({"input": ["a", [3]]}, 400, "`input` mixes texts and tokens"),
        ({"input": [3, -1]}, 400, "something else than texts and tokens"),
        ({"input": [3, 10**7]}, 400, "10000000"),
        ({"input": "a", "inputs": "b"}, 400, "no field `inputs`: it has model, input, encoding_format"),
        ({"input": "a", "model": 3}, 400, "`model` is not a string"),
        ({"input": "a", "model": "gpt-5"}, 404, "there is no model `gpt-5`"),
        ({"input": "a", "encoding_format": "hex"}, 400, "expected float or base64"),
        ({"input": "a", "dimensions": 7}, 400, "`dimensions` is 7"),
        ({"input": "cat " * 5000}, 400, "the text has 5002 tokens"),
        ({"input": ["cat"] * 2049}, 400, "more than 2048 texts"),
        ({"input": [[5]] * 2049}, 400, "more than 2048 texts"),
    ]:
        status, answer = post(server, "/v1/embeddings", request)
        message = answer["error"]["message"]
        assert status == code and words in message and answer["error"]["type"] == "invalid_request_error", (request, status, message)
    assert post(server, "/rerank", {"query": "a", "texts": ["b"]})[0] == 404
    assert server.ask("GET", "/v1/embeddings")[0] == 405
    # An entry whose rows are as long as the text makes no vectors.
    with open(f"{folder}/wide.attn", "w") as file:
        file.write("attn 1\nmodel Wide {\n  dim V = 97, D = 4\n  dyn B <= 8, T <= 40\n  embedding table: V -> D\n"
                   "  entry run(ids: i32[B, T]) -> embedding: f32[B, T] {\n    return mean(D, table(ids))\n  }\n}\n")
    run("attn", "compile", f"{folder}/wide.attn", "--with-server", "-o", f"{folder}/wide")
    wide = Server([f"{folder}/wide", "--weights", "random", "--tokenizer", f"{folder}/minilm/vocab.txt"])
    status, answer = post(wide, "/v1/embeddings", {"input": "the cat"})
    assert status == 404 and "no model here makes vectors of texts" in answer["error"]["message"], answer
    print(f"{len(TEXTS)} vectors, {wanted.shape[1]} wide: those of the command line")


def scores():
    config, shapes, files = make.FAMILIES["bert-classes"]
    program = compiled("rerank", ({**config, "id2label": {"0": "LABEL_0"}}, shapes, files))
    rows = lines(program, [{"id": i, "text": TEXTS[0], "text_pair": text} for i, text in enumerate(TEXTS)])
    server = Server([program])
    status, answer = post(server, "/rerank", {"query": TEXTS[0], "texts": TEXTS, "return_text": True})
    assert status == 200 and len(answer) == len(TEXTS), answer
    order = [row["index"] for row in answer]
    given = [row["score"] for row in answer]
    assert given == sorted(given, reverse=True) and sorted(order) == list(range(len(TEXTS)))
    assert all(TEXTS[row["index"]] == row["text"] and 0 < row["score"] < 1 for row in answer)
    raw = {row["index"]: row["score"] for row in post(server, "/rerank", {"query": TEXTS[0], "texts": TEXTS, "raw_scores": True})[1]}
    assert all(abs(1 / (1 + np.exp(-raw[row["index"]])) - row["score"]) < 1e-6 for row in answer)
    assert len(rows) == len(TEXTS) and all(abs(row["scores"][0] - next(one["score"] for one in answer if one["index"] == row["id"])) < 1e-6 for row in rows), rows
    for path in ("/v1/rerank", "/v2/rerank", "/rerank"):
        status, other = post(server, path, {"query": TEXTS[0], "documents": [{"text": text} for text in TEXTS], "top_n": 3, "return_documents": True})
        assert [row["index"] for row in other["results"]] == order[:3] and [row["relevance_score"] for row in other["results"]] == given[:3], other
        assert other["results"][0]["document"] == {"text": TEXTS[order[0]]}
    for request, words in [({"texts": ["a"]}, "`query` is missing"), ({"query": "a"}, "expected one of `documents`"), ({"query": "a", "texts": []}, "`texts` is empty"),
                           ({"query": "a", "texts": "b"}, "`texts` is no list"), ({"query": "a", "documents": [{"title": "b"}]}, "a document has no field `title`"),
                           ({"query": "a", "documents": [3]}, "an element of `documents` is no string")]:
        status, answer = post(server, "/rerank", request)
        assert status == 400 and words in answer["error"], answer
    print("scores of pairs, the best first")


def classes():
    config, shapes, files = make.FAMILIES["bert-classes"]
    program = compiled("classes", ({**config, "id2label": LABELS}, shapes, files))
    server = Server([program])
    status, one = post(server, "/predict", {"inputs": TEXTS[0]})
    assert status == 200 and sorted(row["label"] for row in one) == sorted(LABELS.values()), one
    assert abs(sum(row["score"] for row in one) - 1) < 1e-6 and [row["score"] for row in one] == sorted((row["score"] for row in one), reverse=True)
    rows = lines(program, [{"id": i, "text": text} for i, text in enumerate(TEXTS)])
    status, several = post(server, "/predict", {"inputs": [[text] for text in TEXTS]})
    assert several[0] == one and len(several) == len(TEXTS)
    for row, mine in zip(rows, several):
        assert row["labels"] == [label["label"] for label in mine] and np.allclose(row["scores"], [label["score"] for label in mine], atol=1e-6), (row, mine)
    pair = post(server, "/predict", {"inputs": [TEXTS[0], TEXTS[1]]})[1]
    assert pair == post(server, "/predict", {"inputs": [[TEXTS[0], TEXTS[1]]]})[1][0] != one
    for request, words in [({}, "`inputs` is missing"), ({"inputs": ["a", "b", "c"]}, "no list of one text, or of two"), ({"inputs": [["a"], 3]}, "is no string")]:
        status, answer = post(server, "/predict", request)
        assert status == 400 and words in answer["error"], answer
    assert "it classifies" in post(server, "/rerank", {"query": "a", "texts": ["b"]})[1]["error"]
    print("classes of texts and of pairs")


TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"
PROMPT = "In the beginning"


def completions():
    shutil.copytree(story, f"{folder}/story")
    with open(f"{folder}/story/chat_template.jinja", "w") as file:
        file.write(TEMPLATE)
    if given:
        command = [*given, "--weights", f"{folder}/story"]
    else:
        command = [f"{folder}/story/program"]
        run("attn", "compile", f"{story}/story.attn", "--weights", f"{folder}/story", "--embed-weights", "--with-server", "-o", *command)
    server = Server(command)
    wanted = run(*command, "--prompt", PROMPT, "--max-tokens", "30", "--temperature", "0")[:-1]
    base = {"prompt": PROMPT, "max_tokens": 30, "temperature": 0}
    status, answer = post(server, "/v1/completions", base)
    choice = answer["choices"][0]
    assert status == 200 and choice["text"] == wanted and choice["finish_reason"] == "length", (answer, wanted)
    assert answer["usage"]["completion_tokens"] == 30
    status, answer = post(server, "/v1/completions", {**base, "stop": [wanted[12:16], "not there"], "n": 1, "frequency_penalty": 0.0})
    assert answer["choices"][0]["text"] == wanted[:12] and answer["choices"][0]["finish_reason"] == "stop", answer

    def events(path, request):
        status, headers, body = server.ask("POST", path, json.dumps({**request, "stream": True, "stream_options": {"include_usage": True}}))
        assert status == 200 and headers["Content-Type"] == "text/event-stream" and headers["X-Queue-Length"] is not None, body
        blocks = body.decode().split("\n\n")
        assert blocks[-1] == "" and blocks[-2] == "data: [DONE]"
        return [json.loads(block[len("data: "):]) for block in blocks[:-2]]

    pieces = events("/v1/completions", base)
    assert len(pieces) > 10 and "".join(piece["choices"][0]["text"] for piece in pieces[:-1]) == wanted
    assert [piece["choices"][0]["finish_reason"] for piece in pieces[:-1]] == [None] * (len(pieces) - 2) + ["length"]
    assert pieces[-1]["choices"] == [] and pieces[-1]["usage"]["completion_tokens"] == 30
    chat = {"messages": [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}], "max_completion_tokens": 30, "temperature": 0}
    status, answer = post(server, "/v1/chat/completions", chat)
    # The template of this test adds nothing, and the special tokens that a prompt begins with are the template's to write.
    said = answer["choices"][0]["message"]
    assert status == 200 and said["role"] == "assistant" and answer["object"] == "chat.completion", answer
    pieces = events("/v1/chat/completions", chat)
    assert pieces[0]["choices"][0]["delta"]["role"] == "assistant" and pieces[0]["object"] == "chat.completion.chunk"
    assert "".join(piece["choices"][0]["delta"].get("content", "") for piece in pieces[:-1]) == said["content"]
    drawn = {"prompt": PROMPT, "max_tokens": 20, "temperature": 1}
    same = [post(server, "/v1/completions", {**drawn, "seed": 7})[1]["choices"][0]["text"] for _ in range(2)]
    assert same[0] == same[1] == run(*command, "--prompt", PROMPT, "--max-tokens", "20", "--temperature", "1", "--seed", "7")[:-1]
    assert len({post(server, "/v1/completions", drawn)[1]["choices"][0]["text"] for _ in range(4)}) > 1

    # A client that goes away in the middle stops its text; the server goes on.
    connection = server.connect()
    connection.request("POST", "/v1/completions", json.dumps({**base, "max_tokens": 256, "stream": True}))
    response = connection.getresponse()
    response.read1(10)
    response.close()
    connection.close()
    problems = []

    def ask(number):
        status, answer = post(server, "/v1/completions", base)
        if status != 200 or answer["choices"][0]["text"] != wanted:
            problems.append(answer)

    threads = [threading.Thread(target=ask, args=[number]) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[0]
    for request, code, words in [
        ({"prompt": "a", "n": 2}, 400, "`n` may only be 1 here"),
        ({"prompt": 3}, 400, "`prompt` is no string"),
        ({"prompt": []}, 400, "`prompt` is empty"),
        ({"prompt": ["a", "b"]}, 400, "expected one text a request"),
        ({"prompt": ""}, 400, "the prompt has no tokens"),
        ({"max_tokens": 3}, 400, "`prompt` is missing"),
        ({"prompt": "a", "temperatur": 1}, 400, "no field `temperatur`: it has model, prompt"),
        ({"prompt": "a", "temperature": -1}, 400, "expected at least 0"),
        ({"prompt": "a", "temperature": "hot"}, 400, "`temperature` is not a number"),
        ({"prompt": "a", "top_p": 2}, 400, "expected 0 to 1"),
        ({"prompt": "a", "max_tokens": 0}, 400, "expected 1 at least"),
        ({"prompt": "a", "max_tokens": 100000}, 400, "`max_tokens` is 100000, expected 1 to 256"),
        ({"prompt": "a", "max_tokens": 1.5}, 400, "`max_tokens` is not a whole number"),
        ({"prompt": "a", "stop": [""]}, 400, "an element of `stop` is empty"),
        ({"prompt": "a", "stream": "yes"}, 400, "`stream` is not true or false"),
        ({"prompt": "a", "stream": True, "stream_options": {"usage": True}}, 400, "`stream_options` has no field `usage`"),
        ({"prompt": "a", "stream": True, "min_p": -2}, 400, "expected 0 to 1"),
        ({"prompt": "a", "response_format": {"type": "xml"}}, 400, "a format is of type `xml`, expected `text`"),
        ({"prompt": "a", "logit_bias": {"x": 1}}, 400, "`logit_bias` says \"x\", expected the id of a token"),
        ({"prompt": "a " * 5000}, 400, "tokens"),
    ]:
        status, answer = post(server, "/v1/completions", request)
        assert status == code and words in answer["error"]["message"], (request, status, answer)
    for request, words in [({"messages": []}, "`messages` is empty"), ({"messages": "a"}, "`messages` is no list"), ({"messages": [{"content": "a"}]}, "has no `role`"),
                           ({"messages": [{"role": "user"}]}, "has no `content`"), ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "is of type `image_url`, or without what that says"),
                           ({"messages": [{"role": "user", "content": "a", "names": "b"}]}, "no field `names`"), ({"messages": [{"role": "user", "content": "a"}], "tools": [3]}, "an element of `tools` is no JSON object")]:
        status, answer = post(server, "/v1/chat/completions", request)
        message = answer["error"]["message"]
        assert status == 400 and words in message, (request, answer)
    print("completions and chats, whole and streamed")


for part in (completions,) if given else (vectors, scores, classes, completions):
    part()

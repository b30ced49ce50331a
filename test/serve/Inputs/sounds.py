# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""/v1/audio/transcriptions of a small Whisper folder with random weights (test/import/speech.py): the text and the times that the command line
writes, in each form; forms that are none get messages.

usage: sounds.py FOLDER"""
import json
import os
import re
import subprocess
import sys

from server import Server

folder = sys.argv[1]
for part in ("numeric", "import"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..", part))
from sound_twin import wav  # noqa: E402
from speech import LANGUAGES, TRANSCRIBE, TRANSLATE, make, speech  # noqa: E402


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def form(fields):
    body = b""
    for name, value in fields.items():
        file = '; filename="a.wav"\r\nContent-Type: audio/wav' if name == "file" else ""
        value = value if isinstance(value, bytes) else str(value).encode()
        body += f'--boundary7\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + value + b"\r\n"
    return body + b"--boundary7--\r\n"


own = f"{folder}/whisper"
make(own, 38, dict(is_multilingual=True, lang_to_id={f"<|{name}|>": 258 + i for i, name in enumerate(LANGUAGES)}, task_to_id=dict(transcribe=TRANSCRIBE, translate=TRANSLATE)))
wav(f"{own}/speech.wav", speech(35, 0)[:, None], 16000, "16")
run("attn", "import", own, "-o", f"{own}/w.attn")
program = f"{own}/w"
run("attn", "compile", "-O0", f"{own}/w.attn", "--weights", own, "--embed-weights", "--with-server", "-o", program)
command = [program, "--input", f"mel={own}/speech.wav", "--language", "de"]
wanted, timed = run(*command)[:-1], run(*command, "--timestamps").splitlines()
sound = open(f"{own}/speech.wav", "rb").read()
server = Server([program])


def ask(path="/v1/audio/transcriptions", **fields):
    status, headers, body = server.ask("POST", path, form(fields), {"Content-Type": "multipart/form-data; boundary=boundary7"})
    return status, headers["Content-Type"], body.decode()


status, kind, body = ask(file=sound, language="de")
assert (status, kind, json.loads(body)) == (200, "application/json", {"text": wanted}), body
assert ask(file=sound, language="de", response_format="text")[2] == wanted + "\n"
verbose = json.loads(ask(file=sound, language="de", response_format="verbose_json")[2])
lines = [f"[{int(one['start']) // 60:02}:{one['start'] % 60:05.2f} -> {int(one['end']) // 60:02}:{one['end'] % 60:05.2f}] {one['text'].lstrip(' ')}" for one in verbose["segments"]]
assert lines == timed and verbose["language"] == "de" and verbose["task"] == "transcribe", (lines, timed)
for kind in ("srt", "vtt"):
    text = ask(file=sound, language="de", response_format=kind)[2]
    times = re.findall(r"(\d+):(\d+):(\d+)[,.](\d+) --> ", text)
    begins = [int(h) * 3600 + int(m) * 60 + int(s) + int(t) / 1000 for h, m, s, t in times]
    assert begins == [one["start"] for one in verbose["segments"]] and text.startswith("WEBVTT\n\n" if kind == "vtt" else "1\n"), text
events = ask(file=sound, language="de", stream="true")[2].split("\n\n")[:-1]
events = [json.loads(event.split("data: ")[1]) for event in events]
assert "".join(event.get("delta", "") for event in events) == events[-1]["text"] == wanted and events[-1]["type"] == "transcript.text.done", events
assert json.loads(ask("/v1/audio/translations", file=sound, language="de")[2])["text"] == run(*command, "--task", "translate")[:-1]
for code, words, fields in [(400, "`file` is missing", {"language": "de"}), (400, "has no language `fr`", {"file": sound, "language": "fr"}),
                            (400, "the sound of the request cannot be read", {"file": b"RIFF"}), (400, "no field `size`", {"file": sound, "size": 3}),
                            (400, "`response_format` is none of", {"file": sound, "response_format": "xml"}), (400, "`prompt` may only be empty", {"file": sound, "prompt": "a"}),
                            (400, "may only be segment", {"file": sound, "timestamp_granularities[]": "word"}), (404, "there is no model `other`", {"file": sound, "model": "other"})]:
    status, _, body = ask(**fields)
    assert status == code and words in json.loads(body)["error"]["message"], (words, status, body)
for body, words in [(b"", "does not begin with a boundary"), (b"--a\r\n", "no last boundary"), (b"--\r\n", "too short"), (b"--boundary\r\nX: y\r\n\r\n", "no last boundary"),
                    (b"--boundary\r\nX: y\r\n\r\n\r\n--boundary--", "a part has no name"), (form({"file": b"a"})[:-4] + b"x", "follows a boundary")]:
    status, _, answer = server.ask("POST", "/v1/audio/transcriptions", body)
    assert status == 400 and words in json.loads(answer)["error"]["message"], (body, answer)
print(f"{len(timed)} segments, in each form those of the command line, exit code {server.end()[0]}")

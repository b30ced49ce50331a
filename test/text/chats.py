#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A chat with examples/story: each answer is what the model goes on with from the whole conversation, which Jinja writes, computed anew; but
of each turn only the tokens that are new are read.

usage: chats.py SPEC FOLDER, where FOLDER has the checkpoint and its tokenizer; programs and templates go there"""
import json
import os
import re
import subprocess
import sys

from templates import environment

TEMPLATE = """{{ bos_token }}{% for message in messages %}
{% if message.role == 'system' %}
{{ message.content }}
{% elif message.role == 'user' %}
And the people asked him, saying, {{ message.content | trim }}
And he answered and said,
{%- else %}
{{ message.content }}
{% endif %}
{% endfor %}"""
SYSTEM, TURNS = "Now these are the words of Solomon.", ["Who is the king?", "Where is he?", "Wherefore art thou come, Ümbra 😀?", "Say on."]


def run(*command, text="", code=0):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == code, f"{command}: exit {done.returncode}\n{done.stderr}"
    return done.stdout, done.stderr


def talk(run_chat, run_prompt, template, numbers, system):
    """What is said in a chat, beside the same turns one by one."""
    options = (["--system", system] if system else []) + numbers
    said, speed = run_chat(options, "\n".join(TURNS) + "\n")
    answers, kept = said.split("\n")[:-1], re.findall(r"(\d+) tokens read(?: behind (\d+))?.*, (\d+) written", speed)
    assert len(answers) == len(TURNS) == len(kept), f"{said}\n{speed}"
    messages = [{"role": "system", "content": system}] if system else []
    held = 0
    for turn, answer, (read, behind, written) in zip(TURNS, answers, kept):
        messages.append({"role": "user", "content": turn})
        whole = template.render(messages=messages, add_generation_prompt=True, bos_token="And")
        alone, speed = run_prompt(numbers, whole)
        assert alone == answer + "\n", f"{answer!r}, but of the whole text {alone!r}"
        all_read = int(re.match(r"(\d+) tokens", speed)[1])
        assert int(read) + int(behind or 0) == all_read, (read, behind, all_read)
        # What was read before is not read again.
        assert held <= int(behind or 0), f"{behind} tokens are kept of {held}"
        held = all_read
        messages.append({"role": "assistant", "content": answer})


def main():
    spec, folder = sys.argv[1:]
    with open(f"{folder}/chat_template.jinja", "w") as file:
        file.write(TEMPLATE)
    with open(f"{folder}/tokenizer_config.json", "w") as file:
        json.dump({"bos_token": {"content": "And"}, "chat_template": "{{ not this one }}"}, file)
    program = f"{folder}/program"
    run("attn", "compile", "-O0", spec, "--weights", folder, "--embed-weights", "-o", program)
    os.remove(f"{folder}/chat_template.jinja")
    template = environment().from_string(TEMPLATE)
    prompt = lambda numbers, text: run(program, *numbers, "--prompt", text)
    embedded = lambda options, text: run(program, "--chat", *options, text=text)
    for numbers in (["--temperature", "0", "--max-tokens", "24"], ["--seed", "5", "--max-tokens", "40"]):
        for system in (None, SYSTEM):
            talk(embedded, prompt, template, numbers + ["--stop", "\n"], system)
    # The same of a spec, with the template as one of several in the config.
    with open(f"{folder}/tokenizer_config.json", "w") as file:
        json.dump({"bos_token": "And", "chat_template": [{"name": "tool_use", "template": "x"}, {"name": "default", "template": TEMPLATE}]}, file)
    of_spec = lambda options, text: run("attn", "run", "-O0", spec, "--weights", folder, "--chat", *options, text=text)
    talk(of_spec, prompt, template, ["--temperature", "0", "--max-tokens", "9", "--stop", "\n"], SYSTEM)
    long = "and the word " * 300
    wrong = run(program, "--chat", text=long + "\n", code=1)[1]
    assert re.search(r"R0215\]: the prompt has \d+ tokens, but the context has room for 768", wrong), wrong
    run(program, "--chat", "--truncate", "--max-tokens", "5", text=long + "\nWho?\n")
    print(f"{len(TURNS)} turns: the answers of the whole conversation")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers of models read back: what the templates of test/text (and those given) make of calls of tools, and answers as the makers of the models
write them, become the same calls and thoughts, whole, in pieces of any size, and cut off anywhere.

usage: answers.py DRIVER TEMPLATES [TEMPLATE...]   # folders or .jinja files"""
import glob
import json
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../text"))
from templates import environment  # noqa: E402

CONTENT, THOUGHT, CALL = 0, 1, 2
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather of a place", "parameters": {
    "type": "object", "required": ["place"], "properties": {
        "place": {"type": "string"}, "days": {"type": "integer"}, "parts": {"type": "array", "items": {"type": "string"}}, "sure": {"type": "boolean"},
        "code": {"type": ["string", "null"]}, "more": {"type": "object"}}}}},
    {"type": "function", "function": {"name": "run-it_2", "description": "Runs it", "parameters": {"type": "object", "properties": {"code": {"type": "string"}}}}}]
CALLS = [("weather", {"place": "Köln", "days": 3}),
         ("run-it_2", {"code": "if (a < b) {\n  print(\"}\");\n}"}),
         ("weather", {"place": "3", "parts": ["a", "b\"]"], "more": {"x": {"y": [1, 2.5, None, True]}}, "sure": False})]
ENDS = r"(<\|im_end\|>|</s>|<\|eot_id\|>|<\|eom_id\|>|<\|end_of_text\|>|<\|end▁of▁sentence\|>|<｜end▁of▁sentence｜>|<\|END_OF_TURN_TOKEN\|>|<\|end\|>|<\|call\|>|<\|return\|>" \
       r"|<end_of_turn>|<turn\|>|<\|endoftext\|>|\[e~\[|<\|eom\|>|<\|eot\|>|<\|stop\|>)?\s*$"


class Driver:
    def __init__(self, program):
        self.program, self.cases = program, []

    def add(self, template, pieces, prompt="", tools=TOOLS):
        self.cases.append({"template": template, "prompt": prompt, "tools": json.dumps(tools, ensure_ascii=False) if tools else "", "pieces": pieces})
        return len(self.cases) - 1

    def run(self):
        text = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in self.cases)
        done = subprocess.run([self.program], input=text.encode(), capture_output=True)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return [json.loads(line) for line in done.stdout.decode().splitlines()]


def calls_of(result):
    return [(name, json.loads(text)) for kind, text, name, _ in result["parts"] if kind == CALL]


def said(result, kind=CONTENT):
    return "".join(text for own, text, _, _ in result["parts"] if own == kind)


def cut(text, rng):
    pieces = []
    while text:
        size = rng.choice([1, 1, 2, 3, 5, 20])
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def rendered(jinja, source, messages, **more):
    """What a template makes of calls: with mappings or texts as arguments, no content or an empty one."""
    for content in (None, ""):
        for as_text in (False, True):
            own = json.loads(json.dumps(messages))
            for message in own:
                if message.get("tool_calls"):
                    message["content"] = content
                    for call in message["tool_calls"]:
                        if as_text:
                            call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
            try:
                return jinja.from_string(source).render(messages=own, tools=TOOLS, bos_token="<s>", eos_token="</s>", **more)
            except Exception:  # what a template refuses is of any kind
                continue
    return None


def from_templates(driver, paths, rng):
    """(name, wanted calls, case) of each template that writes calls, and those that are written in no known way."""
    jinja, made = environment(), []
    for path in paths:
        source = open(path).read()
        if "tool_calls" not in source:
            continue
        user = [{"role": "user", "content": "What of it?"}]
        for count in (1, 3):
            calls = [{"id": "abc123de" + str(i), "type": "function", "function": {"name": name, "arguments": arguments}}
                     for i, (name, arguments) in enumerate(CALLS[:count])]
            prompt = rendered(jinja, source, user, add_generation_prompt=True)
            whole = rendered(jinja, source, [*user, {"role": "assistant", "content": None, "tool_calls": calls}])
            if not prompt or not whole:
                continue
            # A prompt may begin what the model thinks, which earlier turns lack.
            shared = os.path.commonprefix([prompt, whole])
            if len(shared) < len(prompt) - 20:
                continue
            if len(shared) < len(prompt) and "<" in shared[-12:]:
                shared = shared[: shared.rfind("<")]
            # These are no text, and some templates write lists as Python does, not as JSON.
            answer = re.sub(ENDS, "", whole[len(shared):]).replace("<|python_start|><|python_end|>", "")
            wanted = CALLS[:count] if CALLS[1][0] in answer else CALLS[:1]  # one call is all that some templates write
            if CALLS[0][0] not in answer or "['a', " in answer:
                continue
            cases = [driver.add(source, [answer], shared), driver.add(source, list(answer), shared), driver.add(source, cut(answer, rng), shared)]
            made.append((f"{os.path.basename(path)} of {count}", wanted, answer, cases))
    return made


def call(name, **arguments):
    return (name, arguments)


PLACE = call("weather", place="Köln", days=3)
J = json.dumps
HARMONY = "<|start|>assistant"
# Marks of a template, an answer, and what it is: thoughts, content, calls. From the makers' descriptions of their formats.
WRITTEN = [
    ("<tool_call> </think>", "<think>\nHm.\n</think>\n\nYes.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"place\": \"Köln\", \"days\": 3}}\n</tool_call>", "Hm.", "Yes.", [PLACE]),
    ("<tool_call>", "<tool_call>{\"name\": \"weather\", \"arguments\": {\"place\": \"</tool_call>\"}}</tool_call><tool_call>\n{\"arguments\": {}, \"name\": \"run-it_2\"}", "", "",
     [call("weather", place="</tool_call>"), call("run-it_2")]),
    ("<tool_call>", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"place\": \"Kö", "", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"place\": \"Kö", []),
    ("<tool_call>", "a <tool_call> {nothing} </tool_call> b", "", "a <tool_call> {nothing} </tool_call> b", []),
    ("<tool_call>", "1 < 2, <tool> and <tool_cal", "", "1 < 2, <tool> and <tool_cal", []),
    ("<tool_call>", "<tool_call>{\"name\": 3, \"arguments\": {}}</tool_call>", "", "<tool_call>{\"name\": 3, \"arguments\": {}}</tool_call>", []),
    ("<tool_call>", "<tool_call>{\"name\": \"weather\", \"arguments\": [1]}</tool_call>", "", "<tool_call>{\"name\": \"weather\", \"arguments\": [1]}</tool_call>", []),
    ("<tool_call>", "<tool_call>{\"name\": \"weather\", \"arguments\": \"{\\\"place\\\": \\\"Köln\\\", \\\"days\\\": 3}\"}</tool_call>", "", "", [PLACE]),
    ("<function=", "Look:\n<tool_call>\n<function=weather>\n<parameter=place>\nKöln\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>", "", "Look:", [PLACE]),
    ("<function=", "<function=run-it_2>\n<parameter=code>\nif x:\n  y = {\"a\": 1}\n</parameter>\n</function>", "", "", [call("run-it_2", code="if x:\n  y = {\"a\": 1}")]),
    ("<function=", "<tool_call>\n<function=weather>\n<parameter=place>\n12\n</parameter>\n<parameter=parts>\n[\"a\"]\n</parameter>\n<parameter=sure>\nTrue\n</parameter>\n"
     "</function>\n</tool_call>", "", "", [call("weather", place="12", parts=["a"], sure=True)]),
    ("<function=", "<tool_call>\n<function=weather>\nno parameter\n</function>\n</tool_call>", "", "<tool_call>\n<function=weather>\nno parameter\n</function>\n</tool_call>", []),
    ("<arg_key>", "<tool_call>weather\n<arg_key>place</arg_key>\n<arg_value>Köln</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>", "", "", [PLACE]),
    ("<minimax:tool_call>", "<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"place\">Köln</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>\n"
     "<invoke name=\"run-it_2\">\n</invoke>\n</minimax:tool_call>", "", "", [PLACE, call("run-it_2")]),
    ("\"parameters\": dictionary of", "{\"name\": \"weather\", \"parameters\": {\"place\": \"Köln\", \"days\": 3}}", "", "", [PLACE]),
    ("\"parameters\": dictionary of", "<|python_tag|>{\"type\": \"function\", \"name\": \"weather\", \"parameters\": {\"place\": \"Köln\", \"days\": 3}}; {\"name\": \"run-it_2\", \"parameters\": {}}", "", "",
     [PLACE, call("run-it_2")]),
    ("\"parameters\": dictionary of", "{\"name\": \"Bo\", \"parameters\": {}}", "", "{\"name\": \"Bo\", \"parameters\": {}}", []),
    ("\"parameters\": dictionary of", "{\"a\": [1, {\"b\": 2}]} is JSON.", "", "{\"a\": [1, {\"b\": 2}]} is JSON.", []),
    ("\"parameters\": dictionary of", "No. {\"name\": \"weather\", \"parameters\": {}}", "", "No. {\"name\": \"weather\", \"parameters\": {}}", []),
    ("[TOOL_CALLS]", "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"place\": \"Köln\", \"days\": 3}, \"id\": \"abcdefghi\"}]", "", "", [PLACE]),
    ("[TOOL_CALLS] [/THINK]", "[THINK]Hm.[/THINK]Yes.[TOOL_CALLS]weather[ARGS]{\"place\": \"Köln\", \"days\": 3}[TOOL_CALLS]run-it_2[ARGS]{}", "Hm.", "Yes.", [PLACE, call("run-it_2")]),
    ("[TOOL_CALLS]", "[TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{\"place\": \"Köln\", \"days\": 3}", "", "", [PLACE]),
    ("[TOOL_CALLS]", "[TOOL_CALLS]weather[ARGS]{\"place\": ", "", "[TOOL_CALLS]weather[ARGS]{\"place\": ", []),
    ("<｜tool▁calls▁begin｜> </think>", "<think>\nHm.</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"place\": \"Köln\", \"days\": 3}\n```<｜tool▁call▁end｜>\n"
     "<｜tool▁call▁begin｜>function<｜tool▁sep｜>run-it_2\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "Hm.", "", [PLACE, call("run-it_2")]),
    ("<｜tool▁calls▁begin｜>", "Yes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"place\": \"Köln\", \"days\": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "", "Yes.", [PLACE]),
    ("<|tool_calls_section_begin|>", "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"place\": \"Köln\", \"days\": 3}<|tool_call_end|>"
     "<|tool_calls_section_end|>", "", "", [PLACE]),
    ("<|START_ACTION|> <|END_THINKING|>", "<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": {\"place\": \"Köln\", \"days\": 3}}\n]"
     "<|END_ACTION|>", "Hm.", "", [PLACE]),
    ("<|tool_call|>", "<|tool_call|>[{\"name\": \"weather\", \"arguments\": {\"place\": \"Köln\", \"days\": 3}}]", "", "", [PLACE]),
    ("<TOOLCALL>", "<TOOLCALL>[{\"name\": \"weather\", \"arguments\": {\"place\": \"Köln\", \"days\": 3}}]</TOOLCALL>", "", "", [PLACE]),
    ("<start_function_call>", "<start_function_call>call:weather{place:<escape>Köln<escape>,days:3}<end_function_call>", "", "", [PLACE]),
    ("<|tool_call> <|channel>thought", "<|channel>thought\nHm.<channel|>Yes.<|tool_call>call:weather{place:<|\"|>a, {b}<|\"|>,parts:[<|\"|>x<|\"|>,<|\"|><|\"|>],more:{k:{l:true}}}<tool_call|>", "Hm.",
     "Yes.", [call("weather", place="a, {b}", parts=["x", ""], more={"k": {"l": True}})]),
    ("<|tool_call>", "<|tool_call>call:weather{place:Köln}<tool_call|>", "", "<|tool_call>call:weather{place:Köln}<tool_call|>", []),
    ("<|channel|>", "<|channel|>analysis<|message|>Hm.<|end|>" + HARMONY + "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"place\": \"Köln\", \"days\": 3}<|call|>", "Hm.", "", [PLACE]),
    ("<|channel|>", "<|channel|>analysis<|message|>Hm.<|end|>" + HARMONY + "<|channel|>commentary<|message|>I look.<|end|>" + HARMONY
     + " to=functions.weather<|channel|>commentary json<|message|>{\"place\": \"Köln\", \"days\": 3}", "Hm.", "I look.", [PLACE]),
    ("<|channel|>", "<|channel|>analysis<|message|>Hm.<|end|>" + HARMONY + "<|channel|>final<|message|>1 < 2, a <| b<|return|>", "Hm.", "1 < 2, a <| b", []),
    ("<|channel|>", "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"place\": <|call|>", "", "{\"place\": ", []),
    ("<|channel|>", "No marks at all.", "", "No marks at all.", []),
    ("", "  <think> {\"name\": 1} [TOOL_CALLS] \n", "", "  <think> {\"name\": 1} [TOOL_CALLS] \n", []),
]


def written(driver, rng):
    return [(answer, thoughts, content, wanted, [driver.add(marks, [answer]), driver.add(marks, list(answer)), driver.add(marks, cut(answer, rng))])
            for marks, answer, thoughts, content, wanted in WRITTEN]


def hostile(driver, rng):
    """Answers cut off anywhere, and with parts that stand elsewhere: no part of a text but marks and white space may be lost."""
    cases = []
    for marks, answer, *_ in WRITTEN:
        for _ in range(25):
            pieces = [answer[: rng.randrange(len(answer) + 1)]]
            for _ in range(rng.randrange(3)):
                other = rng.choice(WRITTEN)[1]
                begin = rng.randrange(len(other))
                pieces.append(other[begin: begin + rng.choice([1, 5, 50])])
            text = "".join(pieces)
            cases.append((marks, text, [driver.add(marks, [text]), driver.add(marks, list(text))]))
    return cases


def bare(text):
    """Without white space, and the marks of thoughts and channels, which are no text."""
    return re.sub(r"\s|</?think>|\[/?THINK\]|<\|(START|END)_THINKING\|>|<\|channel>thought|<channel\|>", "", text)


def main():
    program, *folders = sys.argv[1:]
    paths = [path for folder in folders for path in (sorted(glob.glob(f"{folder}/*.jinja")) if os.path.isdir(folder) else [folder])]
    rng = random.Random(1)
    driver = Driver(program)
    of_templates, of_makers, broken = from_templates(driver, paths, rng), written(driver, rng), hostile(driver, rng)
    results = driver.run()
    unknown, wrong = set(), 0
    for name, wanted, answer, cases in of_templates:
        result = results[cases[0]]
        if result["format"] is None:
            unknown.add(name.split(" of ")[0])
            continue
        for case in cases:
            if calls_of(results[case]) != wanted:
                wrong += 1
                print(f"{name} ({result['format']}): {answer!r}\n  {results[case]['parts']}")
                break
    for answer, thoughts, content, wanted, cases in of_makers:
        for case in cases:
            result = results[case]
            if (said(result, THOUGHT), said(result), calls_of(result)) != (thoughts, content, wanted):
                wrong += 1
                print(f"{answer!r}\n  wanted {thoughts!r} {content!r} {wanted}\n  got {result['parts']}")
                break
    for marks, text, cases in broken:
        whole, pieces = (results[case]["parts"] for case in cases)
        if whole != pieces:
            wrong += 1
            print(f"{marks}: {text!r}: in pieces\n  {pieces}\n  and not\n  {whole}")
        for kind, arguments, name, _ in whole:
            assert kind != CALL or (isinstance(json.loads(arguments), dict) and name), (marks, text, whole)
        if marks != "<|channel|>" and not calls_of(results[cases[0]]) and bare(text) != bare("".join(part[1] for part in whole)):
            wrong += 1
            print(f"{marks}: {text!r}: lost in\n  {whole}")
    known = {name.split(" of ")[0] for name, *_ in of_templates} - unknown
    print(f"{len(known)} templates that write calls, {len(of_makers)} answers, {len(broken)} broken ones: {wrong} wrong")
    if unknown and len(folders) > 1:
        print("no format is known for", *sorted(unknown))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""results.md of what measure.py found, and results.json."""
import json
import math


def verdict(result):
    if "error" not in result:
        return "-"
    good = f"{result['error']:.1e}" + ("" if result["good"] else f" **past {result['bound']:.0e}**")
    return good + (f", class {100 * result['same_class']:.1f}%" if "same_class" in result else "")


def row(result):
    times = result["times"]
    own = times.get("attn", times.get("copy"))
    rate = f"{result['flop'] / own['median_ms'] * 1e-9:.1f} TFLOP/s" if "flop" in result else "-"
    rate = f"{result['bytes'] / own['median_ms'] * 1e-6:.0f} GB/s" if "bytes" in result else rate
    others = [f"{name} {of['median_ms']:.4f} ({of['median_ms'] / own['median_ms']:.2f})" for name, of in times.items() if of is not own and "median_ms" in of]
    same = {True: "yes", False: "**no**"}.get(result.get("same_bits"), "-")
    return f"| {result['label']} | {verdict(result)} | {same} | {own['median_ms']:.4f} | {rate} | {own['by']} | {', '.join(others) or '-'} |"


def report(state):
    lines = ["# Attn on a GPU", ""]
    lines += [f"- {key}: {value}" for key, value in state["about"].items()]
    lines += [f"- {phase}: {text}" for phase, text in state["clocks"].items()]
    codes = sorted({result["code"] for line in state["lines"] for result in line.get("results", []) if "code" in result})
    lines += [f"- loaded: {', '.join(codes)}"] if codes else []
    problems = []
    for phase, title in (("smoke", "Small ones, each in a process of its own"), ("times", "Beside libraries"), ("compiled", "Beside compilers")):
        own = [line for line in state["lines"] if line["phase"] == phase]
        if not own:
            continue
        head = ["| what | error | same bits |", "| --- | ---: | --- |"] if phase == "smoke" else [
            "| what | error | same bits | Attn ms | rate | timed by | others ms |", "| --- | ---: | --- | ---: | ---: | --- | --- |"]
        lines += ["", f"## {title}", "", *head]
        for line in own:
            for result in line.get("results", []):
                same = "yes" if result.get("same_bits") else "**no**"
                lines.append(f"| {result['label']} | {verdict(result)} | {same} |" if phase == "smoke" else row(result))
                problems += [f"{result['label']}: {peer}: {of['problem']}" for peer, of in result.get("times", {}).items() if "problem" in of]
            if "problem" in line:
                lines.append(f"| {line['name']} | **failed** |" + " |" * (1 if phase == "smoke" else 5))
                problems.append(f"{phase} {line['name']}: {line['problem']}" + (f"; {line['watchdog']}" if "watchdog" in line else ""))
    lines += ["", "Errors are relative L2 against f32. Medians in ms, in turns, on random numbers; in brackets how many times Attn's time."]
    lines += ["", "## What did not run", ""] + [f"- {problem}" for problem in problems] if problems else []
    if state["instructions"]:
        lines += ["", "## Instructions recorded", ""] + [f"- {line}" for line in state["instructions"]]
    return "\n".join(lines) + "\n"


def numbers(value):
    """JSON has no NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: numbers(own) for key, own in value.items()}
    return [numbers(own) for own in value] if isinstance(value, list) else value


def save(folder, state):
    (folder / "results.json").write_text(json.dumps(numbers(state), indent=1) + "\n")
    (folder / "results.md").write_text(report(state))


def is_good(state):
    results = [result for line in state["lines"] for result in line.get("results", []) if "good" in result]
    return all("problem" not in line for line in state["lines"]) and all(result["good"] and result["same_bits"] for result in results)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of a comparison: Markdown for people, JSON for programs."""
import json
import os
import re


def cpu_name(path="/proc/cpuinfo"):
    """As the kernel calls it, or "unknown CPU"."""
    with open(path) as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model"):
                return " ".join(value.split())
    return "unknown CPU"


def file_name(cpu, date):
    """`Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz` -> `intel-xeon-gold-6230-cpu-2.10ghz-DATE`."""
    plain = re.sub(r"\((r|tm)\)", "", cpu.lower())
    return re.sub(r"[^a-z0-9.]+", "-", plain).strip("-") + "-" + date


def ratio(row, which):
    """Ours over theirs, or None where theirs is missing."""
    return row["attn"][which] / row["onnxruntime"][which] if row.get("onnxruntime") else None


def number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def times(entry):
    return f"{entry['min_ms']:.2f} / {entry['median_ms']:.2f}" if entry else "-"


COLUMNS = (
    ("model", lambda row: row["model"] + (" " + " ".join(row["set"]) if row["set"] else "")),
    ("tokens", lambda row: str(row["tokens"])),
    ("head dim", lambda row: str(row["head_dim"])),
    ("threads", lambda row: str(row["threads"])),
    ("attn ms, min / median", lambda row: times(row["attn"])),
    ("ONNX Runtime ms, min / median", lambda row: times(row.get("onnxruntime"))),
    ("its best variant", lambda row: row["onnxruntime"]["variant"] if row.get("onnxruntime") else "-"),
    ("ratio, min", lambda row: number(row["ratio_min"], 3)),
    ("ratio, median", lambda row: number(row["ratio_median"], 3)),
    ("attn GFLOP/s", lambda row: number(row["attn"]["gflops"], 1)),
    ("of the peak", lambda row: f"{row['attn']['fraction_of_peak']:.0%}"),
    ("VmHWM / weights", lambda row: number(row["attn"]["vmhwm_per_weights"], 2)),
    ("other load", lambda row: f"{row['other_load']:.0%}"),
)


def markdown(report):
    lines = [
        f"# attn {report['attn_version']} beside ONNX Runtime {report['onnxruntime_version'] or '(not here)'}",
        "",
        f"{report['cpu']}, {report['cpus']} CPUs, {report['kernel']}, {report['date']}. f32, batch 1, "
        f"{report['rounds']} rounds in turns. Ratios are attn over ONNX Runtime: below 1, attn is faster.",
        "",
        "| " + " | ".join(title for title, _ in COLUMNS) + " |",
        "| " + " | ".join("---" if n == 0 else "---:" for n in range(len(COLUMNS))) + " |",
    ]
    lines += ["| " + " | ".join(cell(row) for _, cell in COLUMNS) + " |" for row in report["rows"]]
    lines += [""] + report["notes"] if report["notes"] else []
    return "\n".join(lines) + "\n"


def keep(path, text):
    """Writes a file whole or not at all."""
    with open(path + ".part", "w") as file:
        file.write(text)
    os.replace(path + ".part", path)


def write(report, folder):
    """Writes both files; their paths."""
    os.makedirs(folder, exist_ok=True)
    base = os.path.join(folder, file_name(report["cpu"], report["date"]))
    keep(base + ".md", markdown(report))
    keep(base + ".json", json.dumps(report, indent=1) + "\n")
    return base + ".md", base + ".json"

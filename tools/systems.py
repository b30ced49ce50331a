#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of systems in test/SYSTEMS.md: what compiles and runs, and its error against a reference that shares no code with the compiler.

The errors are those that the last run of the tests found (test/numeric/measured.py). They lie in build/test/measured:

    tools/systems.py            prints the table
    tools/systems.py --write    writes it into test/SYSTEMS.md
    tools/systems.py --check    checks that the page has these systems, and that the errors are at most ten times those on the page

Exit codes: 0 fine, 1 a system that no test measured, or a page with other rows or smaller errors, 2 usage.
"""
import argparse
import collections
import glob
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MEASURED = os.environ.get("ATTN_MEASURED", os.path.join(ROOT, "build", "test", "measured"))
PAGE = "test/SYSTEMS.md"
BEGIN, END = "<!-- systems: written by tools/systems.py -->\n", "<!-- end of systems -->\n"
SLACK = 10  # another CPU level rounds differently

Row = collections.namedtuple("Row", "kind system spec reference cases")
NUMPY, TORCH = "NumPy, float64", "`torch.nn`, float64"
TWIN, MULTIHEAD = "test/numeric/attention_twin.py", "compiler/std/attention.attn"
MASKS, TOKENS = "compiler/std/masks.attn", "test/numeric/tokens_twin.py"
TRANSFORMER, RECURRENT, VISION, LANGUAGE = (f"compiler/std/{name}.attn" for name in ("transformer", "recurrent", "vision", "language"))


def of(script, *cases):
    return [f"{script}:{case}" for case in cases]


def twin(kind, system, *cases, spec=TWIN):
    return Row(kind, system, spec, NUMPY, of("attention_twin", *cases))


def tokens(system, *cases):
    return Row("tokens", system, TOKENS, NUMPY, of("tokens_twin", *cases))


ROWS = [
    twin("scores", "dot", "dot"),
    twin("scores", "scaled dot, any divisor", "scaled_dot", "by_all_heads", "by_an_argument"),
    twin("scores", "cosine", "cosine"),
    twin("scores", "general (bilinear)", "bilinear"),
    twin("scores", "reduced rank", "reduced_rank"),
    twin("scores", "additive (Bahdanau)", "additive"),
    twin("scores", "of one's own", "distance", "curved"),
    Row("recurrent", "RNN, GRU, LSTM", RECURRENT, TORCH, of("recurrent_twin", "RNN", "GRU", "LSTM")),
    Row("recurrent", "LSTM with additive attention, greedy until the stop, alignment", "examples/pronounce/pronounce_lstm.attn", TORCH,
        of("pronounce_twin", "lstm")),
    Row("recurrent", "a decoder of any cell, every score, context packed or added", "compiler/std/seq2seq.attn", TORCH,
        of("seq2seq_twin", "RNN", "GRU", "LSTM", "dot", "scaled_dot", "cosine", "general", "reduced_rank", "additive")),
    Row("attention", "the worked example, scaled and not", "examples/self-attention/self_attention.attn", "as printed, 1e-5",
        of("self_attention", "K", "Q", "V", "scores", "weights", "out")),
    twin("attention", "cross-attention, M != N, dk != dv", "plain"),
    Row("heads", "textbook", MULTIHEAD, NUMPY, of("multihead_twin", "textbook")),
    Row("heads", "without biases, wide heads", MULTIHEAD, NUMPY, of("multihead_twin", "wide")),
    Row("heads", "one projection, packed head by head", MULTIHEAD, NUMPY, of("multihead_twin", "packed")),
    Row("heads", "`torch.nn.MultiheadAttention`, all of it", MULTIHEAD, TORCH, of("multihead_twin", "torch_case")),
    twin("heads", "grouped queries, one head of keys", "groups", "groups_inside", "one_key_head"),
    twin("masks", "causal, to the last query and bottom right", "causal", "bottom_right"),
    twin("masks", "padding by lengths", "padding", "padding_of_queries"),
    twin("masks", "boolean tensors", "boolean", "boolean_for_all_heads", "boolean_for_keys", "boolean_in_regions"),
    twin("masks", "additive tensors", "added", "added_for_all_heads"),
    twin("masks", "sliding window", "window"),
    twin("masks", "shifted windows", "shifted_windows"),
    twin("masks", "prefix-LM", "prefix"),
    twin("masks", "documents", "documents"),
    twin("masks", "block-diagonal", "block_diagonal", spec=MASKS),
    twin("masks", "dilated", "dilated", spec=MASKS),
    twin("masks", "all but its own", "others", spec=MASKS),
    twin("masks", "any combination of them", "combined", "masks_of_masks"),
    twin("biases", "ALiBi", "alibi", spec=MASKS),
    twin("biases", "T5's buckets, encoder and decoder", "t5_buckets", "t5_decoder"),
    twin("biases", "Swin's table", "swin", "swin_by_index"),
    Row("biases", "relative positions on each of several axes", "test/numeric/several_axes_twin.py", TORCH,
        of("several_axes_twin", "swin", "sam", "neighbours", "memory")),
    twin("biases", "soft-cap", "capped", "capped_scores"),
    twin("weights", "sinks", "sink_for_each_head", "sink_of_zero", "sink_of_query"),
    twin("weights", "hard attention", "hard"),
    tokens("embedding lookup", "embedding", "embedding_in_stack"),
    tokens("truncation and padding", "truncated"),
    tokens("sinusoidal, any exponents", "sinusoidal"),
    tokens("position concatenated to the embedding", "concatenated"),
    tokens("two-dimensional: sines, learnt", "two_dimensional"),
    tokens("learnt on another grid, interpolated", "resized"),
    tokens("rotary, both orders, Llama 3's scaling", "rotary", "rotary_attention"),
    tokens("rotary by any angles, of some features", "rotary_by_angles"),
    Row("transformer", "encoder layer, post-norm and pre-norm", TRANSFORMER, TORCH, of("transformer_twin", "TransformerEncoderLayer")),
    Row("transformer", "decoder layer", TRANSFORMER, TORCH, of("transformer_twin", "TransformerDecoderLayer")),
    Row("transformer", "stacks of them", TRANSFORMER, TORCH, of("transformer_twin", "TransformerEncoder", "TransformerDecoder")),
    Row("transformer", "`torch.nn.Transformer`", TRANSFORMER, TORCH, of("transformer_twin", "Transformer")),
    Row("transformer", "encoder-decoder, greedy inside the program", "examples/pronounce/pronounce_transformer.attn", TORCH,
        of("pronounce_twin", "transformer")),
    Row("transformer", "BERT", "examples/language/bert_base.attn", TORCH, of("language_twin", "bert")),
    Row("transformer", "GPT-2", "examples/language/gpt2.attn", TORCH, of("language_twin", "gpt2")),
    Row("transformer", "Llama's form, with a cache", "examples/story/story.attn", TORCH, of("story_twin", "scores")),
    Row("transformer", "ALBERT, whose layers share their parameters", LANGUAGE, TORCH, of("layers_twin", "albert")),
    Row("transformer", "layers of Llama", LANGUAGE, TORCH, of("layers_twin", "llama")),
    Row("transformer", "layers of T5", LANGUAGE, TORCH, of("layers_twin", "t5_encoder", "t5_decoder")),
    Row("transformer", "layers of BART and Whisper", LANGUAGE, TORCH,
        of("layers_twin", "bart_encoder", "bart_decoder", "whisper_encoder", "whisper_decoder")),
    Row("transformer", "decoder layers of T5, BART and Whisper with caches, the same tokens as by recomputing", LANGUAGE, TORCH,
        of("cached_layers_twin", "t5", "bart", "whisper")),
    Row("transformer", "a sequence in any cuts, with caches", "test/numeric/decoder.attn", NUMPY, of("caches", "cuts")),
    Row("transformer", "greedy and drawn tokens, with caches and without", "test/numeric/decoder.attn", NUMPY, of("generate", "tokens")),
    Row("transformer", "encoder-decoder with caches, its memory computed once", "test/numeric/encoder_decoder.attn", TORCH,
        of("encoder_decoder_twin", "encoder and decoder")),
    Row("transformer", "beams, tokens that are forced and suppressed", "test/numeric/beams.py", NUMPY, of("beams", "tokens", "weights")),
    Row("transformer", "mixtures of experts, as in Mixtral and GPT-OSS", "test/numeric/experts_twin.py", TORCH,
        of("experts_twin", "mixtral f32", "gpt_oss f32", "chosen f32", "layers f32") + of("layers_twin", "mixtral")),
    Row("transformer", "stacks of stacks", "test/numeric/nested_stacks_twin.py", NUMPY, of("nested_stacks_twin", "stages", "shared", "cached")),
    Row("vision", "ViT-B/16, ViT-Ti/16", "examples/vit/vit_b16.attn", "`torch.nn`, float32", of("vit_twin", "vit_b16", "vit_ti16")),
    Row("vision", "DeiT-S/16", "examples/vit/deit_s16.attn", "`torch.nn`, float32", of("vit_twin", "deit_s16")),
    Row("vision", "DeiT-B/16 with a distillation token", "examples/vit/deit_b16_distilled.attn", TORCH, of("vision_twin", "deit_b16_distilled")),
    Row("vision", "mean of the patches", VISION, TORCH, of("vision_twin", "mean_pooled")),
    Row("vision", "BEiT", VISION, TORCH, of("vision_twin", "beit")),
    Row("vision", "DINOv2", VISION, TORCH, of("vision_twin", "dino")),
    Row("vision", "Swin-T", "examples/vit/swin_t.attn", TORCH, of("swin_twin", "swin_t")),
    Row("vision", "Swin v2", VISION, TORCH, of("vision_twin", "swin_v2")),
    Row("vision", "SAM's image encoder: windows of a map with a border, decomposed positions", VISION, TORCH, of("vision_twin", "sam")),
    Row("vision", "DETR with ResNet-50", "examples/vit/detr_r50.attn", TORCH, of("detr_twin", "detect", "detect_bordered")),
    Row("vision", "convolutions, pools, a ResNet's blocks", "test/numeric/windows_twin.py", TORCH,
        of("windows_twin", "convolution", "along", "pools", "resnet")),
]


def errors():
    """The largest error of each case, of all commands of the last run."""
    found = {}
    for path in glob.glob(os.path.join(MEASURED, "*.json")):
        with open(path) as file:
            for case, error in json.load(file).items():
                found[case] = max(error, found.get(case, 0))
    return found


def table(found):
    yield "| | system | spec | reference | largest error |\n| --- | --- | --- | --- | ---: |\n"
    for row in ROWS:
        error = max(found[case] for case in row.cases)
        said = f"{error:.1e}".replace("e-0", "e-") if error else "none"
        link = os.path.relpath(row.spec, os.path.dirname(PAGE))
        yield f"| {row.kind} | {row.system} | [{os.path.basename(row.spec)}]({link}) | {row.reference} | {said} |\n"


def split_page():
    with open(os.path.join(ROOT, PAGE)) as file:
        before, _, rest = file.read().partition(BEGIN)
    lines, _, after = rest.partition(END)
    return before, lines, after


def check(written, measured):
    """What is wrong with the lines of the page, compared with those that were measured now."""
    def apart(lines):
        cells = [line.rsplit("|", 2) for line in lines.splitlines()]
        return [first for first, *_ in cells], [second.strip() for _, second, _ in cells]
    (rows, numbers), (own_rows, own_numbers) = apart(written), apart(measured)
    if rows != own_rows:
        yield f"{PAGE} has other systems; `tools/systems.py --write` writes them anew"
        return
    for row, number, own in zip(rows, numbers, own_numbers):
        if re.match(r"\d", own) and not (re.match(r"\d", number) and float(own) <= SLACK * float(number)):
            yield f"{row.strip('| ')}: {PAGE} says {number}, the tests found {own}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    found = errors()
    problems = [f"{row.system}: no test measured `{case}`" for row in ROWS for case in row.cases if case not in found]
    if not problems:
        lines = "".join(table(found))
        before, written, after = split_page()
        if options.check:
            problems = list(check(written, lines))
        elif options.write:
            with open(os.path.join(ROOT, PAGE), "w") as file:
                file.write(before + BEGIN + lines + END + after)
        else:
            print(lines, end="")
    for problem in problems:
        print(f"systems.py: error: {problem}", file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()

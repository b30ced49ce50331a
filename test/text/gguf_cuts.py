# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every way to cut texts that a GGUF file can name in `tokenizer.ggml.pre`: a vocabulary is written whose merges would make one token of each
test text, so that tokens end where the text is cut. The ids are compared with byte pairs (Sennrich et al. 2016) in plain Python, behind the
expressions of the published tokenizers as the module `regex` takes them.

usage: gguf_cuts.py DRIVER FOLDER"""
import os
import random
import struct
import sys

import regex

from driver import Driver

ENDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def words(letters=r"\p{L}+", number=r"\p{N}", rest=r" ?[^\s\p{L}\p{N}]+[\r\n]*", lines=r"\s*[\r\n]+", spaces=r"\s+(?!\S)|\s+", ends=ENDS + "|"):
    """The form that most expressions since GPT-4's have."""
    return rf"{ends}[^\r\n\p{{L}}\p{{N}}]?{letters}|{number}|{rest}|{lines}|{spaces}"


def cased(upper, lower, number, ends=ENDS + "?", rest=r"[\r\n/]*"):
    """Words that begin with capital letters or have none."""
    return (rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{ends}|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{ends}|{number}"
            rf"| ?[^\s\p{{L}}\p{{N}}]+{rest}|\s*[\r\n]+|\s+(?!\S)|\s+")


def thirds(pattern):
    """Runs of digits by threes, from behind."""
    def cut(text):
        out = []
        for run in regex.findall(rf"{pattern}+|(?:(?!{pattern}).)+", text, flags=regex.S):
            first = len(run) % 3 if regex.fullmatch(pattern + "+", run) else len(run)
            out += [run[:first]] + [run[i : i + 3] for i in range(first, len(run), 3)]
        return [part for part in out if part]
    return cut


UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LLAMA3, QWEN2, O200K = words(number=r"\p{N}{1,3}"), words(), cased(UPPER, LOWER, r"\p{N}{1,3}")
MARKED = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
CJK = r"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
ASIAN = r"[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
AFMOE = (r"[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f\u0e80-\u0eff\u1780-\u17ff"
         r"\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+")
# Letters of scripts with two cases, as DeepSeek's first vocabularies list them.
TWO_CASES = r"(?V1)\s?[[\p{Lu}\p{Ll}\p{Lt}]--[\u01bb\u01c0-\u01c3\u10d0-\u10ff\ua64a\u1c80-\u1c88\u0560\u0588]]+"
SENTENCES = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
BLANKS = "|".join(rf"\s{{{2 ** n}}}(?!\S)" for n in range(9, 1, -1)) + r"|\s{1,2}(?!\S)|\s{1}"
HAN = r"\p{Han}"
CUTS = {
    "gpt-2 gpt2 phi-2 mpt olmo jais roberta-bpe jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code gigachat a.x-4.0 mellum modern-bert "
    "exaone4 trillion granite-docling": [GPT2],
    "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano": [LLAMA3],
    "dbrx smaug-bpe chatglm-bpe glm4": [LLAMA3],
    "qwen2 stablelm2 deepseek-r1-qwen megrez kormo f2llmv2 hunyuan solar-open grok-2": [QWEN2],
    "qwen35": [words(r"[\p{L}\p{M}]+", rest=r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*")],
    "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2": [r"\p{N}", GPT2],
    "gpt-4o llama4 kanana2 talkie minimax-m2 granite-embed-multi-97m": [O200K],
    "tiny_aya cohere2moe": [thirds(r"\p{N}"), O200K],
    "tekken": [cased(UPPER, LOWER, r"\p{N}", "")],
    "deepseek-v3 hunyuan-dense joyai-llm hy_v4": [r"\p{N}{1,3}", CJK, MARKED],
    "spark2_5": [r"\p{N}{1,3}", CJK, MARKED.replace(r"[\r\n]*|\s*[\r\n]+", r"|[\r\n]"), r"\p{N}"],
    "afmoe": [thirds(r"\p{N}"), AFMOE, MARKED],
    "deepseek-llm": [r"[\r\n]", TWO_CASES, "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+", r"\s+$", ASIAN, r"\p{N}+"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", ASIAN, r"\p{N}"],
    "youtu": ["[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+"
              "|[\u3105-\u312f]+|" + CJK, cased(UPPER, LOWER, r"\p{N}")],
    "kimi-k2": [rf"(?V1){HAN}+|" + cased(r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"\p{N}{1,3}",
                                         rest=r"[\r\n]*")],
    "bailingmoe bailingmoe2 llada-moe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"],
    "seed-coder": [words(rest=r" ?[^\s\p{L}\p{N}\r\n]+")],
    "exaone-moe": [words(r"(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+", rest=r" ?[^\s\p{L}\p{N}]+[\r\n/]?", lines=r"\s*[\r\n]")],
    "ufakzeka": [words(ends="")],
    "laguna": [r"[^\n]+|\n+", QWEN2],
    "minicpm5": [r"\p{N}{1,3}", words(number=r"\p{N}+")],
    "jais-2": [words(number=r"\p{N}{1,3}", spaces=BLANKS)],
    "bloom poro-chat gpt3-finnish": [SENTENCES],
    "viking": [SENTENCES, r"\p{N}"],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "chameleon": [r"<sentinel:[0-9]+>", r"(?:IMGIMG)(?:(?:A|B|C|D|E|F|G|H|I){1,4})Z", r"(?:[\t\n]|    |  )", r"\p{N}", r"[\p{P}!-/:-@\[-`{-~]", GPT2],
    "gemma4 sarvam-moe granite-embed-multi-311m": [r"[^\n]+|[\n]+"],
    "whitespace": [r"\S+"],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
}
OF_CHARACTERS = {"gemma4", "sarvam-moe", "granite-embed-multi-311m", "whitespace"}
WHOLE = set("llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano tekken minicpm5 youtu granite-embed-multi-97m".split())
PARTS = ["a", "Word", "word", "SHOUT", "mixedCase", "\u01c5et", "\u02b0", "\u00e9t\u00e9", "e\u0301", "\u0414\u0430", "\u03b1\u0392", "\u4f60\u597d",
         "\u6f22", "\u3042\u3044", "\u30ab\u30ca", "\ud55c\uad6d", "\u3131", "\u3105\u3106", "\u0e44\u0e17\u0e22", "\u0645\u064e\u0631\u062d",
         "\u0939\u093f\u0928\u094d\u0926\u0940", "1", "12", "345", "6789", "1234567", "\u00b2", "\u2163", "\u0663\u0664", "\uff11\uff12", " ", "  ",
         "    ", "       ", "\t", "\n", "\n\n", "\r\n", " \n", "\n  ", "\u00a0", "\u3000", "\u2028", "'s", "'S", "'re", "'LL", "'d", "'x", "'", ".",
         ",", "...", "!", "?!", "(", ")", "[", "]", "{", "}", "/", "//\n", "\\", "-", "--", "_", "#", "@", "$", "+", "=", "<", ">", "^", "~", "|",
         "`", "\"", "&", "*", "%", ":", ";", "\uff01", "\uff0c", "\u3002", "\u3001", "\u2026", "\u201c", "\u2019", "\u2014", "\u0964", "\u06d4",
         "\u060c", "\u20ac", "\u2264", "\U0001f600", "<sentinel:12>", "IMGIMGABZ", "a1b2", "x.y", " \u4f60", "\u4f60a", " a b c", "1a", ".\n"]


def isolate(steps, text):
    """The text, cut at both ends of what each expression finds in what is there."""
    parts = [text]
    for step in steps:
        out = []
        for part in parts:
            if callable(step):
                out += step(part)
                continue
            at = 0
            for match in regex.finditer(step, part, flags=regex.M):
                out += [part[at : match.start()], match.group()]
                at = match.end()
            out.append(part[at:])
        parts = [part for part in out if part]
    return parts


def byte_alphabet():
    """GPT-2's: a character for each byte, itself where it can be seen."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + i) for i, byte in enumerate(hidden)}}


ALPHABET = byte_alphabet()


def spelled(text, is_of_characters):
    return text.replace(" ", "\u2581") if is_of_characters else "".join(ALPHABET[byte] for byte in text.encode())


def merged(symbols, ranks):
    symbols = list(symbols)
    while True:
        best = min(((ranks[pair], i) for i, pair in enumerate(zip(symbols, symbols[1:])) if pair in ranks), default=None)
        if best is None:
            return symbols
        symbols[best[1] : best[1] + 2] = [symbols[best[1]] + symbols[best[1] + 1]]


def train(texts):
    """Merges that make one token of each text that is not cut."""
    ranks, rows = {}, [list(text) for text in texts]
    while any(len(row) > 1 for row in rows):
        for row in rows:
            for pair in list(zip(row, row[1:]))[len(ranks) % 2 if len(row) > 2 else 0 :: 2]:
                ranks.setdefault(pair, len(ranks))
        rows = [merged(row, ranks) for row in rows]
    return ranks


def text_value(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def write(path, pre, tokens, ranks):
    def strings(values):
        return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text_value, values))

    members = {"model": struct.pack("<I", 8) + text_value("gpt2"), "pre": struct.pack("<I", 8) + text_value(pre), "tokens": strings(tokens),
               "merges": strings([" ".join(pair) for pair in ranks])}
    body = b"".join(text_value("tokenizer.ggml." + key) + value for key, value in members.items())
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(members)) + body)


def main():
    driver, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(7)
    texts = ["".join(rng.choice(PARTS) for _ in range(rng.randint(2, 7))) for _ in range(700)]
    trained = {}
    for is_of_characters in (False, True):
        rows = sorted({spelled(text, is_of_characters) for text in texts})
        ranks = train(rows)
        base = [f"<0x{byte:02X}>" for byte in range(256)] + sorted(set("".join(rows))) if is_of_characters else list(ALPHABET.values())
        trained[is_of_characters] = list(dict.fromkeys([*base, *(a + b for a, b in ranks)])), ranks
    wrong = names = 0
    for group, steps in CUTS.items():
        for name in group.split():
            tokens, ranks = trained[name in OF_CHARACTERS]
            ids, names = {token: i for i, token in enumerate(tokens)}, names + 1
            path = os.path.join(folder, f"{name}.gguf")
            write(path, name, tokens, ranks)
            for text, found in zip(texts, Driver(driver, path).ids(texts)):
                wanted = []
                for part in isolate(steps, text):
                    word = spelled(part, name in OF_CHARACTERS)
                    if name == "whitespace" and part.isspace():
                        continue
                    wanted += [ids[word]] if name in WHOLE and word in ids else [ids[token] for token in merged(word, ranks)]
                if found != wanted:
                    wrong += 1
                    print(f"{name}: {text!a}: {[tokens[i] for i in found]!a}, expected {[tokens[i] for i in wanted]!a}")
            os.remove(path)
    print(f"{names} names, {len(texts)} texts, {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings are written down by small Whisper folders with random weights, and by NumPy in double precision: the model, the rules of what may
follow (Radford et al. 2023, and the published decoding), and the windows of 30 s. Both print the same.

usage: speech.py FOLDER"""
import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numeric"))
from make import bart, random_weights
from program import call
from shapes import bart_shapes
from sound_twin import log_mel, wav
from text_models import bart_memory, bart_scores
from vit_twin import write_safetensors

BYTES = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
LETTERS = {byte: chr(byte) for byte in BYTES}
LETTERS.update({byte: chr(0x100 + i) for i, byte in enumerate(byte for byte in range(256) if byte not in BYTES)})
END, START, LANGUAGES = 256, 257, ["en", "de", "yue"]
TRANSLATE, TRANSCRIBE, NO_TIMESTAMPS = 261, 262, 266
FIRST = NO_TIMESTAMPS + 1  # timestamps, 1501 of them
SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", *(f"<|{name}|>" for name in LANGUAGES), "<|translate|>", "<|transcribe|>",
           "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
LETTER = sorted(range(256), key=lambda byte: LETTERS[byte])  # of a token, the byte
SPACE = LETTER.index(32)
ASCII = [token for token in range(256) if 32 <= LETTER[token] < 127]
SUPPRESSED = [token for token in range(256) if token not in ASCII] + [START, *range(258, 266)]


PROCESSOR = dict(feature_extractor_type="WhisperFeatureExtractor", feature_size=80, sampling_rate=16000, n_fft=400, hop_length=160,
                 chunk_length=30, nb_max_frames=3000, n_samples=480000, padding_value=0.0, return_attention_mask=False)


def tokenizer():
    added = [dict(id=END + i, content=name, special=True, single_word=False, lstrip=False, rstrip=False, normalized=False)
             for i, name in enumerate(SPECIAL)]
    return dict(version="1.0", truncation=None, padding=None, added_tokens=added, normalizer=None, post_processor=None,
                pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
                decoder=dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
                model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix="", end_of_word_suffix="", fuse_unk=False,
                           byte_fallback=False, ignore_merges=False, vocab={LETTERS[byte]: i for i, byte in enumerate(LETTER)}, merges=[]))


def make(folder, seed, generation):
    c = {**bart("whisper", "WhisperForConditionalGeneration", activation_function="gelu", num_mel_bins=80, max_source_positions=1500,
                max_target_positions=40, scale_embedding=False, decoder_start_token_id=START), "d_model": 16, "encoder_layers": 1,
         "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
         "vocab_size": FIRST + 1501, "eos_token_id": END}
    w = random_weights(bart_shapes(c), seed)
    w["model.decoder.embed_tokens.weight"][:FIRST] *= 2.5  # text and timestamps win in turns
    w["model.decoder.embed_tokens.weight"][FIRST:] *= 0.8
    w["model.decoder.embed_tokens.weight"][END] *= 1.6
    w["model.decoder.embed_positions.weight"] *= 3
    os.makedirs(folder, exist_ok=True)
    general = dict(eos_token_id=END, decoder_start_token_id=START, suppress_tokens=SUPPRESSED, begin_suppress_tokens=[SPACE, END],
                   no_timestamps_token_id=NO_TIMESTAMPS)
    for name, content in ("config", c), ("generation_config", {**general, **generation}), ("tokenizer", tokenizer()), ("preprocessor_config", PROCESSOR):
        with open(f"{folder}/{name}.json", "w") as file:
            json.dump(content, file)
    write_safetensors(f"{folder}/model.safetensors", w)
    return c, {name: value.astype(np.float64) for name, value in w.items()}


def log_softmax(x):
    x = x - x.max()
    return x - np.log(np.exp(x).sum())


def timestamp_rules(scores, tokens):
    """The published rules, one after the other."""
    scores[NO_TIMESTAMPS] = -np.inf
    was = len(tokens) >= 1 and tokens[-1] >= FIRST
    before = len(tokens) < 2 or tokens[-2] >= FIRST
    if was and before:
        scores[FIRST:] = -np.inf
    elif was:
        scores[:END] = -np.inf
    times = [token for token in tokens if token >= FIRST]
    if times:
        scores[FIRST:times[-1] if was and not before else times[-1] + 1] = -np.inf
    if not tokens:
        scores[:FIRST] = -np.inf
        scores[FIRST + 51:] = -np.inf
    chances = log_softmax(scores)
    largest = chances[FIRST:].max()
    if np.isfinite(largest) and largest + np.log(np.exp(chances[FIRST:] - largest).sum()) > chances[:FIRST].max():
        scores[:FIRST] = -np.inf


class Twin:
    def __init__(self, config, weights, language=None, task=TRANSCRIBE, timestamps=False, one_language=False):
        self.config, self.weights, self.timestamps, self.margin, self.kinds = config, weights, timestamps, np.inf, set()
        self.head = ([] if one_language else [language, task]) + ([] if timestamps else [NO_TIMESTAMPS])

    def decode(self, window):
        memory = bart_memory(self.config, self.weights, mel=window[None])
        tokens, limit = [], self.config["max_target_positions"] - 1
        while len(tokens) < limit:
            ids = np.array([[START, *tokens]])
            scores = bart_scores(self.config, self.weights, ids, *memory)["scores"][0, -1].copy()
            at = len(tokens)
            if at < len(self.head):
                if self.head[at] is None:
                    self.head[at] = 258 + int(scores[258:258 + len(LANGUAGES)].argmax())
                tokens.append(self.head[at])
                continue
            scores[SUPPRESSED] = -np.inf
            if at == len(self.head):
                scores[[SPACE, END]] = -np.inf
            if self.timestamps:
                timestamp_rules(scores, tokens[len(self.head):])
            two = np.sort(scores)[-2:]
            self.margin = min(self.margin, two[1] - two[0])
            if scores.argmax() == END:
                self.kinds.add("end")
                break
            tokens.append(int(scores.argmax()))
        return tokens[len(self.head):]

    def transcribe(self, samples):
        """The published loop: [begin, end, text]."""
        mel = log_mel(samples, 80, len(samples) // 160 * 160 + 480000)
        frames, seek, segments = len(samples) // 160, 0, []
        text = lambda tokens: bytes(LETTER[token] for token in tokens if token < END).decode()
        while seek < frames:
            tokens, size, start = self.decode(mel[:, seek:seek + 3000]), min(3000, frames - seek), seek / 100
            stamps = [token >= FIRST for token in tokens]
            cuts = [i for i in range(1, len(tokens)) if stamps[i - 1] and stamps[i]] if self.timestamps else []
            alone = stamps[-2:] == [False, True]
            if cuts:
                self.kinds.add("pairs, lone end" if alone else "pairs")
                last = 0
                for cut in cuts + [len(tokens)] * alone:
                    part = tokens[last:cut]
                    segments.append((start + (part[0] - FIRST) * 0.02, start + (part[-1] - FIRST) * 0.02, text(part)))
                    last = cut
                seek += size if alone else (tokens[last - 1] - FIRST) * 2
            else:
                times = [token for token in tokens if token >= FIRST] if self.timestamps else []
                self.kinds.add("no pairs")
                end = start + (times[-1] - FIRST) * 0.02 if times and times[-1] != FIRST else start + size / 100
                segments.append((start, end, text(tokens)))
                seek += size
        return segments


def clock(seconds):
    return f"{int(seconds * 100 + 0.5) // 6000:02}:{int(seconds * 100 + 0.5) % 6000 / 100:05.2f}"


def printed(segments, timestamps):
    if not timestamps:
        whole = "".join(text for _, _, text in segments)
        return whole[whole.startswith(" "):] + "\n"
    return "".join(f"[{clock(begin)} -> {clock(end)}] {text.lstrip(' ')}\n" for begin, end, text in segments if text.strip(" "))


def speech(seconds, seed):
    random, time = np.random.default_rng(seed), np.arange(int(16000 * seconds)) / 16000
    tone = np.sin(2 * np.pi * (300 + 200 * np.sin(time)) * time) * (np.sin(0.7 * time + seed) > 0)
    return 0.3 * tone + 0.02 * random.standard_normal(len(time)) * (np.sin(1.3 * time) > -0.5)


def check_library(folder, config, weights, held):
    """Of a shared library: other options, several sounds, and those that are wrong."""
    library, sound = f"{folder}/w.so", f"mel={folder}/speech.wav"
    call(["attn", "compile", f"{folder}/w.attn", "-O0", "--emit=shared", "-o", library])
    command = ["attn", "run", library, "--weights", folder, "--input"]
    said = subprocess.run([*command, sound, "--input", sound, "--language", "de"], check=True, capture_output=True).stdout.decode()
    wanted = printed(Twin(config, weights, language=259).transcribe(held), False)
    assert said == 2 * wanted, f"{said}\n--- but NumPy:\n{wanted}"
    # A program with all that it needs.
    call(["attn", "compile", f"{folder}/w.attn", "-O0", "--embed-weights", "-o", f"{folder}/w"])
    said = subprocess.run([f"{folder}/w", "--input", sound, "--language", "de"], check=True, capture_output=True).stdout.decode()
    assert said == wanted, said
    with open(f"{folder}/lines.jsonl", "w") as file:
        file.writelines(json.dumps({"id": name, "sound": f"{folder}/{name}.wav"}) + "\n" for name in ("speech", "none", "speech"))
    job = subprocess.run([f"{folder}/w", "--lines", f"{folder}/lines.jsonl", "--output", "-", "--language", "de"], capture_output=True, text=True)
    rows = [json.loads(row) for row in job.stdout.splitlines()]
    assert job.returncode == 1 and [row.get("text") for row in rows] == [wanted[:-1], None, wanted[:-1]] and "none.wav" in rows[1]["error"], job
    # Without a tokenizer, or where an output is asked for, tokens are what there is.
    call([*command, sound, "--output", f"tokens={folder}/tokens.npy"])
    os.rename(f"{folder}/tokenizer.json", f"{folder}/other.json")
    said = subprocess.run([*command, sound], check=True, capture_output=True).stdout.decode()
    assert said.startswith("tokens i32"), said
    for code, wanted, wrong in [
            (4, "the folder `{}` has no tokenizer", ["--timestamps"]),
            (2, "the tokenizer has no language `fr`\n   = help: it has en, de, yue", ["--tokenizer", f"{folder}/other.json", "--language", "fr"]),
            (2, "the tokenizer has no task `sing`", ["--tokenizer", f"{folder}/other.json", "--task", "sing"]),
            (2, "a transcription has no beams", ["--tokenizer", f"{folder}/other.json", "--beams", "2"]),
            (2, "`--timestamps` has no effect without a sound", ["--timestamps", "--output", f"tokens={folder}/tokens.npy"])]:
        said = subprocess.run([*command, sound, *wrong], capture_output=True, text=True)
        assert said.returncode == code and wanted.replace("{}", folder) in said.stderr, f"{wrong}: {said.returncode} {said.stderr}"
    os.rename(f"{folder}/other.json", f"{folder}/tokenizer.json")


def check_processor(folder):
    """What preprocessor_config.json says otherwise than config.json."""
    for key, value, wanted in (("feature_size", 128, "`num_mel_bins` of config.json, 80"),
                               ("chunk_length", 20, "twice `max_source_positions` of config.json as frames, 3000")):
        with open(f"{folder}/preprocessor_config.json", "w") as file:
            json.dump({**PROCESSOR, key: value}, file)
        said = subprocess.run(["attn", "import", folder, "-o", f"{folder}/wrong.attn"], capture_output=True, text=True)
        assert said.returncode == 1 and f"`{key}`" in said.stderr and wanted in said.stderr, said.stderr
        assert not os.path.exists(f"{folder}/wrong.attn")


def main():
    folder = sys.argv[1]
    new = dict(is_multilingual=True, lang_to_id={f"<|{name}|>": 258 + i for i, name in enumerate(LANGUAGES)},
               task_to_id=dict(transcribe=TRANSCRIBE, translate=TRANSLATE))
    pairs = [[1, 259], [2, TRANSLATE], [3, NO_TIMESTAMPS]]
    # What the config says, the options, and what the twin is told.
    cases = [
        (38, new, ["--timestamps"], dict(timestamps=True), 40),
        (30, dict(forced_decoder_ids=pairs), ["--language", "en"], dict(language=258, task=TRANSLATE), 31),
        (3, new, [], {}, 61),
        (29, new, ["--timestamps", "--language", "yue", "--task", "translate"], dict(timestamps=True, language=260, task=TRANSLATE), 9),
        (5, dict(forced_decoder_ids=pairs), [], dict(language=259, task=TRANSLATE), 3),
        (30, dict(forced_decoder_ids=pairs), ["--timestamps"], dict(language=259, task=TRANSLATE, timestamps=True), 40),
        (16, dict(forced_decoder_ids=[[1, None], [2, TRANSCRIBE]]), ["--timestamps"], dict(timestamps=True), 35),
        (3, dict(forced_decoder_ids=[[1, NO_TIMESTAMPS]]), [], dict(one_language=True), 2),
        (18, dict(is_multilingual=False), ["--timestamps"], dict(one_language=True, timestamps=True), 45),
        (6, {**new, "language": "de", "task": "translate"}, [], dict(language=259, task=TRANSLATE), 2),
    ]
    full = os.environ.get("ATTN_FULL_TESTS") == "1"
    cases = cases if full else cases[:1]
    kinds, margin, segments = set(), np.inf, 0
    for number, (seed, generation, options, told, seconds) in enumerate(cases):
        own = f"{folder}/{seed}-{number}"
        config, weights = make(own, seed, generation)
        held = wav(f"{own}/speech.wav", speech(seconds, number)[:, None], 16000, "16")
        call(["attn", "import", own, "-o", f"{own}/w.attn"])
        command = ["attn", "run", f"{own}/w.attn", "-O0", "--input", f"mel={own}/speech.wav", *options]
        said = subprocess.run(command, capture_output=True)
        assert said.returncode == 0, said.stderr.decode()
        twin = Twin(config, weights, **told)
        found = twin.transcribe(held)
        wanted = printed(found, twin.timestamps)
        assert said.stdout.decode() == wanted, f"case {number}: {said.stdout.decode()}\n--- but NumPy:\n{wanted}"
        if number == 0 and full:
            check_library(own, config, weights, held)
        if number == 0:
            check_processor(own)
        kinds, margin, segments = kinds | twin.kinds, min(margin, twin.margin), segments + len(found)
    assert kinds >= {"pairs, lone end", "end"} | ({"pairs", "no pairs"} if full else set()), kinds
    assert margin > 1e-4, margin  # else another order of sums may choose another token
    print(f"{len(cases)} recordings, {segments} segments as NumPy writes them, margin {margin:.1e}")


if __name__ == "__main__":
    main()

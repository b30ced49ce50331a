# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whisper: recordings of up to 30 seconds become spectrograms and texts."""
import numpy as np

from javascript_library import Folder, write_json
from javascript_texts import Margin, largest, unsettle
from sound_twin import log_mel, wav
from speech import LANGUAGES, PROCESSOR, TRANSCRIBE, TRANSLATE, make, speech
from text_models import bart_memory, bart_scores
from vit_twin import write_safetensors


def check(library, path, rng, variant):
    generation = dict(is_multilingual=True, lang_to_id={f"<|{name}|>": 258 + i for i, name in enumerate(LANGUAGES)},
                      task_to_id=dict(transcribe=TRANSCRIBE, translate=TRANSLATE), max_length=40)
    config, weights = make(path, int(rng.integers(1000)), generation)
    unsettle(weights)
    write_safetensors(f"{path}/model.safetensors", {name: value.astype(np.float32) for name, value in weights.items()})
    write_json(f"{path}/config.json", {**config, "is_encoder_decoder": True})
    write_json(f"{path}/tokenizer_config.json", dict(tokenizer_class="WhisperTokenizer", clean_up_tokenization_spaces=False))
    write_json(f"{path}/preprocessor_config.json", dict(PROCESSOR, processor_class="WhisperProcessor"))
    folder, margin, error = Folder(library, path, config, weights), Margin(), 0
    length = [16000 * 9 + 77, 480000, 3300][variant]
    held = wav(f"{path}/speech.wav", speech(30, int(rng.integers(100)))[:length, None], 16000, "16")
    held = held.reshape(-1)
    held.astype(np.float32).tofile(f"{path}/speech.f32")

    def encode(input_features):
        nonlocal error
        error = largest(input_features[0], log_mel(held, 80))
        return {"last_hidden_state": bart_memory(config, folder.w, mel=input_features)[0]}

    folder.graph("encoder_model", ["input_features"], encode)
    folder.graph("decoder_model_merged", ["input_ids", "encoder_hidden_states"], lambda input_ids, encoder_hidden_states: margin.seen(
        bart_scores(config, folder.w, input_ids, encoder_hidden_states.astype(np.float64), True)["scores"]), cache="0.decoder.key")
    folder.compile()
    characters = 0
    for language, task in (("de", "transcribe"), ("en", "translate")):
        wanted = library.ask("sound", path, samples=f"{path}/speech.f32", options=dict(language=language, task=task))["text"]
        got = folder.said("--input", f"mel={path}/speech.wav", "--language", language, "--task", task)
        assert got.strip() == wanted.strip(), f"{language}, {task}: {got!r}, expected {wanted!r}"
        characters += len(wanted)
    assert margin.least > 1e-5, margin.least
    return f"spectrogram {error:.0e}, {characters} characters"


SOUNDS = {"whisper": check}

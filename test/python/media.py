# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures and sounds from Python: files, their bytes, Pillow's images and arrays are the same inputs. Usage: media.py EXAMPLES FOLDER"""
import os
import pathlib
import shutil
import sys
import wave

import attn
import numpy as np
from PIL import Image
from tiny import run

examples, folder = sys.argv[1:3]
rng = np.random.default_rng(3)
weights = f"{examples}/fashion-vit/fashion_vit.safetensors"
spec = pathlib.Path(f"{examples}/fashion-vit/fashion_vit.attn")
model = attn.compile(spec, weights=weights, optimize=0)
boot = f"{examples}/fashion-vit/boot.png"
image = Image.open(boot)
pixels = np.asarray(image)
with open(boot, "rb") as file:
    data = file.read()
expected = model.classify(boot)
for value in (pathlib.Path(boot), data, image, pixels, [boot], image.convert("RGB"), pixels[:, :, None], pixels[None, :, :, None],
              np.stack([pixels] * 3, axis=2)):
    assert model.classify(value).tobytes() == expected.tobytes(), type(value)
wide = Image.fromarray(rng.integers(0, 256, (40, 61, 4), np.uint8))  # of another size, with channels that are not kept
wide.save(f"{folder}/wide.png")
batch = model.classify([wide, boot, f"{folder}/wide.png", np.asarray(wide)])
assert batch.shape == (4, 10) and batch[1].tobytes() == expected[0].tobytes()
assert batch[0].tobytes() == batch[2].tobytes() == batch[3].tobytes() == model.classify(wide)[0].tobytes()
for mode in ("1", "P", "LA", "CMYK", "I;16"):
    assert model.classify(Image.fromarray(pixels).convert("RGB" if mode == "CMYK" else "L").convert(mode) if mode != "I;16"
                          else Image.fromarray(pixels.astype(np.uint16))).shape == (1, 10), mode
os.makedirs(f"{folder}/vit", exist_ok=True)
shutil.copy(weights, f"{folder}/vit/model.safetensors")
shutil.copy(f"{examples}/fashion-vit/config.json", f"{folder}/vit")  # has the names of classes
named = attn.compile(spec, weights=f"{folder}/vit", embed_weights=True, optimize=0)
assert named.labels[int(named.classify(boot).argmax())] == "ankle boot" and len(named.labels) == 10 and model.labels == []
print("pictures")
for value, code in ((b"no picture", "R0303"), (f"{folder}/nix.png", "R0501"), (data[:100], "R0302"), (pixels.transpose()[None], "R0302"),
                    ([boot, f"{folder}/nix.png"], "R0501"), ([boot, 7], "R0201")):
    try:
        model.classify(value)
        raise SystemExit(f"{code}: nothing is raised")
    except attn.Error as error:
        assert error.code == code, error
print("mistakes")

sound = """attn 1
model Ear {
  dim C = 80, W = 300
  dyn B <= 4
  sound input C x W rate 16000 fft 400 hop 160
  entry hear(mel: f32[B, C, W]) -> y: [B, C] = mean(W, mel)
}
"""
ear = attn.compile(sound, optimize=0)
with wave.open(f"{folder}/noise.wav", "wb") as file:
    file.setparams((1, 2, 8000, 0, "NONE", ""))
    file.writeframes((rng.standard_normal(20000) * 8000).astype("<i2").tobytes())
with open(f"{folder}/ear.attn", "w") as file:
    file.write(sound)
run("attn", "run", "-O0", f"{folder}/ear.attn", f"--input=mel={folder}/noise.wav", f"--output=y={folder}/y.npy")
with open(f"{folder}/noise.wav", "rb") as file:
    data = file.read()
heard = ear.hear([f"{folder}/noise.wav", data])
assert heard[:1].tobytes() == heard[1:].tobytes() == np.load(f"{folder}/y.npy").tobytes()
print("sounds")

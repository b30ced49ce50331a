# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures in prompts: the tokens of a text with a picture, the grid of its patches and, loosely, their numbers, of pictures of odd sizes, forms and
modes. The library resizes by libvips, which blends the edges of what it makes larger with black: pictures are smooth, and patches
inside of them are compared."""
import os
import re

import numpy as np
from PIL import Image

from javascript_pictures import LOOSE, smooth
from javascript_library import write_json
from program import call
from prompts import MARKS, publish, said, tokens_of

MODES = ["RGB", "L", "RGBA", "P", "1"]
CONFIG = dict(tokenizer_class="PreTrainedTokenizerFast", model_max_length=4096)


def draw(path, rng, n):
    """Some have more than the most pixels, some less than the least. Sides below a square are left out: the library first makes them one, as the
    published class does not."""
    height, width = (int(x) for x in rng.integers(28, 420, 2))
    picture = Image.fromarray(smooth(rng, height, width))
    mode = MODES[n % len(MODES)] if n else "RGB"
    kept = picture.convert(mode)
    file = os.path.join(path, f"{n}-{mode}." + ("jpg" if mode == "L" else "png"))
    kept.save(file, quality=98) if file.endswith("jpg") else kept.save(file)
    return file, mode in ("RGB", "L")


def patches_of(path, line, file):
    """What the line of the imported spec makes of a file: patches, and their rows and columns."""
    side = int(re.search(r"image input (\d+)", line).group(1))
    with open(f"{path}/see.attn", "w") as out:
        out.write(f"attn 1\nmodel See {{\n  dim C = 3, P = {side}, Q = P, M = 4, G = 2\n  dyn N <= 16384\n  {line}\n"
                  "  entry see(image: f32[M*N, C, P, Q], row: i32[M*N], column: i32[M*N], grid: i32[G]) -> patches: [M*N, C, P, Q], rows: i32[M*N],"
                  " columns: i32[M*N], sides: i32[G] {\n    return image + 0, row + 0, column + 0, grid + 0\n  }\n}\n")
    names = ["patches", "rows", "columns", "sides"]
    call(["attn", "run", "-O0", f"{path}/see.attn", "--input", f"image={file}", *(word for name in names for word in ("--output", f"{name}={path}/{name}.npy"))])
    return [np.load(f"{path}/{name}.npy") for name in names]


def check(kind):
    def checked(library, path, rng, variant):
        publish(path, kind)
        processor = "Qwen3VLProcessor" if kind == "qwen3_vl" else "Qwen2_5_VLProcessor" if kind == "qwen2_5_vl" else "Qwen2VLProcessor"
        picture = dict(image_processor_type="Qwen2VLImageProcessor" + ["", "Fast"][variant % 2], patch_size=14, merge_size=2, temporal_patch_size=2,
                       min_pixels=int(rng.integers(800, 9000)), max_pixels=int(rng.integers(20000, 120000)), do_resize=True, do_rescale=True,
                       do_normalize=True, resample=3, rescale_factor=1 / 255, image_mean=[0.48, 0.45, 0.4], image_std=[0.27, 0.26, 0.28],
                       processor_class=processor)
        write_json(f"{path}/preprocessor_config.json", picture)
        write_json(f"{path}/tokenizer_config.json", {**CONFIG, "processor_class": processor})
        call(["attn", "import", path, "-o", f"{path}/spec.attn"])
        line = re.search(r"image input .*?(?=\n *prompt)", open(f"{path}/spec.attn").read(), re.S).group()
        deviation, squares = 0, 0
        for n in range(7):
            file, isClose = draw(path, rng, n)
            text = f"And {MARKS[2]}{MARKS[0]}{MARKS[3]} it came to pass"
            ids, grid, pixels = library.ask("prompt", path, text=text, pictures=[file])
            patches, rows, columns, sides = patches_of(path, line, file)
            assert grid.ravel().tolist() == [1, *sides.tolist()], f"{file}: a grid of {sides.tolist()}, expected {grid.ravel().tolist()}"
            whole = text.replace(MARKS[0], MARKS[0] * (len(patches) // 4))
            assert ids.ravel().tolist() == tokens_of(path, whole), f"{file}: {tokens_of(path, whole)}, expected {ids.ravel().tolist()}"
            own = pixels.reshape(len(patches), 3, 2, 14, 14)
            assert (own[:, :, 0] == own[:, :, 1]).all()
            inside = (rows > 0) & (columns > 0) & (rows < sides[0] - 1) & (columns < sides[1] - 1)
            if isClose and inside.any():
                deviation = max(deviation, np.sqrt(((patches - own[:, :, 0])[inside] ** 2).mean()) / own.std())
            squares += len(patches) // 4
        assert deviation < LOOSE, f"patches are {deviation:.2f} deviations apart"
        code, _, notes = said(["attn", "run", f"{path}/spec.attn", "--weights", path, "-O0", "--prompt", text, "--image", file, "--max-tokens", "1"])
        assert code == 0 and notes.split()[0] == str(ids.size), f"{notes}, expected {ids.size} tokens"
        return f"7 pictures, {squares} squares, {deviation:.3f}"

    return checked


PROMPTS = {kind + "-prompt": check(kind) for kind in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")}

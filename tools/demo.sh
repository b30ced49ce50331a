#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# From a fresh clone to 10,000 classified pictures: sets up, builds, compiles the spec of examples/fashion-vit to native
# code, links it into a program and runs that on Fashion-MNIST's test images. Fails below 90.0% right. Then the other trained
# examples show what they can do.
set -euo pipefail
cd "$(dirname "$0")/.."
if (($# > 0)); then
  echo "usage: tools/demo.sh" >&2
  exit 2
fi

echo "== 1/10 set-up"
tools/setup.sh demo
echo "== 2/10 build"
tools/build.sh attn attn_main attn_image attn_rt

model=examples/fashion-vit out=build/demo
mkdir -p "$out"
rm -rf "${out:?}"/*
mkdir "$out/samples"

echo "== 3/10 compile $model/fashion_vit.attn"
build/bin/attn compile "$model/fashion_vit.attn" --emit=static -o "$out/libfashion_vit.a"
build/bin/attn compile "$model/fashion_vit.attn" --emit=header -o "$out/fashion_vit.h"

echo "== 4/10 build the program around it"
g++ -std=c++17 -O2 -I"$out" -Iruntime/include "$model/demo.cpp" "$model/contact_sheet.cpp" "$out/libfashion_vit.a" \
  -lpng -ljpeg -lz -lm -lpthread -o "$out/demo"

echo "== 5/10 classify Fashion-MNIST's 10,000 test images"
"$out/demo" --weights "$model/fashion_vit.safetensors" --predictions "$out/classes.npy" --sheet "$out/sheet.png" \
  --samples "$out/samples" |
  tee "$out/summary.txt"

# "accuracy    91.39% (9,139 of 10,000)": compared in hundredths of a percent.
accuracy=$(sed -n 's/^accuracy *\([0-9]*\)\.\([0-9][0-9]\)%.*/\1\2/p' "$out/summary.txt")
if ((10#${accuracy:-0} < 9000)); then
  echo "demo: error: expected an accuracy of at least 90.0%" >&2
  exit 3
fi

echo "== 6/10 draw what the class token attends to in four of them"
printf '%s\n' "Ankle boot" Dress Bag T-shirt >"$out/samples/labels"
build/bin/attn run "$model/fashion_maps.attn" --weights "$model/fashion_vit.safetensors" \
  --input image="$out/samples/9.png" --input image="$out/samples/3.png" --input image="$out/samples/8.png" \
  --input image="$out/samples/0.png" --map blocks.3.weights="$out/maps.png" --map-image --map-rows T --map-grid 7x7 \
  --map-labels B="$out/samples/labels" >"$out/maps.txt"
echo "maps        $out/maps.png"

echo "== 7/10 say how words are pronounced"
model=examples/pronounce name=pronounce_lstm
build/bin/attn compile "$model/$name.attn" --emit=static -o "$out/lib$name.a"
build/bin/attn compile "$model/$name.attn" --emit=header -o "$out/$name.h"
g++ -std=c++17 -O2 -I"$out" -Iruntime/include -include "$name.h" -DMODEL="${name}_model" "$model/say.cpp" "$out/lib$name.a" \
  -lpng -ljpeg -lz -lm -lpthread -o "$out/say"
mkdir "$out/word"
"$out/say" --weights "$model/$name.safetensors" --check "$model/held_out.txt" --inputs "$out/word" attention knowledge
build/bin/attn run "$model/$name.attn" --entry pronounce --weights "$model/$name.safetensors" --input word="$out/word/word.npy" \
  --input n="$out/word/n.npy" --map alignment="$out/alignment.png" --map-rows limit --map-labels S="$out/word/letters" \
  --map-labels limit="$out/word/phonemes" >"$out/word/run.txt"
echo "alignment   $out/alignment.png"

echo "== 8/10 import two folders, as checkpoints are published: the labels of a picture, and a text that goes on"
build/bin/attn import examples/fashion-vit -o "$out/vit.attn"
build/bin/attn run "$out/vit.attn" --input image=examples/fashion-vit/boot.png
build/bin/attn import examples/story -o "$out/story.attn"
build/bin/attn compile "$out/story.attn" --embed-weights -o "$out/story"
printf 'And it came to pass'
"$out/story" --seed 3 --prompt "And it came to pass"

echo "== 9/10 find clothes on canvases"
model=examples/fashion-detr name=fashion_detr
build/bin/attn compile "$model/$name.attn" --emit=static -o "$out/lib$name.a"
build/bin/attn compile "$model/$name.attn" --emit=header -o "$out/$name.h"
g++ -std=c++17 -O2 -I"$out" -Iruntime/include "$model/find.cpp" "$out/lib$name.a" -lpng -ljpeg -lz -lm -lpthread -o "$out/find"
"$out/find" --weights "$model/$name.safetensors" --canvases "$model/canvases.png" --wanted "$model/canvases.txt" \
  --sheet "$out/boxes.png"

echo "== 10/10 classify the test images in windows that move"
model=examples/fashion-swin name=fashion_swin
build/bin/attn compile "$model/$name.attn" --emit=static -o "$out/lib$name.a"
build/bin/attn compile "$model/$name.attn" --emit=header -o "$out/$name.h"
g++ -std=c++17 -O2 -I"$out" -Iruntime/include -include "$name.h" -DMODEL="${name}_model" examples/fashion-vit/demo.cpp \
  examples/fashion-vit/contact_sheet.cpp "$out/lib$name.a" -lpng -ljpeg -lz -lm -lpthread -o "$out/swin"
"$out/swin" --weights "$model/$name.safetensors" --sheet "$out/swin.png"
echo "open $out/sheet.png to see the first 25 with their labels, $out/maps.png for where the last layer looks, $out/boxes.png for what was found"

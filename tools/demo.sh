#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# From a fresh clone to 10,000 classified pictures: sets up, builds, compiles the spec of examples/fashion-vit to native
# code, links it into a program and runs that on Fashion-MNIST's test images. Fails below 90.0% right.
set -euo pipefail
cd "$(dirname "$0")/.."
if (($# > 0)); then
  echo "usage: tools/demo.sh" >&2
  exit 2
fi

echo "== 1/6 set-up"
tools/setup.sh
echo "== 2/6 build"
tools/build.sh attn attn_main attn_image attn_rt

model=examples/fashion-vit out=build/demo
mkdir -p "$out"
rm -rf "${out:?}"/*
mkdir "$out/samples"

echo "== 3/6 compile $model/fashion_vit.attn"
build/bin/attn compile "$model/fashion_vit.attn" --emit=static -o "$out/libfashion_vit.a"
build/bin/attn compile "$model/fashion_vit.attn" --emit=header -o "$out/fashion_vit.h"

echo "== 4/6 build the program around it"
g++ -std=c++17 -O2 -I"$out" -Iruntime/include "$model/demo.cpp" "$model/contact_sheet.cpp" "$out/libfashion_vit.a" \
  -lpng -ljpeg -lz -lm -lpthread -o "$out/demo"

echo "== 5/6 classify Fashion-MNIST's 10,000 test images"
"$out/demo" --weights "$model/fashion_vit.safetensors" --predictions "$out/classes.npy" --sheet "$out/sheet.png" \
  --samples "$out/samples" |
  tee "$out/summary.txt"

# "accuracy    91.39% (9,139 of 10,000)": compared in hundredths of a percent.
accuracy=$(sed -n 's/^accuracy *\([0-9]*\)\.\([0-9][0-9]\)%.*/\1\2/p' "$out/summary.txt")
if ((10#${accuracy:-0} < 9000)); then
  echo "demo: error: expected an accuracy of at least 90.0%" >&2
  exit 3
fi

echo "== 6/6 draw what the class token attends to in four of them"
printf '%s\n' "Ankle boot" Dress Bag T-shirt >"$out/samples/labels"
build/bin/attn run "$model/fashion_maps.attn" --weights "$model/fashion_vit.safetensors" \
  --input image="$out/samples/9.png" --input image="$out/samples/3.png" --input image="$out/samples/8.png" \
  --input image="$out/samples/0.png" --map blocks.3.weights="$out/maps.png" --map-image --map-rows T --map-grid 7x7 \
  --map-labels B="$out/samples/labels" >"$out/maps.txt"
echo "maps        $out/maps.png"
echo "open $out/sheet.png to see the first 25 with their labels, $out/maps.png for where the last layer looks"

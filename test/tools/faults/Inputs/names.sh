#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# names.sh SPEC WEIGHTS PICTURE INCLUDE FOLDER: specs, weights, inputs, outputs and folders with unusual names.
set -euo pipefail
spec=$1 weights=$2 picture=$3 include=$4
cd "$5"
level=(-O0 --target=x86-64-v3)
odd=$'a b"\'\nc$x;&'
for name in "$odd" -dash; do
  cp "$spec" "./$name.attn"
  cp "$weights" "./$name.safetensors"
  cp "$picture" "./$name.png"
  mkdir "./$name tmp"

  attn check -- "$name.attn" >/dev/null
  attn fmt --check -- "$name.attn"
  TMPDIR="$name tmp" attn compile "${level[@]}" -- "$name.attn" 2>/dev/null # named after the spec
  attn compile "${level[@]}" -o "$name out" --dump-stages "$name stages" -- "$name.attn" 2>/dev/null
  cmp "./$name" "./$name out"
  [[ -s ./$name\ stages/01-attn.mlir ]]
  attn compile "${level[@]}" --emit=shared -- "$name.attn" 2>/dev/null
  attn inspect -- "lib$name.so" >/dev/null

  "./$name" --weights "$name.safetensors" --input "image=$name.png" --output "classify=$name.npy"
  attn run --weights "$name.safetensors" --input "image=$name.png" --output "classify=$name 2.npy" -- "lib$name.so"
  cmp "./$name.npy" "./$name 2.npy"
  attn run --weights="$name.safetensors" --input="image=$name.png" --output="classify=$name 3.npy" -- "$name out"
  cmp "./$name.npy" "./$name 3.npy"
  attn run "${level[@]}" --weights "$name.safetensors" --input image=random --taps "$name taps.safetensors" -- "$name.attn" >/dev/null
  "./$name" --weights random --bench --repeat 1 --trace "$name.json" >/dev/null
  [[ -s ./$name.json ]]

  # Guard and symbols are named after the model.
  attn compile --emit=header -o "$name.h" -- "$name.attn"
  printf '#include "header.h"\nint main(void) { return fashion_vit_model() == 0; }\n' >main.c
  cp "./$name.h" header.h
  gcc -I"$include" main.c "./lib$name.so" -lm -o main
  LD_LIBRARY_PATH=. ./main
done
echo "all names do"

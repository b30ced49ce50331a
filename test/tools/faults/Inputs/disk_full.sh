#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# disk_full.sh SPEC WEIGHTS FOLDER: what becomes of files that do not fit. Prints what is left in FOLDER/out.
spec=$1 weights=$2 folder=$3 out=$3/out
trap '' XFSZ # a write past the limit is an error, not a signal
attn compile "$spec" -O0 --target=x86-64-v3 -o "$folder/program" 2>/dev/null || exit 1
echo precious >"$out/kept.npy"

limited() { # NAME KIBIBYTES COMMAND...
  local name=$1 size=$2
  shift 2
  echo "== $name"
  (ulimit -f "$size" && exec "$@" >/dev/null)
  echo "exit code $?"
}
compile=(attn compile "$spec" -O0 --target=x86-64-v3)
mkdir "$folder/tmp"
limited artifact 16 "${compile[@]}" --emit=static -o "$out/artifact"
limited assembly 16 "${compile[@]}" --emit=asm -o "$out/assembly.s"
limited stages 4 "${compile[@]}" --emit=tiled --dump-stages "$out/stages" -o "$folder/tiled.mlir"
limited linker 16 env TMPDIR="$folder/tmp" "${compile[@]}" -o "$out/program"
run=("$folder/program" --weights "$weights" --input image=random --set-size B=256)
limited output 1 "${run[@]}" --output "classify=$out/kept.npy"
limited taps 16 attn run "$spec" -O0 --target=x86-64-v3 --weights "$weights" --input image=random --taps "$out/taps.safetensors"
limited trace 1 "$folder/program" --weights "$weights" --bench --repeat 1 --trace "$out/trace.json"
limited 'cache of packed weights' 16 env ATTN_CACHE_DIR="$folder/cache" "${run[@]}"
echo "== left behind"
for file in $(cd "$out" && find . -type f | sort) $(ls "$folder/tmp") $(ls "$folder/cache"); do
  echo "${file#./}: $(head -c 20 "$out/$file")"
done

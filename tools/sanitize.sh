#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tools/sanitize.sh SANITIZER: builds the runtime, the front end and their unit tests with clang's `-fsanitize=SANITIZER`
# (address,undefined or thread) in a folder of their own, and runs them; then compiled models, whose code is as it is for
# users, linked with that runtime.
set -euo pipefail
cd "$(dirname "$0")/.."
if (($# != 1)); then
  echo "usage: tools/sanitize.sh address,undefined|thread" >&2
  exit 2
fi
build=build/sanitize/${1//,/-}
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
tools/build.sh attn attn_main attn_image attn_rt
mkdir -p "$build"
cmake --preset default -B "$build" -DATTN_SANITIZE="$1" "${launcher[@]}" >"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log" >&2; exit 1; }
tests=(FrontendSyntaxTest FrontendModelTest ImportTest RuntimeTest TextTest)
archives=(attn_main attn_prompt attn_serve_text attn_serve attn_text attn_image attn_rt)
ninja -C "$build" "${tests[@]}" "${archives[@]}"

# LLVM's allocators are inlined here and there: their marks of what is free would be those of one half alone.
export ASAN_OPTIONS=allow_user_poisoning=0:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=second_deadlock_stack=1
failed=0
for test in "${tests[@]}"; do
  echo "-- $test"
  # SymbolsTest and MemoryTest are about code without sanitizers: its symbols, its memory.
  "$build/test/unit/$test" --gtest_brief=1 --gtest_filter="-SymbolsTest.*:MemoryTest.*" || failed=1
done

# link SPEC SANITIZER: a program of a model's code and the sanitized runtime, $build/model/program.
link() {
  local spec=$1 folder=$build/model
  shift
  echo "-- $spec"
  rm -rf "$folder" && mkdir -p "$folder"
  build/bin/attn compile "$spec" --emit=static -o "$folder/model.a" 2>"$folder/log" || { cat "$folder/log" >&2; return 1; }
  local member
  local runtime=("${archives[@]/#/$build/lib/attn/lib}")
  runtime=("${runtime[@]/%/.a}")
  member=$(ar t "$folder/model.a" | head -n 1)
  ar p "$folder/model.a" "$member" >"$folder/model.o"
  clang++-22 -fsanitize="$1" -fuse-ld=lld "$folder/model.o" "${runtime[@]}" \
    -Wl,-u,attn_image_load,-u,attn_main_serve,-u,attn_serve_texts_open,-u,attn_main_prompt,-u,attn_main_rows \
    -l:libpcre2-8.a -l:libutf8proc.a -l:libevent_extra.a -l:libevent_core.a -l:libpng.a -l:libjpeg.a -l:libz.a -lm -lpthread \
    "-Wl,--defsym=attn_main_model=${member%.o}" -o "$folder/program"
}

# run SPEC SANITIZER ARGUMENTS...: runs it on four threads.
run() {
  link "$1" "$2" && "$build/model/program" --threads 4 "${@:3}" >"$build/model/log"
}
run examples/fashion-vit/fashion_vit.attn "$1" --weights examples/fashion-vit/fashion_vit.safetensors \
  --input image=examples/fashion-vit/boot.png || failed=1
run examples/self-attention/self_attention.attn "$1" --weights examples/self-attention/self_attention.safetensors \
  --entry unscaled --input x=examples/self-attention/x.npy || failed=1
run test/numeric/decoder.attn "$1" --weights random --bench --entry decode || failed=1
# Servers, by requests of test/serve.
link test/serve/Inputs/small.attn "$1" && /usr/bin/python3 test/serve/Inputs/mistakes.py "$build/model/program" "$build/model" || failed=1
link examples/fashion-vit/fashion_vit.attn "$1" && /usr/bin/python3 test/serve/Inputs/load.py "$build/model/program" 20 200 || failed=1
link test/serve/Inputs/encoder.attn "$1" && /usr/bin/python3 test/serve/Inputs/batch.py "$build/model/program" || failed=1
rm -rf "$build/texts" && mkdir "$build/texts"
link examples/story/story.attn "$1" &&
  /usr/bin/python3 test/serve/Inputs/texts.py "$build/texts" examples/story "$build/model/program" || failed=1
/usr/bin/python3 test/serve/Inputs/shared.py "$build/texts" examples/story
link "$build/texts/shared.attn" "$1" &&
  /usr/bin/python3 test/serve/Inputs/shared.py "$build/texts" examples/story 8 "$build/model/program" || failed=1
exit $failed

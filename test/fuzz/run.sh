#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# run.sh FUZZERS FOLDER LIMIT TARGET [OPTION...]: runs a fuzzer of the build folder FUZZERS on the inputs of this folder, those of
# specs on the tests' and examples', too, within the limits that every reader keeps: 1 GiB, and 10 s for an input. LIMIT is a number
# of inputs, which are the same in every run of one seed, or of seconds, `20s`. New inputs go to FOLDER/corpus, what a reader does
# not survive to FOLDER.
set -euo pipefail
fuzzers=$1 folder=$2 limit=$3 target=$4
shift 4
tests=$(cd "$(dirname "$0")/.." && pwd)
inputs=$tests/fuzz/Inputs
mkdir -p "$folder/corpus"
arguments=(-rss_limit_mb=1024 -malloc_limit_mb=1024 -timeout=10 -print_final_stats=1
  -artifact_prefix="$folder/")
if [[ $limit == *s ]]; then
  arguments+=(-max_total_time="${limit%s}")
else
  arguments+=(-runs="$limit")
fi
seeds=()
add() { if [[ -d $1 ]]; then seeds+=("$1"); fi; }
case $target in
  spec | format)
    arguments+=(-dict="$inputs/spec.dict" -max_len=4096)
    for folder_of_specs in "$inputs/corpus/spec" "$tests/errors" "$tests/frontend" "$tests/../examples/language" \
      "$tests/../examples/vit"; do add "$folder_of_specs"; done
    ;;
  texts)
    arguments+=(-dict="$inputs/texts.dict" -max_len=4096)
    ;;
  chat)
    arguments+=(-dict="$inputs/chat.dict")
    add "$tests/text/Inputs/templates"
    ;;
esac
[[ $target == spec ]] || add "$inputs/corpus/$target"
add "$inputs/regressions/$target"
cd "$folder"
exec "$fuzzers/$target" "${arguments[@]}" "$@" corpus "${seeds[@]}"

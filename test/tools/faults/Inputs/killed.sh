#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# killed.sh SPEC FOLDER: kills compilers at several moments, and runs two at once; says what is wrong with what they leave.
spec=$1 folder=$2
compile() { attn compile "$spec" -O0 --target=x86-64-v3 --emit=static "$@" 2>/dev/null; }
compile -o "$folder/good.a" && compile --set D=48 -o "$folder/other.a" || exit 1

# From the start to a little after the end, with an older file in the place of half of the outputs.
begin=$(date +%s%N)
compile -o "$folder/timed.a"
passed=$(($(date +%s%N) - begin))
for i in 1 2 3 4 5 6; do
  output=$folder/killed$i.a
  ((i % 2)) || cp "$folder/other.a" "$output"
  attn compile "$spec" -O0 --target=x86-64-v3 --emit=static -o "$output" 2>/dev/null &
  sleep "$(awk "BEGIN { print $passed * $i / 5e9 }")"
  kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
  [[ ! -e $output ]] || cmp -s "$output" "$folder/good.a" || cmp -s "$output" "$folder/other.a" || echo "$output is neither"
done
echo "nothing half-written"

for i in 1 2; do
  compile -o "$folder/both.a" &
  compile --set D=48 -o "$folder/both.a" &
  wait
  cmp -s "$folder/both.a" "$folder/good.a" || cmp -s "$folder/both.a" "$folder/other.a" || echo "both.a is neither"
done
[[ $(ls "$folder" | grep -c 'both.*part') == 0 ]] || echo "a part is left"
echo "the same output twice is one of the two, whole"

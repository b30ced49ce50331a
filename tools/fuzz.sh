#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tools/fuzz.sh MINUTES [TARGET...]: runs fuzzers one after the other, each for so long, all of test/fuzz where none is
# named, and goes on with the corpus that they have grown before. What a reader does not survive stays in
# build/fuzz/TARGET: mend the reader, then move the input to test/fuzz/Inputs/regressions/TARGET under the name of the
# mistake.
set -euo pipefail
cd "$(dirname "$0")/.."
if (($# == 0)) || ! [[ $1 =~ ^[0-9]+$ ]]; then
  echo "usage: tools/fuzz.sh MINUTES [TARGET...]" >&2
  exit 2
fi
minutes=$1
shift
targets=("$@")
if ((${#targets[@]} == 0)); then
  mapfile -t targets < <(cd test/fuzz && ls -- *.test | sed 's/\.test$//' | grep -v '^replay$')
fi
tools/build.sh "${targets[@]/#/fuzz_}" >build/fuzz.log 2>&1 || { tail -n 20 build/fuzz.log >&2; exit 1; }

# The inputs and bytes of a folder.
sizes() { find "$1" -type f -printf '%s\n' 2>/dev/null | awk '{ n += 1; s += $1 } END { printf "%d inputs, %d KiB", n, s / 1024 }'; }

failed=0
printf '%-12s %8s %12s %10s %10s  %s\n' target minutes executions edges features 'corpus, before and after'
for target in "${targets[@]}"; do
  folder=$PWD/build/fuzz/$target
  mkdir -p "$folder/corpus"
  before=$(sizes "$folder/corpus") executions=0 found=0 end=$((SECONDS + 60 * minutes)) begin=$SECONDS
  # A fuzzer ends at the first input that its reader does not survive.
  while ((SECONDS < end && found < 10)); do
    code=0
    test/fuzz/run.sh "$PWD/build/test/fuzz" "$folder" "$((end - SECONDS))s" "$target" >"$folder/log" 2>&1 || code=$?
    executions=$((executions + $(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log" | tail -n 1 || true) + 0))
    if ((code != 0)); then
      found=$((found + 1))
      cp "$folder/log" "$folder/log.$found"
    fi
  done
  read -r edges features < <(sed -n 's/.* cov: \([0-9]*\) ft: \([0-9]*\).*/\1 \2/p' "$folder/log" | tail -n 1)
  printf '%-12s %8s %12s %10s %10s  %s; %s\n' "$target" "$(((SECONDS - begin) / 60))" "$executions" "$edges" "$features" \
    "$before" "$(sizes "$folder/corpus")"
  if ((found)); then
    failed=1
    echo "  $found times the reader did not survive: $folder/log.*"
    find "$folder" -maxdepth 1 -type f ! -name 'log*' -printf '  %p\n'
  fi
done
exit $failed

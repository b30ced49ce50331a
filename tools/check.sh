#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up, builds and passes every test; ends with `N passed, N failed`. clang-tidy looks at what changed; with --full at
# everything, which test/clang-tidy.log records, and the property tests take their long variants. With --sanitize, it is
# the runtime and the front end that are tested instead, with sanitizers (tools/sanitize.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
unset OPENBLAS_CORETYPE
full=0 sanitize=0
for argument in "$@"; do
  case $argument in
    --full) full=1 ;;
    --sanitize) sanitize=1 ;;
    *) echo "usage: tools/check.sh [--full] [--sanitize]" >&2; exit 2 ;;
  esac
done

echo "== setup"
tools/setup.sh tests
passed=0 failed=0

# One more check by name, counted like a test.
check() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
  fi
}

if ((sanitize)); then
  for sanitizer in address,undefined thread; do
    echo "== $sanitizer"
    check "$sanitizer" tools/sanitize.sh "$sanitizer"
  done
  echo "$passed passed, $failed failed"
  exit $((failed > 0))
fi

echo "== build"
targets=(all)
if ((full)); then
  targets+=(fuzzers)
fi
tools/build.sh "${targets[@]}"
echo "== style"
check clang-format bash -c 'git ls-files "*.cpp" "*.h" "*.c" | xargs clang-format-22 --dry-run --Werror'
if ((full)); then
  check clang-tidy bash -c 'set -o pipefail; tools/tidy.py --full | tee test/clang-tidy.log'
else
  check clang-tidy tools/tidy.py
fi

echo "== tests"
results=build/test-results.json
rm -rf "$results" build/test/measured
ATTN_FULL_TESTS=$full /usr/lib/llvm-22/bin/lit -sv --order=lexical -j"$(nproc)" -o "$results" build/test build/test/unit || true
read -r lit_passed lit_failed < <(/usr/bin/python3 - "$results" <<'PYTHON'
import collections, json, sys
codes = collections.Counter(test["code"] for test in json.load(open(sys.argv[1]))["tests"])
good = codes["PASS"] + codes["XFAIL"]
ignored = codes["UNSUPPORTED"] + codes["EXCLUDED"] + codes["SKIPPED"]
print(good, sum(codes.values()) - good - ignored)
PYTHON
)
passed=$((passed + lit_passed)) failed=$((failed + lit_failed))
check "test/SYSTEMS.md" tools/systems.py --check
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Configures and builds everything into build/; tools/demo.sh and tools/check.sh call it after tools/setup.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake --preset default "${launcher[@]}" >build.log.tmp 2>&1 || { cat build.log.tmp >&2; rm -f build.log.tmp; exit 1; }
mkdir -p build && mv build.log.tmp build/configure.log
ninja -C build "$@"

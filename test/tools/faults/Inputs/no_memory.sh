#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# no_memory.sh COMMAND...: runs it with less and less memory, from where it has enough to where the system cannot load it. Prints its exit
# codes, each once; signals are numbers from 128 on. Says where an exit code of 4 came without an error.
enough=8000
while ! (ulimit -v "$enough" && "$@" >/dev/null 2>&1); do
  ((enough = enough * 5 / 4))
  ((enough < 10000000)) || exit 1
done
for ((size = enough; size > 2000; size = size * 29 / 30 - 100)); do
  said=$( (ulimit -v "$size" && exec "$@" 2>&1 >/dev/null) )
  code=$?
  ((code != 127)) || break # the loader
  ((code == 0)) || [[ -n $said ]] || echo "nothing said at $size"
  echo "$code"
done | sort -nu | { printf 'exit codes:'; while read -r line; do printf ' %s' "$line"; done; echo; }

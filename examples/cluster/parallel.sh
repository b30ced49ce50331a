#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# 16 shares by GNU parallel, as many at a time as JOBS says, each up to three times where it ends early. For several machines that see the same
# folder: HOSTS=one,two parallel.sh.
set -u
program=${PROGRAM:-./program} lines=${LINES_FILE:-lines.jsonl} results=${RESULTS:-out} shares=${SHARES:-16}

# Exit code 1: lines that are errors have rows that say so.
parallel --jobs "${JOBS:-1}" --retries 3 ${HOSTS:+--sshlogin "$HOSTS" --workdir .} \
  "$program --lines $lines --output $results --shard {}/$shares --resume || test \$? = 1" ::: $(seq "$shares")

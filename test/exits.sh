#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# exits.sh CODE COMMAND...: succeeds if the command ends with this very code.
expected=$1
shift
"$@"
code=$?
if ((code != expected)); then
  echo "exits.sh: expected exit code $expected, but got $code from: $*"
  exit 1
fi

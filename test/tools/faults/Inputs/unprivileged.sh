#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# unprivileged.sh FOLDER COMMAND...: runs it as a user who may not write to FOLDER; succeeds where it ends with exit code 4.
folder=$1
shift
if [[ -w $folder ]]; then
  as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  "${as_nobody[@]}" test -x "$(command -v "$1")" || { echo "cannot drop privileges, or not run it there"; exit 0; }
fi
"${as_nobody[@]}" "$@"
[[ $? == 4 ]]

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Copies a program and the libraries that it loads, libc, libm and the loader, into a folder that is all of a container.
#
# usage: root.sh PROGRAM FOLDER
set -eu
if [ $# != 2 ]; then
  echo "usage: root.sh PROGRAM FOLDER" >&2
  exit 2
fi
mkdir -p "$2"
cp "$1" "$2/"
for library in $(ldd "$1" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p; s/^\t*\(\/[^ ]*\) .*/\1/p'); do
  mkdir -p "$2${library%/*}"
  cp -L "$library" "$2$library"
done

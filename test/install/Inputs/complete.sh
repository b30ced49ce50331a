#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Prints what bash's completion offers for some words.
#
# usage: complete.sh COMPLETIONS
source "$1"

# Words as bash cuts them: = is a word of its own.
offer() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _attn
  local line="$*"
  echo "${line// = /=} -> ${COMPREPLY[*]}" | sed 's/ =  ->/= ->/; s/ = ->/= ->/'
}

offer attn ex
offer attn compile --emit = sh
offer attn compile --emit sta
offer attn compile --emit =
offer attn run --target x86-64-v
offer attn tokenize --no
offer attn compile --gpu
offer attn compile vit
offer attn nothing --x

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Prints what CMake says of wrong calls of attn_add_model.
#
# usage: wrong_calls.sh PREFIX FOLDER
cd "$2"
touch vit.attn
for call in 'none none.attn' 'vit vit.attn WIEGHTS x' 'vit vit.attn TYPE MODULE' 'vit vit.attn WEIGHTS'; do
  printf 'cmake_minimum_required(VERSION 3.21)\nproject(wrong C)\nfind_package(Attn REQUIRED)\nattn_add_model(%s)\n' "$call" >CMakeLists.txt
  # CMake breaks the lines of messages.
  CMAKE_PREFIX_PATH=$1 cmake -S . -B build 2>&1 | sed -n '/Error/,$p' | tr -s ' \n' ' '
  echo
done

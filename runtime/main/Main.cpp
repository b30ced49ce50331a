// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `main` of compiled executables.
#include "attn/abi.h"

int main(int argc, char **argv) { return attn_main(&attn_main_model, argc, argv); }

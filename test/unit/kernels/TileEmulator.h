// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile registers of AMX in plain loops, for machines that have none: what level "amx-emulated"
// calls in the place of instructions. After the Intel 64 manual, volume 2, TILELOADD, TILESTORED,
// TILEZERO, TDPBUSD and TDPBF16PS, with all tiles 16 rows of 64 bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace attn::test {

/// The functions by their names.
std::vector<std::pair<std::string, void *>> tileEmulator();

} // namespace attn::test

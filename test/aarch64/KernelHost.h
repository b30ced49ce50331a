// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a test says to the program that runs its kernels under an emulator (KernelHost.cpp): a call
// on its standard input, and a byte on its standard output when the call has returned.
#pragma once

#include <cstdint>

namespace attn::test {

/// The exit code of a host whose own memory lies where some of the test's does. Another start of it
/// lies elsewhere.
constexpr int kernelHostHasNoRoom = 3;

/// A call of a kernel, once per thread, one after the other. Pointers are addresses of the test's
/// own memory.
struct KernelCall {
  static constexpr int64_t maxArguments = 24;
  char name[64];
  int64_t threads;
  bool anyPieces;            ///< of a PieceDealer
  int64_t packed, workspace; ///< pointers, may be null
  int64_t arguments[maxArguments];
};

} // namespace attn::test

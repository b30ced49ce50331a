// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model as a program for another machine, which a command runs on this one: `attn verify
// --emulator`.
#pragma once

#include "Runner.h"
#include "attn/abi.h"
#include <string>
#include <vector>

namespace attn {
struct CompileOptions;
} // namespace attn

namespace attn::tool {

class Spec;

/// Compiles a model for another machine, and runs it on inputs by a command.
class Emulator {
public:
  /// `command` is words with spaces between them: "qemu-aarch64 -L /usr/aarch64-linux-gnu".
  explicit Emulator(const std::string &command);
  ~Emulator();
  Emulator(const Emulator &) = delete;

  /// Compiles and links the program, into a temporary folder of its own. 0, or an exit code after
  /// an error.
  int build(Spec &spec, const CompileOptions &options);
  /// The arguments of every run behind the first ones: weights, threads.
  void setArguments(std::vector<std::string> arguments) { common = std::move(arguments); }

  /// Runs an entry on tensors; `outputs` are those that are read back. 0, or an exit code after an
  /// error.
  int run(const attn_abi_entry &entry, const attn_tensor *inputs, std::vector<Numbers> &outputs);

private:
  std::vector<std::string> words, common;
  std::string folder;
};

} // namespace attn::tool

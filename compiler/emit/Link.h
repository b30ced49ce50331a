// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a model's object file to what people use: an executable, a shared or static library, one
// object. The runtime's archives go into each of them.
#pragma once

#include "compiler/target/CpuArchitecture.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace attn {

/// What people get: a program, a library that is loaded or linked, or an object.
enum class ArtifactKind { Executable, Shared, Static, Object };

/// What is made of an object, and from what.
struct LinkOptions {
  ArtifactKind kind = ArtifactKind::Executable;
  std::string symbol;        ///< the table symbol that the object defines
  bool takesImage = false;   ///< the artifact reads pictures, where the runtime does
  bool findsObjects = false; ///< a program draws into pictures, where the runtime does
  bool takesSound = false;   ///< the artifact reads sounds, where the runtime does
  bool takesText = false;    ///< the artifact has tokenizers, where the runtime does
  bool hasServer = false;    ///< a program answers requests over HTTP, by `--serve`
  std::string runtimeDir;    ///< where libattn_rt.a and the others lie, for this machine
  const CpuArchitecture *architecture = nullptr; ///< of the object

  /// Whether the artifact itself has the tokenizers. Of a static library or an object, whoever
  /// links it adds libattn_text.a.
  bool hasText() const {
    return takesText && (kind == ArtifactKind::Executable || kind == ArtifactKind::Shared);
  }
};

/// The bytes of the artifact. They depend on `object`, the options, the runtime's archives and the
/// linker alone, not on any path. Errors are for people and about the environment: no linker, a
/// missing archive, no room for temporary files.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> link(llvm::MemoryBufferRef object,
                                                         const LinkOptions &options);

/// <folder of the running program, or of the library that this code is in>/../lib/attn, in the
/// build tree and where Attn is installed.
std::string defaultRuntimeDir();

} // namespace attn

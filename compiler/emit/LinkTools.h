// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools that linking uses: the machine's C compiler as the linker, LLVM's objcopy.
#pragma once

#include "compiler/target/CpuArchitecture.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace attn {

/// A file that the linker reads: its name without folders, its contents.
struct LinkerInput {
  std::string name;
  llvm::StringRef contents;
};

/// Runs the first of the architecture's linkers that is there, in an empty temporary folder that
/// holds `inputs`, and returns what it wrote.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> runLinker(const CpuArchitecture &architecture,
                                                              llvm::ArrayRef<LinkerInput> inputs,
                                                              llvm::ArrayRef<std::string> args);

/// The same relocatable object with hidden symbols local.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
localizeHidden(const llvm::MemoryBuffer &object);

/// A relocatable object for the machine of `model`, with a section of `contents` that no program
/// loads.
llvm::Expected<std::string> makeSectionObject(llvm::MemoryBufferRef model, llvm::StringRef name,
                                              llvm::StringRef contents);

} // namespace attn

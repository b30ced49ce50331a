// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled models as files: executables, shared and static libraries, objects.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace attn::tool {

/// What kind of file an artifact is.
enum class ArtifactForm { Executable, Shared, Static, Object };

/// A compiled model as a file.
struct Artifact {
  ArtifactForm form;
  std::string description; ///< JSON, the text of section .attn.description
  std::string explanation; ///< the bytes of section .attn.explanation; empty without one
  std::string materials;   ///< SPDX's JSON, the text of section .attn.spdx; empty without one
};

/// What the bytes of a file are, found without running or loading it. An error says why they are no
/// ELF file or archive with a description of a model in it.
llvm::Expected<Artifact> readArtifact(llvm::StringRef bytes);

/// Its description, or an error that says that it is damaged.
llvm::Expected<llvm::json::Object> parseDescription(const Artifact &artifact);

/// Whether a file is an artifact by its first bytes (ELF or an archive).
bool looksLikeArtifact(llvm::StringRef bytes);

/// The same of the file at a path; of one that cannot be read, and of pipes, false.
bool isArtifact(llvm::StringRef path);

/// "executable", "shared library", ...
llvm::StringRef formName(ArtifactForm form);

} // namespace attn::tool

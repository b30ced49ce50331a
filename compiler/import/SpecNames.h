// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of an imported spec.
#pragma once

#include "llvm/ADT/StringSet.h"
#include <string>

namespace attn::importer {

/// Names of a spec, each once: those of the file, as far as the language has them, and our own.
class SpecNames {
public:
  SpecNames();

  /// A name of the file: letters, digits and `_`, no word of the language.
  std::string ofFile(llvm::StringRef name);

  /// `name`, or with a number after it where it is taken already.
  std::string fresh(llvm::StringRef name);

  /// A dim's name, whose small letters name positions along it.
  std::string dim(llvm::StringRef letter);

private:
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> numbers, dimNumbers; ///< the last one behind each name
};

} // namespace attn::importer

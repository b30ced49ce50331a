// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error of all importers.
#include "compiler/import/Import.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::importer {

char ImportError::ID = 0;

void ImportError::log(raw_ostream &os) const {
  os << message;
  if (!help.empty())
    os << " (" << help << ')';
}

Error importError(const Twine &message, const Twine &help) {
  return make_error<ImportError>(message.str(), help.str());
}

} // namespace attn::importer

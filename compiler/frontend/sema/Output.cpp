// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The module that is built: where its header ends, which symbols it has; and the types that an
// editor is told.
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "llvm/Support/FormatVariadic.h"

namespace attn::frontend {

using namespace ast;

void headerHere(Output &output) {
  if (output.lastHeader)
    output.header.setInsertionPointAfter(output.lastHeader);
  else
    output.header.setInsertionPointToStart(output.module->getBody());
}

std::string uniqueSymbol(Output &output, llvm::StringRef name) {
  std::string symbol = name.str();
  for (unsigned i = 1; !output.symbols.insert(symbol).second; ++i)
    symbol = (name + "." + llvm::Twine(i)).str();
  return symbol;
}

void recordType(Sema &sema, SourceRange range, const SemaValue &value) {
  if (!sema.options.types || value.isError())
    return;
  recordType(sema, range,
             value.isTensor() ? showTensor(value.tensor)
                              : llvm::formatv("{0}", value.number).str());
}

void recordType(Sema &sema, SourceRange range, const llvm::Twine &words) {
  if (sema.options.types && !sema.report.unapplied && !sema.source.isUsed(range.begin))
    sema.options.types->push_back({range, words.str()});
}

} // namespace attn::frontend

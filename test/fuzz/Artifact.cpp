// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled models as `attn inspect` reads them.
#include "Targets.h"
#include "tools/attn/artifact/ArtifactReport.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;

void fuzz::artifact(const uint8_t *data, size_t size) {
  auto artifact = tool::readArtifact({reinterpret_cast<const char *>(data), size});
  if (!artifact) {
    fuzz::require(!llvm::toString(artifact.takeError()).empty(), "an error without words");
    return;
  }
  auto description = tool::parseDescription(*artifact);
  if (description)
    tool::printModel(*description, artifact->form, llvm::nulls());
  else
    llvm::consumeError(description.takeError());
}

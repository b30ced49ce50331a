// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX files: an import ends with a spec that parses, formatted, or says why not.
#include "Targets.h"
#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"
#include "compiler/import/Import.h"

using namespace attn;

void fuzz::onnx(const uint8_t *data, size_t size) {
  auto spec = importer::importOnnx({reinterpret_cast<const char *>(data), size});
  if (!spec) {
    fuzz::require(!llvm::toString(spec.takeError()).empty(), "an error without words");
    return;
  }
  frontend::SourceFile source("<import>", spec->text);
  frontend::DiagnosticEngine diagnostics(source);
  auto file = frontend::parse(source, diagnostics);
  fuzz::require(!diagnostics.hasErrors(), "what was imported does not parse");
  fuzz::require(frontend::format(*file, source) == spec->text,
                "what was imported is not formatted");
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX files: an import ends with a spec that parses, formatted, or says why not, and the weights
// of the file lie in it, or it says why not.
#include "io/Onnx.h"
#include "Targets.h"
#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"
#include "compiler/import/Import.h"
#include "io/Checkpoint.h"

using namespace attn;

/// Reads the weights, as a run does.
static void readWeights(const uint8_t *data, size_t size) {
  fuzz::MemoryFile memory(data, size);
  attn::Error error;
  attn::SourceFile file;
  attn::Arena arena;
  attn::Vector<attn::SourceFile *> files;
  attn::Vector<attn::StoredTensor> tensors;
  if (file.open(memory.path().c_str(), error)) { // A pointer of Git LFS.
    fuzz::require(error.text.size() > 0, "an error without words");
    return;
  }
  attn_status status = attn::readOnnxTensors(file, "model.onnx", attn::OnnxTensors::All, arena,
                                             files, tensors, error);
  fuzz::require(!status || error.text.size(), "an error without words");
  for (attn::StoredTensor &tensor : tensors)
    fuzz::require(status || tensor.file || tensor.data || // in another file, or made of codes
                      tensor.offset + tensor.bytes <= file.size(),
                  "a tensor behind the end of the file");
  for (attn::SourceFile *external : files)
    attn::dispose(external);
}

void fuzz::onnx(const uint8_t *data, size_t size) {
  readWeights(data, size);
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The config.json of a checkpoint's folder: an import ends with a spec that parses, formatted, or
// says why not. What the text has under "tensors" are the names of those that are there.
#include "compiler/import/checkpoint/Folder.h"
#include "Targets.h"
#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"
#include "compiler/support/Json.h"

using namespace attn;

void fuzz::folder(const uint8_t *data, size_t size) {
  auto value = parseJson({reinterpret_cast<const char *>(data), size});
  llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object) {
    llvm::consumeError(value.takeError());
    return;
  }
  importer::Folder folder;
  folder.path = "folder";
  folder.config = *object;
  if (const llvm::json::Array *tensors = object->getArray("tensors"))
    for (const llvm::json::Value &name : *tensors)
      if (auto text = name.getAsString())
        folder.shapes[text->str()] = {1};
  for (auto [key, to] : {std::pair("generation", &folder.generation),
                         std::pair("preprocessor", &folder.preprocessor)})
    if (const llvm::json::Object *other = object->getObject(key))
      *to = *other;
  if (const llvm::json::Object *pooling = object->getObject("pooling"))
    folder.modules = {{"sentence_transformers.models.Transformer", "", {}},
                      {"sentence_transformers.models.Pooling", "1_Pooling", *pooling}};
  for (llvm::StringRef other : {"tensors", "generation", "preprocessor", "pooling"})
    folder.config.erase(other); // which are no keys of a config
  auto spec = importer::importFolder(folder);
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headers of a checkpoint's files to names for bindings. The runtime's reader reads them.
#include "CheckpointNames.h"

#include "io/Checkpoint.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <set>

namespace attn::lsp {

using namespace attn::frontend;

/// The path of the checkpoint that a model names; empty where none does.
static std::string checkpointOf(const Document &document) {
  for (const ast::ItemPtr &item : document.tree().items)
    if (auto *model = llvm::dyn_cast<ast::ModelDecl>(item.get()))
      for (const ast::ItemPtr &own : model->items)
        if (auto *weights = llvm::dyn_cast<ast::WeightsDecl>(own.get()))
          if (!weights->file.text.empty())
            return llvm::sys::path::is_absolute(weights->file.text)
                       ? weights->file.text
                       : document.beside(weights->file.text);
  return "";
}

/// What stands behind the first number of a layer: `attn.q` of `blocks.3.attn.q`.
static llvm::StringRef behindLayer(llvm::StringRef name) {
  llvm::StringRef rest = name;
  while (rest.contains('.')) {
    auto [part, next] = rest.split('.');
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      return next;
    rest = next;
  }
  return "";
}

std::vector<std::string> tensorsFor(const Document &document, const Place &place) {
  std::string path = checkpointOf(document);
  attn::Checkpoint checkpoint;
  attn::Error error;
  if (path.empty() || checkpoint.open(path.c_str(), error) != ATTN_OK)
    return {};
  bool isWhole =
      place.keyword == "param" || place.keyword == "ignore" || place.keyword == "precision";
  std::set<std::string> names;
  for (const attn::StoredTensor &tensor : checkpoint.tensors()) {
    llvm::StringRef name(tensor.name, tensor.nameLength);
    if (place.isInBlock)
      name = behindLayer(name);
    if (!isWhole && !name.consume_back(".weight"))
      name.consume_back(".bias");
    if (!name.empty())
      names.insert(llvm::json::fixUTF8(name));
  }
  return {names.begin(), names.end()};
}

} // namespace attn::lsp

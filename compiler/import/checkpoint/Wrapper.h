// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders whose model is not what a family reads by itself: a language model inside of one that
// sees, and what no family reads.
#pragma once

#include "compiler/import/checkpoint/Folder.h"

namespace attn::importer {

/// The language model inside of a model that sees or hears.
struct InnerModel {
  Folder folder;       ///< its config.json is `text_config`, its tensors have a family's names
  TensorNames names;   ///< for the spec, which has those of the file
  std::string ignored; ///< the lines of the spec for the other tensors
  std::string typeOfWrapper; ///< model_type of the whole
  std::string architecture;  ///< of the whole, where its pictures are read, too; else empty
  std::vector<std::string> notes;
};

/// The language model in a folder; nothing where it is not such a folder.
std::optional<InnerModel> innerModel(const Folder &folder);

/// That no family reads this `model_type`: whose names its tensors have, where they are some
/// family's.
llvm::Error unknownType(const Folder &folder, llvm::StringRef type);

/// Where weights are packed in a way that no reader of tensors has.
llvm::Error checkPacking(const llvm::json::Object &config);

} // namespace attn::importer

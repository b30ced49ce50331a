// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of each key in the JSON files of a folder: it was asked for, or a row of keys.txt
// says what it is, or it is an error.
#pragma once

#include "compiler/import/checkpoint/Config.h"
#include "compiler/import/checkpoint/Folder.h"

namespace attn::importer {

/// Which keys of a folder were asked for, and for whom.
struct KeyQuestion {
  const Folder &folder;
  llvm::StringRef family; ///< model_type
  bool generates;         ///< whether what generation_config.json says is used at all
  const AskedKeys &asked;
};

/// The fate of every key, in the order of the files.
std::vector<KeyDecision> decideKeys(const KeyQuestion &question);

/// One error of all undecided keys, with their lines; success where there is none. Notes of those
/// that are left out are appended to `notes`.
llvm::Error accountForKeys(llvm::ArrayRef<KeyDecision> decisions, const Folder &folder,
                           std::vector<std::string> &notes);

/// The line, from 1 on, where a key stands in the text of a JSON file; 0 where it is not there.
unsigned lineOfKey(llvm::StringRef text, llvm::StringRef path);

/// What is wrong with keys.txt itself; empty where nothing is.
std::string checkKeyTable();

/// The keys of one kind of file that runs read, as rows say.
std::vector<std::string> keysOfRuns(llvm::StringRef kind);

} // namespace attn::importer

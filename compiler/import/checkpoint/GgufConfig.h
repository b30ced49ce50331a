// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The config.json that a folder of the same model as a GGUF file would have. Decoders in Llama's
// form are read in Gguf.cpp, others in GgufForms.cpp.
#pragma once

#include "compiler/import/Import.h"
#include "compiler/import/checkpoint/Folder.h"
#include "compiler/import/checkpoint/GgufNames.h"
#include "compiler/import/checkpoint/GptKinds.h"
#include "compiler/import/checkpoint/LlamaKinds.h"

namespace attn::importer {

/// Makes the config.json of a file's values.
class GgufConfig {
public:
  GgufConfig(const llvm::json::Object &values, const GgufFactors &factors, Folder &folder,
             const GgufKind &kind)
      : values(values), factors(factors), folder(folder), kind(kind),
        prefix(kind.architecture.str() + ".") {}
  /// Fills in what the folder says of the model.
  llvm::Error read();

private:
  /// A value of the architecture, by its name behind that.
  const llvm::json::Value *find(llvm::StringRef key) const {
    return findWhole((prefix + key).str());
  }
  /// A value by its whole name, which counts as read.
  const llvm::json::Value *findWhole(llvm::StringRef key) const {
    folder.askedValues.insert(key.str());
    return values.get(key);
  }
  /// What is given for each layer has to be alike in all.
  llvm::Error take(llvm::StringRef key, llvm::StringRef theirs);
  llvm::Error takeAll(llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> keys);
  /// The rows of a matrix, which is a vector where there is one, as llama.cpp's converter wrote it
  /// for long; nothing where the tensor is neither.
  std::optional<int64_t> rowsOf(llvm::StringRef tensor) const;
  llvm::Error readTokens();
  void readGeneration();
  llvm::Error readLlama();
  /// What files of Llama's relatives say, and files of Llama do not.
  llvm::Error readRelative();
  /// Which layers have a window, where they are of two types.
  void readWindows(const LlamaKind &form);
  /// Granite's scales.
  llvm::Error readMultipliers();
  llvm::Error readBert();
  llvm::Error readGpt(const GptKind &form);
  llvm::Error readNomic();
  llvm::Error readModernBert();
  llvm::Error readPooling();
  /// Whether tokens see what comes behind them.
  llvm::Error readCausal();
  llvm::Error readRope();
  llvm::Error readScaling();
  llvm::json::Object longRope() const;
  void readScores();
  llvm::Error readExperts();
  /// Of experts that some layers lack, that stand in groups, or beside which some are of all rows.
  llvm::Error readMixture(const LlamaExperts &experts);
  /// What is said of latent keys and values.
  llvm::Error readLatent();
  /// What is said of recurrences, and of the layers that attend.
  llvm::Error readMixer(LlamaMixer mixer);
  llvm::Error readRecurrent();
  /// What is given for some layers, and is 0 for others: `theirs` becomes what the former have.
  llvm::Expected<std::vector<bool>> takeSome(llvm::StringRef key, llvm::StringRef theirs);
  void readStates(LlamaMixer mixer);
  /// Says which layers attend, as the published config of a hybrid does.
  llvm::Error sayAttending(LlamaMixer mixer, const std::vector<bool> &attends,
                           const std::vector<bool> &feeds);
  /// How many layers there are, without those that guess tokens ahead, which files count, too.
  int64_t layers() const;
  /// A whole number of the architecture; 0 where there is none.
  int64_t whole(llvm::StringRef key) const;
  /// Whether a layer has a tensor whose name ends so.
  bool hasInLayers(llvm::StringRef ending) const;

  const llvm::json::Object &values;
  const GgufFactors &factors;
  Folder &folder;
  const GgufKind &kind;
  std::string prefix;
};

} // namespace attn::importer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options to a hash of all their values. Structured bindings name every field, so that a field
// that is added and not hashed does not compile.
#include "compiler/emit/CompileOptions.h"
#include "dialect/AttnDialect.h"

namespace attn {

static void addHash(StrongHash &hash, const TunedChoices &tuning) {
  hash.add(tuning.size());
  for (const auto &[level, kernels] : tuning) {
    hash.add(llvm::StringRef(level), kernels.size());
    for (const auto &[kernel, choice] : kernels) {
      hash.add(llvm::StringRef(kernel));
      hash.addRange(choice.begin(), choice.end());
    }
  }
}

static void addHash(StrongHash &hash, const Ptxas &ptxas) {
  const auto &[path, version] = ptxas;
  hash.add(llvm::StringRef(path), llvm::StringRef(version));
}

void addHash(StrongHash &hash, const CompileOptions &options) {
  const auto &[targets, precision, optLevel, debugLines, dumpStages, kernel, attention, tuning,
               ptxas, gpuBulkStores, gpuOverlap, gpuWatchdog, tokenizer, chatTemplate, labels,
               labelFunction, explanation, embedWeights] = options;
  hash.add(llvm::StringRef(targets.names()), precision, optLevel);
  for (const std::string *text :
       {&dumpStages, &kernel, &tokenizer, &chatTemplate, &labels, &explanation})
    hash.add(llvm::StringRef(*text));
  hash.add(attention.has_value(), attention.value_or(AttentionLowering()));
  addHash(hash, tuning);
  hash.add(ptxas.has_value());
  if (ptxas)
    addHash(hash, *ptxas);
  for (bool isOn : {debugLines, gpuBulkStores, gpuOverlap, gpuWatchdog, embedWeights})
    hash.add(isOn);
  hash.add(labelFunction);
}

} // namespace attn

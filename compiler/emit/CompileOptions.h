// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a model is compiled for, and how: the explicit inputs of the compiler besides the model.
#pragma once

#include "compiler/gpu/ptx/Ptxas.h"
#include "compiler/target/TargetSet.h"
#include "compiler/transforms/Tuning.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/HashBuilder.h"
#include <optional>
#include <string>

namespace attn {

enum class AttentionLowering : uint32_t; // dialect/AttnDialect.td
enum class Precision : uint32_t;

/// The inputs of the compiler besides the model. The same options give the same bytes. `addHash`
/// takes all of them: it does not compile where it misses a new one.
struct CompileOptions {
  TargetSet targets;                          ///< CPU levels and GPUs
  Precision precision = {};                   ///< of linears
  unsigned optLevel = 3;                      ///< of LLVM's pipeline, 0..3
  bool debugLines = false;                    ///< objects say which lines of the spec code is of
  std::string dumpStages;                     ///< a directory for NN-<stage>.mlir, empty: none
  std::string kernel;                         ///< of kernelNames: stages and text hold it alone
  std::optional<AttentionLowering> attention; ///< for those that can be lowered so
  TunedChoices tuning;                        ///< measured tiles, where there are some
  std::optional<Ptxas> ptxas;                 ///< assembles the code of GPUs; none: drivers do
  bool gpuBulkStores = false;                 ///< Hopper's linears store by the copy engine
  bool gpuOverlap = false;   ///< kernels of GPUs begin before those before them have ended
  bool gpuWatchdog = false;  ///< kernels of GPUs trap where a wait does not end
  std::string tokenizer;     ///< the bytes of its file, which the artifact holds; empty: none
  std::string chatTemplate;  ///< a tokenizer_config.json with a chat template, in the same way
  std::string labels;        ///< names of classes, which the artifact holds, a NUL behind each
  int32_t labelFunction = 0; ///< what scores are printed as beside them (ATTN_LABELS_*)
  std::string explanation;   ///< packed JSON that the artifact keeps; empty: none
  bool embedWeights = false; ///< reserve the packed block in the artifact (see emit/Embed.h)
};

/// What hashes are built with that have to be strong.
using StrongHash = llvm::HashBuilder<llvm::BLAKE3, llvm::endianness::native>;

/// Adds the values of all options to a hash, as `hash.add(options)` does.
void addHash(StrongHash &hash, const CompileOptions &options);

} // namespace attn

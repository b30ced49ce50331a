// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `attn run` makes of a run besides its outputs: named intermediates in a file, maps. Apart
// from MLIR's headers: plain C++ on both sides.
#pragma once

#include "attn/abi.h"
#include "tools/attn/maps/Map.h"
#include "tools/attn/maps/Table.h"
#include <string>
#include <vector>

namespace attn::tool {

/// What is wanted of a run besides its outputs.
struct Observation {
  std::string taps; ///< The .safetensors file, or empty.
  /// A map that is wanted: the tensor's name, and where it goes.
  struct Drawing {
    std::string name, file; ///< `-`: as text to standard output
    std::string rows;       ///< The axis of the queries; empty: the last but one.
  };
  std::vector<Drawing> maps;
  maps::MapOptions mapOptions;
  bool hasPictures = false; ///< Pictures that went in are drawn before their maps.
  maps::Terminal terminal;
  std::string entry; ///< `--entry`, or empty.
  /// How many outputs of every entry are its own; the others are named intermediates.
  std::vector<int32_t> outputs;

  /// Whether anything is wanted.
  bool isWanted() const { return !taps.empty() || !maps.empty(); }
};

/// attn_main with the arguments, and what `observation` asks for once the model has run.
int runObserved(const attn_abi_model *tables, int argc, char **argv, Observation &observation);

/// attn_main with the arguments; `liveShare` is Command::liveShare with this context.
int runCounted(const attn_abi_model *tables, int argc, char **argv,
               double (*liveShare)(void *, int32_t, const int64_t *, const char *), void *context);

} // namespace attn::tool

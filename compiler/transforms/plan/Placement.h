// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plan of memory asks of the kind of machine that it is for, once for all.
#pragma once

#include "compiler/transforms/FewQueries.h"

namespace attn::planning {

/// A kind of machine: CPUs or GPUs.
struct Placement {
  bool headsShareKeys;    ///< Query heads of a group take their keys together, as rows of one tile.
  int64_t mostFewQueries; ///< So many rows of queries at most are few.
  /// How many parts the keys of so many rows of queries are divided into.
  KeyDivision (*keyDivision)(int64_t rows);
  bool readsAnyElement;   ///< Kernels of many queries read keys and values that are not f32.
  bool multipliesAll;     ///< Products in f16 and tf32, which else are those of what is stored.
  bool keepsHalves;       ///< What is only multiplied is kept in 16 bits, bf16 as it is.
  bool mapsWriteHalves;   ///< Kernels of attn.map can write 16 bits.
  bool preparesRows;      ///< Rows of linears become bytes or pairs in front of their product.
  bool threadsHaveRows;   ///< A thread has scratch rows of its own, with a gap for prefetchers.
  bool worksInPlace;      ///< A result may take the place of an operand.
  bool passesTables;      ///< A pointer to a table of constants can be passed to a function.
  bool callerKnowsCounts; ///< How many rows an expert has is known where its kernels are called.

  static const Placement cpus, gpus;
};

inline const Placement Placement::cpus = {
    /*headsShareKeys=*/false,
    /*mostFewQueries=*/FewQueriesShape::mostQueries,
    /*keyDivision=*/[](int64_t) { return KeyDivision::ofCpus(); },
    /*readsAnyElement=*/false,
    /*multipliesAll=*/false,
    /*keepsHalves=*/false,
    /*mapsWriteHalves=*/false,
    /*preparesRows=*/true,
    /*threadsHaveRows=*/true,
    /*worksInPlace=*/true,
    /*passesTables=*/true,
    /*callerKnowsCounts=*/true,
};

inline const Placement Placement::gpus = {
    /*headsShareKeys=*/true,
    /*mostFewQueries=*/FewQueriesShape::mostRowsOnGpus,
    /*keyDivision=*/KeyDivision::ofGpus,
    /*readsAnyElement=*/true,
    /*multipliesAll=*/true,
    /*keepsHalves=*/true,
    /*mapsWriteHalves=*/true,
    /*preparesRows=*/false,
    /*threadsHaveRows=*/false,
    /*worksInPlace=*/false,
    /*passesTables=*/false,
    /*callerKnowsCounts=*/false,
};

} // namespace attn::planning

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights from random numbers, by seed, name and shape alone.
#pragma once

#include "attn/abi.h"
#include "base/Error.h"

namespace attn {

class Team;

/// How attn_random_tensor draws a tensor.
struct RandomRule {
  float mean, scale;
  RandomRule(const char *name, size_t length, int32_t rank, const int64_t *shape);
};

/// Draws every parameter and fills its parts of `block`, on all threads of the team.
attn_status packRandom(const attn_abi_model &tables, uint64_t seed, char *block, Team &team,
                       Error &error);

} // namespace attn

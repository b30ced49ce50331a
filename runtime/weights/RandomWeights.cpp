// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each parameter is drawn on all threads, then packed, layer by layer.
#include "weights/RandomWeights.h"
#include "base/Dtype.h"
#include "base/PageBlock.h"
#include "base/Random.h"
#include "base/Team.h"
#include "io/Checkpoint.h"
#include "weights/Match.h"
#include "weights/Pack.h"
#include <cmath>

using namespace attn;

RandomRule::RandomRule(const char *name, size_t length, int32_t rank, const int64_t *shape) {
  if (rank <= 1) {
    // A gain stays near one, as in a trained norm; a bias near zero.
    bool isGain = length >= 6 && memcmp(name + length - 6, "weight", 6) == 0;
    mean = isGain ? 1.0f : 0.0f;
    scale = 0.1f;
    return;
  }
  double fanIn = 1;
  for (int32_t a = 1; a < rank; ++a)
    fanIn *= double(shape[a]);
  mean = 0;
  scale = float(1 / sqrt(fanIn));
}

extern "C" attn_status attn_random_tensor(uint64_t seed, const char *name, int32_t rank,
                                          const int64_t *shape, float *values) {
  int64_t count;
  if (!name || rank < 0 || rank > ATTN_MAX_RANK || (!shape && rank > 0) ||
      !countElements(shape, rank, count) || (!values && count > 0))
    return ATTN_INVALID_ARGUMENT;
  size_t length = strlen(name);
  RandomRule rule(name, length, rank, shape);
  RandomStream(seed, name, length).normal(0, count, rule.mean, rule.scale, values);
  return ATTN_OK;
}

namespace {
struct Drawing {
  RandomStream stream;
  RandomRule rule;
  int64_t count, threads;
  float *values;
};
} // namespace

/// Fills one tensor, each thread an even-sized stretch of it.
static void drawOnThread(void *argument, int64_t thread) {
  const Drawing &drawing = *static_cast<Drawing *>(argument);
  int64_t share = (drawing.count / drawing.threads + 2) / 2 * 2, begin = thread * share;
  int64_t end = begin + share < drawing.count ? begin + share : drawing.count;
  if (begin < end)
    drawing.stream.normal(begin, end - begin, drawing.rule.mean, drawing.rule.scale,
                          drawing.values + begin);
}

/// All parts that read this parameter at this layer.
static bool addJobs(const attn_abi_model &tables, int32_t parameter, int32_t layer,
                    const StoredTensor &tensor, Vector<PackJob> &jobs) {
  bool isStacked = tables.parameters[parameter].layers > 0;
  for (int32_t s = 0; s < tables.slotCount; ++s)
    for (int32_t p = 0; p < tables.slots[s].partCount; ++p) {
      const attn_abi_slot &slot = tables.slots[s];
      if (slot.parts[p].parameter != parameter)
        continue;
      int32_t begin = isStacked ? layer : 0, end = isStacked ? layer + 1 : slot.layers;
      for (int32_t l = begin; l < end; ++l)
        if (!jobs.push({&slot, &slot.parts[p], l, &tensor}))
          return false;
    }
  return true;
}

attn_status attn::packRandom(const attn_abi_model &tables, uint64_t seed, char *block, Team &team,
                             Error &error) {
  Vector<PackJob> jobs;
  Text name;
  for (int32_t i = 0; i < tables.parameterCount; ++i) {
    const attn_abi_parameter &parameter = tables.parameters[i];
    StoredTensor tensor = {};
    tensor.dtype = ATTN_F32;
    int64_t count = 1;
    for (int32_t a = 0; a < parameter.rank; ++a)
      count *= parameter.shape[a];
    PageBlock scratch;
    if (!scratch.allocate(uint64_t(count) * 4))
      return error.outOfMemory("a random tensor");
    tensor.data = scratch.data();
    for (int32_t layer = 0; layer < (parameter.layers ? parameter.layers : 1); ++layer) {
      expandName(parameter, layer, name);
      Drawing drawing{RandomStream(seed, name.c_str(), name.size()),
                      RandomRule(name.c_str(), name.size(), parameter.rank, parameter.shape), count,
                      team.size(), reinterpret_cast<float *>(scratch.data())};
      team.run(drawOnThread, &drawing);
      jobs.clear();
      if (name.failed() || !addJobs(tables, i, layer, tensor, jobs))
        return error.outOfMemory("packing the weights");
      if (attn_status status = packAll(jobs, block, team, error))
        return status;
    }
  }
  return ATTN_OK;
}

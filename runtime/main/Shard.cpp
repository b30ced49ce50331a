// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --shard, and the variables that clusters set for each process of a job.
#include "main/Shard.h"
#include <cerrno>
#include <cstdlib>

using namespace attn;

static constexpr int64_t mostShards = 1000000;

namespace {

/// Variables of a job: the number of a process, counted from that of another variable on, or from
/// 0; how far apart numbers are; how many there are. Null where there is no such variable.
struct ClusterVariables {
  const char *index, *first, *step, *count;
};

constexpr ClusterVariables clusters[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP",
     "SLURM_ARRAY_TASK_COUNT"},                                         // Slurm: sbatch --array
    {"JOB_COMPLETION_INDEX", nullptr, nullptr, nullptr},                // Kubernetes: Indexed Jobs
    {"OMPI_COMM_WORLD_RANK", nullptr, nullptr, "OMPI_COMM_WORLD_SIZE"}, // Open MPI
    {"PMI_RANK", nullptr, nullptr, "PMI_SIZE"},                         // MPICH, Intel MPI
    {"SLURM_PROCID", nullptr, nullptr, "SLURM_NTASKS"},                 // Slurm: srun
};

} // namespace

/// A whole number up to a million; false where it is none.
static bool parseNumber(const char *text, size_t size, int64_t &value) {
  value = 0;
  for (size_t i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9' || value > mostShards)
      return false;
    value = 10 * value + (text[i] - '0');
  }
  return size > 0;
}

/// The number that a variable holds, or `otherwise` where it is not set.
static attn_status readVariable(const char *name, int64_t otherwise, int64_t &value, Error &error) {
  const char *text = name ? getenv(name) : nullptr;
  value = otherwise;
  if (text && !parseNumber(text, strlen(text), value))
    return error.set(ATTN_INVALID_ARGUMENT, "U0002",
                     "`--shard auto`: `%s` is `%s`, expected a "
                     "whole number",
                     name, text);
  return ATTN_OK;
}

/// What the environment says; `shard.count` is 0 where --shard gives none.
static attn_status readEnvironment(Shard &shard, Error &error) {
  const ClusterVariables *found = nullptr;
  Text names;
  for (const ClusterVariables &cluster : clusters) {
    if (!found && getenv(cluster.index))
      found = &cluster;
    names.append(names.size() ? ", `%s`" : "`%s`", cluster.index);
  }
  if (!found) {
    error.set(ATTN_INVALID_ARGUMENT, "U0003", "`--shard auto`: no variable of a cluster is set");
    error.help("it looks for %s; or pass `--shard 3/16`", names.c_str());
    return error.status;
  }
  int64_t index, first, step, count;
  if (readVariable(found->index, 0, index, error) || readVariable(found->first, 0, first, error) ||
      readVariable(found->step, 1, step, error) || readVariable(found->count, 0, count, error))
    return error.status;
  shard.number = (index - first) / (step > 0 ? step : 1) + 1;
  if (shard.count == 0)
    shard.count = count;
  if (shard.count > 0 && shard.number >= 1 && shard.number <= shard.count)
    return ATTN_OK;
  if (shard.count == 0) {
    error.set(ATTN_INVALID_ARGUMENT, "U0003",
              "`--shard auto`: `%s` does not say how many shards "
              "there are",
              found->index);
    error.help("pass their number: `--shard auto/16`");
    return error.status;
  }
  return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--shard auto`: `%s` says shard %lld of %lld",
                   found->index, static_cast<long long>(shard.number),
                   static_cast<long long>(shard.count));
}

attn_status attn::readShard(const char *text, Shard &shard, Error &error) {
  const char *slash = strchr(text, '/');
  size_t length = slash ? size_t(slash - text) : strlen(text);
  bool isAuto = length == 4 && memcmp(text, "auto", 4) == 0;
  shard.count = 0;
  bool isGood = isAuto || (slash && parseNumber(text, length, shard.number));
  if (isGood && slash)
    isGood = parseNumber(slash + 1, strlen(slash + 1), shard.count) && shard.count >= 1 &&
             shard.count <= mostShards;
  if (isGood && isAuto)
    return readEnvironment(shard, error);
  if (isGood && shard.number >= 1 && shard.number <= shard.count)
    return ATTN_OK;
  error.set(ATTN_INVALID_ARGUMENT, "U0002",
            "`--shard %s`: expected a shard, from 1 on, and their "
            "number",
            text);
  error.help("as in 1/16 to 16/16; `auto`, from the variables of a cluster, or `auto/16`");
  return error.status;
}

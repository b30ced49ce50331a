// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models: the options of ATTN_FLAGS, and the choice of the level that this CPU runs well.
#include "run/Model.h"
#include "base/Features.h"
#include "base/RegroupPanels.h"
#include <cerrno>
#include <new>

using namespace attn;

namespace {
struct Options {
  char level[32] = "";
  int32_t threads = 0;
  bool pins = false;
};
} // namespace

/// Reads "level=NAME,threads=N,pin".
static attn_status parseOptions(const char *text, const char *source, Options &options,
                                Error &error) {
  while (text && *text) {
    size_t length = strcspn(text, ",");
    if (strncmp(text, "level=", 6) == 0 && length > 6 && length - 6 < sizeof options.level) {
      memcpy(options.level, text + 6, length - 6);
      options.level[length - 6] = 0;
    } else if (strncmp(text, "threads=", 8) == 0 && length > 8) {
      char *end;
      errno = 0;
      long value = strtol(text + 8, &end, 10);
      if (errno || end != text + length || value < 1 || value > 1024) {
        error.set(ATTN_INVALID_ARGUMENT, "R0103", "`%.*s` in %s: expected 1 to 1024 threads",
                  int(length), text, source);
        return error.status;
      }
      options.threads = int32_t(value);
    } else if (length == 3 && strncmp(text, "pin", 3) == 0) {
      options.pins = true;
    } else if (length > 0) {
      error.set(ATTN_INVALID_ARGUMENT, "R0103", "unknown option `%.*s` in %s", int(length), text,
                source);
      error.help("options are level=NAME, threads=N and pin, with commas between them");
      return error.status;
    }
    text += length + (text[length] == ',');
  }
  return ATTN_OK;
}

static void appendLevels(const attn_abi_model &tables, Text &text) {
  for (int32_t i = 0; i < tables.levelCount; ++i)
    text.append(i ? ", %s" : "%s", tables.levels[i].name);
}

/// The last level that this CPU runs well, levels standing lowest first, or the one asked for.
static attn_status chooseLevel(const attn_abi_model &tables, const char *wanted,
                               const attn_abi_level *&chosen, Error &error) {
  char name[64];
  cpuName(name);
  Text levels;
  appendLevels(tables, levels);
  chosen = nullptr;
  for (int32_t i = 0; i < tables.levelCount; ++i) {
    const attn_abi_level &level = tables.levels[i];
    bool isWanted = strcmp(level.name, wanted) == 0;
    if (isWanted && !hasLevel(level.level))
      return error.set(ATTN_UNSUPPORTED_CPU, "R0403", "level `%s` was asked for, but %s lacks it",
                       wanted, name);
    if (isWanted || (*wanted == 0 && hasLevel(level.level) && runsWell(level.level)))
      chosen = &level;
  }
  if (chosen)
    return ATTN_OK;
  if (*wanted) {
    error.set(ATTN_INVALID_ARGUMENT, "R0103", "model `%s` has no code for level `%s`", tables.name,
              wanted);
    error.help("it has: %s", levels.c_str());
    return error.status;
  }
  error.set(ATTN_UNSUPPORTED_CPU, "R0403",
            "model `%s` needs a CPU of level %s or above, but this is %s", tables.name,
            tables.levelCount ? tables.levels[0].name : "?", name);
  error.help("compile it with `--target=native` on this machine");
  return error.status;
}

/// Sets what weights are packed by, and binds those that no checkpoint has to give.
static attn_status takeOwnWeights(attn_model &model, Error &error) {
  const attn_abi_model &tables = *model.tables;
  if (!slotsOfLevel(tables, *model.level, model.slots))
    return error.outOfMemory("a model");
  model.packing = tables;
  model.packing.slots = model.slots.data();
  if (tables.embedded)
    return bindEmbedded(model, error);
  bool hasOnlyAngles = tables.parameterCount == 0 && tables.packedBytes > 0;
  return hasOnlyAngles ? bindNothing(model, error) : ATTN_OK;
}

static attn_status createModel(const attn_abi_model *tables, const char *optionText,
                               attn_model **result, Error &error) {
  if (!tables || !result)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_model_create: null pointer");
  if (tables->abiVersion != ATTN_ABI_VERSION) {
    error.set(ATTN_INVALID_ARGUMENT, "R0104",
              "the model's tables are of version %d, this runtime reads version %d",
              int(tables->abiVersion), ATTN_ABI_VERSION);
    error.help("compile the model with the `attn` that this runtime came with");
    return error.status;
  }
  if (tables->dimCount > maxDims)
    return error.set(ATTN_INVALID_ARGUMENT, "R0106", "model `%s` has %d dims, the most is %d",
                     tables->name, int(tables->dimCount), int(maxDims));
  Options options;
  if (attn_status status = parseOptions(getenv("ATTN_FLAGS"), "ATTN_FLAGS", options, error))
    return status;
  if (attn_status status = parseOptions(optionText, "the options", options, error))
    return status;
  const attn_abi_level *level;
  if (attn_status status = chooseLevel(*tables, options.level, level, error))
    return status;
  void *memory = malloc(sizeof(attn_model));
  if (!memory)
    return error.outOfMemory("a model");
  attn_model *model = new (memory) attn_model;
  model->tables = tables;
  model->level = level;
  model->pinsThreads = options.pins;
  model->threads = options.threads ? options.threads : attn_default_threads();
  if (attn_status status = takeOwnWeights(*model, error)) {
    attn_model_destroy(model);
    return status;
  }
  *result = model;
  return ATTN_OK;
}

extern "C" attn_status attn_model_create(const attn_abi_model *tables, const char *options,
                                         attn_model **model, char **message) {
  Error error;
  createModel(tables, options, model, error);
  return error.report(message);
}

extern "C" void attn_model_destroy(attn_model *model) {
  if (model && model->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    model->~attn_model();
    free(model);
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few values of a config.json that say what codes mean.
#include "base/Json.h"
#include "io/QuantizedTensor.h"
#include <initializer_list>
#include <unistd.h>

using namespace attn;

static constexpr uint64_t maxConfig = 100 * 1000 * 1000;

/// Reads the values of an object, of which those that say nothing here are passed over.
static void readValues(JsonReader &json, QuantizationConfig &config) {
  Vector<char> key, text;
  if (!json.enterObject())
    return;
  while (json.nextKey(key)) {
    char first = json.peek();
    if (strcmp(key.data(), "checkpoint_format") == 0 && first == '"') {
      if (json.readString(text))
        config.keepsZeros = strcmp(text.data(), "gptq_v2") == 0;
    } else if (strcmp(key.data(), "sym") == 0 && (first == 't' || first == 'f')) {
      config.isSymmetric = first == 't';
      json.skipWord(config.isSymmetric ? "true" : "false");
    } else if (strcmp(key.data(), "weight_block_size") == 0 && first == '[') {
      if (!json.enterArray() || !json.nextElement() || !json.readSize(config.blockRows) ||
          !json.nextElement() || !json.readSize(config.blockColumns) || json.nextElement() ||
          config.blockRows < 1 || config.blockColumns < 1)
        json.fail("expected `weight_block_size` to be [rows, columns]");
    } else {
      json.skipValue();
    }
  }
}

static void readConfig(JsonReader &json, bool isWhole, QuantizationConfig &config) {
  if (isWhole)
    return readValues(json, config);
  Vector<char> key;
  if (json.enterObject())
    while (json.nextKey(key)) {
      if (strcmp(key.data(), "quantization_config") == 0 && json.peek() == '{')
        readValues(json, config);
      else
        json.skipValue();
    }
}

attn_status attn::readQuantizationConfig(const char *folder, QuantizationConfig &config,
                                         Vector<SourceFile *> &files, Error &error) {
  // The older one, of AutoGPTQ, has the values alone.
  for (bool isWhole : {true, false}) {
    Text path;
    path.append("%s/%s", folder, isWhole ? "quantize_config.json" : "config.json");
    if (path.failed())
      return error.outOfMemory(folder);
    if (access(path.c_str(), F_OK) != 0)
      continue;
    SourceFile *file = create<SourceFile>();
    if (!file || !files.push(file)) {
      dispose(file);
      return error.outOfMemory(path.c_str());
    }
    Vector<char> text;
    if (attn_status status = file->open(path.c_str(), error))
      return status;
    if (file->size() > maxConfig)
      return error.set(ATTN_BAD_WEIGHTS, "W0206", "`%s` has more than %llu bytes", path.c_str(),
                       static_cast<unsigned long long>(maxConfig));
    if (!text.resize(size_t(file->size())))
      return error.outOfMemory(path.c_str());
    if (!file->read(0, text.size(), text.data()))
      return file->cannotRead(error);
    JsonReader json(text.data(), text.size());
    readConfig(json, isWhole, config);
    if (!json.isGood()) {
      error.set(ATTN_BAD_WEIGHTS, "W0206", "`%s` does not say how weights are quantized: %s",
                path.c_str(), json.problem);
      error.note("at byte %zu", json.position);
      return error.status;
    }
  }
  return ATTN_OK;
}

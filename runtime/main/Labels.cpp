// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The labels of a config.json.
#include "main/Labels.h"
#include "attn/abi.h"
#include "base/Json.h"
#include "base/Text.h"
#include "io/File.h"
#include "main/Objects.h"
#include <cmath>

using namespace attn;

static constexpr size_t maxConfig = size_t(1) << 24;
static constexpr int64_t maxLabels = 1 << 20;

namespace {

/// Names in the order in which a file has them, and the number of each.
struct Found {
  Vector<char> text; ///< a NUL behind each
  Vector<size_t> starts;
  Vector<int64_t> numbers;

  /// Reads the next string as the name of a class.
  bool add(JsonReader &json, int64_t number) {
    return starts.push(text.size()) && numbers.push(number) && json.appendString(text) &&
           text.push('\0');
  }
};

} // namespace

/// {"0": "cat", …}
static bool readObject(JsonReader &json, Found &found) {
  Vector<char> key;
  if (!json.enterObject())
    return false;
  while (json.nextKey(key)) {
    char *end = nullptr;
    long number = strtol(key.data(), &end, 10);
    if (key.empty() || *end || number < 0 || number >= maxLabels || !found.add(json, number))
      return false;
  }
  return json.isGood();
}

/// ["cat", …]
static bool readArray(JsonReader &json, Found &found) {
  if (!json.enterArray())
    return false;
  while (json.nextElement())
    if (found.numbers.size() >= size_t(maxLabels) ||
        !found.add(json, int64_t(found.numbers.size())))
      return false;
  return json.isGood();
}

namespace {

/// What a config says of its labels.
struct LabelConfig {
  Found found;
  bool hasNames = false;
  bool isRegression = false, areSeveral = false; ///< of its `problem_type`
  int32_t activation = -1; ///< of a cross-encoder, ATTN_LABELS_*; -1: none is said
};

} // namespace

/// Reads the text that comes next; false, and the value passed over, where it is none.
static bool readText(JsonReader &json, Vector<char> &text) {
  if (json.peek() == '"')
    return json.readString(text);
  json.skipValue();
  return false;
}

/// A module of PyTorch's by its name: "torch.nn.modules.linear.Identity".
static void readActivation(JsonReader &json, LabelConfig &config) {
  Vector<char> text;
  if (!readText(json, text))
    return;
  if (strstr(text.data(), "Sigmoid"))
    config.activation = ATTN_LABELS_SIGMOID;
  else if (strstr(text.data(), "Identity"))
    config.activation = ATTN_LABELS_NONE;
}

/// What sentence-transformers says of a cross-encoder.
static void readCrossEncoder(JsonReader &json, LabelConfig &config) {
  Vector<char> key;
  if (json.peek() != '{') {
    json.skipValue();
    return;
  }
  json.enterObject();
  while (json.nextKey(key)) {
    if (strcmp(key.data(), "activation_fn") == 0)
      readActivation(json, config);
    else
      json.skipValue();
  }
}

/// The first list of names in a config, and what their scores mean; false where it is none.
static bool readConfig(JsonReader &json, LabelConfig &config) {
  Vector<char> key, text;
  if (!json.enterObject())
    return false;
  while (json.nextKey(key)) {
    bool isObject = strcmp(key.data(), "id2label") == 0 && json.peek() == '{',
         isArray = strcmp(key.data(), "label_names") == 0 && json.peek() == '[';
    if (!config.hasNames && (isObject || isArray)) {
      if (!(isObject ? readObject(json, config.found) : readArray(json, config.found)))
        return false;
      config.hasNames = true;
    } else if (strcmp(key.data(), "problem_type") == 0 && readText(json, text)) {
      config.isRegression = strcmp(text.data(), "regression") == 0;
      config.areSeveral = strcmp(text.data(), "multi_label_classification") == 0;
    } else if (strcmp(key.data(), "problem_type") == 0) {
      continue;
    } else if (strcmp(key.data(), "sbert_ce_default_activation_function") == 0) {
      readActivation(json, config);
    } else if (strcmp(key.data(), "sentence_transformers") == 0) {
      readCrossEncoder(json, config);
    } else {
      json.skipValue();
    }
  }
  return json.isGood() && config.hasNames;
}

/// What the scores of `count` labels are printed as.
static int32_t functionOf(const LabelConfig &config, size_t count) {
  if (count == 1 && config.activation >= 0)
    return config.activation;
  if (config.isRegression)
    return ATTN_LABELS_NONE;
  return config.areSeveral || count == 1 ? ATTN_LABELS_SIGMOID : ATTN_LABELS_SOFTMAX;
}

void Labels::readFolder(const char *folder) {
  Text path;
  Vector<char> bytes;
  Error error;
  path.append("%s/config.json", folder);
  if (path.failed() || readFile(path.c_str(), maxConfig, bytes, error))
    return;
  JsonReader json(bytes.data(), bytes.size());
  LabelConfig config;
  const Found &found = config.found;
  Vector<size_t> places; // one more than the place of each number's name, 0: none
  size_t count = 0;
  if (!readConfig(json, config) || !places.resize(found.numbers.size()))
    return;
  for (size_t i = 0; i < found.numbers.size(); ++i) {
    auto number = size_t(found.numbers[i]);
    if (number >= places.size() || places[number])
      return;
    places[number] = i + 1;
  }
  Vector<char> sorted;
  for (size_t place : places) {
    const char *name = found.text.data() + found.starts[place - 1];
    Text shown; // as a terminal may see it
    shown.appendQuoted(name, strlen(name));
    if (shown.failed() || !sorted.append(shown.c_str(), shown.size() + 1))
      return;
    ++count;
  }
  if (count)
    take(sorted.data(), sorted.size(), functionOf(config, count));
}

void Labels::take(const char *names, size_t bytes, int32_t function) {
  kind = function;
  text.clear();
  starts.clear();
  bool isGood = bytes > 0 && names[bytes - 1] == '\0' && text.append(names, bytes);
  for (size_t at = 0; isGood && at < bytes; at += strlen(names + at) + 1)
    isGood = starts.push(at);
  if (!isGood)
    starts.clear();
}

int attn::rankLabels(const attn_tensor &scores, int64_t begin, const Labels &labels,
                     RankedLabel (&best)[mostRanked]) {
  int count = 0;
  for (int64_t i = 0; i < labels.size(); ++i) {
    double score = valueAt(scores, begin + i);
    int at = count < mostRanked ? count++ : mostRanked;
    for (; at > 0 && score > best[at - 1].value; --at)
      if (at < mostRanked)
        best[at] = best[at - 1];
    if (at < mostRanked)
      best[at] = {i, score};
  }
  double largest = count ? best[0].value : 0, sum = 0;
  for (int64_t i = 0; i < labels.size(); ++i)
    sum += exp(valueAt(scores, begin + i) - largest);
  for (int i = 0; i < count; ++i) {
    double &value = best[i].value;
    if (labels.function() == ATTN_LABELS_SIGMOID)
      value = 1 / (1 + exp(-value));
    else if (labels.function() != ATTN_LABELS_NONE)
      value = exp(value - largest) / sum;
  }
  return count;
}

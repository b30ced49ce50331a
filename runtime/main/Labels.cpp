// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The labels of a config.json.
#include "main/Labels.h"
#include "base/Json.h"
#include "base/Text.h"
#include "io/File.h"

using namespace attn;

static constexpr size_t kMaxConfig = size_t(1) << 24;
static constexpr int64_t kMaxLabels = 1 << 20;

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
    if (key.empty() || *end || number < 0 || number >= kMaxLabels || !found.add(json, number))
      return false;
  }
  return json.isGood();
}

/// ["cat", …]
static bool readArray(JsonReader &json, Found &found) {
  if (!json.enterArray())
    return false;
  while (json.nextElement())
    if (found.numbers.size() >= size_t(kMaxLabels) ||
        !found.add(json, int64_t(found.numbers.size())))
      return false;
  return json.isGood();
}

/// The first list of names in a config.
static bool readConfig(JsonReader &json, Found &found) {
  Vector<char> key;
  if (!json.enterObject())
    return false;
  while (json.nextKey(key)) {
    bool isObject = strcmp(key.data(), "id2label") == 0 && json.peek() == '{',
         isArray = strcmp(key.data(), "label_names") == 0 && json.peek() == '[';
    if (isObject || isArray)
      return isObject ? readObject(json, found) : readArray(json, found);
    json.skipValue();
  }
  return false;
}

void Labels::readFolder(const char *folder) {
  Text path;
  Vector<char> bytes;
  Error error;
  path.append("%s/config.json", folder);
  if (path.failed() || readFile(path.c_str(), kMaxConfig, bytes, error))
    return;
  JsonReader json(bytes.data(), bytes.size());
  Found found;
  Vector<size_t> places; // one more than the place of each number's name, 0: none
  size_t count = 0;
  if (!readConfig(json, found) || !places.resize(found.numbers.size()))
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
    take(sorted.data(), sorted.size());
}

void Labels::take(const char *names, size_t bytes) {
  text.clear();
  starts.clear();
  bool isGood = bytes > 0 && names[bytes - 1] == '\0' && text.append(names, bytes);
  for (size_t at = 0; isGood && at < bytes; at += strlen(names + at) + 1)
    isGood = starts.push(at);
  if (!isGood)
    starts.clear();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of a config.json, and what is wrong with them.
#include "compiler/import/checkpoint/Config.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::importer {

const json::Value *Config::find(StringRef key, bool isWhole) const {
  const json::Value *value = object->get(key);
  if (value)
    (*asked)[{object, key.str()}] |= isWhole;
  return value && value->kind() != json::Value::Null ? value : nullptr;
}

Config Config::within(StringRef key) {
  static const json::Object nothing;
  const json::Object *inner = objectAt(key);
  Config config(inner ? *inner : nothing, file + ", " + key.str());
  config.asked = asked;
  return config;
}

void Config::passOver(ArrayRef<StringRef> keys) {
  for (StringRef key : keys)
    find(key, /*isWhole=*/true);
}

bool Config::has(StringRef key) const { return find(key); }

bool Config::isSilent(StringRef key) const { return !object->get(key); }

void Config::refuse(StringRef key, const Twine &expected, const Twine &mend) {
  if (!message.empty())
    return;
  raw_string_ostream os(message);
  os << '`' << file << "`: ";
  if (const json::Value *value = find(key))
    os << '`' << key << "` is `" << *value << "`, expected " << expected;
  else
    os << '`' << key << "` is missing, expected " << expected;
  help = mend.str();
}

void Config::adopt(const Config &other) {
  append_range(notes, other.notes);
  if (asked != other.asked)
    for (const auto &[key, isWhole] : *other.asked)
      (*asked)[key] |= isWhole;
  if (message.empty())
    message = other.message, help = other.help;
}

Error Config::takeError() {
  return message.empty() ? Error::success() : importError(message, help);
}

int64_t Config::size(StringRef key) {
  const json::Value *value = find(key);
  std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
  if (number && *number >= 1 && *number <= INT32_MAX)
    return *number;
  refuse(key, "a whole number from 1 to 2147483647");
  return 1;
}

int64_t Config::size(StringRef key, int64_t otherwise) { return has(key) ? size(key) : otherwise; }

std::optional<double> Config::number(StringRef key) {
  const json::Value *value = find(key);
  if (!value)
    return std::nullopt;
  std::optional<double> number = value->getAsNumber();
  if (!number)
    refuse(key, "a number");
  return number;
}

double Config::number(StringRef key, double otherwise) {
  if (!has(key))
    note("`" + file + "` does not say `" + key + "`: " + numberText(otherwise) +
         ", the default of the published class");
  return number(key).value_or(otherwise);
}

bool Config::flag(StringRef key, bool otherwise) {
  const json::Value *value = find(key);
  std::optional<bool> flag = value ? value->getAsBoolean() : std::optional(otherwise);
  if (!flag)
    refuse(key, "true or false");
  return flag.value_or(otherwise);
}

std::string Config::text(StringRef key, StringRef otherwise) {
  const json::Value *value = find(key);
  std::optional<StringRef> text = value ? value->getAsString() : std::optional(otherwise);
  if (!text)
    refuse(key, "a text");
  return text.value_or(otherwise).str();
}

std::vector<std::string> Config::texts(StringRef key) {
  std::vector<std::string> texts;
  const json::Value *value = find(key);
  const json::Array *array = value ? value->getAsArray() : nullptr;
  if (value && !array)
    refuse(key, "a list of texts");
  for (size_t i = 0; array && i < array->size(); ++i) {
    if (auto text = (*array)[i].getAsString())
      texts.push_back(text->str());
    else
      refuse(key, "a list of texts");
  }
  return texts;
}

std::vector<std::string> Config::oneOrTexts(StringRef key) {
  const json::Value *value = find(key);
  auto text = value ? value->getAsString() : std::nullopt;
  return text ? std::vector<std::string>{text->str()} : texts(key);
}

std::vector<int64_t> Config::sizes(StringRef key) {
  std::vector<int64_t> numbers;
  const json::Value *value = find(key);
  auto add = [&](const json::Value &one) {
    std::optional<int64_t> number = one.getAsInteger();
    if (number && *number >= 0)
      numbers.push_back(*number);
    else
      refuse(key, "a number of a token, or a list of such");
  };
  if (const json::Array *array = value ? value->getAsArray() : nullptr)
    for (const json::Value &one : *array)
      add(one);
  else if (value)
    add(*value);
  return numbers;
}

std::vector<double> Config::numbers(StringRef key) {
  std::vector<double> numbers;
  const json::Value *value = find(key);
  const json::Array *array = value ? value->getAsArray() : nullptr;
  if (value && !array)
    refuse(key, "a list of numbers");
  for (size_t i = 0; array && i < array->size(); ++i) {
    if (auto number = (*array)[i].getAsNumber())
      numbers.push_back(*number);
    else
      refuse(key, "a list of numbers");
  }
  return numbers;
}

const json::Object *Config::objectAt(StringRef key) {
  const json::Value *value = find(key);
  const json::Object *inner = value ? value->getAsObject() : nullptr;
  if (value && !inner)
    refuse(key, "an object");
  return inner;
}

const json::Object *Config::mapAt(StringRef key) {
  find(key, /*isWhole=*/true);
  return objectAt(key);
}

const json::Value *Config::valueAt(StringRef key) { return find(key, /*isWhole=*/true); }

std::optional<int64_t> Config::whole(StringRef key) {
  const json::Value *value = find(key);
  return value ? value->getAsInteger() : std::nullopt;
}

std::string numberText(double value) {
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    char buffer[40];
    snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    text = buffer;
    if (strtod(buffer, nullptr) == value)
      break;
  }
  // "1e-06" is 1e-6.
  for (size_t at = text.find('e'); at != std::string::npos && text[at + 2] == '0';)
    text.erase(at + 2, 1);
  // A whole number is written as one, as far as that is short.
  if (double(int64_t(value)) == value && value < 1e9 && value > -1e9)
    return std::to_string(int64_t(value));
  return text;
}

} // namespace attn::importer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Members of JSON objects to values.
#include "text/steps/ComponentReader.h"
#include <cstdarg>
#include <cstdio>

using namespace attn;

bool ComponentReader::fail(JsonValue at, const char *format, ...) {
  char what[768];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  Text path;
  if (at.exists())
    at.appendPath(path);
  if (path.size())
    error.set(ATTN_BAD_INPUT, "R0701", "`%s`: `%s`: %s", file, path.c_str(), what);
  else
    error.set(ATTN_BAD_INPUT, "R0701", "`%s`: %s", file, what);
  return false;
}

bool ComponentReader::failUnknown(JsonValue component, const char *what, const char *known) {
  Text path, type;
  component.appendPath(path);
  Slice name = component.find("type").text();
  type.appendQuoted(name.data, name.size);
  error.set(ATTN_BAD_INPUT, "R0702", "`%s`: `%s`: the %s `%.200s` is not known", file, path.c_str(),
            what, type.c_str());
  error.help("known are %s", known);
  return false;
}

bool ComponentReader::failUnknown(const char *what, Slice name, const char *known) {
  Text quoted;
  quoted.appendQuoted(name.data, name.size);
  error.set(ATTN_BAD_INPUT, "R0702", "`%s`: the %s `%.200s` is not known", file, what,
            quoted.c_str());
  error.help("known are %s", known);
  return false;
}

bool ComponentReader::failMemory() {
  error.outOfMemory("a tokenizer");
  return false;
}

bool ComponentReader::keep(Slice text, Slice &copy) {
  const char *bytes = strings.copy(text.data, text.size);
  if (!bytes)
    return failMemory();
  copy = Slice(bytes, text.size);
  return true;
}

bool ComponentReader::readText(JsonValue object, const char *key, Slice &value, bool isRequired) {
  JsonValue member = object.find(key);
  if (!member.isSet())
    return !isRequired || fail(object, "expected a string `%s`", key);
  if (!member.isString())
    return fail(member, "expected a string");
  return keep(member.text(), value);
}

bool ComponentReader::readFlag(JsonValue object, const char *key, bool &value) {
  JsonValue member = object.find(key);
  if (!member.isSet())
    return true;
  if (member.kind() != 't' && member.kind() != 'f')
    return fail(member, "expected true or false");
  value = member.kind() == 't';
  return true;
}

bool ComponentReader::readInteger(JsonValue object, const char *key, int64_t least, int64_t most,
                                  int64_t &value, bool isRequired) {
  JsonValue member = object.find(key);
  if (!member.isSet())
    return !isRequired || fail(object, "expected a number `%s`", key);
  if (!member.integer(least, most, value))
    return fail(member, "expected a whole number from %lld to %lld", static_cast<long long>(least),
                static_cast<long long>(most));
  return true;
}

bool ComponentReader::readCharacter(JsonValue object, const char *key, Char &value,
                                    bool isRequired) {
  Slice text;
  if (!readText(object, key, text, isRequired))
    return false;
  if (text.data == nullptr)
    return true;
  size_t length = 0;
  if (text.size)
    value = decodeUtf8(text.data, length);
  if (text.size == 0 || length != text.size)
    return fail(object.find(key), "expected one character");
  return true;
}

bool ComponentReader::readPattern(JsonValue object, const char *key, Pattern &pattern) {
  JsonValue member = object.find(key);
  JsonValue string = member.isString() ? member : member.find("String");
  JsonValue regex = member.find("Regex");
  pattern = {};
  if (string.isString())
    return keep(string.text(), pattern.string);
  if (!regex.isString())
    return fail(object, "expected `%s`, an object with a string `String` or `Regex`", key);
  Slice expression;
  if (!keep(regex.text(), expression))
    return false;
  Text path, place;
  regex.appendPath(path);
  place.append("`%s`: `%s`", file, path.c_str());
  if (compileRegex(expression, place.c_str(), pattern, error))
    return false;
  if (regexes.push(pattern))
    return true;
  freeRegex(pattern);
  return failMemory();
}

bool ComponentReader::compile(const char *expression, Pattern &pattern) {
  if (compileRegex(Slice(expression), "an expression of the library", pattern, error))
    return false;
  if (regexes.push(pattern))
    return true;
  freeRegex(pattern);
  return failMemory();
}

bool ComponentReader::readType(JsonValue component, Slice &type) {
  if (!component.isObject())
    return fail(component, "expected an object");
  JsonValue member = component.find("type");
  if (!member.isString())
    return fail(component, "expected a string `type`");
  type = member.text();
  return true;
}

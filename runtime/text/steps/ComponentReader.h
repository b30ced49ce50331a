// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the components of a tokenizer.json are read: members with their types, and errors with their
// place.
#pragma once

#include "base/Arena.h"
#include "base/Error.h"
#include "text/steps/JsonTree.h"
#include "text/steps/Pattern.h"

namespace attn {

/// Reads members of objects. Every function returns false after it has set the error. Strings are
/// copied into `strings`, expressions go to `regexes`; both have to outlive what is read.
class ComponentReader {
public:
  ComponentReader(const char *file, Arena &strings, Vector<Pattern> &regexes, Error &error)
      : error(error), file(file), strings(strings), regexes(regexes) {}

  /// R0701: what stands at `at` is wrong.
  bool fail(JsonValue at, const char *format, ...) __attribute__((format(printf, 3, 4)));
  /// R0702: a component of a kind that is not known. `known` lists those that are.
  bool failUnknown(JsonValue component, const char *what, const char *known);
  /// The same for what is no component of a tokenizer.json.
  bool failUnknown(const char *what, Slice name, const char *known);
  bool failMemory();

  /// Members of `object`. Where `isRequired` is not given, one that is missing or null leaves the
  /// value alone.
  bool readText(JsonValue object, const char *key, Slice &value, bool isRequired = true);
  bool readFlag(JsonValue object, const char *key, bool &value);
  bool readInteger(JsonValue object, const char *key, int64_t least, int64_t most, int64_t &value,
                   bool isRequired = true);
  /// A string that is one character.
  bool readCharacter(JsonValue object, const char *key, Char &value, bool isRequired);
  /// `{"String": ...}` or `{"Regex": ...}`, or a string.
  bool readPattern(JsonValue object, const char *key, Pattern &pattern);
  /// The `type` of a component; an error where it is none.
  bool readType(JsonValue component, Slice &type);
  /// Reads a component, or those of a `Sequence` one after the other, which stand in its array
  /// `key`, each by `readOne(component, type)`. Where there is none, or null, nothing is read.
  template <typename ReadOne>
  bool readSequence(JsonValue component, const char *key, ReadOne readOne) {
    if (!component.isSet())
      return true;
    Slice type;
    if (!readType(component, type))
      return false;
    if (!type.is("Sequence"))
      return readOne(component, type);
    JsonValue list = component.find(key);
    if (!list.isArray())
      return fail(component, "expected an array `%s`", key);
    for (JsonValue one = list.first(); one.exists(); one = one.next())
      if (!readSequence(one, key, readOne))
        return false;
    return true;
  }
  /// Compiles an expression of the library's own.
  bool compile(const char *expression, Pattern &pattern);
  /// A copy that lives as long as the tokenizer.
  bool keep(Slice text, Slice &copy);

  Error &error;

private:
  const char *file;
  Arena &strings;
  Vector<Pattern> &regexes;
};

} // namespace attn

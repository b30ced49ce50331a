// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON schema (2020-12): which texts of JSON a schema allows.
#pragma once

#include "text/grammar/JsonParts.h"
#include "text/steps/Vocabulary.h"

namespace attn::grammar {

/// A schema that a value has to fit, among others; some of its keywords have been dealt with.
struct Member {
  /// Keywords that have been dealt with.
  enum Done : uint32_t { Reference = 1, All = 2, Any = 4, One = 8 };
  uint32_t schema; ///< the number of its value in the tree
  uint32_t done;   ///< of Done
  bool operator==(const Member &other) const {
    return schema == other.schema && done == other.done;
  }
};

/// Schemas, all of which a value has to fit.
using Members = Vector<Member>;

/// What a value may be: a set of these.
enum Type : uint32_t {
  NullType = 1,
  BooleanType = 2,
  IntegerType = 4,
  FractionType = 8, ///< a number that is no integer
  StringType = 16,
  ArrayType = 32,
  ObjectType = 64,
  AnyType = 127
};

/// Makes expressions of a schema. Each set of schemas that a value has to fit is a rule, made once.
class SchemaReader {
public:
  SchemaReader(const JsonTree &tree, Expressions &to, Error &error)
      : tree(tree), to(to), error(error), parts(to) {}
  /// `start` becomes the rule of the whole.
  attn_status read(uint32_t &start);

private:
  /// The schema itself.
  JsonValue at(Member member) const { return {&tree, member.schema}; }
  /// R0711 with the place of `value`; returns false.
  bool refuse(JsonValue value, const char *format, ...) __attribute__((format(printf, 3, 4)));
  bool noMemory();

  /// Whether all members of a schema are known, and such as are read.
  bool check(JsonValue schema);
  bool checkValue(JsonValue value, char kind);
  /// The number of a keyword that counts, which may be written as 2.0.
  static bool readCount(JsonValue value, uint32_t &count);
  /// Adds a schema to those that a value has to fit, with what it refers to; `isNever` becomes true
  /// where no value fits it.
  bool addMember(Members &members, JsonValue schema, bool &isNever);
  bool resolve(JsonValue reference, JsonValue &target);

  /// The rule of schemas that all have to fit.
  bool compile(Members &members, Id &result);
  bool compile(JsonValue schema, Id &result);
  bool compileBody(const Members &members, Id &result);
  bool compileBranches(const Members &members, size_t which, Id &result);
  bool areExclusive(JsonValue branches);
  bool excludes(JsonValue first, JsonValue second);
  /// The types that are allowed, and the values where they are listed.
  bool typesOf(const Members &members, uint32_t &types);
  uint32_t typesOf(JsonValue schema);
  bool compileValues(const Members &members, uint32_t types, Id &result);
  bool compileString(const Members &members, Id &result);
  bool compileNumber(const Members &members, bool isInteger, Id &result);
  bool compileArray(const Members &members, Id &result);
  /// What the element of an array may be by its place; behind the last place that is said, all
  /// others.
  bool compileElement(const Members &members, size_t place, Id &result);
  bool compileObject(const Members &members, Id &result);

  /// The least, or the greatest, of a keyword's counts; `value` where there is none.
  bool count(const Members &members, const char *keyword, bool isLeast, uint32_t &value);
  /// The first of the schemas that has a keyword.
  JsonValue find(const Members &members, const char *keyword) const;

  friend class ObjectSchema;

  const JsonTree &tree;
  Expressions &to;
  Error &error;
  JsonParts parts;
  Vocabulary rules;         ///< from members to rules
  Vector<uint32_t> waiting; ///< rules whose members wait to be compiled
  Vector<uint8_t> checked;  ///< by value of the tree
  size_t branches = 0;
};

/// Integers, or numbers without an exponent, in the bounds given, which are texts of JSON's
/// numbers; null data: no bound. False where a bound has an exponent or too many digits.
bool compileRange(JsonParts &parts, Expressions &to, Slice least, bool isLeastOut, Slice most,
                  bool isMostOut, bool isInteger, Id &result);
/// Multiples of a whole number up to 1000, or of a power of 0.1; false for another `factor`.
bool compileMultiple(JsonParts &parts, Expressions &to, Slice factor, bool isInteger, Id &result);
/// The expression of a format of strings, or null; `isNote` where it says nothing about texts.
const char *expressionOfFormat(Slice name, bool &isNote);

} // namespace attn::grammar

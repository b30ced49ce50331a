// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What schemas say of types, of values that are listed, and of strings, numbers and arrays.
#include "text/grammar/Regex.h"
#include "text/grammar/SchemaReader.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

static const struct TypeName {
  const char *name;
  uint32_t types;
} typeNames[] = {{"null", NullType},       {"boolean", BooleanType},
                 {"integer", IntegerType}, {"number", IntegerType | FractionType},
                 {"string", StringType},   {"array", ArrayType},
                 {"object", ObjectType}};

static uint32_t typeOf(Slice name) {
  for (const TypeName &row : typeNames)
    if (name.is(row.name))
      return row.types;
  return 0;
}

uint32_t SchemaReader::typesOf(JsonValue schema) {
  JsonValue type = schema.find("type");
  if (!type.exists())
    return AnyType;
  if (type.isString())
    return typeOf(type.text());
  uint32_t types = 0;
  for (JsonValue one = type.first(); one.exists(); one = one.next())
    types |= one.isString() ? typeOf(one.text()) : 0;
  return types;
}

bool SchemaReader::typesOf(const Members &members, uint32_t &types) {
  types = AnyType;
  for (Member member : members) {
    JsonValue type = at(member).find("type");
    JsonValue wrong = type.isString() && !typeOf(type.text()) ? type : JsonValue();
    for (JsonValue one = type.isArray() ? type.first() : JsonValue(); one.exists();
         one = one.next())
      if (!one.isString() || !typeOf(one.text()))
        wrong = one;
    if (wrong.exists())
      return refuse(wrong, "expected null, boolean, integer, number, string, array or object");
    types &= typesOf(at(member));
  }
  return true;
}

/// What a value is, as a set of types with one element.
static uint32_t typeOfValue(JsonValue value) {
  double number = 0;
  switch (value.kind()) {
  case '{':
    return ObjectType;
  case '[':
    return ArrayType;
  case '"':
    return StringType;
  case '0':
    return value.number(number) && number == double(int64_t(number)) ? IntegerType : FractionType;
  case 'n':
    return NullType;
  default:
    return BooleanType;
  }
}

/// Whether two values are equal, as JSON schema has it: numbers by their values, members of objects
/// in any order.
static bool areEqual(JsonValue a, JsonValue b) {
  if (a.kind() != b.kind())
    return false;
  double x = 0, y = 0;
  switch (a.kind()) {
  case '"':
    return a.text() == b.text();
  case '0':
    return a.text() == b.text() || (a.number(x) && b.number(y) && x == y);
  case '[': {
    JsonValue one = a.first(), other = b.first();
    for (; one.exists() && other.exists(); one = one.next(), other = other.next())
      if (!areEqual(one, other))
        return false;
    return !one.exists() && !other.exists();
  }
  case '{':
    if (a.count() != b.count())
      return false;
    for (JsonValue one = a.first(); one.exists(); one = one.next()) {
      JsonValue other = b.first();
      while (other.exists() && other.key() != one.key())
        other = other.next();
      if (!other.exists() || !areEqual(one, other))
        return false;
    }
    return true;
  default:
    return true;
  }
}

/// Whether a value is one of those that a schema lists; true where it lists none but `own`, which
/// the value is from.
static bool isListed(JsonValue schema, JsonValue value, JsonValue own) {
  JsonValue constant = schema.find("const"), list = schema.find("enum");
  if (constant.exists() && !areEqual(constant, value))
    return false;
  if (!list.exists() || list.number() == own.number())
    return true;
  for (JsonValue one = list.first(); one.exists(); one = one.next())
    if (areEqual(one, value))
      return true;
  return false;
}

bool SchemaReader::compileValues(const Members &members, uint32_t types, Id &result) {
  static const char *const others[] = {"properties",
                                       "patternProperties",
                                       "additionalProperties",
                                       "required",
                                       "minProperties",
                                       "maxProperties",
                                       "items",
                                       "prefixItems",
                                       "minItems",
                                       "maxItems",
                                       "uniqueItems",
                                       "minLength",
                                       "maxLength",
                                       "pattern",
                                       "format",
                                       "minimum",
                                       "maximum",
                                       "exclusiveMinimum",
                                       "exclusiveMaximum",
                                       "multipleOf"};
  static const uint32_t concerned[] = {ObjectType,
                                       ObjectType,
                                       ObjectType,
                                       ObjectType,
                                       ObjectType,
                                       ObjectType,
                                       ArrayType,
                                       ArrayType,
                                       ArrayType,
                                       ArrayType,
                                       ArrayType,
                                       StringType,
                                       StringType,
                                       StringType,
                                       StringType,
                                       IntegerType | FractionType,
                                       IntegerType | FractionType,
                                       IntegerType | FractionType,
                                       IntegerType | FractionType,
                                       IntegerType | FractionType};
  JsonValue list = find(members, "enum"), constant = find(members, "const");
  Vector<Id> ways;
  auto add = [&](JsonValue value) {
    bool isAllowed = (typeOfValue(value) & types) != 0;
    for (Member member : members)
      isAllowed = isAllowed && isListed(at(member), value, constant.exists() ? constant : list);
    for (size_t i = 0; isAllowed && i < sizeof others / sizeof *others; ++i)
      if (JsonValue other = find(members, others[i]);
          other.exists() && (concerned[i] & typeOfValue(value)))
        return refuse(other,
                      "`%s` beside a list of values is not read: leave out of the list what "
                      "it forbids",
                      others[i]);
    return !isAllowed || ways.push(parts.constant(value)) || noMemory();
  };
  if (constant.exists() && !add(constant))
    return false;
  if (!constant.exists())
    for (JsonValue one = list.first(); one.exists(); one = one.next())
      if (!add(one))
        return false;
  result = to.choice(ways.data(), ways.size());
  return true;
}

bool SchemaReader::compileString(const Members &members, Id &result) {
  uint32_t least = 0, most = endless;
  bool isCounted = count(members, "minLength", true, least);
  isCounted = count(members, "maxLength", false, most) || isCounted;
  JsonValue pattern;
  Slice expression;
  for (Member member : members)
    for (const char *keyword : {"pattern", "format"}) {
      JsonValue found = at(member).find(keyword);
      if (!found.exists())
        continue;
      bool isFormat = *keyword == 'f', isNote = false;
      Slice text = found.text();
      if (isFormat) {
        const char *known = expressionOfFormat(text, isNote);
        if (!known && !isNote)
          return refuse(found, "this format is not known; `pattern` says which texts are allowed");
        if (!known)
          continue;
        text = Slice(known);
      }
      if (pattern.exists() && expression != text)
        return refuse(found, "a second `pattern` or `format` for the same string is not read");
      pattern = found;
      expression = text;
    }
  if (!pattern.exists()) {
    result = least > most ? to.never() : parts.string(least, most);
    return true;
  }
  RegexOptions options;
  RegexProblem problem;
  options.isSearched = true;
  options.json = &parts;
  Id content = compileRegex(to, expression, options, problem);
  if (problem.what)
    return refuse(pattern, "byte %zu: %s", problem.position + 1, problem.what);
  options.json = nullptr;
  Id plain = isCounted ? compileRegex(to, expression, options, problem) : content;
  if (isCounted && !limitLength(to, plain, content, least, most, content))
    return refuse(pattern, "`minLength` or `maxLength` beside it is read where the expression is "
                           "one repetition, `^[a-z]*$`, or has no length that they forbid");
  result = parts.quoted(content);
  return true;
}

bool SchemaReader::compileNumber(const Members &members, bool isInteger, Id &result) {
  Slice least, most;
  bool isLeastOut = false, isMostOut = false;
  double lowest = 0, highest = 0;
  JsonValue bound;
  for (Member member : members)
    for (const char *keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
      JsonValue found = at(member).find(keyword);
      double value = 0;
      if (!found.exists())
        continue;
      if (!found.number(value))
        return refuse(found, "this number is too large or too long");
      bound = found;
      bool isOut = *keyword == 'e', isLeast = strstr(keyword, "inimum") != nullptr;
      if (isLeast ? !least.data || value > lowest || (value == lowest && isOut)
                  : !most.data || value < highest || (value == highest && isOut)) {
        (isLeast ? least : most) = found.text();
        (isLeast ? isLeastOut : isMostOut) = isOut;
        (isLeast ? lowest : highest) = value;
      }
    }
  JsonValue factor = find(members, "multipleOf");
  for (Member member : members)
    if (JsonValue other = at(member).find("multipleOf");
        other.exists() && other.text() != factor.text())
      return refuse(other, "a second `multipleOf` for the same number is not read");
  if (factor.exists() && !(factor.text().is("1") && isInteger)) {
    if (bound.exists())
      return refuse(factor, "`multipleOf` beside a bound is not read");
    return compileMultiple(parts, to, factor.text(), isInteger, result) ||
           refuse(factor, "`multipleOf` is read of whole numbers from 1 to 1000, and of 0.1, 0.01 "
                          "and so on");
  }
  if (!bound.exists()) {
    result = isInteger ? parts.integer() : parts.number();
    return true;
  }
  return compileRange(parts, to, least, isLeastOut, most, isMostOut, isInteger, result) ||
         refuse(bound, "a bound is read without an exponent, with at most 40 digits");
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The keywords of JSON schema: what is read, what says nothing, and what is refused; a row each.
#include "text/grammar/SchemaReader.h"
#include <cstdarg>
#include <cstdio>

using namespace attn;
using namespace attn::grammar;

namespace {

/// What the value of a keyword has to be.
enum Value : char {
  Any = '*',
  Count = 'n',
  Number = 'd',
  String = 's',
  Flag = 'b',
  List = 'a',
  Object = 'o',
  Schema = 'S',
  Schemas = 'L', ///< a list of schemas
  Named = 'M',   ///< an object whose members are schemas
  Types = 'T'    ///< a type or a list of them
};

/// A keyword, and where it is not read, why.
struct Keyword {
  const char *name;
  Value value;
  const char *refusal;
};

} // namespace

static const char closed[] =
    "texts are made from front to back, and this is known only when all of a value is there";

static const Keyword keywords[] = {
    {"$schema", String, nullptr},
    {"$id", String, nullptr},
    {"$anchor", String, nullptr},
    {"$comment", Any, nullptr},
    {"$defs", Named, nullptr},
    {"definitions", Named, nullptr},
    {"$ref", String, nullptr},
    {"title", Any, nullptr},
    {"description", Any, nullptr},
    {"default", Any, nullptr},
    {"examples", Any, nullptr},
    {"example", Any, nullptr},
    {"deprecated", Any, nullptr},
    {"readOnly", Any, nullptr},
    {"writeOnly", Any, nullptr},
    {"contentEncoding", String, nullptr},
    {"contentMediaType", String, nullptr},
    {"contentSchema", Any, nullptr},
    {"type", Types, nullptr},
    {"enum", List, nullptr},
    {"const", Any, nullptr},
    {"allOf", Schemas, nullptr},
    {"anyOf", Schemas, nullptr},
    {"oneOf", Schemas, nullptr},
    {"properties", Named, nullptr},
    {"patternProperties", Named, nullptr},
    {"additionalProperties", Schema, nullptr},
    {"required", List, nullptr},
    {"minProperties", Count, nullptr},
    {"maxProperties", Count, nullptr},
    {"items", Schema, nullptr},
    {"prefixItems", Schemas, nullptr},
    {"minItems", Count, nullptr},
    {"maxItems", Count, nullptr},
    {"uniqueItems", Flag, nullptr},
    {"minLength", Count, nullptr},
    {"maxLength", Count, nullptr},
    {"pattern", String, nullptr},
    {"format", String, nullptr},
    {"minimum", Number, nullptr},
    {"maximum", Number, nullptr},
    {"exclusiveMinimum", Number, nullptr},
    {"exclusiveMaximum", Number, nullptr},
    {"multipleOf", Number, nullptr},
    {"not", Any, closed},
    {"if", Any, closed},
    {"then", Any, closed},
    {"else", Any, closed},
    {"dependentRequired", Any, closed},
    {"dependentSchemas", Any, closed},
    {"dependencies", Any, closed},
    {"contains", Any, closed},
    {"minContains", Any, closed},
    {"maxContains", Any, closed},
    {"propertyNames", Any, "`patternProperties` with `additionalProperties: false` is read"},
    {"unevaluatedProperties", Any, "`additionalProperties` is read"},
    {"unevaluatedItems", Any, "`items` behind `prefixItems` is read"},
    {"additionalItems", Any, "since 2020-12 this is `items`, and a list of items `prefixItems`"},
    {"nullable", Any, "this is OpenAPI's; `\"type\": [..., \"null\"]` says it"},
    {"discriminator", Any, "this is OpenAPI's; `anyOf` with a `const` in each branch says it"},
    {"$dynamicRef", Any, "`$ref` is read"},
    {"$dynamicAnchor", Any, "`$anchor` is read"},
    {"$recursiveRef", Any, "`$ref` is read"},
    {"$recursiveAnchor", Any, "`$anchor` is read"},
    {"$vocabulary", Any, "it belongs to schemas of schemas"},
};

bool SchemaReader::noMemory() {
  error.outOfMemory("a schema");
  return false;
}

bool SchemaReader::refuse(JsonValue value, const char *format, ...) {
  if (error.status != ATTN_OK)
    return false;
  char what[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  error.set(ATTN_BAD_INPUT, "R0711", "the schema, `#");
  value.appendPointer(error.text);
  error.text.append("`: ");
  error.text.appendLines(what, strlen(what));
  return false;
}

static bool isSchema(JsonValue value) {
  return value.isObject() || value.kind() == 't' || value.kind() == 'f';
}

bool SchemaReader::readCount(JsonValue value, uint32_t &count) {
  double number = 0;
  if (!value.number(number) || number < 0 || number > 1e9 || number != double(uint32_t(number)))
    return false;
  count = uint32_t(number);
  return true;
}

bool SchemaReader::checkValue(JsonValue value, char kind) {
  uint32_t number = 0;
  switch (kind) {
  case Count:
    return readCount(value, number) ||
           refuse(value, "expected a whole number from 0 to 1000000000");
  case Number:
    return value.kind() == '0' || refuse(value, "expected a number");
  case String:
    return value.isString() || refuse(value, "expected a string");
  case Flag:
    return value.kind() == 't' || value.kind() == 'f' || refuse(value, "expected true or false");
  case List:
    return value.isArray() || refuse(value, "expected a list");
  case Schema:
    return isSchema(value) || refuse(value, "expected a schema: an object, true or false");
  case Schemas:
    if (!value.isArray() || !value.first().exists())
      return refuse(value, "expected a list of schemas that is not empty");
    for (JsonValue one = value.first(); one.exists(); one = one.next())
      if (!checkValue(one, Schema))
        return false;
    return true;
  case Named:
    if (!value.isObject())
      return refuse(value, "expected an object whose members are schemas");
    for (JsonValue one = value.first(); one.exists(); one = one.next())
      if (!checkValue(one, Schema))
        return false;
    return true;
  case Types:
    return value.isString() || value.isArray() || refuse(value, "expected a type, or a list");
  default:
    return true;
  }
}

bool SchemaReader::check(JsonValue schema) {
  if (!cover(checked, schema.number()))
    return noMemory();
  if (checked[schema.number()] || !schema.isObject())
    return true;
  checked[schema.number()] = 1;
  Vocabulary names;
  int32_t index = 0;
  for (JsonValue value = schema.first(); value.exists(); value = value.next()) {
    Slice name = value.key();
    if (names.find(name) >= 0)
      return refuse(value, "this keyword is there twice");
    if (!names.add(index++, name))
      return noMemory();
    const Keyword *known = nullptr;
    for (const Keyword &keyword : keywords)
      if (name.is(keyword.name))
        known = &keyword;
    if (!known)
      return refuse(value, "this keyword is not known, and nothing is passed over");
    if (known->refusal)
      return refuse(value, "`%s` is not read: %s", known->name, known->refusal);
    if (!checkValue(value, known->value))
      return false;
  }
  return true;
}

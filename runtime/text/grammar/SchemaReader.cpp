// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From schemas to rules: references and branches are followed, and what all of the schemas that a
// value has to fit say of each type comes together.
#include "text/grammar/SchemaReader.h"
#include "base/Sort.h"
#include "text/grammar/FrontEnds.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

/// Sets of schemas that are rules, and branches that are gone into, at most.
static constexpr size_t maxRules = 50000, maxBranches = 20000;

attn_status grammar::readJsonSchema(Slice text, Expressions &to, uint32_t &start, Error &error) {
  JsonTree tree;
  if (!tree.read(text))
    return error.set(ATTN_BAD_INPUT, "R0711", "the schema is no JSON: byte %zu: %s",
                     tree.position + 1, tree.problem);
  SchemaReader reader(tree, to, error);
  return reader.read(start);
}

attn_status SchemaReader::read(uint32_t &start) {
  Id whole = to.never();
  if (!checkValue(tree.root(), 'S') || !compile(tree.root(), whole))
    return error.status;
  for (size_t i = 0; i < waiting.size(); ++i) {
    Slice key = rules.token(waiting[i]);
    Members members;
    if (!members.resize(key.size / sizeof(Member)))
      return error.outOfMemory("a schema");
    if (key.size)
      memcpy(static_cast<void *>(members.data()), key.data, key.size);
    Id body = to.never();
    if (!compileBody(members, body))
      return error.status;
    to.define(waiting[i], body);
    if (to.problem)
      break; // prepareRules says it
  }
  start = to.addRule(Slice("schema"));
  to.define(start, whole);
  return ATTN_OK;
}

JsonValue SchemaReader::find(const Members &members, const char *keyword) const {
  for (Member member : members)
    if (JsonValue found = at(member).find(keyword); found.exists())
      return found;
  return {};
}

bool SchemaReader::count(const Members &members, const char *keyword, bool isLeast,
                         uint32_t &value) {
  bool isThere = false;
  for (Member member : members) {
    uint32_t one = 0;
    JsonValue found = at(member).find(keyword);
    if (!found.exists() || !readCount(found, one))
      continue;
    value = !isThere ? one : isLeast ? std::max(value, one) : std::min(value, one);
    isThere = true;
  }
  return isThere;
}

/// The member of an object, or the element of an array, that one part of a JSON pointer names.
static JsonValue stepOf(JsonValue value, Slice part) {
  if (value.isObject()) {
    for (JsonValue member = value.first(); member.exists(); member = member.next()) {
      Vector<char> key;
      for (size_t i = 0; i < member.key().size; ++i) {
        char c = member.key().data[i];
        if (c == '~' || c == '/' ? !append(key, Slice(c == '~' ? "~0" : "~1")) : !key.push(c))
          return {};
      }
      if (Slice(key) == part)
        return member;
    }
    return {};
  }
  size_t index = 0;
  for (size_t i = 0; i < part.size; ++i)
    index = 10 * index + size_t(part.data[i] - '0');
  JsonValue element = value.isArray() ? value.first() : JsonValue();
  for (; element.exists() && index > 0; --index)
    element = element.next();
  return element;
}

/// Undoes the percent signs of a fragment.
static bool undoPercent(Slice text, Vector<char> &to) {
  auto hex = [](char c) {
    return c >= '0' && c <= '9'
               ? c - '0'
               : ((c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1);
  };
  for (size_t i = 0; i < text.size; ++i) {
    char c = text.data[i];
    if (c == '%' && i + 2 < text.size && hex(text.data[i + 1]) >= 0 && hex(text.data[i + 2]) >= 0) {
      c = char(16 * hex(text.data[i + 1]) + hex(text.data[i + 2]));
      i += 2;
    }
    if (!to.push(c))
      return false;
  }
  return true;
}

bool SchemaReader::resolve(JsonValue reference, JsonValue &target) {
  Slice text = reference.text();
  Vector<char> undone;
  if (!text.startsWith(Slice("#")))
    return refuse(reference, "only references within the schema are read: `#/$defs/name`, `#name` "
                             "or `#`");
  if (!undoPercent(text.from(1), undone))
    return noMemory();
  Slice rest(undone);
  target = tree.root();
  if (rest.size && rest.data[0] != '/') {
    for (uint32_t i = 0; i < tree.size(); ++i) {
      JsonValue value(&tree, i);
      if (value.isObject() && value.find("$anchor").isString() &&
          value.find("$anchor").text() == rest) {
        target = value;
        return true;
      }
    }
    return refuse(reference, "there is no `$anchor` of this name");
  }
  while (rest.size) {
    rest = rest.from(1);
    auto *slash = static_cast<const char *>(memchr(rest.data, '/', rest.size));
    Slice part = rest.between(0, slash ? size_t(slash - rest.data) : rest.size);
    rest = rest.from(part.size);
    target = stepOf(target, part);
    if (!target.exists())
      return refuse(reference, "there is nothing at this place of the schema");
  }
  return checkValue(target, 'S');
}

bool SchemaReader::addMember(Members &members, JsonValue schema, bool &isNever) {
  if (schema.kind() == 'f')
    isNever = true;
  if (!schema.isObject() || !schema.first().exists())
    return true;
  if (!check(schema))
    return false;
  for (Member member : members)
    if (member.schema == schema.number())
      return true;
  if (!members.push({schema.number(), 0}))
    return noMemory();
  if (JsonValue reference = schema.find("$ref"); reference.exists()) {
    JsonValue target;
    if (!resolve(reference, target) || !addMember(members, target, isNever))
      return false;
  }
  JsonValue all = schema.find("allOf");
  for (JsonValue one = all.first(); one.exists(); one = one.next())
    if (!addMember(members, one, isNever))
      return false;
  return true;
}

bool SchemaReader::compile(JsonValue schema, Id &result) {
  Members members;
  bool isNever = false;
  if (!addMember(members, schema, isNever))
    return false;
  if (isNever) {
    result = to.never();
    return true;
  }
  return compile(members, result);
}

bool SchemaReader::compile(Members &members, Id &result) {
  if (members.empty()) {
    result = parts.value();
    return true;
  }
  sortValues(members.begin(), members.end(), [](const Member &a, const Member &b) {
    return a.schema != b.schema ? a.schema < b.schema : a.done < b.done;
  });
  Slice key(reinterpret_cast<const char *>(members.data()), members.size() * sizeof(Member));
  int32_t known = rules.find(key);
  if (known < 0) {
    if (waiting.size() >= maxRules)
      return refuse(at(members[0]), "the schema is too large: more than %zu combinations",
                    maxRules);
    Text place;
    place.append("#");
    at(members[0]).appendPointer(place);
    uint32_t rule = to.addRule(Slice(place.c_str()));
    if (to.problem) {
      result = to.never();
      return true;
    }
    known = int32_t(rule);
    if (!rules.add(known, key) || !waiting.push(rule))
      return noMemory();
  }
  result = to.rule(uint32_t(known));
  return true;
}

bool SchemaReader::compileBranches(const Members &members, size_t which, Id &result) {
  JsonValue schema = at(members[which]);
  bool isOne = (members[which].done & Member::Any) || !schema.find("anyOf").exists();
  JsonValue list = schema.find(isOne ? "oneOf" : "anyOf");
  if (isOne && !areExclusive(list))
    return false;
  Vector<Id> ways;
  for (JsonValue branch = list.first(); branch.exists(); branch = branch.next()) {
    if (++branches > maxBranches)
      return refuse(branch, "the schema is too large: more than %zu branches", maxBranches);
    Members all;
    bool isNever = false;
    if (!all.append(members.data(), members.size()))
      return noMemory();
    all[which].done |= isOne ? Member::One : Member::Any;
    if (!addMember(all, branch, isNever))
      return false;
    Id way = to.never();
    if (!isNever && !compile(all, way))
      return false;
    if (!ways.push(way))
      return noMemory();
  }
  result = to.choice(ways.data(), ways.size());
  return true;
}

bool SchemaReader::compileBody(const Members &members, Id &result) {
  for (size_t i = 0; i < members.size(); ++i) {
    JsonValue schema = at(members[i]);
    if ((!(members[i].done & Member::Any) && schema.find("anyOf").exists()) ||
        (!(members[i].done & Member::One) && schema.find("oneOf").exists()))
      return compileBranches(members, i, result);
  }
  uint32_t types = AnyType;
  if (!typesOf(members, types))
    return false;
  if (find(members, "enum").exists() || find(members, "const").exists())
    return compileValues(members, types, result);
  Vector<Id> ways;
  auto add = [&](uint32_t type, bool (SchemaReader::*make)(const Members &, Id &)) {
    Id way = to.never();
    return !(types & type) || ((this->*make)(members, way) && (ways.push(way) || noMemory()));
  };
  Id number = to.never();
  if ((types & (IntegerType | FractionType)) &&
      !compileNumber(members, !(types & FractionType), number))
    return false;
  if (!ways.push(number) || ((types & NullType) && !ways.push(to.literal(Slice("null")))) ||
      ((types & BooleanType) &&
       !ways.push(to.choice({to.literal(Slice("true")), to.literal(Slice("false"))}))))
    return noMemory();
  if (!add(StringType, &SchemaReader::compileString) ||
      !add(ArrayType, &SchemaReader::compileArray) ||
      !add(ObjectType, &SchemaReader::compileObject))
    return false;
  result = to.choice(ways.data(), ways.size());
  return true;
}

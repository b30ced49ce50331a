// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects: the properties that schemas list, in their order, then others.
#include "base/Json.h"
#include "text/grammar/Product.h"
#include "text/grammar/SchemaReader.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

namespace attn::grammar {

/// What schemas that an object has to fit say of its members.
class ObjectSchema {
public:
  ObjectSchema(SchemaReader &reader, const Members &members) : reader(reader), members(members) {}
  bool compile(Id &result);

private:
  /// Patterns of names that are gone into together, and properties that are listed, at most.
  static constexpr size_t maxPatterns = 5, maxProperties = 5000;
  /// A property that is listed, or required.
  struct Property {
    Slice name;
    JsonValue place;
    bool isRequired;
    Id member; ///< its name, colon and value
  };

  bool addProperty(Slice name, JsonValue place, bool isRequired);
  bool gather();
  bool gatherPatterns();
  /// What the value of a listed property may be.
  bool compileValue(Property &property);
  /// The members that are not listed: one of them.
  bool compileOthers(Id &result);
  /// Those whose names match the patterns of a set, and no others.
  bool compileClass(uint32_t set, Id &result);
  bool compileList(Id others, Id &result);
  /// Members from the property `i` on, where the one before has been written, or none.
  Id tail(size_t i, uint32_t count) const {
    return reader.to.rule(tails + uint32_t(i) * width + std::min(count, width - 1));
  }
  Id head(size_t i, uint32_t count) const {
    return reader.to.rule(heads + uint32_t(i) * width + std::min(count, width - 1));
  }
  /// Whether as many members are allowed, or enough.
  bool mayAdd(uint32_t count) const { return count < most; }
  bool isEnough(uint32_t count) const { return count >= least; }

  SchemaReader &reader;
  const Members &members;
  Vector<Property> properties;
  Vocabulary names;
  Vector<JsonValue> patterns; ///< members of `patternProperties`
  uint32_t least = 0, most = endless, width = 1, heads = 0, tails = 0;
};

} // namespace attn::grammar

bool ObjectSchema::addProperty(Slice name, JsonValue place, bool isRequired) {
  int32_t known = names.find(name);
  if (known >= 0) {
    properties[size_t(known)].isRequired |= isRequired;
    return true;
  }
  if (properties.size() >= maxProperties)
    return reader.refuse(place, "more than %zu properties of an object are not read",
                         maxProperties);
  return (names.add(int32_t(properties.size()), name) &&
          properties.push({name, place, isRequired, reader.to.never()})) ||
         reader.noMemory();
}

bool ObjectSchema::gather() {
  for (Member member : members) {
    JsonValue listed = reader.at(member).find("properties");
    for (JsonValue one = listed.first(); one.exists(); one = one.next())
      if (!addProperty(one.key(), one, false))
        return false;
  }
  for (Member member : members) {
    JsonValue required = reader.at(member).find("required");
    for (JsonValue one = required.first(); one.exists(); one = one.next()) {
      if (!one.isString())
        return reader.refuse(one, "expected the name of a property");
      if (!addProperty(one.text(), one, true))
        return false;
    }
  }
  reader.count(members, "minProperties", true, least);
  reader.count(members, "maxProperties", false, most);
  return gatherPatterns();
}

bool ObjectSchema::gatherPatterns() {
  for (Member member : members) {
    JsonValue listed = reader.at(member).find("patternProperties");
    for (JsonValue one = listed.first(); one.exists(); one = one.next()) {
      Product trial;
      RegexProblem problem;
      if (!trial.addPattern(one.key(), true, problem))
        return problem.what ? reader.refuse(one, "the name, byte %zu: %s", problem.position + 1,
                                            problem.what)
                            : reader.noMemory();
      if (!patterns.push(one))
        return reader.noMemory();
    }
  }
  return patterns.size() <= maxPatterns ||
         reader.refuse(patterns[maxPatterns],
                       "more than %zu patterns of names for the same object "
                       "are not read",
                       maxPatterns);
}

/// A member of an object by its name, or none.
static JsonValue memberOf(JsonValue object, Slice name) {
  JsonValue found;
  if (object.isObject())
    for (JsonValue one = object.first(); one.exists(); one = one.next())
      if (one.key() == name)
        found = one;
  return found;
}

bool ObjectSchema::compileValue(Property &property) {
  Members all;
  Vector<char> written;
  bool isNever = false;
  if (!appendJsonString(property.name, written))
    return reader.noMemory();
  for (Member member : members) {
    JsonValue schema = reader.at(member);
    JsonValue own = memberOf(schema.find("properties"), property.name);
    bool isListed = own.exists();
    if (isListed && !reader.addMember(all, own, isNever))
      return false;
    for (JsonValue pattern = schema.find("patternProperties").first(); pattern.exists();
         pattern = pattern.next()) {
      Product product;
      RegexProblem problem;
      if (!product.addPattern(pattern.key(), true, problem))
        return reader.noMemory();
      if (!product.fits(Slice(written).between(1, written.size() - 1)))
        continue;
      isListed = true;
      if (!reader.addMember(all, pattern, isNever))
        return false;
    }
    JsonValue others = schema.find("additionalProperties");
    if (!isListed && others.exists() && !reader.addMember(all, others, isNever))
      return false;
  }
  Id value = reader.to.never();
  if (!isNever && !reader.compile(all, value))
    return false;
  Id name = reader.parts.quoted(reader.parts.plainText(property.name));
  property.member = reader.to.sequence({name, reader.parts.colon(), value});
  return true;
}

bool ObjectSchema::compileClass(uint32_t set, Id &result) {
  Members all;
  bool isNever = false;
  Product product;
  RegexProblem problem;
  Vector<Slice> listed;
  for (const Property &property : properties)
    if (!listed.push(property.name))
      return reader.noMemory();
  result = reader.to.never();
  for (Member member : members) {
    JsonValue schema = reader.at(member);
    bool isListed = false;
    JsonValue own = schema.find("patternProperties");
    for (size_t i = 0; i < patterns.size(); ++i)
      for (JsonValue one = own.first(); one.exists(); one = one.next())
        if (one.number() == patterns[i].number() && (set >> i & 1)) {
          isListed = true;
          if (!reader.addMember(all, one, isNever))
            return false;
        }
    JsonValue others = schema.find("additionalProperties");
    if (!isListed && others.exists() && !reader.addMember(all, others, isNever))
      return false;
  }
  if (isNever)
    return true;
  bool isGood =
      product.addLength(0, endless) && (listed.empty() || product.addTexts(listed, false));
  for (size_t i = 0; isGood && i < patterns.size(); ++i)
    isGood = product.addPattern(patterns[i].key(), (set >> i & 1) != 0, problem);
  Id name = reader.to.never(), value = reader.to.never();
  if (!isGood || !product.compile(reader.to, name))
    return reader.refuse(reader.at(members[0]), "the names of its other properties are too many "
                                                "to be told from those that are listed");
  if (!reader.compile(all, value))
    return false;
  result = reader.to.sequence({reader.parts.quoted(name), reader.parts.colon(), value});
  return true;
}

bool ObjectSchema::compileOthers(Id &result) {
  Vector<Id> ways;
  for (uint32_t set = 0; set < uint32_t(1) << patterns.size(); ++set) {
    Id way = reader.to.never();
    if (!compileClass(set, way))
      return false;
    if (!ways.push(way))
      return reader.noMemory();
  }
  result = reader.to.choice(ways.data(), ways.size());
  return true;
}

bool ObjectSchema::compileList(Id others, Id &result) {
  Expressions &to = reader.to;
  JsonParts &parts = reader.parts;
  size_t count = properties.size();
  bool isCounted = least > 0 || most != endless;
  // Counts up to the greater bound are told apart.
  uint32_t bound = most != endless ? most : least;
  width = isCounted ? uint32_t(std::min(uint64_t(bound), uint64_t(count))) + 1 : 1;
  if (uint64_t(width) * (count + 1) > 20000)
    return reader.refuse(reader.at(members[0]), "too many properties, of which some number is "
                                                "asked for");
  heads = uint32_t(to.rules.size());
  for (size_t i = 0; i < 2 * (count + 1) * width; ++i)
    to.addRule(Slice("properties"));
  tails = heads + uint32_t((count + 1) * width);
  if (to.problem)
    return true;
  for (size_t i = count + 1; i-- > 0;)
    for (uint32_t n = 0; n < width; ++n) {
      uint32_t place = uint32_t(i) * width + n;
      Id all, none = isEnough(n) ? to.empty() : to.never();
      if (i == count) {
        // Others: as many as are wanted still.
        uint32_t low = least > n ? least - n : 0, high = most == endless ? endless : most - n;
        bool isNone = others == to.never() || high == 0;
        Id more = to.repeat(to.sequence(parts.comma(), others), low ? low - 1 : 0,
                            high == endless ? endless
                            : high          ? high - 1
                                            : 0);
        all = isNone || low > high ? to.never() : to.sequence(others, more);
      } else {
        const Property &property = properties[i];
        Id own = mayAdd(n) ? to.sequence(property.member, tail(i + 1, n + 1)) : to.never();
        all = property.isRequired ? own : to.choice({own, head(i + 1, n)});
        none = none == to.never() || property.isRequired ? to.never() : none;
      }
      // Behind the last one that is required, the object may end.
      for (size_t k = i; k < count && none != to.never(); ++k)
        if (properties[k].isRequired)
          none = to.never();
      to.define(heads + place, all);
      to.define(tails + place,
                to.choice({to.sequence(parts.comma(), to.rule(heads + place)), none}));
    }
  bool mayBeEmpty = isEnough(0);
  for (const Property &property : properties)
    mayBeEmpty = mayBeEmpty && !property.isRequired;
  Id some = to.sequence({parts.space(), head(0, 0), parts.space()});
  result = to.sequence({to.byte('{'), mayBeEmpty ? to.optional(some) : some, to.byte('}')});
  return true;
}

bool ObjectSchema::compile(Id &result) {
  if (!gather())
    return false;
  size_t required = 0;
  for (Property &property : properties) {
    required += property.isRequired;
    if (!compileValue(property))
      return false;
  }
  Id others = reader.to.never();
  if (!compileOthers(others))
    return false;
  // Nothing keeps a text from having the same name twice among the others.
  if (least > required + 1 && others != reader.to.never())
    return reader.refuse(reader.find(members, "minProperties"),
                         "more than one above those that are required is read only where "
                         "`additionalProperties` is false");
  if (properties.empty() && patterns.empty() && others != reader.to.never() && least == 0 &&
      most == endless) {
    result = reader.parts.list('{', others, 0, endless, '}');
    return true;
  }
  return compileList(others, result);
}

bool SchemaReader::compileObject(const Members &members, Id &result) {
  return ObjectSchema(*this, members).compile(result);
}

/// The schema of a property that an object of a schema has to have, which is said there itself.
static JsonValue requiredProperty(JsonValue schema, Slice name) {
  for (JsonValue one = schema.find("required").first(); one.exists(); one = one.next())
    if (one.isString() && one.text() == name)
      return memberOf(schema.find("properties"), name);
  return {};
}

/// Whether two schemas list values, none of which are the same.
static bool listOthers(JsonValue a, JsonValue b) {
  auto holds = [](JsonValue schema, JsonValue value) {
    JsonValue constant = schema.find("const"), list = schema.find("enum");
    if (constant.exists())
      return constant.kind() == value.kind() && constant.text() == value.text();
    for (JsonValue one = list.first(); one.exists(); one = one.next())
      if (one.kind() == value.kind() && one.text() == value.text())
        return true;
    return false;
  };
  auto isPlain = [](JsonValue value) { return value.isString() || value.kind() == 'n'; };
  if (!b.find("const").exists() && !b.find("enum").exists())
    return false;
  if (JsonValue constant = a.find("const"); constant.exists())
    return isPlain(constant) && !holds(b, constant);
  JsonValue list = a.find("enum");
  for (JsonValue one = list.first(); one.exists(); one = one.next())
    if (!isPlain(one) || holds(b, one))
      return false;
  return list.exists();
}

bool SchemaReader::excludes(JsonValue first, JsonValue second) {
  for (JsonValue *side : {&first, &second})
    for (int i = 0; i < 8 && side->isObject() && side->find("$ref").exists(); ++i)
      if (!resolve(side->find("$ref"), *side))
        return false;
  if (first.kind() == 'f' || second.kind() == 'f')
    return true;
  if (!first.isObject() || !second.isObject())
    return false;
  uint32_t both = typesOf(first) & typesOf(second);
  if (!both || listOthers(first, second))
    return true;
  if (both != ObjectType)
    return false;
  // Objects: one has to have a property with other values, or one that the other has not.
  for (int i = 0; i < 2; ++i) {
    JsonValue one = i ? second : first, other = i ? first : second;
    for (JsonValue name = one.find("required").first(); name.exists(); name = name.next()) {
      if (!name.isString())
        continue;
      JsonValue own = requiredProperty(one, name.text());
      JsonValue opposite = memberOf(other.find("properties"), name.text());
      if (opposite.exists() ? own.exists() && listOthers(own, opposite)
                            : other.find("additionalProperties").kind() == 'f' &&
                                  !other.find("patternProperties").exists())
        return true;
    }
  }
  return false;
}

bool SchemaReader::areExclusive(JsonValue branches) {
  for (JsonValue one = branches.first(); one.exists(); one = one.next())
    for (JsonValue other = one.next(); other.exists(); other = other.next())
      if (!excludes(one, other))
        return error.status == ATTN_OK &&
               refuse(branches,
                      "its branches %zu and %zu may both fit the same value, which this "
                      "forbids; `anyOf` allows it, and so do branches of other types, or "
                      "whose required properties have other `const` values",
                      one.index(), other.index());
  return true;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays: the first elements by their places, the others by `items`.
#include "text/grammar/SchemaReader.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

/// Elements that are told apart by their places, at most.
static constexpr size_t maxPlaces = 1000;

/// The schema of an element by its place in one of the schemas of an array, or none.
static JsonValue schemaOf(JsonValue schema, size_t place) {
  JsonValue prefix = schema.find("prefixItems").first();
  for (; prefix.exists() && place > 0; --place)
    prefix = prefix.next();
  return prefix.exists() ? prefix : schema.find("items");
}

bool SchemaReader::compileElement(const Members &members, size_t place, Id &result) {
  Members all;
  bool isNever = false;
  for (Member member : members)
    if (JsonValue schema = schemaOf(at(member), place);
        schema.exists() && !addMember(all, schema, isNever))
      return false;
  result = to.never();
  return isNever || compile(all, result);
}

bool SchemaReader::compileArray(const Members &members, Id &result) {
  uint32_t least = 0, most = endless;
  size_t places = 0;
  count(members, "minItems", true, least);
  count(members, "maxItems", false, most);
  for (Member member : members) {
    places = std::max(places, at(member).find("prefixItems").count());
    if (places > maxPlaces)
      return refuse(at(member).find("prefixItems"),
                    "more than %zu schemas of elements by their "
                    "places are not read",
                    maxPlaces);
    if (JsonValue unique = at(member).find("uniqueItems"); unique.kind() == 't' && most > 1)
      return refuse(unique,
                    "that no element is there twice is not read: an automaton would have to "
                    "know all of them");
  }
  places = std::min(places, size_t(most));
  if (least > most) {
    result = to.never();
    return true;
  }
  // From the end: `rest` is what may follow the elements so far.
  Id rest = to.empty(), part = to.never();
  if (most > places) {
    if (!compileElement(members, places, part))
      return false;
    auto before = uint32_t(places);
    rest = to.repeat(to.sequence(parts.comma(), part), least > before ? least - before : 0,
                     most == endless ? endless : most - before);
    if (places == 0) {
      result = parts.list('[', part, least, most, ']');
      return true;
    }
  }
  for (size_t i = places; i > 0; --i) {
    if (!compileElement(members, i - 1, part))
      return false;
    rest = to.sequence({i == 1 ? parts.space() : parts.comma(), part, rest});
    if (i == 1)
      rest = to.sequence(rest, parts.space());
    if (least < i)
      rest = to.optional(rest);
    // Each is a rule, so that many do not nest.
    uint32_t rule = to.addRule(Slice("elements"));
    to.define(rule, rest);
    rest = to.rule(rule);
  }
  result = to.sequence({to.byte('['), rest, to.byte(']')});
  return true;
}

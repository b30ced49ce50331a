// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Filters of the items of a list or dictionary: those that choose, map, sort or add them up.
#include "text/jinja/FilterCall.h"
#include "text/steps/Unicode.h"
#include <cmath>

using namespace attn;
using namespace attn::jinja;

/// What `select` and `map` go through: what counts as false has no items there.
static bool itemsOfFilter(const FilterCall &call, Value &list) {
  list = Value::list(nullptr, 0);
  return !isTrue(call.self) || call.run.itemsOf(call.node, call.self, list);
}

/// `select`, `reject`, `selectattr` and `rejectattr`: items by a test.
bool jinja::selectFilter(const FilterCall &call) {
  bool hasAttribute = call.name.endsWith(Slice("attr")), wanted = call.name.startsWith(Slice("s"));
  size_t at = hasAttribute ? 1 : 0;
  Value list;
  Vector<Value> kept;
  if (hasAttribute && call.arguments.values.empty())
    return call.refuse("the name of a member");
  if (!itemsOfFilter(call, list))
    return false;
  Arguments rest;
  for (size_t i = at + 1; i < call.arguments.values.size(); ++i)
    if (!rest.values.push(call.arguments.values[i]))
      return call.run.noMemory(call.node);
  for (size_t i = 0; i < list.size; ++i) {
    Value tested = list.items[i];
    bool holds = false;
    if (!call.run.step(call.node) ||
        (hasAttribute && !attributeOf(call, list.items[i], call.arguments.values[0], tested)))
      return false;
    if (call.arguments.values.size() <= at)
      holds = isTrue(tested);
    else if (!call.arguments.values[at].is(Kind::String))
      return call.refuse("the name of a test");
    else if (!applyTest(call.run, call.node, call.arguments.values[at].text(), tested, rest, holds))
      return false;
    if (holds == wanted && !kept.push(list.items[i]))
      return call.run.noMemory(call.node);
  }
  return call.run.makeList(call.node, kept, call.result);
}

bool jinja::mapFilter(const FilterCall &call) {
  const Value *attribute =
                  call.arguments.values.empty() ? call.arguments.get(0, "attribute") : nullptr,
              *otherwise = call.arguments.get(9, "default");
  Value list;
  Vector<Value> made;
  Arguments rest;
  if (!attribute && (call.arguments.values.empty() || !call.arguments.values[0].is(Kind::String)))
    return call.refuse("the name of a filter, or an attribute");
  for (size_t i = 1; i < call.arguments.values.size(); ++i)
    if (!rest.values.push(call.arguments.values[i]))
      return call.run.noMemory(call.node);
  if (!itemsOfFilter(call, list))
    return false;
  for (size_t i = 0; i < list.size; ++i) {
    Value value;
    bool isGood = call.run.step(call.node) &&
                  (attribute ? attributeOf(call, list.items[i], *attribute, value)
                             : applyFilter(call.run, call.node, call.arguments.values[0].text(),
                                           list.items[i], rest, value));
    if (!isGood)
      return false;
    if (attribute && otherwise && value.is(Kind::Undefined))
      value = *otherwise;
    if (!made.push(value))
      return call.run.noMemory(call.node);
  }
  return call.run.makeList(call.node, made, call.result);
}

/// What items are sorted by: a member, without case where they are strings.
static bool sortKey(const FilterCall &call, const Value &item, const Value *attribute, bool hasCase,
                    Value &key) {
  key = item;
  if (attribute && !attribute->is(Kind::None) && !attributeOf(call, item, *attribute, key))
    return false;
  return hasCase || !key.is(Kind::String) ||
         changeCase(call.run, call.node, key.text(), Case::Lower, key);
}

/// Sorts items, of which the first of two is the key: what is equal keeps its order.
static bool sortPairs(const FilterCall &call, Vector<Pair> &pairs, bool isReverse) {
  for (size_t i = 1; i < pairs.size(); ++i) {
    Pair moved = pairs[i];
    size_t place = i;
    for (int order = 0; place > 0; --place) {
      if (!call.run.step(call.node))
        return false;
      if (!compare(pairs[place - 1].key, moved.key, call.run.memory, order))
        return call.run.fail(call.node, "%s and %s have no order", nameOf(pairs[place - 1].key),
                             nameOf(moved.key));
      if (isReverse ? order >= 0 : order <= 0)
        break;
      pairs[place] = pairs[place - 1];
    }
    pairs[place] = moved;
  }
  return true;
}

/// `sort`, `unique`, `min` and `max`.
bool jinja::orderFilter(const FilterCall &call) {
  bool sorts = call.is("sort");
  const Value *isReverse = sorts ? call.arguments.get(0, "reverse") : nullptr,
              *hasCase = call.arguments.get(sorts ? 1 : 0, "case_sensitive"),
              *attribute = call.arguments.get(sorts ? 2 : 1, "attribute");
  Value list;
  Vector<Pair> pairs;
  if (!call.run.itemsOf(call.node, call.self, list))
    return false;
  for (size_t i = 0; i < list.size; ++i) {
    Pair pair;
    if (!sortKey(call, list.items[i], attribute, hasCase && isTrue(*hasCase), pair.key))
      return false;
    pair.value = list.items[i];
    bool isThere = false;
    for (size_t j = 0; call.is("unique") && j < pairs.size() && !isThere; ++j)
      isThere = areEqual(pairs[j].key, pair.key, call.run.memory);
    if (!isThere && !pairs.push(pair))
      return call.run.noMemory(call.node);
  }
  bool isLargest = call.is("max");
  if (!call.is("unique") && !sortPairs(call, pairs, (isReverse && isTrue(*isReverse)) || isLargest))
    return false;
  if (isLargest || call.is("min"))
    return call.give(pairs.empty() ? Value() : pairs[0].value);
  Vector<Value> items;
  for (const Pair &pair : pairs)
    if (!items.push(pair.value))
      return call.run.noMemory(call.node);
  return call.run.makeList(call.node, items, call.result);
}

bool jinja::dictsortFilter(const FilterCall &call) {
  const Value *hasCase = call.arguments.get(0, "case_sensitive"), *by = call.arguments.get(1, "by"),
              *isReverse = call.arguments.get(2, "reverse");
  Value items;
  Vector<Pair> pairs;
  if (!itemsFilter({call.run, call.node, call.name, call.self, call.arguments, items}))
    return false;
  bool isByValue = by && by->is(Kind::String) && by->text().is("value");
  for (size_t i = 0; i < items.size; ++i) {
    Pair pair;
    if (!sortKey(call, items.items[i].items[isByValue ? 1 : 0], nullptr,
                 hasCase && isTrue(*hasCase), pair.key))
      return false;
    pair.value = items.items[i];
    if (!pairs.push(pair))
      return call.run.noMemory(call.node);
  }
  if (!sortPairs(call, pairs, isReverse && isTrue(*isReverse)))
    return false;
  Vector<Value> sorted;
  for (const Pair &pair : pairs)
    if (!sorted.push(pair.value))
      return call.run.noMemory(call.node);
  return call.run.makeList(call.node, sorted, call.result);
}

bool jinja::sumFilter(const FilterCall &call) {
  const Value *attribute = call.arguments.get(0, "attribute"),
              *start = call.arguments.get(1, "start");
  Value list, sum = start ? *start : Value::of(int64_t(0));
  if (!call.run.itemsOf(call.node, call.self, list))
    return false;
  Node add = *call.node;
  add.operation = Operation::Add;
  for (size_t i = 0; i < list.size; ++i) {
    Value item = list.items[i], before = sum;
    if ((attribute && !attribute->is(Kind::None) &&
         !attributeOf(call, list.items[i], *attribute, item)) ||
        !operate(call.run, &add, before, item, sum))
      return false;
  }
  return call.give(sum);
}

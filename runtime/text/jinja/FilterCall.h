// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What filters of templates are called with, and those that other files define.
#pragma once

#include "text/jinja/Interpreter.h"

namespace attn::jinja {

/// What a filter is applied with.
struct FilterCall {
  Interpreter &run;
  const Node *node;
  Slice name;
  const Value &self;
  const Arguments &arguments;
  Value &result;

  /// Makes a value the result; true.
  bool give(const Value &value) const {
    result = value;
    return true;
  }
  /// A value as a string, as `str` makes it.
  bool text(const Value &value, Slice &made) const {
    Value string = value;
    if (!value.is(Kind::String)) {
      Vector<char> bytes;
      if (!appendText(value, bytes))
        return value.kind > Kind::Dict ? run.fail(node, "%s cannot be printed", nameOf(value))
                                       : run.noMemory(node);
      if (!run.makeString(node, Slice(bytes), string))
        return false;
    }
    made = string.text();
    return true;
  }
  bool text(Slice &made) const { return text(self, made); }
  /// Reports an argument that is not what the filter takes.
  bool refuse(const char *expected) const {
    return run.fail(node, "the filter `%.*s` takes %s", int(name.size), name.data, expected);
  }
  /// Whether the filter is called so.
  bool is(const char *other) const { return name.is(other); }
};

/// What an argument `attribute` names: a member of an item, or a member of one. False after an
/// error has been reported.
bool attributeOf(const FilterCall &call, const Value &item, const Value &attribute, Value &member);

/// The pairs of a dictionary, as a list.
bool itemsFilter(const FilterCall &call);

// Filters of the items of a list or dictionary (ItemFilters.cpp). False after an error has been
// reported.

/// `select`, `reject`, `selectattr` and `rejectattr`: items by a test.
bool selectFilter(const FilterCall &call);
/// `map`: an attribute of each item, or what a filter makes of it.
bool mapFilter(const FilterCall &call);
/// `sort`, `min`, `max` and `unique`.
bool orderFilter(const FilterCall &call);
/// `dictsort`: the pairs of a dictionary, in order.
bool dictsortFilter(const FilterCall &call);
/// `sum`: of the items, or of an attribute of each.
bool sumFilter(const FilterCall &call);

} // namespace attn::jinja

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Filters: what stands behind `|`.
#include "text/jinja/FilterCall.h"
#include "text/steps/Unicode.h"
#include <cerrno>
#include <cmath>

using namespace attn;
using namespace attn::jinja;

namespace {

/// A filter: how many arguments it takes at most, their names, and what it does.
struct Filter {
  const char *name;
  size_t most;
  const char *names[5];
  bool (*apply)(const FilterCall &call);
};

} // namespace

static bool trimFilter(const FilterCall &call) {
  const Value *chars = call.arguments.get(0, "chars");
  Slice text, set = chars && chars->is(Kind::String) ? chars->text() : Slice();
  if (!call.text(text) || !call.run.step(call.node, text.size * (1 + set.size)))
    return false;
  return call.give(Value::of(strip(text, set.data ? &set : nullptr, true, true)));
}

static bool lengthFilter(const FilterCall &call) {
  const Value &self = call.self;
  if (self.is(Kind::Undefined))
    return call.give(Value::of(int64_t(0)));
  if (self.is(Kind::String))
    return call.give(Value::of(int64_t(characters(self.text()))));
  if (self.is(Kind::List) || self.is(Kind::Dict))
    return call.give(Value::of(int64_t(self.size)));
  return call.run.fail(call.node, "%s has no length", nameOf(self));
}

static bool caseFilter(const FilterCall &call) {
  Slice text;
  Case to = call.is("lower")        ? Case::Lower
            : call.is("upper")      ? Case::Upper
            : call.is("capitalize") ? Case::Capital
                                    : Case::Title;
  return call.text(text) && changeCase(call.run, call.node, text, to, call.result);
}

static bool defaultFilter(const FilterCall &call) {
  const Value *otherwise = call.arguments.get(0, "default_value"),
              *isLoose = call.arguments.get(1, "boolean");
  bool isMissing =
      call.self.is(Kind::Undefined) || (isLoose && isTrue(*isLoose) && !isTrue(call.self));
  return call.give(!isMissing ? call.self : otherwise ? *otherwise : Value::of(Slice("", 0)));
}

bool jinja::attributeOf(const FilterCall &call, const Value &item, const Value &attribute,
                        Value &member) {
  if (!attribute.is(Kind::String))
    return call.run.itemOf(call.node, item, attribute, member);
  member = item;
  for (Slice rest = attribute.text();;) {
    const void *dot = memchr(rest.data, '.', rest.size);
    size_t size = dot ? size_t(static_cast<const char *>(dot) - rest.data) : rest.size;
    Value whole = member;
    Slice name = rest.between(0, size);
    bool isIndex = name.size > 0 && name.size < 10;
    int64_t index = 0;
    for (size_t i = 0; i < name.size; ++i)
      isIndex &= name.data[i] >= '0' && name.data[i] <= '9',
          index = index * 10 + name.data[i] - '0';
    bool isGood = isIndex ? call.run.itemOf(call.node, whole, Value::of(index), member)
                          : call.run.memberOf(call.node, whole, name, false, member);
    if (!isGood)
      return false;
    if (!dot)
      return true;
    rest = rest.from(size + 1);
  }
}

static bool joinFilter(const FilterCall &call) {
  const Value *between = call.arguments.get(0, "d"),
              *attribute = call.arguments.get(1, "attribute");
  Value list;
  if (!call.run.itemsOf(call.node, call.self, list))
    return false;
  Slice separator("", 0);
  if (between && !call.text(*between, separator))
    return false;
  if (attribute && !attribute->is(Kind::None)) {
    Vector<Value> members;
    for (size_t i = 0; i < list.size; ++i) {
      Value member;
      if (!attributeOf(call, list.items[i], *attribute, member))
        return false;
      if (!members.push(member))
        return call.run.noMemory(call.node);
    }
    if (!call.run.makeList(call.node, members, list))
      return false;
  }
  return joinTexts(call.run, call.node, list, separator, call.result);
}

static bool replaceFilter(const FilterCall &call) {
  const Value *from = call.arguments.get(0, "old"), *to = call.arguments.get(1, "new"),
              *most = call.arguments.get(2, "count");
  Slice text, old, other;
  if (!from || !to || (most && !most->isWhole() && !most->is(Kind::None)))
    return call.refuse("two strings, and perhaps a number");
  return call.text(text) && call.text(*from, old) && call.text(*to, other) &&
         replaceText(call.run, call.node, text, old, other,
                     most && most->isWhole() ? most->integer() : -1, call.result);
}

/// `first` and `last`.
static bool endFilter(const FilterCall &call) {
  Value list;
  if (!call.run.itemsOf(call.node, call.self, list))
    return false;
  if (list.size == 0)
    return call.give(Value());
  return call.give(list.items[call.is("first") ? 0 : list.size - 1]);
}

static bool stringFilter(const FilterCall &call) {
  Slice text;
  return call.text(text) && call.give(Value::of(text));
}

static bool listFilter(const FilterCall &call) {
  Value list;
  if (!call.run.itemsOf(call.node, call.self, list))
    return false;
  list.isTuple = false;
  return call.give(list);
}

static bool reverseFilter(const FilterCall &call) {
  Value list, made;
  if (!call.run.itemsOf(call.node, call.self, list))
    return false;
  Vector<Value> items;
  for (size_t i = list.size; i-- > 0;)
    if (!items.push(list.items[i]))
      return call.run.noMemory(call.node);
  if (!call.run.makeList(call.node, items, made))
    return false;
  return call.self.is(Kind::String)
             ? joinTexts(call.run, call.node, made, Slice("", 0), call.result)
             : call.give(made);
}

bool jinja::itemsFilter(const FilterCall &call) {
  if (call.self.is(Kind::Undefined))
    return call.give(Value::list(nullptr, 0));
  if (!call.self.is(Kind::Dict))
    return call.run.fail(call.node, "the filter `items` takes a mapping, but got %s",
                         nameOf(call.self));
  Value method;
  Arguments none;
  method.kind = Kind::Method, method.items = &call.self;
  method.size = size_t(findMethod(call.self, Slice("items")));
  return callMethod(call.run, call.node, method, none, call.result);
}

/// The number that a string is as a whole; false where it is none.
static bool parse(Slice text, double &value) {
  char digits[64];
  text = strip(text, nullptr, true, true);
  if (text.size == 0 || text.size >= sizeof digits)
    return false;
  memcpy(digits, text.data, text.size);
  digits[text.size] = 0;
  char *end = nullptr;
  value = strtod(digits, &end);
  return *end == 0 && !strpbrk(digits, "xX");
}

static bool numberFilter(const FilterCall &call) {
  bool isWhole = call.is("int");
  const Value *otherwise = call.arguments.get(0, "default");
  double value = 0;
  bool isNumber = call.self.isNumber();
  if (isNumber && call.self.isWhole() && isWhole)
    return call.give(Value::of(call.self.integer()));
  if (isNumber)
    value = call.self.number();
  else if (call.self.is(Kind::String))
    isNumber = parse(call.self.text(), value);
  isNumber &= !isWhole || std::fabs(value) < 9e15;
  if (!isNumber)
    return call.give(otherwise ? *otherwise : isWhole ? Value::of(int64_t(0)) : Value::of(0.0));
  return call.give(isWhole ? Value::of(int64_t(value)) : Value::of(value));
}

static bool absFilter(const FilterCall &call) {
  if (!call.self.isNumber())
    return call.run.fail(call.node, "the filter `abs` takes a number, but got %s",
                         nameOf(call.self));
  if (!call.self.isWhole())
    return call.give(Value::of(std::fabs(call.self.real)));
  int64_t value = call.self.integer();
  if (value == INT64_MIN)
    return call.run.fail(call.node, "the result is too large for a whole number");
  return call.give(Value::of(value < 0 ? -value : value));
}

/// Reads how `tojson` is to write.
static bool readStyle(const FilterCall &call, JsonStyle &style, char (&spaces)[64]) {
  const Value *isAscii = call.arguments.get(0, "ensure_ascii"),
              *indent = call.arguments.get(1, "indent"),
              *separators = call.arguments.get(2, "separators"),
              *areSorted = call.arguments.get(3, "sort_keys");
  style.isAscii = isAscii && isTrue(*isAscii);
  style.areKeysSorted = areSorted && isTrue(*areSorted);
  if (indent && indent->is(Kind::String))
    style.indent = indent->text();
  else if (indent && indent->isWhole()) {
    if (indent->integer() > int64_t(sizeof spaces))
      return call.refuse("an indent of at most 64");
    memset(spaces, ' ', sizeof spaces);
    style.indent = Slice(spaces, indent->integer() > 0 ? size_t(indent->integer()) : 0);
  } else if (indent && !indent->is(Kind::None))
    return call.refuse("an indent that is a number or a string");
  style.itemSeparator = Slice(style.indent.data ? "," : ", ");
  style.keySeparator = Slice(": ");
  if (!separators || separators->is(Kind::None))
    return true;
  if (!separators->is(Kind::List) || separators->size != 2 ||
      !separators->items[0].is(Kind::String) || !separators->items[1].is(Kind::String))
    return call.refuse("two strings as separators");
  style.itemSeparator = separators->items[0].text(),
  style.keySeparator = separators->items[1].text();
  return true;
}

static bool jsonFilter(const FilterCall &call) {
  JsonStyle style;
  char spaces[64];
  Vector<char> text;
  if (!readStyle(call, style, spaces))
    return false;
  if (!appendJson(call.self, style, text))
    return text.size() > Memory::mostBytes / 4
               ? call.run.noMemory(call.node)
               : call.run.fail(call.node, "there is something in %s that JSON has not",
                               nameOf(call.self));
  return call.run.makeString(call.node, Slice(text), call.result);
}

static bool indentFilter(const FilterCall &call) {
  const Value *width = call.arguments.get(0, "width"), *first = call.arguments.get(1, "first"),
              *blank = call.arguments.get(2, "blank");
  Slice rest;
  Vector<char> made, spaces;
  int64_t count = width && width->isWhole() ? width->integer() : 4;
  if (!call.text(rest) || count > 1000)
    return call.refuse("a width of at most 1000");
  bool isGood = true;
  if (width && width->is(Kind::String))
    isGood = append(spaces, width->text());
  else
    for (int64_t i = 0; i < count && isGood; ++i)
      isGood = spaces.push(' ');
  for (bool isFirst = true; isGood; isFirst = false) {
    const void *newline = memchr(rest.data, '\n', rest.size);
    size_t size = newline ? size_t(static_cast<const char *>(newline) - rest.data) : rest.size;
    bool isIndented = isFirst ? first && isTrue(*first) : size > 0 || (blank && isTrue(*blank));
    isGood = (!isIndented || append(made, Slice(spaces))) &&
             append(made, rest.between(0, size + (newline ? 1 : 0))) &&
             made.size() < Memory::mostBytes / 4 && call.run.memory.step(size + spaces.size());
    if (!newline)
      break;
    rest = rest.from(size + 1);
  }
  return isGood ? call.run.makeString(call.node, Slice(made), call.result)
                : call.run.noMemory(call.node);
}

static bool keepFilter(const FilterCall &call) { return call.give(call.self); }

static const Filter filters[] = {
    {"abs", 0, {}, absFilter},
    {"capitalize", 0, {}, caseFilter},
    {"count", 0, {}, lengthFilter},
    {"d", 2, {"default_value", "boolean"}, defaultFilter},
    {"default", 2, {"default_value", "boolean"}, defaultFilter},
    {"dictsort", 3, {"case_sensitive", "by", "reverse"}, dictsortFilter},
    {"first", 0, {}, endFilter},
    {"float", 1, {"default"}, numberFilter},
    {"indent", 3, {"width", "first", "blank"}, indentFilter},
    {"int", 1, {"default"}, numberFilter},
    {"items", 0, {}, itemsFilter},
    {"join", 2, {"d", "attribute"}, joinFilter},
    {"last", 0, {}, endFilter},
    {"length", 0, {}, lengthFilter},
    {"list", 0, {}, listFilter},
    {"lower", 0, {}, caseFilter},
    {"map", 9, {"attribute", "default"}, mapFilter},
    {"max", 2, {"case_sensitive", "attribute"}, orderFilter},
    {"min", 2, {"case_sensitive", "attribute"}, orderFilter},
    {"reject", 9, {}, selectFilter},
    {"rejectattr", 9, {}, selectFilter},
    {"replace", 3, {"old", "new", "count"}, replaceFilter},
    {"reverse", 0, {}, reverseFilter},
    {"safe", 0, {}, keepFilter},
    {"select", 9, {}, selectFilter},
    {"selectattr", 9, {}, selectFilter},
    {"sort", 3, {"reverse", "case_sensitive", "attribute"}, orderFilter},
    {"string", 0, {}, stringFilter},
    {"sum", 2, {"attribute", "start"}, sumFilter},
    {"title", 0, {}, caseFilter},
    {"tojson", 4, {"ensure_ascii", "indent", "separators", "sort_keys"}, jsonFilter},
    {"trim", 1, {"chars"}, trimFilter},
    {"unique", 2, {"case_sensitive", "attribute"}, orderFilter},
    {"upper", 0, {}, caseFilter}};

bool jinja::applyFilter(Interpreter &run, const Node *node, Slice name, const Value &value,
                        const Arguments &arguments, Value &result) {
  for (const Filter &filter : filters) {
    if (!name.is(filter.name))
      continue;
    if (!arguments.areKnown(filter.most, filter.names))
      return run.fail(node, "the filter `%s` does not take these arguments", filter.name);
    bool isLong = value.is(Kind::String) || value.is(Kind::List) || value.is(Kind::Dict);
    return run.step(node, isLong ? value.size : 0) &&
           filter.apply({run, node, name, value, arguments, result});
  }
  return run.fail(node, "the filter `%.*s` is not known", int(name.size), name.data);
}

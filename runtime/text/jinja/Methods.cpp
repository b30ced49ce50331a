// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Methods of strings, mappings and lists. Those of Python that change what they are of are refused,
// as in the published libraries.
#include "text/jinja/Interpreter.h"
#include "text/steps/Unicode.h"

using namespace attn;
using namespace attn::jinja;

namespace {

/// What a method is called with.
struct MethodCall {
  Interpreter &run;
  const Node *node;
  const char *name;
  const Value &self;
  const Arguments &arguments;
  Value &result;

  /// The string at a place, or null; reported where it is something else.
  const Value *string(size_t index, const char *called, bool isNeeded = true) const {
    const Value *given = arguments.get(index, called);
    bool isMissing = !given || given->is(Kind::None);
    if (isMissing ? isNeeded : !given->is(Kind::String))
      run.fail(node, "`%s` takes a string, but got %s", name, isMissing ? "none" : nameOf(*given));
    return isMissing || !given->is(Kind::String) ? nullptr : given;
  }
  /// A whole number, where one is given.
  bool whole(size_t index, const char *called, int64_t &value) const {
    const Value *given = arguments.get(index, called);
    if (given && !given->isWhole())
      return run.fail(node, "`%s` takes a whole number, but got %s", name, nameOf(*given));
    value = given ? given->integer() : value;
    return true;
  }
  bool give(const Value &value) const {
    result = value;
    return true;
  }
};

/// A method: of what, with how many arguments at most, and what it does.
struct Method {
  Kind of;
  const char *name;
  size_t most;
  bool (*call)(const MethodCall &call);
};

} // namespace

static bool stripMethod(const MethodCall &call) {
  const Value *chars = call.string(0, "chars", false);
  if (call.arguments.get(0, "chars") && !chars && !call.arguments.get(0, "chars")->is(Kind::None))
    return false;
  Slice set = chars ? chars->text() : Slice();
  if (!call.run.step(call.node, call.self.size * (1 + set.size)))
    return false;
  Slice text =
      strip(call.self.text(), chars ? &set : nullptr, call.name[0] != 'r', call.name[0] != 'l');
  return call.give(Value::of(text));
}

/// Words between white space.
static bool splitWords(const MethodCall &call, int64_t most, Vector<Value> &parts) {
  Slice rest = strip(call.self.text(), nullptr, true, false);
  while (rest.size > 0) {
    size_t at = 0, length = 0;
    if (most >= 0 && int64_t(parts.size()) >= most) {
      at = rest.size;
    } else {
      while (at < rest.size && !isPythonSpace(decodeUtf8(rest.data + at, length)))
        at += length;
    }
    if (!call.run.step(call.node, sizeof(Value)))
      return false;
    if (!parts.push(Value::of(rest.between(0, at))))
      return call.run.noMemory(call.node);
    rest = strip(rest.from(at), nullptr, true, false);
  }
  return true;
}

static bool splitMethod(const MethodCall &call) {
  int64_t most = -1;
  const Value *given = call.arguments.get(0, "sep");
  const Value *separator = call.string(0, "sep", false);
  if ((given && !separator && !given->is(Kind::None)) || !call.whole(1, "maxsplit", most) ||
      !call.run.step(call.node, 2 * call.self.size))
    return false;
  Vector<Value> parts;
  Slice text = call.self.text();
  bool isRight = call.name[0] == 'r';
  if (!separator) {
    if (isRight && most >= 0)
      return call.run.fail(call.node, "`rsplit` with a number and no separator is not known");
    return splitWords(call, most, parts) && call.run.makeList(call.node, parts, call.result);
  }
  Slice by = separator->text();
  if (by.size == 0)
    return call.run.fail(call.node, "`%s` takes a separator that is not empty", call.name);
  // The places from the left; of `rsplit` with a number, the last ones count.
  Vector<size_t> places;
  auto next = [&](size_t from) {
    auto *found = static_cast<const char *>(
        text.size > from ? memmem(text.data + from, text.size - from, by.data, by.size) : nullptr);
    return found ? size_t(found - text.data) : text.size;
  };
  for (size_t at = next(0); at < text.size; at = next(at + by.size)) {
    if (!call.run.step(call.node, sizeof(Value)))
      return false;
    if (!places.push(at))
      return call.run.noMemory(call.node);
  }
  size_t count = most >= 0 && size_t(most) < places.size() ? size_t(most) : places.size();
  size_t first = isRight ? places.size() - count : 0, begin = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t place = places[first + i];
    if (!parts.push(Value::of(text.between(begin, place))))
      return call.run.noMemory(call.node);
    begin = place + by.size;
  }
  return parts.push(Value::of(text.from(begin))) ? call.run.makeList(call.node, parts, call.result)
                                                 : call.run.noMemory(call.node);
}

/// `startswith` and `endswith`: of one string, or one of several.
static bool borderMethod(const MethodCall &call) {
  const Value *given = call.arguments.get(0, "prefix");
  Value one = given ? *given : Value(), list = one;
  if (one.is(Kind::String))
    list = Value::list(&one, 1);
  bool isGood = list.is(Kind::List), isThere = false;
  for (size_t i = 0; isGood && i < list.size; ++i) {
    isGood = list.items[i].is(Kind::String);
    Slice part = isGood ? list.items[i].text() : Slice();
    isThere |=
        call.name[0] == 's' ? call.self.text().startsWith(part) : call.self.text().endsWith(part);
  }
  if (!isGood)
    return call.run.fail(call.node, "`%s` takes a string, but got %s", call.name, nameOf(one));
  return call.give(Value::of(isThere));
}

static bool replaceMethod(const MethodCall &call) {
  const Value *from = call.string(0, "old"), *to = from ? call.string(1, "new") : nullptr;
  int64_t most = -1;
  return to && call.whole(2, "count", most) &&
         replaceText(call.run, call.node, call.self.text(), from->text(), to->text(), most,
                     call.result);
}

static bool caseMethod(const MethodCall &call) {
  Case to = call.name[0] == 'l'   ? Case::Lower
            : call.name[0] == 'u' ? Case::Upper
            : call.name[0] == 'c' ? Case::Capital
                                  : Case::Title;
  return changeCase(call.run, call.node, call.self.text(), to, call.result);
}

static bool findMethodCall(const MethodCall &call) {
  const Value *part = call.string(0, "sub");
  if (!part || !call.run.step(call.node, 2 * call.self.size))
    return false;
  Slice text = call.self.text(), sought = part->text();
  auto *found = static_cast<const char *>(
      sought.size == 0 ? text.data : memmem(text.data, text.size, sought.data, sought.size));
  if (found)
    for (const char *later = found; call.name[0] == 'r' && later;) {
      found = later;
      size_t rest = text.size - size_t(found - text.data);
      later = static_cast<const char *>(rest > 1 && sought.size
                                            ? memmem(found + 1, rest - 1, sought.data, sought.size)
                                            : nullptr);
      if (!call.run.step(call.node))
        return false;
    }
  if (!found)
    return call.give(Value::of(int64_t(-1)));
  if (call.name[0] == 'r' && sought.size == 0)
    found = text.data + text.size;
  return call.give(Value::of(int64_t(characters(text.between(0, size_t(found - text.data))))));
}

static bool countMethod(const MethodCall &call) {
  if (call.self.is(Kind::List)) {
    const Value *item = call.arguments.get(0, "value");
    int64_t count = 0;
    for (size_t i = 0; item && i < call.self.size; ++i)
      count += areEqual(call.self.items[i], *item, call.run.memory);
    return item ? call.give(Value::of(count)) : call.run.fail(call.node, "`count` takes a value");
  }
  const Value *part = call.string(0, "sub");
  if (!part || !call.run.step(call.node, 2 * call.self.size))
    return false;
  if (part->size == 0)
    return call.give(Value::of(int64_t(characters(call.self.text()) + 1)));
  int64_t count = 0;
  for (Slice rest = call.self.text(); rest.size > 0; ++count) {
    auto *found = static_cast<const char *>(memmem(rest.data, rest.size, part->chars, part->size));
    if (!found)
      break;
    rest = rest.from(size_t(found - rest.data) + part->size);
  }
  return call.give(Value::of(count));
}

static bool joinMethod(const MethodCall &call) {
  const Value *given = call.arguments.get(0, "iterable");
  Value list;
  if (!given)
    return call.run.fail(call.node, "`join` takes a list");
  if (!call.run.itemsOf(call.node, *given, list))
    return false;
  for (size_t i = 0; i < list.size; ++i)
    if (!list.items[i].is(Kind::String))
      return call.run.fail(call.node, "`join` takes strings, but got %s", nameOf(list.items[i]));
  return joinTexts(call.run, call.node, list, call.self.text(), call.result);
}

static bool linesMethod(const MethodCall &call) {
  Vector<Value> lines;
  Slice rest = call.self.text();
  const Value *keeps = call.arguments.get(0, "keepends");
  while (rest.size > 0) {
    size_t end = 0;
    while (end < rest.size && rest.data[end] != '\n' && rest.data[end] != '\r')
      ++end;
    size_t next = end;
    if (next < rest.size)
      next +=
          rest.data[next] == '\r' && next + 1 < rest.size && rest.data[next + 1] == '\n' ? 2 : 1;
    if (!call.run.step(call.node, sizeof(Value)) ||
        !lines.push(Value::of(rest.between(0, keeps && isTrue(*keeps) ? next : end))))
      return call.run.noMemory(call.node);
    rest = rest.from(next);
  }
  return call.run.makeList(call.node, lines, call.result);
}

/// `isdigit`, `isspace`, `isupper`, `islower`, `isalpha`, `isalnum` of ASCII, which is what
/// templates ask.
static bool kindMethod(const MethodCall &call) {
  bool holds = call.self.size > 0;
  for (size_t i = 0; holds && i < call.self.size; ++i) {
    char c = call.self.chars[i];
    bool isDigit = c >= '0' && c <= '9', isLetter = (c | 32) >= 'a' && (c | 32) <= 'z';
    if (static_cast<unsigned char>(c) > 127)
      return call.run.fail(call.node, "`%s` is known of ASCII alone", call.name);
    holds = strcmp(call.name, "isdigit") == 0   ? isDigit
            : strcmp(call.name, "isspace") == 0 ? isPythonSpace(uint32_t(c))
            : strcmp(call.name, "isalpha") == 0 ? isLetter
                                                : isLetter || isDigit;
  }
  return call.give(Value::of(holds));
}

/// `removeprefix` and `removesuffix`.
static bool removeMethod(const MethodCall &call) {
  bool isPrefix = strcmp(call.name, "removeprefix") == 0;
  const Value *part = call.string(0, isPrefix ? "prefix" : "suffix");
  if (!part)
    return false;
  Slice text = call.self.text();
  if (isPrefix && text.startsWith(part->text()))
    text = text.from(part->size);
  else if (!isPrefix && text.endsWith(part->text()))
    text.size -= part->size;
  return call.give(Value::of(text));
}

static bool getMethod(const MethodCall &call) {
  const Value *key = call.arguments.get(0, "key"), *otherwise = call.arguments.get(1, "default");
  if (!key || !key->canBeKey())
    return call.run.fail(call.node, "`get` takes a key");
  for (size_t i = 0; i < call.self.size; ++i)
    if (areEqual(call.self.pairs[i].key, *key, call.run.memory))
      return call.give(call.self.pairs[i].value);
  return call.give(otherwise ? *otherwise : Value::none());
}

/// `items`, `keys` and `values`.
static bool pairsMethod(const MethodCall &call) {
  size_t count = call.self.size;
  bool hasBoth = call.name[0] == 'i';
  auto *made = call.run.memory.make<Value>(count * (hasBoth ? 3 : 1));
  if (!made || !call.run.memory.step(16 * count))
    return call.run.noMemory(call.node);
  for (size_t i = 0; i < count; ++i) {
    const Pair &pair = call.self.pairs[i];
    if (!hasBoth) {
      made[i] = call.name[0] == 'k' ? pair.key : pair.value;
      continue;
    }
    Value *both = made + count + 2 * i;
    both[0] = pair.key, both[1] = pair.value;
    made[i] = Value::list(both, 2, /*isTuple=*/true);
  }
  return call.give(Value::list(made, count));
}

static bool indexMethod(const MethodCall &call) {
  const Value *item = call.arguments.get(0, "value");
  for (size_t i = 0; item && i < call.self.size; ++i)
    if (areEqual(call.self.items[i], *item, call.run.memory))
      return call.give(Value::of(int64_t(i)));
  return call.run.fail(call.node, "the list has no such item");
}

static bool refuseMethod(const MethodCall &call) {
  return call.run.fail(call.node, "`%s` changes %s, which templates may not", call.name,
                       nameOf(call.self));
}

static const Method methods[] = {{Kind::String, "strip", 1, stripMethod},
                                 {Kind::String, "lstrip", 1, stripMethod},
                                 {Kind::String, "rstrip", 1, stripMethod},
                                 {Kind::String, "split", 2, splitMethod},
                                 {Kind::String, "rsplit", 2, splitMethod},
                                 {Kind::String, "startswith", 1, borderMethod},
                                 {Kind::String, "endswith", 1, borderMethod},
                                 {Kind::String, "replace", 3, replaceMethod},
                                 {Kind::String, "lower", 0, caseMethod},
                                 {Kind::String, "upper", 0, caseMethod},
                                 {Kind::String, "capitalize", 0, caseMethod},
                                 {Kind::String, "title", 0, caseMethod},
                                 {Kind::String, "find", 1, findMethodCall},
                                 {Kind::String, "rfind", 1, findMethodCall},
                                 {Kind::String, "count", 1, countMethod},
                                 {Kind::String, "join", 1, joinMethod},
                                 {Kind::String, "splitlines", 1, linesMethod},
                                 {Kind::String, "isdigit", 0, kindMethod},
                                 {Kind::String, "isspace", 0, kindMethod},
                                 {Kind::String, "isalpha", 0, kindMethod},
                                 {Kind::String, "isalnum", 0, kindMethod},
                                 {Kind::String, "removeprefix", 1, removeMethod},
                                 {Kind::String, "removesuffix", 1, removeMethod},
                                 {Kind::Dict, "get", 2, getMethod},
                                 {Kind::Dict, "items", 0, pairsMethod},
                                 {Kind::Dict, "keys", 0, pairsMethod},
                                 {Kind::Dict, "values", 0, pairsMethod},
                                 {Kind::Dict, "pop", 2, refuseMethod},
                                 {Kind::Dict, "update", 1, refuseMethod},
                                 {Kind::Dict, "setdefault", 2, refuseMethod},
                                 {Kind::Dict, "clear", 0, refuseMethod},
                                 {Kind::Dict, "popitem", 0, refuseMethod},
                                 {Kind::List, "count", 1, countMethod},
                                 {Kind::List, "index", 1, indexMethod},
                                 {Kind::List, "append", 1, refuseMethod},
                                 {Kind::List, "extend", 1, refuseMethod},
                                 {Kind::List, "insert", 2, refuseMethod},
                                 {Kind::List, "pop", 1, refuseMethod},
                                 {Kind::List, "remove", 1, refuseMethod},
                                 {Kind::List, "reverse", 0, refuseMethod},
                                 {Kind::List, "sort", 0, refuseMethod}};

int jinja::findMethod(const Value &value, Slice name) {
  for (int i = 0; i < int(sizeof methods / sizeof *methods); ++i)
    if (methods[i].of == value.kind && name.is(methods[i].name))
      return i;
  return -1;
}

bool jinja::callMethod(Interpreter &run, const Node *node, const Value &method,
                       const Arguments &arguments, Value &result) {
  const Method &found = methods[method.size];
  static const char *const names[] = {"chars",    "sep",   "maxsplit", "old",      "new",
                                      "count",    "sub",   "key",      "keepends", "default",
                                      "iterable", "value", nullptr};
  if (arguments.values.size() + arguments.named.size() > found.most ||
      !arguments.areKnown(found.most, names))
    return run.fail(node, "`%s` does not take these arguments", found.name);
  const Value &self = *method.items;
  if (!run.step(node, self.is(Kind::String) ? self.size : 16 * self.size))
    return false;
  return found.call({run, node, found.name, self, arguments, result});
}

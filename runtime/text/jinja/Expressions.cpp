// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions as they run.
#include "text/jinja/Interpreter.h"
#include "text/steps/Unicode.h"
#include <cmath>

using namespace attn;
using namespace attn::jinja;

const Value *Arguments::get(size_t index, const char *name) const {
  if (index < values.size())
    return &values[index];
  for (const Named &argument : named)
    if (argument.name.is(name))
      return &argument.value;
  return nullptr;
}

bool Arguments::areKnown(size_t most, const char *const *names) const {
  for (const Named &argument : named) {
    const char *const *name = names;
    while (name && *name && !argument.name.is(*name))
      ++name;
    if (!name || !*name)
      return false;
  }
  return values.size() <= most;
}

bool Interpreter::evaluate(const Node *node, Scope *scope, Value &value) {
  if (!step(node))
    return false;
  if (++depth > deepestStep)
    return fail(node, "macros call each other too often");
  bool isGood = evaluateNode(node, scope, value);
  --depth;
  return isGood;
}

/// What a name is that no scope has.
static Value globalOf(Slice name) {
  Value value = Value::undefined(name);
  int function = findFunction(name);
  if (function >= 0)
    value.kind = Kind::Function, value.size = size_t(function);
  return value;
}

bool Interpreter::evaluateNode(const Node *node, Scope *scope, Value &value) {
  Value other;
  switch (node->kind) {
  case NodeKind::Literal:
    value = node->value;
    return true;
  case NodeKind::Name: {
    const Binding *found = scope->find(node->text);
    value = found ? found->value : globalOf(node->text);
    return true;
  }
  case NodeKind::List:
    return evaluateList(node, scope, value);
  case NodeKind::Dict:
    return evaluateDict(node, scope, value);
  case NodeKind::Attribute:
    return evaluate(node->a, scope, other) && memberOf(node, other, node->text, true, value);
  case NodeKind::Item: {
    Value index;
    return evaluate(node->a, scope, other) && evaluate(node->b, scope, index) &&
           itemOf(node, other, index, value);
  }
  case NodeKind::Range:
    return evaluateRange(node, scope, value);
  case NodeKind::Call:
    return evaluateCall(node, scope, value);
  case NodeKind::Filter: {
    Arguments arguments;
    return evaluate(node->a, scope, other) && evaluateArguments(node->first, scope, arguments) &&
           applyFilter(*this, node, node->text, other, arguments, value);
  }
  case NodeKind::Test: {
    Arguments arguments;
    bool isTrue = false;
    bool isGood = evaluate(node->a, scope, other) &&
                  evaluateArguments(node->first, scope, arguments) &&
                  applyTest(*this, node, node->text, other, arguments, isTrue);
    value = Value::of(isTrue != node->isSet);
    return isGood;
  }
  case NodeKind::Unary:
    return evaluate(node->a, scope, other) &&
           operate(*this, node, Value::of(int64_t(0)), other, value);
  case NodeKind::Binary:
    return evaluateBinary(node, scope, value);
  case NodeKind::Compare:
    return evaluateCompare(node, scope, value);
  case NodeKind::And:
    return evaluate(node->a, scope, value) && (!isTrue(value) || evaluate(node->b, scope, value));
  case NodeKind::Or:
    return evaluate(node->a, scope, value) && (isTrue(value) || evaluate(node->b, scope, value));
  case NodeKind::Not:
    if (!evaluate(node->a, scope, other))
      return false;
    value = Value::of(!isTrue(other));
    return true;
  case NodeKind::Concat:
    return evaluateConcat(node, scope, value);
  case NodeKind::Choice: {
    if (!evaluate(node->b, scope, other))
      return false;
    const Node *chosen = isTrue(other) ? node->a : node->c;
    value = Value();
    return !chosen || evaluate(chosen, scope, value);
  }
  default:
    return fail(node, "this is no expression");
  }
}

bool Interpreter::evaluateList(const Node *node, Scope *scope, Value &value) {
  Vector<Value> items;
  for (const Node *part = node->first; part; part = part->next) {
    Value item;
    if (!evaluate(part, scope, item))
      return false;
    if (!items.push(item))
      return noMemory(node);
  }
  bool isMade = makeList(node, items, value);
  value.isTuple = node->isSet;
  return isMade;
}

bool Interpreter::evaluateDict(const Node *node, Scope *scope, Value &value) {
  Vector<Pair> pairs;
  for (const Node *part = node->first; part; part = part->next->next) {
    Pair pair;
    if (!evaluate(part, scope, pair.key) || !evaluate(part->next, scope, pair.value))
      return false;
    if (!pair.key.canBeKey())
      return fail(part, "%s cannot be a key", nameOf(pair.key));
    size_t place = 0;
    while (place < pairs.size() && !areEqual(pairs[place].key, pair.key, memory))
      ++place;
    if (place < pairs.size())
      pairs[place].value = pair.value;
    else if (!pairs.push(pair))
      return noMemory(node);
  }
  auto *copy = memory.make<Pair>(pairs.size());
  if (!copy)
    return noMemory(node);
  for (size_t i = 0; i < pairs.size(); ++i)
    copy[i] = pairs[i];
  value = Value::dict(copy, pairs.size());
  return true;
}

/// Python's bounds of a slice, for a length.
struct Bounds {
  int64_t begin, end, stride;
};

bool Interpreter::evaluateRange(const Node *node, Scope *scope, Value &value) {
  Value whole, parts[3];
  const Node *nodes[] = {node->b, node->c, node->d};
  if (!evaluate(node->a, scope, whole))
    return false;
  for (int i = 0; i < 3; ++i) {
    if (nodes[i] && !evaluate(nodes[i], scope, parts[i]))
      return false;
    if (nodes[i] && !parts[i].isWhole() && !parts[i].is(Kind::None))
      return fail(nodes[i], "expected a whole number, but got %s", nameOf(parts[i]));
  }
  if (whole.is(Kind::Undefined))
    return fail(node, "`%.*s` is undefined: it has no items", int(whole.size),
                whole.chars ? whole.chars : "");
  if (!whole.is(Kind::String) && !whole.is(Kind::List))
    return fail(node, "%s has no parts from one place to another", nameOf(whole));
  int64_t count = int64_t(whole.is(Kind::List) ? whole.size : characters(whole.text()));
  Bounds bounds{0, count, parts[2].isWhole() ? parts[2].integer() : 1};
  if (bounds.stride == 0)
    return fail(node, "the steps of `[::]` cannot be 0");
  bool isBackward = bounds.stride < 0;
  auto clamp = [&](const Value &part, int64_t otherwise) {
    if (!part.isWhole())
      return otherwise;
    int64_t at = part.integer();
    at = at < 0 ? (at < -count ? -1 : at + count) : at;
    int64_t least = isBackward ? -1 : 0, most = isBackward ? count - 1 : count;
    return at < least ? least : at > most ? most : at;
  };
  bounds.begin = clamp(parts[0], isBackward ? count - 1 : 0);
  bounds.end = clamp(parts[1], isBackward ? -1 : count);
  if (!step(node, whole.is(Kind::String) ? whole.size : size_t(count)))
    return false;
  if (whole.is(Kind::String) && bounds.stride == 1) {
    size_t begin = offsetOf(whole.text(), size_t(bounds.begin)),
           end = offsetOf(whole.text(), size_t(bounds.end));
    value = Value::of(begin < end ? whole.text().between(begin, end) : Slice("", 0));
    return true;
  }
  Value list;
  if (!itemsOf(node, whole, list))
    return false;
  Vector<Value> items;
  for (int64_t i = bounds.begin; isBackward ? i > bounds.end : i < bounds.end;) {
    if (!items.push(list.items[i]))
      return noMemory(node);
    if (__builtin_add_overflow(i, bounds.stride, &i))
      break;
  }
  if (whole.is(Kind::List)) {
    bool isMade = makeList(node, items, value);
    value.isTuple = whole.isTuple;
    return isMade;
  }
  return makeList(node, items, list) && joinTexts(*this, node, list, Slice("", 0), value);
}

bool Interpreter::evaluateBinary(const Node *node, Scope *scope, Value &value) {
  Value a, b;
  return evaluate(node->a, scope, a) && evaluate(node->b, scope, b) &&
         operate(*this, node, a, b, value);
}

bool Interpreter::evaluateCompare(const Node *node, Scope *scope, Value &value) {
  Value left;
  if (!evaluate(node->a, scope, left))
    return false;
  for (const Node *operand = node->first; operand; operand = operand->next) {
    Value right;
    bool isTrue = false;
    if (!evaluate(operand->a, scope, right) || !holds(*this, operand, left, right, isTrue))
      return false;
    value = Value::of(isTrue);
    if (!isTrue)
      return true;
    left = right;
  }
  return true;
}

bool Interpreter::evaluateConcat(const Node *node, Scope *scope, Value &value) {
  Vector<char> text, *before = output;
  bool isGood = true;
  for (const Node *part = node->first; isGood && part; part = part->next) {
    Value item;
    isGood = evaluate(part, scope, item);
    output = &text;
    isGood = isGood && print(part, item);
    output = before;
  }
  return isGood && makeString(node, Slice(text), value);
}

bool Interpreter::evaluateArguments(const Node *first, Scope *scope, Arguments &arguments) {
  for (const Node *part = first; part; part = part->next) {
    Value value;
    bool isNamed = part->kind == NodeKind::Keyword, isSpread = part->kind == NodeKind::Spread;
    if (!evaluate(isNamed || isSpread ? part->a : part, scope, value))
      return false;
    if (isSpread) {
      if (!spreadArguments(part, value, arguments))
        return false;
      continue;
    }
    if (isNamed ? !arguments.named.push({part->text, value}) : !arguments.values.push(value))
      return noMemory(part);
  }
  return true;
}

bool Interpreter::spreadArguments(const Node *node, const Value &value, Arguments &arguments) {
  Value list;
  if (!node->isSet) {
    if (!itemsOf(node, value, list))
      return false;
    for (size_t i = 0; i < list.size; ++i)
      if (!step(node) || !arguments.values.push(list.items[i]))
        return noMemory(node);
    return true;
  }
  if (!value.is(Kind::Dict))
    return fail(node, "expected a mapping of names to values, but got %s", nameOf(value));
  for (size_t i = 0; i < value.size; ++i) {
    if (!value.pairs[i].key.is(Kind::String))
      return fail(node, "%s is no argument's name", nameOf(value.pairs[i].key));
    Slice name = value.pairs[i].key.text();
    for (const Arguments::Named &argument : arguments.named)
      if (argument.name == name)
        return fail(node, "the argument `%.*s` is given twice", int(name.size), name.data);
    if (!step(node) || !arguments.named.push({name, value.pairs[i].value}))
      return noMemory(node);
  }
  return true;
}

bool Interpreter::evaluateCall(const Node *node, Scope *scope, Value &value, const Macro *caller) {
  Value callee, called;
  Arguments arguments;
  called.kind = Kind::Macro, called.macro = caller;
  if (!evaluate(node->a, scope, callee) || !evaluateArguments(node->first, scope, arguments) ||
      (caller && !arguments.named.push({Slice("caller"), called})))
    return false;
  switch (callee.kind) {
  case Kind::Macro:
    return callMacro(node, *callee.macro, arguments, value);
  case Kind::Method:
    return callMethod(*this, node, callee, arguments, value);
  case Kind::Function:
    return callFunction(*this, node, callee.size, arguments, value);
  case Kind::Undefined:
    return fail(node->a, "`%.*s` is undefined, and cannot be called", int(callee.size),
                callee.chars ? callee.chars : "");
  default:
    return fail(node->a, "%s cannot be called", nameOf(callee));
  }
}

bool Interpreter::callMacro(const Node *node, const Macro &macro, const Arguments &arguments,
                            Value &value) {
  Scope *scope = inner(node, macro.scope);
  if (!scope)
    return false;
  size_t count = 0, used = 0;
  if (macro.node->isSet && !bind(node, scope, Slice("caller"), Value::undefined(Slice("caller"))))
    return false;
  for (const Arguments::Named &argument : arguments.named)
    if (macro.node->isSet && argument.name.is("caller")) {
      if (!bind(node, scope, argument.name, argument.value))
        return false;
      ++used;
    }
  for (const Node *part = macro.node->a->first; part; part = part->next) {
    Value given = Value::undefined(part->text);
    bool isNamed = false;
    for (const Arguments::Named &argument : arguments.named)
      if (argument.name == part->text)
        given = argument.value, isNamed = true, ++used;
    if (count < arguments.values.size()) {
      if (isNamed)
        return fail(node, "the macro gets `%.*s` twice", int(part->text.size), part->text.data);
      given = arguments.values[count];
    } else if (!isNamed && part->kind == NodeKind::Keyword && !evaluate(part->a, scope, given)) {
      return false;
    }
    if (!bind(node, scope, part->text, given))
      return false;
    ++count;
  }
  if (arguments.values.size() > count || used < arguments.named.size())
    return fail(node, "the macro `%.*s` does not take all of these arguments",
                int(macro.node->text.size), macro.node->text.data);
  return capture(node, macro.node->first, scope, value);
}

bool Interpreter::itemsOf(const Node *node, const Value &value, Value &list) {
  if (value.is(Kind::List) || value.is(Kind::Undefined)) {
    list = value.is(Kind::List) ? value : Value::list(nullptr, 0);
    return true;
  }
  if (!value.is(Kind::String) && !value.is(Kind::Dict))
    return fail(node, "%s has no items to go through", nameOf(value));
  size_t count = value.is(Kind::Dict) ? value.size : characters(value.text());
  auto *items = memory.step(count) ? memory.make<Value>(count) : nullptr;
  if (!items)
    return noMemory(node);
  for (size_t i = 0, at = 0, length = 0; i < count; ++i, at += length) {
    if (value.is(Kind::Dict)) {
      items[i] = value.pairs[i].key;
      continue;
    }
    decodeUtf8(value.chars + at, length);
    items[i] = Value::of(value.text().between(at, at + length));
  }
  list = Value::list(items, count);
  return true;
}

/// What `loop.name` is.
static bool memberOfLoop(const LoopState &loop, Slice name, Value &member) {
  auto number = [&](size_t value) { member = Value::of(int64_t(value)); };
  if (name.is("index"))
    number(loop.index + 1);
  else if (name.is("index0"))
    number(loop.index);
  else if (name.is("revindex"))
    number(loop.count - loop.index);
  else if (name.is("revindex0"))
    number(loop.count - loop.index - 1);
  else if (name.is("length"))
    number(loop.count);
  else if (name.is("depth") || name.is("depth0")) // of loops that call themselves more
    number(name.is("depth"));
  else if (name.is("first"))
    member = Value::of(loop.index == 0);
  else if (name.is("last"))
    member = Value::of(loop.index + 1 == loop.count);
  else if (name.is("previtem"))
    member = loop.index > 0 ? loop.items[loop.index - 1] : Value();
  else if (name.is("nextitem"))
    member = loop.index + 1 < loop.count ? loop.items[loop.index + 1] : Value();
  else
    return false;
  return true;
}

bool Interpreter::memberOf(const Node *node, const Value &value, Slice name, bool isAttribute,
                           Value &member) {
  if (value.is(Kind::Undefined))
    return fail(node, "`%.*s` is undefined: it has no `%.*s`", int(value.size),
                value.chars ? value.chars : "", int(name.size), name.data);
  member = Value::undefined(name);
  if (value.is(Kind::Loop) && !memberOfLoop(*value.loop, name, member))
    return fail(node, "`loop.%.*s` is not known", int(name.size), name.data);
  if (value.is(Kind::Namespace)) {
    if (const Binding *found = value.members->own(name))
      member = found->value;
    return true;
  }
  // Python finds an attribute before a member of that name, and the other way round in brackets.
  const Value *found = value.is(Kind::Dict) ? value.find(name) : nullptr;
  if (!memory.step(value.is(Kind::Dict) ? 16 * value.size : 0))
    return noMemory(node);
  int method = findMethod(value, name);
  if (method >= 0 && (isAttribute || !found)) {
    auto *of = memory.make<Value>();
    if (!of)
      return noMemory(node);
    *of = value;
    member = Value();
    member.kind = Kind::Method, member.items = of, member.size = size_t(method);
  } else if (found) {
    member = *found;
  }
  return true;
}

bool Interpreter::itemOf(const Node *node, const Value &value, const Value &index, Value &item) {
  if (index.is(Kind::String))
    return memberOf(node, value, index.text(), false, item);
  if (value.is(Kind::Undefined))
    return fail(node, "`%.*s` is undefined: it has no items", int(value.size),
                value.chars ? value.chars : "");
  item = Value();
  if (value.is(Kind::Dict)) {
    for (size_t i = 0; i < value.size; ++i)
      if (areEqual(value.pairs[i].key, index, memory))
        item = value.pairs[i].value;
    return true;
  }
  bool isList = value.is(Kind::List), isString = value.is(Kind::String);
  if ((!isList && !isString) || !index.isWhole())
    return true;
  int64_t count = int64_t(isList ? value.size : characters(value.text())), at = index.integer();
  if (!step(node, isString ? value.size : 0))
    return false;
  at += at < 0 ? count : 0;
  if (at < 0 || at >= count)
    return true;
  if (isList) {
    item = value.items[at];
    return true;
  }
  size_t begin = offsetOf(value.text(), size_t(at)), length = 0;
  decodeUtf8(value.chars + begin, length);
  item = Value::of(value.text().between(begin, begin + length));
  return true;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements as they run, and the scopes of names.
#include "text/jinja/Interpreter.h"
#include <cstdarg>
#include <cstdio>

using namespace attn;
using namespace attn::jinja;

bool Interpreter::fail(const Node *node, const char *format, ...) {
  char text[640];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return diagnostics.fail("R0706", node->at, "%s", text);
}

bool Interpreter::noMemory(const Node *node) {
  return diagnostics.fail("R0707", node->at, "%s", memory.problem());
}

bool Interpreter::makeString(const Node *node, Slice bytes, Value &value) {
  Slice copy = memory.step(bytes.size) ? memory.copy(bytes) : Slice();
  value = Value::of(copy);
  return copy.data || noMemory(node);
}

bool Interpreter::makeList(const Node *node, const Vector<Value> &items, Value &list) {
  auto *copy = memory.make<Value>(items.size());
  if (!copy)
    return noMemory(node);
  for (size_t i = 0; i < items.size(); ++i)
    copy[i] = items[i];
  list = Value::list(copy, items.size());
  return true;
}

Scope *Interpreter::inner(const Node *node, Scope *scope) {
  auto *made = memory.make<Scope>();
  if (!made)
    noMemory(node);
  else
    made->parent = scope;
  return made;
}

bool Interpreter::bind(const Node *node, Scope *scope, Slice name, const Value &value) {
  Binding *binding = scope->own(name);
  if (!binding) {
    binding = memory.make<Binding>();
    if (!binding)
      return noMemory(node);
    binding->name = name, binding->next = scope->first;
    scope->first = binding;
  }
  binding->value = value;
  return true;
}

bool Interpreter::run(const Node *body, const Value &variables, Vector<char> &text) {
  output = &text;
  Scope *globals = inner(body, nullptr);
  for (size_t i = 0; globals && i < variables.size; ++i)
    if (!bind(body, globals, variables.pairs[i].key.text(), variables.pairs[i].value))
      return false;
  Scope *own = globals ? inner(body, globals) : nullptr;
  return own && runBody(body->first, own);
}

bool Interpreter::runBody(const Node *first, Scope *scope) {
  for (const Node *node = first; node && way == Way::On; node = node->next)
    if (!runStatement(node, scope))
      return false;
  return true;
}

bool Interpreter::print(const Node *node, const Value &value) {
  size_t before = output->size();
  if (!appendText(value, *output)) {
    bool isKnown = value.kind <= Kind::Dict;
    return isKnown ? noMemory(node) : fail(node, "%s cannot be printed", nameOf(value));
  }
  bool isTooLong = output->size() > Memory::mostBytes / 4;
  return !isTooLong && memory.step(output->size() - before) ? true : noMemory(node);
}

bool Interpreter::runStatement(const Node *node, Scope *scope) {
  if (!step(node))
    return false;
  if (++depth > deepestStep)
    return fail(node, "macros call each other too often");
  Value value;
  bool isGood = true;
  switch (node->kind) {
  case NodeKind::Data:
    isGood = print(node, Value::of(node->text));
    break;
  case NodeKind::Print:
    isGood = evaluate(node->a, scope, value) && print(node->a, value);
    break;
  case NodeKind::If:
    isGood = evaluate(node->b, scope, value) && runBody(isTrue(value) ? node->first
                                                        : node->a     ? node->a->first
                                                                      : nullptr,
                                                        scope);
    break;
  case NodeKind::For:
    isGood = runFor(node, scope);
    break;
  case NodeKind::Set:
    isGood = evaluate(node->b, scope, value) && assign(node->a, scope, value);
    break;
  case NodeKind::SetBlock:
    isGood = runSetBlock(node, scope);
    break;
  case NodeKind::Macro:
    value.kind = Kind::Macro, value.macro = makeMacro(node, scope);
    isGood = value.macro && bind(node, scope, node->text, value);
    break;
  case NodeKind::CallBlock: {
    const Macro *caller = makeMacro(node->b, scope);
    isGood = caller && evaluateCall(node->a, scope, value, caller) && print(node->a, value);
    break;
  }
  case NodeKind::Break:
    way = Way::Break;
    break;
  case NodeKind::Continue:
    way = Way::Continue;
    break;
  default:
    isGood = runBody(node->first, scope);
  }
  --depth;
  return isGood;
}

Macro *Interpreter::makeMacro(const Node *node, Scope *scope) {
  auto *macro = memory.make<Macro>();
  if (!macro)
    return noMemory(node), nullptr;
  macro->node = node, macro->scope = scope;
  return macro;
}

bool Interpreter::assign(const Node *target, Scope *scope, const Value &value) {
  if (target->kind == NodeKind::Name)
    return bind(target, scope, target->text, value);
  if (target->kind == NodeKind::Attribute) {
    const Binding *found = scope->find(target->a->text);
    if (!found || !found->value.is(Kind::Namespace))
      return fail(target, "`%.*s` is no namespace: its members cannot be set",
                  int(target->a->text.size), target->a->text.data);
    return bind(target, found->value.members, target->text, value);
  }
  Value list;
  if (!itemsOf(target, value, list))
    return false;
  size_t count = 0;
  for (const Node *part = target->first; part; part = part->next)
    ++count;
  if (count != list.size)
    return fail(target, "%zu names take a value of %zu parts", count, list.size);
  size_t at = 0;
  for (const Node *part = target->first; part; part = part->next)
    if (!assign(part, scope, list.items[at++]))
      return false;
  return true;
}

bool Interpreter::capture(const Node *node, const Node *first, Scope *scope, Value &text) {
  Vector<char> own, *before = output;
  output = &own;
  bool isGood = runBody(first, scope);
  output = before;
  return isGood && makeString(node, Slice(own), text);
}

bool Interpreter::runSetBlock(const Node *node, Scope *scope) {
  Value text;
  Scope *own = inner(node, scope);
  if (!own || !capture(node, node->first, own, text))
    return false;
  // A filter's operand is the body's text, from outermost to innermost the first one's.
  Vector<const Node *> filters;
  for (const Node *filter = node->b; filter && filter != node->c; filter = filter->a)
    if (filter->kind != NodeKind::Filter)
      return fail(filter, "expected a filter of the text of the block");
    else if (!filters.push(filter))
      return noMemory(node);
  for (size_t i = filters.size(); i-- > 0;) {
    Arguments arguments;
    Value result;
    if (!evaluateArguments(filters[i]->first, scope, arguments) ||
        !applyFilter(*this, filters[i], filters[i]->text, text, arguments, result))
      return false;
    text = result;
  }
  return assign(node->a, scope, text);
}

bool Interpreter::runFor(const Node *node, Scope *scope) {
  Value all, list;
  if (!evaluate(node->b, scope, all) || !itemsOf(node->b, all, list))
    return false;
  if (node->c) {
    Vector<Value> kept;
    for (size_t i = 0; i < list.size; ++i) {
      Scope *own = inner(node, scope);
      Value isKept;
      if (!own || !assign(node->a, own, list.items[i]) || !evaluate(node->c, own, isKept))
        return false;
      if (isTrue(isKept) && !kept.push(list.items[i]))
        return noMemory(node);
    }
    if (!makeList(node, kept, list))
      return false;
  }
  if (list.size == 0) {
    Scope *own = node->d ? inner(node, scope) : nullptr;
    return !node->d || (own && runBody(node->d->first, own));
  }
  for (size_t i = 0; i < list.size && way != Way::Break; ++i) {
    Scope *own = inner(node, scope);
    auto *state = memory.make<LoopState>();
    if (!own || !state)
      return noMemory(node);
    state->items = list.items, state->count = list.size, state->index = i;
    Value loop;
    loop.kind = Kind::Loop, loop.loop = state;
    way = Way::On;
    if (!step(node) || !bind(node, own, Slice("loop"), loop) ||
        !assign(node->a, own, list.items[i]) || !runBody(node->first, own))
      return false;
  }
  way = Way::On;
  return true;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that templates have without a definition.
#include "text/jinja/Interpreter.h"
#include <ctime>

using namespace attn;
using namespace attn::jinja;

static const char *const names[] = {"raise_exception", "strftime_now", "namespace", "dict",
                                    "range"};

int jinja::findFunction(Slice name) {
  for (int i = 0; i < int(sizeof names / sizeof *names); ++i)
    if (name.is(names[i]))
      return i;
  return -1;
}

/// `raise_exception(TEXT)`: the template refuses its variables.
static bool refuse(Interpreter &run, const Node *node, const Arguments &arguments) {
  const Value *why = arguments.get(0, "message");
  Vector<char> text;
  if (why && (!appendText(*why, text) || !text.push(0)))
    return run.noMemory(node);
  return run.fail(node, "the template refuses this: %s", text.empty() ? "" : text.data());
}

/// `strftime_now(FORMAT)`: the time of this machine, as `date` writes it.
static bool writeTime(Interpreter &run, const Node *node, const Arguments &arguments,
                      Value &result) {
  const Value *format = arguments.get(0, "format");
  if (!format || !format->is(Kind::String) || format->size > 200)
    return run.fail(node, "`strftime_now` takes a format of at most 200 characters");
  char copy[256], text[4096];
  // A last character keeps the size from being 0 where nothing is written.
  memcpy(copy, format->chars, format->size);
  copy[format->size] = '.', copy[format->size + 1] = 0;
  time_t now = time(nullptr);
  tm parts = {};
  localtime_r(&now, &parts);
  size_t size = strftime(text, sizeof text, copy, &parts);
  return size ? run.makeString(node, Slice(text, size - 1), result)
              : run.fail(node, "this time has no text of that format");
}

/// The pairs of a mapping and of names, for `namespace` and `dict`.
static bool collect(Interpreter &run, const Node *node, const Arguments &arguments,
                    Vector<Pair> &pairs) {
  const Value *first = arguments.values.empty() ? nullptr : &arguments.values[0];
  if (arguments.values.size() > 1 || (first && !first->is(Kind::Dict)))
    return run.fail(node, "expected a mapping, or names with values");
  for (size_t i = 0; first && i < first->size; ++i)
    if (!pairs.push(first->pairs[i]))
      return run.noMemory(node);
  for (const Arguments::Named &argument : arguments.named) {
    Pair pair{Value::of(argument.name), argument.value};
    size_t place = 0;
    while (place < pairs.size() && !areEqual(pairs[place].key, pair.key, run.memory))
      ++place;
    if (place < pairs.size())
      pairs[place] = pair;
    else if (!pairs.push(pair))
      return run.noMemory(node);
  }
  return true;
}

static bool makeMapping(Interpreter &run, const Node *node, bool isNamespace,
                        const Arguments &arguments, Value &result) {
  Vector<Pair> pairs;
  if (!collect(run, node, arguments, pairs))
    return false;
  if (!isNamespace) {
    auto *copy = run.memory.make<Pair>(pairs.size());
    for (size_t i = 0; copy && i < pairs.size(); ++i)
      copy[i] = pairs[i];
    result = Value::dict(copy, pairs.size());
    return copy || run.noMemory(node);
  }
  auto *scope = run.memory.make<Scope>();
  for (size_t i = 0; scope && i < pairs.size(); ++i) {
    auto *binding = run.memory.make<Binding>();
    if (!binding)
      return run.noMemory(node);
    if (!pairs[i].key.is(Kind::String))
      return run.fail(node, "%s is no member's name", nameOf(pairs[i].key));
    binding->name = pairs[i].key.text(), binding->value = pairs[i].value;
    binding->next = scope->first, scope->first = binding;
  }
  result = Value();
  result.kind = Kind::Namespace, result.members = scope;
  return scope || run.noMemory(node);
}

/// `range([BEGIN,] END [, STEP])`.
static bool makeRange(Interpreter &run, const Node *node, const Arguments &arguments,
                      Value &result) {
  int64_t numbers[3] = {0, 0, 1};
  size_t count = arguments.values.size();
  if (count < 1 || !arguments.areKnown(3))
    return run.fail(node, "`range` takes one to three whole numbers");
  for (size_t i = 0; i < count; ++i) {
    if (!arguments.values[i].isWhole())
      return run.fail(node, "`range` takes whole numbers, but got %s", nameOf(arguments.values[i]));
    numbers[count == 1 ? 1 : i] = arguments.values[i].integer();
  }
  if (numbers[2] == 0)
    return run.fail(node, "the steps of `range` cannot be 0");
  Vector<Value> items;
  for (int64_t i = numbers[0]; numbers[2] > 0 ? i < numbers[1] : i > numbers[1];) {
    if (items.size() >= 100000)
      return run.fail(node, "a range of more than 100000 numbers");
    if (!run.step(node) || !items.push(Value::of(i)))
      return run.noMemory(node);
    if (__builtin_add_overflow(i, numbers[2], &i))
      break;
  }
  return run.makeList(node, items, result);
}

bool jinja::callFunction(Interpreter &run, const Node *node, size_t function,
                         const Arguments &arguments, Value &result) {
  switch (function) {
  case 0:
    return refuse(run, node, arguments);
  case 1:
    return writeTime(run, node, arguments, result);
  case 4:
    return makeRange(run, node, arguments, result);
  default:
    return makeMapping(run, node, function == 2, arguments, result);
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of a template: from its tree and variables to text.
#pragma once

#include "text/jinja/Syntax.h"

namespace attn::jinja {

/// Expressions and statements inside each other, macros included.
constexpr int deepestStep = 1500;

/// The arguments of a call.
class Arguments {
public:
  /// The argument that stands at `index` or has this name, or null.
  const Value *get(size_t index, const char *name) const;
  /// Whether there are at most `most`, and no names but `names`, which end with null.
  bool areKnown(size_t most, const char *const *names = nullptr) const;

  Vector<Value> values;
  /// An argument with its name.
  struct Named {
    Slice name;
    Value value;
  };
  Vector<Named> named;
};

/// Runs one template once. Functions give false after an error, which has been reported.
class Interpreter {
public:
  Interpreter(Memory &memory, Diagnostics &diagnostics)
      : memory(memory), diagnostics(diagnostics) {}

  /// Runs a template with these variables, and appends to `text`.
  bool run(const Node *body, const Value &variables, Vector<char> &text);

  // What filters, tests and methods need.
  /// Reports an error at a node; false, for `return fail(...)`.
  bool fail(const Node *node, const char *format, ...) __attribute__((format(printf, 3, 4)));
  /// Where the bound of memory or steps has been reached.
  bool noMemory(const Node *node);
  /// Counts work that is done for a node.
  bool step(const Node *node, size_t bytes = 0) { return memory.step(bytes) || noMemory(node); }
  /// A string of bytes that do not live long.
  bool makeString(const Node *node, Slice bytes, Value &value);
  /// The items of a list, the keys of a dict, the characters of a string.
  bool itemsOf(const Node *node, const Value &value, Value &list);
  /// A list of items that do not live long.
  bool makeList(const Node *node, const Vector<Value> &items, Value &list);
  /// What `value.name` or `value[name]` is.
  bool memberOf(const Node *node, const Value &value, Slice name, bool isAttribute, Value &member);
  /// What `value[index]` is.
  bool itemOf(const Node *node, const Value &value, const Value &index, Value &item);
  /// Appends to what is printed now.
  bool print(const Node *node, const Value &value);
  Memory &memory;

private:
  /// Statements one after the other, until one ends the iteration.
  bool runBody(const Node *first, Scope *scope);
  /// One statement, within the bounds of depth and steps.
  bool runStatement(const Node *node, Scope *scope);
  /// A loop: a scope for each iteration.
  bool runFor(const Node *node, Scope *scope);
  /// A block of text that becomes a value.
  bool runSetBlock(const Node *node, Scope *scope);
  /// Runs a body, whose text becomes a value.
  bool capture(const Node *node, const Node *first, Scope *scope, Value &text);
  bool assign(const Node *target, Scope *scope, const Value &value);
  bool bind(const Node *node, Scope *scope, Slice name, const Value &value);

  /// An expression, within the bounds of depth and steps.
  bool evaluate(const Node *node, Scope *scope, Value &value);
  /// An expression of any kind.
  bool evaluateNode(const Node *node, Scope *scope, Value &value);
  /// `[a, b]`, and `(a, b)`.
  bool evaluateList(const Node *node, Scope *scope, Value &value);
  /// `{a: b}`.
  bool evaluateDict(const Node *node, Scope *scope, Value &value);
  /// `a[b:c:d]`.
  bool evaluateRange(const Node *node, Scope *scope, Value &value);
  /// An operation of two values.
  bool evaluateBinary(const Node *node, Scope *scope, Value &value);
  /// `a < b < c`, which ends where one does not hold.
  bool evaluateCompare(const Node *node, Scope *scope, Value &value);
  /// `a ~ b`.
  bool evaluateConcat(const Node *node, Scope *scope, Value &value);
  /// A call of a macro, a method or a function; of a block, with the macro `caller`.
  bool evaluateCall(const Node *node, Scope *scope, Value &value, const Macro *caller = nullptr);
  /// The arguments that `*values` or `**names` stands for.
  bool spreadArguments(const Node *node, const Value &value, Arguments &arguments);
  /// A macro with the names around it; null, reported, where memory is lacking.
  Macro *makeMacro(const Node *node, Scope *scope);
  /// The arguments of a call, of a filter or of a test.
  bool evaluateArguments(const Node *first, Scope *scope, Arguments &arguments);
  /// Runs a macro in a scope of its own; what it prints is its value.
  bool callMacro(const Node *node, const Macro &macro, const Arguments &arguments, Value &value);
  /// A new scope within another one; null, reported, where memory is lacking.
  Scope *inner(const Node *node, Scope *scope);

  Diagnostics &diagnostics;
  Vector<char> *output = nullptr;
  int depth = 0;
  /// Where statements go on: `break` and `continue` end a body.
  enum class Way { On, Break, Continue } way = Way::On;
};

/// Two values by an operation of numbers, strings or lists.
bool operate(Interpreter &run, const Node *node, const Value &a, const Value &b, Value &value);
/// Whether an operation of a comparison holds.
bool holds(Interpreter &run, const Node *node, const Value &a, const Value &b, bool &isTrue);

/// What the filter `node->text` makes of a value.
bool applyFilter(Interpreter &run, const Node *node, Slice name, const Value &value,
                 const Arguments &arguments, Value &result);
/// Whether the test `node->text` holds.
bool applyTest(Interpreter &run, const Node *node, Slice name, const Value &value,
               const Arguments &arguments, bool &isTrue);
/// The number of a method that a value has, or -1.
int findMethod(const Value &value, Slice name);
/// Calls a method.
bool callMethod(Interpreter &run, const Node *node, const Value &method, const Arguments &arguments,
                Value &result);
/// The number of a function, or -1; calls it.
int findFunction(Slice name);
bool callFunction(Interpreter &run, const Node *node, size_t function, const Arguments &arguments,
                  Value &result);

/// What filters and methods of strings share. `most` below 0: all of them.
bool replaceText(Interpreter &run, const Node *node, Slice text, Slice from, Slice to, int64_t most,
                 Value &result);
/// Texts with others between them.
bool joinTexts(Interpreter &run, const Node *node, const Value &list, Slice between, Value &result);
/// How a text's letters become.
enum class Case { Lower, Upper, Capital, Title };
bool changeCase(Interpreter &run, const Node *node, Slice text, Case to, Value &result);

} // namespace attn::jinja

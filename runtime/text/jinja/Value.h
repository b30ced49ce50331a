// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of templates: those of Python that they use. Nothing but namespaces changes.
#pragma once

#include "text/jinja/Memory.h"
#include "text/steps/JsonTree.h"

namespace attn::jinja {

struct Pair;
struct Scope;
struct Macro;
struct LoopState;

/// No tree of values that templates make is deeper.
constexpr int deepestValue = 200;

/// What a value is.
enum class Kind : uint8_t {
  Undefined, ///< a name or member that there is not
  None,
  Bool,
  Int,
  Float,
  String,
  List, ///< tuples, too
  Dict,
  Namespace,
  Macro,
  Method,   ///< of a value, not called yet
  Function, ///< one that templates have without a definition
  Loop      ///< what `loop` is
};

/// A value; what it points to belongs to the run's memory.
struct Value {
  Kind kind = Kind::Undefined;
  bool isTuple = false; ///< of a list
  union {
    bool truth;
    int64_t whole = 0;
    double real;
    const char *chars;  ///< of a string, valid UTF-8; of an undefined value the name, or null
    const Value *items; ///< of a list; of a method what it is of
    const Pair *pairs;  ///< of a dict, in order
    Scope *members;     ///< of a namespace
    const Macro *macro;
    const LoopState *loop;
  };
  size_t size = 0; ///< bytes, items or pairs; the number of a method or function

  /// Makes values of each kind.
  static Value none();
  static Value of(bool truth);
  static Value of(int64_t whole);
  static Value of(double real);
  static Value of(Slice text);
  static Value undefined(Slice name);
  static Value list(const Value *items, size_t count, bool isTuple = false);
  static Value dict(const Pair *pairs, size_t count);

  /// The bytes of a string, or the name of an undefined value.
  Slice text() const { return {chars, size}; }
  bool is(Kind which) const { return kind == which; }
  bool isNumber() const { return kind == Kind::Bool || kind == Kind::Int || kind == Kind::Float; }
  /// Of a number.
  double number() const;
  /// Of a whole number or a truth value.
  int64_t integer() const { return kind == Kind::Bool ? truth : whole; }
  /// Whether a mapping may have it as a key: what never changes in Python.
  bool canBeKey() const { return kind != Kind::Dict && (kind != Kind::List || isTuple); }
  bool isWhole() const { return kind == Kind::Bool || kind == Kind::Int; }
  /// Of a dict: the value of a key, or null.
  const Value *find(Slice key) const;
};

/// A member of a dict.
struct Pair {
  Value key, value;
};

/// A name and its value, in a scope.
struct Binding {
  Slice name;
  Value value;
  Binding *next = nullptr;
};

/// The names of a body, within those of another one.
struct Scope {
  Scope *parent = nullptr;
  Binding *first = nullptr;
  /// The binding of a name in this scope alone, or null.
  Binding *own(Slice name) const;
  /// The binding that a name has here, or null.
  Binding *find(Slice name) const;
};

/// What `loop` is in one iteration.
struct LoopState {
  const Value *items = nullptr;
  size_t count = 0, index = 0;
};

/// What a kind is called in errors.
const char *nameOf(const Value &value);

/// Whether Python takes it as true.
bool isTrue(const Value &value);
/// Whether two values are equal, as Python has it: 1 and 1.0 and True are. The work counts as steps
/// of `memory`; where these have run out, the answer means nothing.
bool areEqual(const Value &a, const Value &b, Memory &memory, int depth = 0);
/// Orders two numbers, strings or lists of these; false where there is no order.
bool compare(const Value &a, const Value &b, Memory &memory, int &order, int depth = 0);

/// The number of characters of valid UTF-8.
size_t characters(Slice text);
/// The offset in bytes of a character, or the end.
size_t offsetOf(Slice text, size_t character);

/// Appends what Python's `str` gives; false where there is no such text or memory is lacking.
bool appendText(const Value &value, Vector<char> &text);
/// Appends what Python's `repr` gives.
bool appendRepr(const Value &value, Vector<char> &text, int depth = 0);
/// Appends a number as Python writes it.
bool appendFloat(double real, Vector<char> &text);

/// How `tojson` writes.
struct JsonStyle {
  bool isAscii = false, areKeysSorted = false;
  Slice indent; ///< of one level; null data: all on one line
  Slice itemSeparator, keySeparator;
};
/// Appends JSON; false where a value has none or memory is lacking.
bool appendJson(const Value &value, const JsonStyle &style, Vector<char> &text, int depth = 0);

/// The value of a tree of JSON; false where memory is lacking or a number is too large.
bool fromJson(const JsonValue &json, Memory &memory, Value &value);

/// Whether Python's `str.isspace` holds for a character.
bool isPythonSpace(uint32_t c);
/// Without what Python takes as white space, or the given characters, at the ends.
Slice strip(Slice text, const Slice *chars, bool atBegin, bool atEnd);

} // namespace attn::jinja

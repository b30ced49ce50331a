// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tree of a template.
#pragma once

#include "text/jinja/Lexer.h"
#include "text/jinja/Value.h"

namespace attn::jinja {

/// What a node is; which of its fields count stands behind each. `parts` is the list from `first`.
enum class NodeKind : uint8_t {
  // Expressions.
  Literal,   ///< value
  Name,      ///< text
  List,      ///< parts; isSet: a tuple
  Dict,      ///< parts: key, value, key, value
  Attribute, ///< a.text
  Item,      ///< a[b]
  Range,     ///< a[b:c:d], each of the three may be null
  Call,      ///< a(parts), parts may be Keyword or Spread
  Keyword,   ///< text=a
  Spread,    ///< *a; isSet: **a
  Filter,    ///< a|text(parts); a is null in a set block
  Test,      ///< a is text(parts); isSet: is not
  Unary,     ///< operation, a
  Binary,    ///< a operation b
  Compare,   ///< a, then parts, each Operand
  Operand,   ///< operation a, of a comparison
  And,       ///< a and b
  Or,        ///< a or b
  Not,       ///< not a
  Concat,    ///< parts
  Choice,    ///< a if b else c, which may be null
  // Statements.
  Data,      ///< text
  Print,     ///< a
  If,        ///< b: parts, else c, a Body
  For,       ///< for a in b if c: parts, else d, a Body
  Set,       ///< a = b
  SetBlock,  ///< a = parts, through filter b, which may be null
  Macro,     ///< text(a, a List of Name and Keyword): parts; isSet: it may call its caller
  CallBlock, ///< a Call a with the Macro b as its caller
  Break,
  Continue,
  Body ///< parts
};

/// What an operation does.
enum class Operation : uint8_t {
  None,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Equal,
  Unequal,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn
};

/// A node, in the template's memory.
struct Node {
  NodeKind kind = NodeKind::Body;
  Operation operation = Operation::None;
  bool isSet = false;
  uint32_t at = 0; ///< offset in the source
  Slice text;
  Value value;
  Node *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  Node *first = nullptr, *next = nullptr;
};

/// A macro: its node and the names around it.
struct Macro {
  const Node *node = nullptr;
  Scope *scope = nullptr;
};

/// Reads a template; null after an error, which has been reported.
const Node *parse(Slice source, Memory &memory, Diagnostics &diagnostics);

} // namespace attn::jinja

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From tokens to the tree: a function for each level of precedence.
#pragma once

#include "text/jinja/Syntax.h"

namespace attn::jinja {

/// Walks the tokens of a template; each function gives null after an error, which has been
/// reported.
class Parser {
public:
  Parser(const Vector<Token> &tokens, Memory &memory, Diagnostics &diagnostics)
      : tokens(tokens), memory(memory), diagnostics(diagnostics) {}

  /// Statements and text up to a block that begins with one of `ends`, which ends with null, and is
  /// not taken; without `ends` up to the end.
  Node *parseBody(const char *const *ends);

private:
  /// The statement of a block, whose `{%` has been taken.
  Node *parseStatement();
  /// `if`, with its `elif` and `else`.
  Node *parseIf();
  /// `for`, with its condition and `else`.
  Node *parseFor();
  /// `set` of a value, or of a block.
  Node *parseSet();
  /// `macro`, with its parameters.
  Node *parseMacro();
  /// `call` of a macro, which gets the block's body as `caller`.
  Node *parseCallBlock();
  /// The parameters of a macro, with their parentheses, and its body up to a block called `end`.
  bool parseMacroRest(Node *node, const char *end);
  /// `{% generation %}`, which marks what a model has written, and is printed as it stands.
  Node *parseGeneration();
  /// What is assigned to: a name, several, or a member of a namespace.
  Node *parseTarget(bool allowsMember);
  /// Takes a block's end, the body behind it, and `{% name %}`.
  bool parseBodyInto(Node *node, const char *end);
  bool takeBlockEnd();
  /// Takes the name of a block that ends a body, behind which nothing stands.
  bool takeEndBlock(const char *name);

  /// An expression; where `allowsTuple`, several with commas are a tuple.
  Node *parseExpression(bool allowsTuple = false);
  Node *parseChoice();
  Node *parseOr();
  Node *parseAnd();
  Node *parseNot();
  Node *parseCompare();
  /// Sums, products or powers, by level.
  Node *parseBinary(int level);
  Node *parseConcat();
  Node *parseUnary(bool allowsFilters);
  Node *parsePrimary();
  Node *parseList(const char *end, NodeKind kind);
  Node *parsePostfix(Node *node);
  Node *parseItem(Node *node);
  Node *parseFilters(Node *node);
  Node *parseTest(Node *node);
  /// Takes arguments with their parentheses, to the node.
  bool parseArguments(Node *node);
  /// One of them: a value, `name=value`, `*values` or `**names`. `seen`: bits of the kinds before
  /// it, behind some of which others cannot stand.
  Node *parseArgument(unsigned &seen);

  /// The token that comes next.
  const Token &now() const { return tokens[at]; }
  /// Whether that is this operator.
  bool is(const char *text) const;
  /// Whether it is this word.
  bool isName(const char *text) const;
  /// Takes it, where it is this operator.
  bool take(const char *text);
  /// Takes it, where it is this word.
  bool takeName(const char *text);
  /// Reports what stands there instead; null.
  Node *expected(const char *what);
  /// A new node; null, reported, where memory is lacking.
  Node *make(NodeKind kind, uint32_t from);
  /// A new node with two others; null where one of them is.
  Node *makePair(NodeKind kind, uint32_t from, Node *a, Node *b);

  const Vector<Token> &tokens;
  Memory &memory;
  Diagnostics &diagnostics;
  size_t at = 0;
  int depth = 0, loops = 0;
  bool seesCaller = false; ///< whether a macro's body speaks of `caller`
};

} // namespace attn::jinja

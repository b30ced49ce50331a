// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parser's state and its rules, for the files that implement them: Parser.cpp (tokens,
// recovery, the file), ParseParts.cpp (paths, types, signatures, bindings), ParseDeclarations.cpp,
// ParseExpressions.cpp and ParseAttention.cpp (hooks, attend, scan). Each `parseX` is the rule of
// the same name in the grammar of the README.
#ifndef ATTN_COMPILER_FRONTEND_SYNTAX_PARSERIMPL_H
#define ATTN_COMPILER_FRONTEND_SYNTAX_PARSERIMPL_H

#include "compiler/frontend/syntax/Lexer.h"
#include "compiler/frontend/syntax/Parser.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

namespace attn::frontend {

class Parser {
public:
  Parser(const SourceFile &file, DiagnosticEngine &diagnostics, std::optional<SourceRange> part);

  std::unique_ptr<ast::File> parseFile();

private:
  /// Where an item stands, and so which ones may stand there. Bits of a mask.
  enum Scope : unsigned { InFile = 1, InModel = 2, InBlock = 4, InEntry = 8 };
  struct ItemRule {
    llvm::StringLiteral word;
    unsigned scopes;
    ast::ItemPtr (Parser::*parse)();
  };
  static const ItemRule itemRules[];
  /// The item that a word begins; null where it begins none.
  static const ItemRule *findRule(const Token &token);

  // Tokens (Parser.cpp).
  const Token &current() const { return tokens[position]; }
  const Token &ahead(size_t count) const {
    return tokens[std::min(position + count, tokens.size() - 1)];
  }
  const Token &next() const { return ahead(1); }
  SourceRange lastRange() const { return position ? tokens[position - 1].range : SourceRange{}; }
  /// Just behind the last token: where something missing should have been.
  SourceRange here() const { return {lastRange().end, lastRange().end}; }
  bool is(TokenKind kind) const { return current().is(kind); }
  bool isWord(llvm::StringRef word) const { return current().isWord(word); }
  Token consume();
  bool accept(TokenKind kind) { return is(kind) && (consume(), true); }
  bool acceptWord(llvm::StringRef word) { return isWord(word) && (consume(), true); }
  /// Consumes the token or reports `expected … <context>`.
  bool expect(TokenKind kind, const llvm::Twine &context);
  bool expectWord(llvm::StringRef word, DiagCode code, const llvm::Twine &context);
  /// The word of an expression that the last token was probably meant to be, where an operand
  /// follows it: `attend` for `attned q over k`.
  std::optional<llvm::StringRef> misspeltOperator() const;
  /// How a message names what stands here.
  std::string found() const;
  std::string foundHere() const;
  bool atLineStart() const;
  /// Reports at the current token; null where something has been reported here already.
  Diagnostic *error(DiagCode code, const llvm::Twine &message);
  /// Likewise, at the token itself even where it begins a line.
  Diagnostic *errorHere(DiagCode code, const llvm::Twine &message);
  Diagnostic *errorAt(SourceRange range, DiagCode code, const llvm::Twine &message);

  // Recovery (Parser.cpp).
  bool startsItem() const;
  /// Skips to where an item may begin or the surrounding braces end.
  void synchronise();
  /// Skips to `close` or a comma of this nesting, at most to the end of the item.
  void skipInList(TokenKind close);
  /// Elements with commas between them up to the closing token, which is consumed.
  void parseList(TokenKind close, SourceRange open, llvm::function_ref<void()> element,
                 TokenKind alsoEndsAt = TokenKind::End);
  bool closeList(TokenKind close, SourceRange open);
  /// Whether `linear`, `param` or `input` of a `with` stands behind the comma that is here.
  bool withItemFollows() const;
  /// `element {"," element}` without brackets around.
  void parseCommas(llvm::function_ref<void()> element);

  // The file and bodies (Parser.cpp).
  void parseVersion(ast::File &file);
  /// `{ items }`; the closing brace's place.
  SourceRange parseBody(Scope scope, std::vector<ast::ItemPtr> &items);
  ast::ItemPtr parseItem(Scope scope);
  ast::ItemPtr parseMisplaced(const ItemRule &rule, Scope scope);
  void reportNoItem(Scope scope);
  /// The word that begins an item here and is probably meant by the one that stands here.
  std::optional<llvm::StringRef> misspeltItem(Scope scope) const;

  // Parts (ParseParts.cpp).
  std::optional<ast::Name> parseName(llvm::StringRef what);
  std::optional<ast::Path> parsePath(llvm::StringRef what);
  std::vector<ast::Path> parsePaths(llvm::StringRef what);
  /// A string without its quotes, as a name; for patterns.
  std::optional<ast::Name> parsePattern(llvm::StringRef what);
  std::vector<ast::ExprPtr> parseDims();
  void parseArrow(std::vector<ast::ExprPtr> &from, std::vector<ast::ExprPtr> &to);
  ast::Type parseType();
  ast::Signature parseSignature(std::optional<ast::Name> given, llvm::StringRef what);
  void parseDimNames(std::vector<ast::Name> &dims);
  /// What is given when compiling, behind the `;` of the list that `open` opens, and its `)`.
  void parseStatics(std::vector<ast::Static> &statics, SourceRange open);
  std::vector<ast::DimArgument> parseDimArguments();
  ast::Binding parseBinding();
  void parseBindingSource(ast::Binding &binding);

  // Declarations and statements (ParseDeclarations.cpp).
  ast::ItemPtr parseUse();
  ast::ItemPtr parseModel();
  ast::ItemPtr parseDim();
  ast::ItemPtr parseDyn();
  ast::ItemPtr parseLinear();
  ast::ItemPtr parseEmbedding();
  ast::ItemPtr parseParam();
  ast::ItemPtr parseState();
  ast::ItemPtr parseNorm();
  ast::ItemPtr parseStack();
  ast::ItemPtr parsePart();
  ast::ItemPtr parseBlock();
  ast::ItemPtr parseIgnore();
  ast::ItemPtr parseImage();
  ast::ItemPtr parseEntry();
  ast::ItemPtr parseForward();
  ast::ItemPtr parseCache();
  ast::ItemPtr parseTable();
  ast::ItemPtr parseLet();
  ast::ItemPtr parseReturn();
  void parseEntryBody(ast::EntryDecl &entry);
  void parseSpecialisation(ast::EntryDecl &entry);
  std::unique_ptr<ast::LinearDecl> parseLinearHead();
  void parseParamGroups(ast::ParamDecl &param, bool inHook);
  std::vector<ast::ExprPtr> parseChannelValues();
  ast::Pattern parseLetPattern();

  // Hooks, attend and scan (ParseAttention.cpp).
  ast::ItemPtr parseHook();
  void parseWith(ast::HookDecl &hook);
  ast::ExprPtr parseAttend();
  /// `T`, or `T as S`.
  std::optional<ast::AlongAxis> parseAlongAxis();
  void parseAttendBody(ast::AttendExpr &attend);
  void parseAttendItem(ast::AttendExpr &attend);
  ast::ExprPtr parseScan();

  // Expressions (ParseExpressions.cpp).
  ast::ExprPtr parseExpr();
  ast::ExprPtr parseBinary(unsigned lowest);
  ast::ExprPtr parseUnary();
  ast::ExprPtr parsePower();
  ast::ExprPtr parsePostfix();
  ast::ExprPtr parsePrimary();
  ast::ExprPtr parseNumber();
  ast::ExprPtr parseParenthesised();
  ast::ExprPtr parseIf();
  void parseArguments(std::vector<ast::Argument> &arguments);
  ast::ExprPtr missingExpression();
  ast::ExprPtr errorExpr(SourceRange range) { return std::make_unique<ast::ErrorExpr>(range); }
  /// Sets the height of a finished node; one beyond the limit becomes an ErrorExpr.
  ast::ExprPtr finish(ast::ExprPtr expr, unsigned childDepth);
  ast::ExprPtr tooDeep(SourceRange range);
  /// Reports an `=` behind an expression that was meant to compare, and reads what follows it.
  void checkEquality();

  /// Counts nesting of expressions and bodies while it lives.
  struct Nesting {
    explicit Nesting(Parser &parser) : parser(parser) { ++parser.nesting; }
    ~Nesting() { --parser.nesting; }
    bool beyondLimit() const;
    Parser &parser;
  };

  const SourceFile &file;
  DiagnosticEngine &diagnostics;
  std::vector<Token> tokens;
  std::vector<ast::Comment> comments;
  size_t position = 0;
  size_t reportedAt = SIZE_MAX; ///< Position of the last report: one per token.
  bool silent = false;          ///< Nothing more is worth reporting until the next item.
  bool bracesBalance = true;    ///< Whether the file has as many `}` as `{`.
  bool strayClosed =
      false;           ///< A stray `}` was reported: what follows may stand in the wrong place.
  bool inWith = false; ///< In the `with` of a hook: a comma may begin another of its items.
  llvm::StringSet<> misnamed; ///< Words of the language that were reported as names.
  unsigned nesting = 0;
};

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SYNTAX_PARSERIMPL_H

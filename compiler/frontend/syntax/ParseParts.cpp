// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts that declarations are made of: names, paths, dims, types, signatures, bindings.
#include "compiler/frontend/syntax/ParserImpl.h"

namespace attn::frontend {

std::optional<ast::Name> Parser::parseName(llvm::StringRef what) {
  if (is(TokenKind::Word) && !current().isReserved()) {
    Token token = consume();
    return ast::Name{token.text.str(), token.range};
  }
  if (is(TokenKind::Word)) {
    if (Diagnostic *diagnostic =
            error(DiagCode::KeywordAsName,
                  "`" + current().text + "` is a word of the language and cannot " +
                      (what.starts_with("the name") ? "be " : "name ") + what))
      diagnostic->help("choose another name, such as `" + current().text +
                       "_`; where a tensor is called so, bind it with `= \"…\"`");
    // A word that begins the next item is not eaten: more often the name is missing than badly
    // chosen.
    if (startsItem() && !next().is(TokenKind::Equal) && !next().is(TokenKind::Colon) &&
        !next().is(TokenKind::Comma))
      return std::nullopt;
    // As a name it was reported: nothing more is said about it.
    Token token = consume();
    misnamed.insert(token.text);
    return ast::Name{token.text.str(), token.range};
  }
  error(DiagCode::MissingName, "expected " + what + ", but got " + found());
  return std::nullopt;
}

std::optional<ast::Path> Parser::parsePath(llvm::StringRef what) {
  std::optional<ast::Name> first = parseName(what);
  if (!first)
    return std::nullopt;
  ast::Path path{{*first}, first->range};
  while (accept(TokenKind::Dot)) {
    // Behind a dot the lexer makes every word and integer a Word.
    if (!is(TokenKind::Word) || !current().afterDot) {
      error(DiagCode::MissingName,
            "expected a word or an integer after `" + path.str() + ".`, but got " + found());
      return std::nullopt;
    }
    Token token = consume();
    path.parts.push_back({token.text.str(), token.range});
    path.range = path.range.to(token.range);
  }
  return path;
}

std::vector<ast::Path> Parser::parsePaths(llvm::StringRef what) {
  std::vector<ast::Path> paths;
  parseCommas([&] {
    if (std::optional<ast::Path> path = parsePath(what))
      paths.push_back(std::move(*path));
  });
  return paths;
}

std::optional<ast::Name> Parser::parsePattern(llvm::StringRef what) {
  if (!is(TokenKind::String)) {
    if (Diagnostic *diagnostic =
            error(DiagCode::UnexpectedToken, "expected " + what + ", but got " + found()))
      if (is(TokenKind::Word))
        diagnostic->help("write it in quotes: `\"" + current().text + "\"`");
    if (is(TokenKind::Word) && !startsItem())
      parsePath(what); // a path without quotes
    return std::nullopt;
  }
  Token token = consume();
  return ast::Name{stringValue(token.text), token.range};
}

std::vector<ast::ExprPtr> Parser::parseDims() {
  std::vector<ast::ExprPtr> dims;
  parseCommas([&] { dims.push_back(parseExpr()); });
  return dims;
}

void Parser::parseArrow(std::vector<ast::ExprPtr> &from, std::vector<ast::ExprPtr> &to) {
  from = parseDims();
  if (!accept(TokenKind::Arrow)) {
    if (Diagnostic *diagnostic =
            error(DiagCode::MissingArrow,
                  "expected `->` between the axes taken and the axes given, but got " + found()))
      diagnostic->help("write `D -> F` for a map from D to F");
    // The arrow alone may be missing.
    if (!is(TokenKind::Word) || current().isReserved() || startsItem() || isWord("bias"))
      return;
  }
  to = parseDims();
}

ast::Type Parser::parseType() {
  ast::Type type;
  SourceRange begin = current().range;
  if (is(TokenKind::Word) && !current().isReserved()) {
    Token token = consume();
    type.word = ast::Name{token.text.str(), token.range};
  }
  if (is(TokenKind::LeftBracket)) {
    type.hasShape = true;
    SourceRange open = consume().range;
    parseList(TokenKind::RightBracket, open, [&] { type.dims.push_back(parseExpr()); });
  }
  if (!type.word && !type.hasShape) {
    if (Diagnostic *diagnostic =
            error(DiagCode::MissingType, "expected a type, but got " + found()))
      diagnostic->help("a type is a shape such as `[B, T, D]`, with a dtype before it where that "
                       "matters: `i32[B, T]`");
    type.range = here();
    return type;
  }
  type.range = begin.to(lastRange());
  return type;
}

void Parser::parseDimNames(std::vector<ast::Name> &dims) {
  if (!is(TokenKind::LeftBracket))
    return;
  SourceRange open = consume().range;
  parseList(TokenKind::RightBracket, open, [&] {
    if (std::optional<ast::Name> name = parseName("a dim"))
      dims.push_back(*name);
  });
}

void Parser::parseStatics(std::vector<ast::Static> &statics, SourceRange open) {
  auto parseStatic = [&] {
    std::optional<ast::Name> name = parseName("a compile-time argument");
    if (!name)
      return;
    ast::Static fixed;
    fixed.name = *name;
    if (accept(TokenKind::Equal))
      fixed.defaultValue = parseExpr();
    statics.push_back(std::move(fixed));
  };
  if (is(TokenKind::RightParen)) // A `;` promises one.
    parseStatic();
  parseList(TokenKind::RightParen, open, parseStatic);
}

ast::Signature Parser::parseSignature(std::optional<ast::Name> given, llvm::StringRef what) {
  ast::Signature signature;
  SourceRange begin = given ? given->range : current().range;
  if (given)
    signature.name = *given;
  else if (std::optional<ast::Name> name = parseName(what))
    signature.name = *name;
  parseDimNames(signature.dims);
  SourceRange open = current().range;
  if (expect(TokenKind::LeftParen, "before the parameters")) {
    parseList(
        TokenKind::RightParen, open,
        [&] {
          std::optional<ast::Name> name = parseName("a parameter");
          if (!name)
            return;
          if (!accept(TokenKind::Colon)) {
            if (Diagnostic *diagnostic =
                    error(DiagCode::MissingType, "`" + name->text + "` has no type"))
              diagnostic->help("write `" + name->text + ": [B, T, D]`");
            return;
          }
          signature.parameters.push_back({*name, parseType()});
        },
        TokenKind::Semicolon);
    if (accept(TokenKind::Semicolon))
      parseStatics(signature.statics, open);
  }
  if (accept(TokenKind::Arrow))
    parseCommas([&] {
      signature.resultNames.emplace_back();
      if (is(TokenKind::Word) && next().is(TokenKind::Colon)) {
        signature.resultNames.back() = parseName("a result");
        consume();
      }
      signature.results.push_back(parseType());
    });
  else if (Diagnostic *diagnostic =
               error(DiagCode::MissingArrow,
                     "expected `->` and the type of the result, but got " + found()))
    diagnostic->help("write `-> [B, T, D]`");
  signature.range = begin.to(lastRange());
  return signature;
}

std::vector<ast::DimArgument> Parser::parseDimArguments() {
  std::vector<ast::DimArgument> arguments;
  if (!is(TokenKind::LeftBracket))
    return arguments;
  SourceRange open = consume().range;
  parseList(TokenKind::RightBracket, open, [&] {
    std::optional<ast::Name> name = parseName("a dim");
    if (!name || !expect(TokenKind::Colon, "after `" + name->text + "`"))
      return;
    arguments.push_back({*name, parseExpr()});
  });
  return arguments;
}

void Parser::parseBindingSource(ast::Binding &binding) {
  if (is(TokenKind::String)) {
    binding.kind = ast::Binding::Kind::String;
    binding.pattern = *parsePattern("a path");
    return;
  }
  if (isWord("split") && next().is(TokenKind::LeftParen)) {
    binding.kind = ast::Binding::Kind::Split;
    consume();
    SourceRange open = consume().range;
    if (std::optional<ast::Name> pattern = parsePattern("the path of the packed tensor"))
      binding.pattern = *pattern;
    expect(TokenKind::Comma, "after the path");
    while (is(TokenKind::Word) && !startsItem())
      binding.components.push_back({current().text.str(), consume().range});
    if (binding.components.empty())
      error(DiagCode::MissingName,
            "expected the parts the tensor is packed from, such as `q k v`, but got " + found());
    if (!closeList(TokenKind::RightParen, open)) {
      skipInList(TokenKind::RightParen);
      accept(TokenKind::RightParen);
    }
    return;
  }
  if (isWord("tied") && next().is(TokenKind::LeftParen)) {
    binding.kind = ast::Binding::Kind::Tied;
    consume();
    SourceRange open = consume().range;
    if (std::optional<ast::Path> path = parsePath("the path it is tied to"))
      binding.tiedTo = std::move(*path);
    closeList(TokenKind::RightParen, open);
    return;
  }
  if (isWord("optional")) // said again below, by itself
    return;
  Diagnostic *diagnostic =
      error(DiagCode::UnknownBinding,
            "expected where the tensor is in the checkpoint, but got " + found());
  bool isPath = is(TokenKind::Word) && !current().isReserved();
  SourceRange begin = current().range;
  if (!startsItem())
    parseExpr();
  if (!diagnostic)
    return;
  diagnostic->note("after `=` stands a path in quotes, `split(\"path\", q k v)` or `tied(path)`");
  if (isPath)
    diagnostic->help("write a path in quotes: `= \"" + file.text(begin.to(lastRange())) + "\"`");
}

ast::Binding Parser::parseBinding() {
  ast::Binding binding;
  SourceRange begin = current().range;
  size_t before = position;
  if (accept(TokenKind::Equal))
    parseBindingSource(binding);
  while (true) {
    if (accept(TokenKind::At)) {
      if (std::optional<ast::Name> layout = parseName("a layout, such as `@conv1d`"))
        binding.layouts.push_back(*layout);
      else
        break;
    } else if (acceptWord("optional")) {
      binding.optional = true;
    } else {
      break;
    }
  }
  if (acceptWord("if")) {
    binding.condition = parseExpr();
    checkEquality();
  }
  binding.range = position == before ? here() : begin.to(lastRange());
  return binding;
}

} // namespace attn::frontend

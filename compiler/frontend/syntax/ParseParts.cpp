// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts that declarations are made of: names, paths, dims, types, signatures, bindings.
#include "compiler/frontend/syntax/ParseParts.h"
#include "compiler/frontend/syntax/ParseExpressions.h"

namespace attn::frontend {

std::optional<ast::Name> parseName(Parser &parser, llvm::StringRef what) {
  if (parser.is(TokenKind::Word) && !parser.current().isReserved()) {
    Token token = parser.consume();
    return ast::Name{token.text.str(), token.range};
  }
  if (parser.is(TokenKind::Word)) {
    if (Diagnostic *diagnostic =
            parser.error(DiagCode::KeywordAsName,
                         "`" + parser.current().text + "` is a word of the language and cannot " +
                             (what.starts_with("the name") ? "be " : "name ") + what))
      diagnostic->help("choose another name, such as `" + parser.current().text +
                       "_`; where a tensor is called so, bind it with `= \"…\"`");
    // A word that begins the next item is not eaten: more often the name is missing than badly
    // chosen.
    if (parser.startsItem() && !parser.next().is(TokenKind::Equal) &&
        !parser.next().is(TokenKind::Colon) && !parser.next().is(TokenKind::Comma))
      return std::nullopt;
    // As a name it was reported: nothing more is said about it.
    Token token = parser.consume();
    parser.misnamed.insert(token.text);
    return ast::Name{token.text.str(), token.range};
  }
  parser.error(DiagCode::MissingName, "expected " + what + ", but got " + parser.found());
  return std::nullopt;
}

std::optional<ast::Path> parsePath(Parser &parser, llvm::StringRef what) {
  std::optional<ast::Name> first = parseName(parser, what);
  if (!first)
    return std::nullopt;
  ast::Path path{{*first}, first->range};
  while (parser.accept(TokenKind::Dot)) {
    // Behind a dot the lexer makes every word and integer a Word.
    if (!parser.is(TokenKind::Word) || !parser.current().afterDot) {
      parser.error(DiagCode::MissingName, "expected a word or an integer after `" + path.str() +
                                              ".`, but got " + parser.found());
      return std::nullopt;
    }
    Token token = parser.consume();
    path.parts.push_back({token.text.str(), token.range});
    path.range = path.range.to(token.range);
  }
  return path;
}

std::vector<ast::Path> parsePaths(Parser &parser, llvm::StringRef what) {
  std::vector<ast::Path> paths;
  parser.parseCommas([&] {
    if (std::optional<ast::Path> path = parsePath(parser, what))
      paths.push_back(std::move(*path));
  });
  return paths;
}

std::optional<ast::Name> parsePattern(Parser &parser, llvm::StringRef what) {
  if (!parser.is(TokenKind::String)) {
    Diagnostic *diagnostic =
        parser.error(DiagCode::UnexpectedToken, "expected " + what + ", but got " + parser.found());
    if (!parser.is(TokenKind::Word) || parser.startsItem())
      return std::nullopt;
    std::optional<ast::Path> path = parsePath(parser, what); // without quotes
    if (diagnostic && path)
      diagnostic->help("write it in quotes: `\"" + path->str() + "\"`",
                       Edit{path->range, "\"" + path->str() + "\""});
    return std::nullopt;
  }
  Token token = parser.consume();
  return ast::Name{stringValue(token.text), token.range};
}

std::vector<ast::ExprPtr> parseDims(Parser &parser) {
  std::vector<ast::ExprPtr> dims;
  parser.parseCommas([&] { dims.push_back(parseExpr(parser)); });
  return dims;
}

void parseArrow(Parser &parser, std::vector<ast::ExprPtr> &from, std::vector<ast::ExprPtr> &to) {
  from = parseDims(parser);
  if (!parser.accept(TokenKind::Arrow)) {
    bool isArrowAlone = parser.is(TokenKind::Word) && !parser.current().isReserved() &&
                        !parser.startsItem() && !parser.isWord("bias");
    if (Diagnostic *diagnostic = parser.error(
            DiagCode::MissingArrow,
            "expected `->` between the axes taken and the axes given, but got " + parser.found()))
      diagnostic->help("write `D -> F` for a map from D to F",
                       isArrowAlone ? std::optional(Edit{parser.here(), " ->"}) : std::nullopt);
    if (!isArrowAlone)
      return;
  }
  to = parseDims(parser);
}

ast::Type parseType(Parser &parser) {
  ast::Type type;
  SourceRange begin = parser.current().range;
  if (parser.is(TokenKind::Word) && !parser.current().isReserved()) {
    Token token = parser.consume();
    type.word = ast::Name{token.text.str(), token.range};
  }
  if (parser.is(TokenKind::LeftBracket)) {
    type.hasShape = true;
    SourceRange open = parser.consume().range;
    parser.parseList(TokenKind::RightBracket, open,
                     [&] { type.dims.push_back(parseExpr(parser)); });
  }
  if (!type.word && !type.hasShape) {
    if (Diagnostic *diagnostic =
            parser.error(DiagCode::MissingType, "expected a type, but got " + parser.found()))
      diagnostic->help("a type is a shape such as `[B, T, D]`, with a dtype before it where that "
                       "matters: `i32[B, T]`");
    type.range = parser.here();
    return type;
  }
  type.range = begin.to(parser.lastRange());
  return type;
}

/// `[T, D]`: the dims of a block or entry.
/// The `[` of a list of dims, which holds one at least.
static std::optional<SourceRange> openDims(Parser &parser) {
  if (!parser.is(TokenKind::LeftBracket))
    return std::nullopt;
  SourceRange open = parser.consume().range;
  if (parser.is(TokenKind::RightBracket))
    parseName(parser, "a dim"); // says so
  return open;
}

static void parseDimNames(Parser &parser, std::vector<ast::Name> &dims) {
  std::optional<SourceRange> open = openDims(parser);
  if (!open)
    return;
  parser.parseList(TokenKind::RightBracket, *open, [&] {
    if (std::optional<ast::Name> name = parseName(parser, "a dim"))
      dims.push_back(*name);
  });
}

void parseStatics(Parser &parser, std::vector<ast::Static> &statics, SourceRange open) {
  auto parseStatic = [&] {
    std::optional<ast::Name> name = parseName(parser, "a compile-time argument");
    if (!name)
      return;
    ast::Static fixed;
    fixed.name = *name;
    if (parser.accept(TokenKind::Equal))
      fixed.defaultValue = parseExpr(parser);
    statics.push_back(std::move(fixed));
  };
  if (parser.is(TokenKind::RightParen)) // A `;` promises one.
    parseStatic();
  parser.parseList(TokenKind::RightParen, open, parseStatic);
}

ast::Signature parseSignature(Parser &parser, std::optional<ast::Name> given,
                              llvm::StringRef what) {
  ast::Signature signature;
  SourceRange begin = given ? given->range : parser.current().range;
  if (given)
    signature.name = *given;
  else if (std::optional<ast::Name> name = parseName(parser, what))
    signature.name = *name;
  parseDimNames(parser, signature.dims);
  SourceRange open = parser.current().range;
  if (parser.expect(TokenKind::LeftParen, "before the parameters")) {
    parser.parseList(
        TokenKind::RightParen, open,
        [&] {
          std::optional<ast::Name> name = parseName(parser, "a parameter");
          if (!name)
            return;
          if (!parser.accept(TokenKind::Colon)) {
            if (Diagnostic *diagnostic =
                    parser.error(DiagCode::MissingType, "`" + name->text + "` has no type"))
              diagnostic->help("write `" + name->text + ": [B, T, D]`");
            return;
          }
          signature.parameters.push_back({*name, parseType(parser)});
        },
        TokenKind::Semicolon);
    if (parser.accept(TokenKind::Semicolon))
      parseStatics(parser, signature.statics, open);
  }
  if (parser.accept(TokenKind::Arrow))
    parser.parseCommas([&] {
      signature.resultNames.emplace_back();
      if (parser.is(TokenKind::Word) && parser.next().is(TokenKind::Colon)) {
        signature.resultNames.back() = parseName(parser, "a result");
        parser.consume();
      }
      signature.results.push_back(parseType(parser));
    });
  else if (Diagnostic *diagnostic =
               parser.error(DiagCode::MissingArrow,
                            "expected `->` and the type of the result, but got " + parser.found()))
    diagnostic->help("write `-> [B, T, D]`");
  signature.range = begin.to(parser.lastRange());
  return signature;
}

std::vector<ast::DimArgument> parseDimArguments(Parser &parser) {
  std::vector<ast::DimArgument> arguments;
  std::optional<SourceRange> open = openDims(parser);
  if (!open)
    return arguments;
  parser.parseList(TokenKind::RightBracket, *open, [&] {
    std::optional<ast::Name> name = parseName(parser, "a dim");
    if (!name || !parser.expect(TokenKind::Colon, "after `" + name->text + "`"))
      return;
    arguments.push_back({*name, parseExpr(parser)});
  });
  return arguments;
}

/// `slice("w", 0 to A of N)`: rows of a tensor.
static void parseSliceOfTensor(Parser &parser, ast::Binding &binding) {
  parser.consume();
  SourceRange open = parser.consume().range;
  std::optional<ast::Name> pattern = parsePattern(parser, "the path of the tensor");
  bool isWhole = pattern && parser.expect(TokenKind::Comma, "after the path");
  if (isWhole)
    binding.from = parseExpr(parser);
  isWhole = isWhole && parser.expectWord("to", DiagCode::UnexpectedToken, "and where the rows end");
  if (isWhole) {
    binding.to = parseExpr(parser);
    if (parser.acceptWord("of"))
      binding.of = parseExpr(parser);
    binding.kind = ast::Binding::Kind::Slice;
    binding.pattern = *pattern;
  }
  if (!parser.closeList(TokenKind::RightParen, open)) {
    parser.skipInList(TokenKind::RightParen);
    parser.accept(TokenKind::RightParen);
  }
}

static void parseBindingSource(Parser &parser, ast::Binding &binding) {
  if (parser.is(TokenKind::String)) {
    binding.kind = ast::Binding::Kind::String;
    binding.pattern = *parsePattern(parser, "a path");
    return;
  }
  if (parser.isWord("split") && parser.next().is(TokenKind::LeftParen)) {
    binding.kind = ast::Binding::Kind::Split;
    parser.consume();
    SourceRange open = parser.consume().range;
    if (std::optional<ast::Name> pattern = parsePattern(parser, "the path of the packed tensor"))
      binding.pattern = *pattern;
    parser.expect(TokenKind::Comma, "after the path");
    while (parser.is(TokenKind::Word) && !parser.startsItem())
      binding.components.push_back({parser.current().text.str(), parser.consume().range});
    if (binding.components.empty())
      parser.error(DiagCode::MissingName,
                   "expected the parts the tensor is packed from, such as `q k v`, but got " +
                       parser.found());
    if (!parser.closeList(TokenKind::RightParen, open)) {
      parser.skipInList(TokenKind::RightParen);
      parser.accept(TokenKind::RightParen);
    }
    return;
  }
  if (parser.isWord("slice") && parser.next().is(TokenKind::LeftParen)) {
    parseSliceOfTensor(parser, binding);
    return;
  }
  if (parser.isWord("tied") && parser.next().is(TokenKind::LeftParen)) {
    binding.kind = ast::Binding::Kind::Tied;
    parser.consume();
    SourceRange open = parser.consume().range;
    if (std::optional<ast::Path> path = parsePath(parser, "the path it is tied to"))
      binding.tiedTo = std::move(*path);
    parser.closeList(TokenKind::RightParen, open);
    return;
  }
  if (parser.isWord("optional")) // said again below, by itself
    return;
  Diagnostic *diagnostic =
      parser.error(DiagCode::UnknownBinding,
                   "expected where the tensor is in the checkpoint, but got " + parser.found());
  bool isPath = parser.is(TokenKind::Word) && !parser.current().isReserved();
  SourceRange begin = parser.current().range;
  if (!parser.startsItem())
    parseExpr(parser);
  if (!diagnostic)
    return;
  llvm::StringRef given = parser.file.text(begin.to(parser.lastRange()));
  if (given == "True" || given == "False" || given == "true" || given == "false") {
    diagnostic->help(given.lower() == "true"
                         ? "write `bias` behind the axes, without a comma"
                         : "leave it out: a linear map has a bias where it says "
                           "`bias`");
    return;
  }
  diagnostic->note(
      "after `=` stands a path in quotes, `split(\"path\", q k v)`, `slice(\"path\", 0 to N)` "
      "or `tied(path)`");
  if (isPath)
    diagnostic->help("write a path in quotes: `= \"" + given + "\"`",
                     Edit{begin.to(parser.lastRange()), ("\"" + given + "\"").str()});
}

ast::Binding parseBinding(Parser &parser) {
  ast::Binding binding;
  SourceRange begin = parser.current().range;
  size_t before = parser.position;
  if (parser.accept(TokenKind::Equal))
    parseBindingSource(parser, binding);
  while (true) {
    if (parser.accept(TokenKind::At)) {
      if (std::optional<ast::Name> layout = parseName(parser, "a layout, such as `@conv1d`"))
        binding.layouts.push_back(*layout);
      else
        break;
    } else if (parser.isWord("optional")) {
      if (binding.optional)
        parser.errorHere(DiagCode::UnexpectedToken, "`optional` stands here already");
      else
        binding.optionalAt = binding.layouts.size();
      binding.optional = true;
      parser.consume();
    } else {
      break;
    }
  }
  if (parser.acceptWord("if")) {
    binding.condition = parseExpr(parser);
    checkEquality(parser);
  }
  binding.range = parser.position == before ? parser.here() : begin.to(parser.lastRange());
  return binding;
}

} // namespace attn::frontend

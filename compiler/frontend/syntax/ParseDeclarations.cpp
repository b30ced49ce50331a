// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations and statements, each beginning with its own word. Their ranges are completed by
// parseItem.
#include "compiler/frontend/syntax/ParseDeclarations.h"
#include "compiler/frontend/syntax/ParseAttention.h"
#include "compiler/frontend/syntax/ParseExpressions.h"
#include "compiler/frontend/syntax/ParseItems.h"
#include "compiler/frontend/syntax/ParseParts.h"

namespace attn::frontend {

using namespace ast;

ItemPtr parseUse(Parser &parser) {
  auto use = std::make_unique<UseDecl>(parser.consume().range);
  if (parser.is(TokenKind::String)) {
    use->file = parsePattern(parser, "a file");
  } else if (std::optional<Path> path =
                 parsePath(parser, "a library, such as `std.attention`, or a file in quotes")) {
    use->path = std::move(*path);
  } else {
    return nullptr;
  }
  return use;
}

ItemPtr parseModel(Parser &parser) {
  auto model = std::make_unique<ModelDecl>(parser.consume().range);
  if (std::optional<Name> name = parseName(parser, "the name of the model"))
    model->name = *name;
  model->closingBrace = parseBody(parser, InModel, model->items);
  return model;
}

ItemPtr parseDim(Parser &parser) {
  auto dim = std::make_unique<DimDecl>(parser.consume().range);
  parser.parseCommas([&] {
    std::optional<Name> name = parseName(parser, "a dim");
    if (!name)
      return;
    if (!parser.accept(TokenKind::Equal)) {
      if (Diagnostic *diagnostic =
              parser.error(DiagCode::MissingValue, "expected `=` and the size of `" + name->text +
                                                       "`, but got " + parser.found()))
        diagnostic->help("write `dim " + name->text + " = 64`, or `dyn " + name->text +
                             " <= 64` for a size known only at run time",
                         parser.is(TokenKind::Integer) ? std::optional(Edit{parser.here(), " ="})
                                                       : std::nullopt);
      return;
    }
    dim->entries.push_back({*name, parseExpr(parser)});
  });
  return dim;
}

ItemPtr parseDyn(Parser &parser) {
  auto dyn = std::make_unique<DynDecl>(parser.consume().range);
  parser.parseCommas([&] {
    std::optional<Name> name = parseName(parser, "a dim");
    if (!name)
      return;
    if (!parser.accept(TokenKind::LessEqual)) {
      bool isOther = parser.is(TokenKind::Equal) || parser.is(TokenKind::Less);
      if (Diagnostic *diagnostic =
              parser.error(DiagCode::MissingBound, "expected `<=` and the bound of `" + name->text +
                                                       "`, but got " + parser.found()))
        diagnostic->help("write `dyn " + name->text + " <= 64`",
                         isOther ? std::optional(Edit{parser.current().range, "<="})
                                 : std::nullopt);
      if (isOther) {
        parser.consume();
        parseExpr(parser);
      }
      return;
    }
    dyn->entries.push_back({*name, parseExpr(parser)});
  });
  return dyn;
}

/// The `:` between the names of a declaration and its axes. Without it the rest of the item is not
/// read; `example` is what may follow the names.
static bool expectColon(Parser &parser, const std::vector<Path> &names, llvm::StringRef example) {
  if (parser.accept(TokenKind::Colon))
    return true;
  Diagnostic *diagnostic =
      parser.error(DiagCode::UnexpectedToken,
                   "expected `:` between the names and the axes, but got " + parser.found());
  if (diagnostic && !names.empty()) {
    if (parser.is(TokenKind::Word) && !parser.atLineStart() && !parser.startsItem())
      diagnostic->help("names have commas between them: `" + names.back().str() + ", " +
                           parser.current().text + "`",
                       Edit{parser.here(), ","});
    else
      diagnostic->help("write `" + names.back().str() + ": " + example + "`");
  }
  parser.silent |= parser.is(TokenKind::Equal);
  return false;
}

/// `bias=True` and `bias=False` of another library.
static void checkFlag(Parser &parser, bool &bias) {
  bool isTrue = parser.next().isWord("True") || parser.next().isWord("true"),
       isFalse = parser.next().isWord("False") || parser.next().isWord("false");
  if (!parser.is(TokenKind::Equal) || (!isTrue && !isFalse))
    return;
  if (Diagnostic *diagnostic =
          parser.error(DiagCode::UnexpectedToken, "`bias` is a word alone, without a value"))
    diagnostic->help(isTrue ? "write `bias`" : "leave `bias` out: there is none then",
                     Edit{parser.lastRange().to(parser.next().range), isTrue ? "bias" : ""});
  parser.consume();
  parser.consume();
  bias = isTrue;
}

std::unique_ptr<LinearDecl> parseLinearHead(Parser &parser) {
  auto linear = std::make_unique<LinearDecl>(parser.consume().range);
  linear->names = parsePaths(parser, "the name of a linear map");
  if (!expectColon(parser, linear->names, "D -> F"))
    return linear;
  parseArrow(parser, linear->from, linear->to);
  if (parser.acceptWord("along"))
    linear->along = parseDims(parser);
  // `bias alibi(…)` is the next declaration.
  bool isHook = parser.next().is(TokenKind::Word) && !parser.next().isReserved() &&
                !findRule(parser.next()) && parser.ahead(2).is(TokenKind::LeftParen);
  if (parser.isWord("bias") && !isHook) {
    parser.consume();
    linear->bias = true;
    checkFlag(parser, linear->bias);
    if (parser.acceptWord("if"))
      linear->biasCondition = parseExpr(parser); // `=` behind it says where the tensor is
  }
  return linear;
}

ItemPtr parseLinear(Parser &parser) {
  auto linear = parseLinearHead(parser);
  linear->binding = parseBinding(parser);
  return linear;
}

ItemPtr parseEmbedding(Parser &parser) {
  auto embedding = std::make_unique<EmbeddingDecl>(parser.consume().range);
  embedding->names = parsePaths(parser, "the name of an embedding");
  if (parser.expect(TokenKind::Colon, "between the names and the axes"))
    parseArrow(parser, embedding->from, embedding->to);
  embedding->binding = parseBinding(parser);
  return embedding;
}

void parseParamGroups(Parser &parser, ParamDecl &param, bool inHook) {
  bool another = true;
  while (another) {
    ParamDecl::Group group;
    group.names =
        parsePaths(parser, param.role == ParamDecl::Role::State ? "the name of a state"
                                                                : "the name of a parameter");
    if (!parser.accept(TokenKind::Colon)) {
      if (Diagnostic *diagnostic = parser.error(
              DiagCode::MissingType, "expected `:` and the shape, but got " + parser.found()))
        diagnostic->help("write `" + parser.file.text(param.keyword) + " name: [D]`");
      return;
    }
    group.type = parseType(parser);
    if (param.role == ParamDecl::Role::Param && !inHook)
      group.binding = parseBinding(parser);
    if (!group.names.empty())
      param.groups.push_back(std::move(group));
    another = parser.is(TokenKind::Comma) && !parser.withItemFollows();
    if (another)
      parser.consume();
  }
}

ItemPtr parseParam(Parser &parser) {
  auto param = std::make_unique<ParamDecl>(parser.consume().range, ParamDecl::Role::Param);
  parseParamGroups(parser, *param, /*inHook=*/false);
  return param;
}

ItemPtr parseState(Parser &parser) {
  auto state = std::make_unique<ParamDecl>(parser.consume().range, ParamDecl::Role::State);
  parseParamGroups(parser, *state, /*inHook=*/false);
  return state;
}

/// `no weight`, `no bias`
static void parseLacking(Parser &parser, NormDecl &norm) {
  while (parser.acceptWord("no")) {
    if (!parser.isWord("weight") && !parser.isWord("bias")) {
      parser.errorHere(DiagCode::UnexpectedToken,
                       "expected `weight` or `bias` behind `no`, but got " + parser.found());
      return;
    }
    std::string part = parser.current().text.str();
    if (!NormDecl::mayHave(norm.norm, part))
      parser.errorHere(DiagCode::UnexpectedToken,
                       "`" + NormDecl::wordOf(norm.norm).str() + "` has no " + part + " anyway");
    else if (norm.lacks(part))
      parser.errorHere(DiagCode::UnexpectedToken, "`no " + part + "` stands here already");
    else
      norm.without.push_back({part, parser.current().range});
    parser.consume();
  }
}

ItemPtr parseNorm(Parser &parser) {
  NormDecl::Norm kind = NormDecl::Norm::Layer;
  for (auto other : {NormDecl::Norm::RootMeanSquare, NormDecl::Norm::Euclidean})
    if (parser.isWord(NormDecl::wordOf(other)))
      kind = other;
  auto norm = std::make_unique<NormDecl>(parser.consume().range, kind);
  norm->names = parsePaths(parser, "the name of a normalisation");
  if (!expectColon(parser, norm->names, "D"))
    return norm;
  norm->dims = parseDims(parser);
  if (parser.acceptWord("eps")) {
    if (parser.is(TokenKind::Equal)) {
      if (Diagnostic *diagnostic =
              parser.error(DiagCode::UnexpectedToken, "`eps` is followed by a number"))
        diagnostic->help("leave `=` out: `eps " + parser.next().text + "`",
                         Edit{parser.current().range, ""});
      parser.consume();
    }
    norm->eps = parseExpr(parser);
  }
  if (parser.acceptWord("offset"))
    norm->offset = parseExpr(parser);
  parseLacking(parser, *norm);
  norm->binding = parseBinding(parser);
  return norm;
}

ItemPtr parseStack(Parser &parser) {
  auto stack = std::make_unique<StackDecl>(parser.consume().range);
  if (std::optional<Path> path = parsePath(parser, "the name of the stack"))
    stack->name = std::move(*path);
  if (!parser.expect(TokenKind::Colon, "and the number of layers"))
    return stack;
  stack->count = parseExpr(parser);
  if (!parser.expectWord("of", DiagCode::UnexpectedToken, "and the block that is stacked"))
    return stack;
  // A word of the language only before the name of a block.
  stack->shared = parser.next().is(TokenKind::Word) && parser.acceptWord("shared");
  if (std::optional<Name> name = parseName(parser, "the block that is stacked"))
    stack->block = *name;
  stack->dimArguments = parseDimArguments(parser);
  if (parser.is(TokenKind::LeftParen))
    parseArguments(parser, stack->arguments);
  stack->binding = parseBinding(parser);
  return stack;
}

ItemPtr parsePart(Parser &parser) {
  auto part = std::make_unique<PartDecl>(parser.consume().range);
  part->names = parsePaths(parser, "the name of a part");
  if (!parser.expect(TokenKind::Colon, "and the block that it is"))
    return part;
  if (std::optional<Name> name = parseName(parser, "the block that it is"))
    part->block = *name;
  part->dimArguments = parseDimArguments(parser);
  if (parser.is(TokenKind::LeftParen))
    parseArguments(parser, part->arguments);
  part->binding = parseBinding(parser);
  return part;
}

ItemPtr parseBlock(Parser &parser) {
  bool isCell = parser.isWord("cell");
  auto block = std::make_unique<BlockDecl>(parser.consume().range, isCell);
  block->signature = parseSignature(parser, std::nullopt,
                                    isCell ? "the name of the cell" : "the name of the block");
  block->closingBrace = parseBody(parser, InBlock, block->items);
  return block;
}

/// Patterns with commas between.
static void parsePatterns(Parser &parser, std::vector<Name> &patterns) {
  parser.parseCommas([&] {
    if (std::optional<Name> pattern = parsePattern(parser, "a pattern of tensor names in quotes"))
      patterns.push_back(*pattern);
  });
}

ItemPtr parseIgnore(Parser &parser) {
  auto ignore = std::make_unique<IgnoreDecl>(parser.consume().range);
  parsePatterns(parser, ignore->patterns);
  return ignore;
}

ItemPtr parsePrecision(Parser &parser) {
  auto precision = std::make_unique<PrecisionDecl>(parser.consume().range);
  if (std::optional<Name> name = parseName(parser, "a precision"))
    precision->name = *name;
  if (parser.isWord("for")) {
    parser.consume();
    parsePatterns(parser, precision->patterns);
  }
  return precision;
}

ItemPtr parseWeights(Parser &parser) {
  auto weights = std::make_unique<WeightsDecl>(parser.consume().range);
  if (std::optional<Name> file = parsePattern(parser, "a file or a folder in quotes"))
    weights->file = *file;
  return weights;
}

static void parseEntryBody(Parser &parser, EntryDecl &entry) {
  if (parser.accept(TokenKind::Equal)) {
    entry.bodyKind = EntryDecl::Body::Expression;
    entry.value = parseExpr(parser);
    return;
  }
  entry.bodyKind = EntryDecl::Body::Items;
  entry.closingBrace = parseBody(parser, InEntry, entry.items);
}

static void parseSpecialisation(Parser &parser, EntryDecl &entry) {
  if (parser.isWord("unfold")) {
    entry.bodyKind = EntryDecl::Body::Unfold;
    entry.value = parseExpr(parser);
    return;
  }
  entry.bodyKind = EntryDecl::Body::Specialisation;
  if (!parser.expectWord("forward", DiagCode::UnexpectedToken, "in an entry without parameters")) {
    parseExpr(parser);
    return;
  }
  entry.specialised = parseDimArguments(parser);
  if (parser.acceptWord("by"))
    entry.rows = parseName(parser, "the dim that counts the rows");
  auto names = [&](std::vector<Name> &list, llvm::StringRef what) {
    parser.parseCommas([&] {
      if (std::optional<Name> name = parseName(parser, what))
        list.push_back(*name);
    });
  };
  if (parser.acceptWord("without"))
    names(entry.without, "an input that the entry lacks");
  else if (parser.acceptWord("only"))
    return names(entry.only, "a cache that the entry fills");
  if (parser.acceptWord("last"))
    entry.last = parseName(parser, "the axis of which the last is kept");
}

ItemPtr parseEntry(Parser &parser) {
  auto entry = std::make_unique<EntryDecl>(parser.consume().range, /*isForward=*/false);
  std::optional<Name> name = parseName(parser, "the name of the entry");
  if (!name)
    name = Name{"", parser.here()};
  entry->signature.name = *name;
  entry->signature.range = name->range;
  if (parser.accept(TokenKind::Equal)) {
    parseSpecialisation(parser, *entry);
    return entry;
  }
  entry->signature = parseSignature(parser, name, "the name of the entry");
  parseEntryBody(parser, *entry);
  return entry;
}

ItemPtr parseForward(Parser &parser) {
  SourceRange keyword = parser.consume().range;
  auto entry = std::make_unique<EntryDecl>(keyword, /*isForward=*/true);
  entry->signature = parseSignature(parser, Name{"forward", keyword}, "`forward`");
  parseEntryBody(parser, *entry);
  return entry;
}

ItemPtr parseCache(Parser &parser) {
  auto cache = std::make_unique<CacheDecl>(parser.consume().range);
  parser.parseCommas([&] {
    std::optional<Name> name = parseName(parser, "the name of the cache"), dtype;
    if (parser.accept(TokenKind::Colon))
      dtype = parseName(parser, "the dtype of the cache");
    bool hasBound = parser.expectWord("capacity", DiagCode::MissingBound,
                                      "and the number of positions the cache holds");
    if (name && hasBound)
      cache->entries.push_back({*name, dtype, parseExpr(parser)});
  });
  return cache;
}

ItemPtr parseTable(Parser &parser) {
  auto table = std::make_unique<TableDecl>(parser.consume().range);
  if (std::optional<Name> name = parseName(parser, "the name of the table"))
    table->name = *name;
  if (!parser.is(TokenKind::LeftBracket)) {
    if (Diagnostic *diagnostic = parser.error(
            DiagCode::UnexpectedToken, "expected the axes of the table, but got " + parser.found()))
      diagnostic->help("write `table pos[t: T, c: D] = …`");
    return table;
  }
  table->axes = parseDimArguments(parser);
  if (!parser.accept(TokenKind::Equal)) {
    parser.error(DiagCode::MissingValue,
                 "expected `=` and the formula of the table, but got " + parser.found());
    return table;
  }
  table->value = parseExpr(parser);
  return table;
}

static Pattern parseLetPattern(Parser &parser) {
  Pattern pattern;
  SourceRange begin = parser.current().range;
  if (parser.is(TokenKind::LeftParen)) {
    SourceRange open = parser.consume().range;
    parser.parseList(TokenKind::RightParen, open, [&] {
      if (std::optional<Name> name = parseName(parser, "a name"))
        pattern.elements.push_back({*name, {}, name->range});
    });
  } else if (std::optional<Name> name = parseName(parser, "a name")) {
    pattern.name = *name;
  }
  pattern.range = begin.to(parser.lastRange());
  return pattern;
}

ItemPtr parseLet(Parser &parser) {
  auto let = std::make_unique<LetStmt>(parser.consume().range);
  parser.parseCommas([&] { let->patterns.push_back(parseLetPattern(parser)); });
  if (!parser.accept(TokenKind::Equal)) {
    parser.error(DiagCode::MissingValue, "expected `=` and a value, but got " + parser.found());
    return let;
  }
  let->value = parseExpr(parser);
  if (parser.acceptWord("along"))
    let->along = parseAlongAxis(parser);
  return let;
}

ItemPtr parseReturn(Parser &parser) {
  auto statement = std::make_unique<ReturnStmt>(parser.consume().range);
  parser.parseCommas([&] { statement->values.push_back(parseExpr(parser)); });
  return statement;
}

} // namespace attn::frontend

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations and statements, each beginning with its own word. Their ranges are completed by
// parseItem.
#include "compiler/frontend/syntax/ParserImpl.h"

namespace attn::frontend {

using namespace ast;

ItemPtr Parser::parseUse() {
  auto use = std::make_unique<UseDecl>(consume().range);
  if (is(TokenKind::String)) {
    use->file = parsePattern("a file");
  } else if (std::optional<Path> path =
                 parsePath("a library, such as `std.attention`, or a file in quotes")) {
    use->path = std::move(*path);
  } else {
    return nullptr;
  }
  return use;
}

ItemPtr Parser::parseModel() {
  auto model = std::make_unique<ModelDecl>(consume().range);
  if (std::optional<Name> name = parseName("the name of the model"))
    model->name = *name;
  model->closingBrace = parseBody(InModel, model->items);
  return model;
}

ItemPtr Parser::parseDim() {
  auto dim = std::make_unique<DimDecl>(consume().range);
  parseCommas([&] {
    std::optional<Name> name = parseName("a dim");
    if (!name)
      return;
    if (!accept(TokenKind::Equal)) {
      if (Diagnostic *diagnostic =
              error(DiagCode::MissingValue,
                    "expected `=` and the size of `" + name->text + "`, but got " + found()))
        diagnostic->help("write `dim " + name->text + " = 64`, or `dyn " + name->text +
                         " <= 64` for a size known only at run time");
      return;
    }
    dim->entries.push_back({*name, parseExpr()});
  });
  return dim;
}

ItemPtr Parser::parseDyn() {
  auto dyn = std::make_unique<DynDecl>(consume().range);
  parseCommas([&] {
    std::optional<Name> name = parseName("a dim");
    if (!name)
      return;
    if (!accept(TokenKind::LessEqual)) {
      if (Diagnostic *diagnostic =
              error(DiagCode::MissingBound,
                    "expected `<=` and the bound of `" + name->text + "`, but got " + found()))
        diagnostic->help("write `dyn " + name->text + " <= 64`");
      if (is(TokenKind::Equal) || is(TokenKind::Less)) {
        consume();
        parseExpr();
      }
      return;
    }
    dyn->entries.push_back({*name, parseExpr()});
  });
  return dyn;
}

/// Up to the axes and `bias`: what a model's linear map and a hook's have in common.
std::unique_ptr<LinearDecl> Parser::parseLinearHead() {
  auto linear = std::make_unique<LinearDecl>(consume().range);
  linear->names = parsePaths("the name of a linear map");
  if (!expect(TokenKind::Colon, "between the names and the axes"))
    return linear;
  parseArrow(linear->from, linear->to);
  // `bias alibi(…)` is the next declaration.
  bool isHook = next().is(TokenKind::Word) && !next().isReserved() && !findRule(next()) &&
                ahead(2).is(TokenKind::LeftParen);
  if (isWord("bias") && !isHook) {
    consume();
    linear->bias = true;
    if (acceptWord("if"))
      linear->biasCondition = parseExpr(); // `=` behind it says where the tensor is
  }
  return linear;
}

ItemPtr Parser::parseLinear() {
  auto linear = parseLinearHead();
  linear->binding = parseBinding();
  return linear;
}

ItemPtr Parser::parseEmbedding() {
  auto embedding = std::make_unique<EmbeddingDecl>(consume().range);
  embedding->names = parsePaths("the name of an embedding");
  if (expect(TokenKind::Colon, "between the names and the axes"))
    parseArrow(embedding->from, embedding->to);
  embedding->binding = parseBinding();
  return embedding;
}

void Parser::parseParamGroups(ParamDecl &param, bool inHook) {
  bool another = true;
  while (another) {
    ParamDecl::Group group;
    group.names = parsePaths(param.role == ParamDecl::Role::State ? "the name of a state"
                                                                  : "the name of a parameter");
    if (!accept(TokenKind::Colon)) {
      if (Diagnostic *diagnostic =
              error(DiagCode::MissingType, "expected `:` and the shape, but got " + found()))
        diagnostic->help("write `" + file.text(param.keyword) + " name: [D]`");
      return;
    }
    group.type = parseType();
    if (param.role == ParamDecl::Role::Param && !inHook)
      group.binding = parseBinding();
    if (!group.names.empty())
      param.groups.push_back(std::move(group));
    another = is(TokenKind::Comma) && !withItemFollows();
    if (another)
      consume();
  }
}

ItemPtr Parser::parseParam() {
  auto param = std::make_unique<ParamDecl>(consume().range, ParamDecl::Role::Param);
  parseParamGroups(*param, /*inHook=*/false);
  return param;
}

ItemPtr Parser::parseState() {
  auto state = std::make_unique<ParamDecl>(consume().range, ParamDecl::Role::State);
  parseParamGroups(*state, /*inHook=*/false);
  return state;
}

ItemPtr Parser::parseNorm() {
  auto kind = isWord("layernorm") ? NormDecl::Norm::Layer : NormDecl::Norm::RootMeanSquare;
  auto norm = std::make_unique<NormDecl>(consume().range, kind);
  norm->names = parsePaths("the name of a normalisation");
  if (!expect(TokenKind::Colon, "between the names and the axes"))
    return norm;
  norm->dims = parseDims();
  if (acceptWord("eps"))
    norm->eps = parseExpr();
  norm->binding = parseBinding();
  return norm;
}

ItemPtr Parser::parseStack() {
  auto stack = std::make_unique<StackDecl>(consume().range);
  if (std::optional<Path> path = parsePath("the name of the stack"))
    stack->name = std::move(*path);
  if (!expect(TokenKind::Colon, "and the number of layers"))
    return stack;
  stack->count = parseExpr();
  if (!expectWord("of", DiagCode::UnexpectedToken, "and the block that is stacked"))
    return stack;
  // A word of the language only before the name of a block.
  stack->shared = next().is(TokenKind::Word) && acceptWord("shared");
  if (std::optional<Name> name = parseName("the block that is stacked"))
    stack->block = *name;
  stack->dimArguments = parseDimArguments();
  if (is(TokenKind::LeftParen))
    parseArguments(stack->arguments);
  stack->binding = parseBinding();
  return stack;
}

ItemPtr Parser::parsePart() {
  auto part = std::make_unique<PartDecl>(consume().range);
  part->names = parsePaths("the name of a part");
  if (!expect(TokenKind::Colon, "and the block that it is"))
    return part;
  if (std::optional<Name> name = parseName("the block that it is"))
    part->block = *name;
  part->dimArguments = parseDimArguments();
  if (is(TokenKind::LeftParen))
    parseArguments(part->arguments);
  part->binding = parseBinding();
  return part;
}

ItemPtr Parser::parseBlock() {
  bool isCell = isWord("cell");
  auto block = std::make_unique<BlockDecl>(consume().range, isCell);
  block->signature =
      parseSignature(std::nullopt, isCell ? "the name of the cell" : "the name of the block");
  block->closingBrace = parseBody(InBlock, block->items);
  return block;
}

ItemPtr Parser::parseIgnore() {
  auto ignore = std::make_unique<IgnoreDecl>(consume().range);
  parseCommas([&] {
    if (std::optional<Name> pattern = parsePattern("a pattern of tensor names in quotes"))
      ignore->patterns.push_back(*pattern);
  });
  return ignore;
}

/// A number, or one per channel in brackets.
std::vector<ExprPtr> Parser::parseChannelValues() {
  std::vector<ExprPtr> values;
  if (is(TokenKind::LeftBracket)) {
    SourceRange open = consume().range;
    parseList(TokenKind::RightBracket, open, [&] { values.push_back(parseExpr()); });
  } else {
    values.push_back(parseExpr());
  }
  return values;
}

ItemPtr Parser::parseImage() {
  auto image = std::make_unique<ImageDecl>(consume().range);
  if (!expectWord("input", DiagCode::UnexpectedToken, "after `image`"))
    return image;
  image->height = parseExpr();
  if (!expectWord("x", DiagCode::UnexpectedToken, "between height and width"))
    return image;
  image->width = parseExpr();
  if (is(TokenKind::Word) && !current().isReserved() && !isWord("mean") && !isWord("std") &&
      !startsItem())
    image->resampling = parseName("how to resample");
  if (acceptWord("mean"))
    image->mean = parseChannelValues();
  if (acceptWord("std"))
    image->std = parseChannelValues();
  return image;
}

void Parser::parseEntryBody(EntryDecl &entry) {
  if (accept(TokenKind::Equal)) {
    entry.bodyKind = EntryDecl::Body::Expression;
    entry.value = parseExpr();
    return;
  }
  entry.bodyKind = EntryDecl::Body::Items;
  entry.closingBrace = parseBody(InEntry, entry.items);
}

void Parser::parseSpecialisation(EntryDecl &entry) {
  entry.bodyKind = EntryDecl::Body::Specialisation;
  if (!expectWord("forward", DiagCode::UnexpectedToken, "in an entry without parameters")) {
    parseExpr();
    return;
  }
  entry.specialised = parseDimArguments();
  if (acceptWord("last"))
    entry.last = parseName("the axis of which the last is kept");
}

ItemPtr Parser::parseEntry() {
  auto entry = std::make_unique<EntryDecl>(consume().range, /*isForward=*/false);
  std::optional<Name> name = parseName("the name of the entry");
  if (!name)
    name = Name{"", here()};
  entry->signature.name = *name;
  entry->signature.range = name->range;
  if (accept(TokenKind::Equal)) {
    parseSpecialisation(*entry);
    return entry;
  }
  entry->signature = parseSignature(name, "the name of the entry");
  parseEntryBody(*entry);
  return entry;
}

ItemPtr Parser::parseForward() {
  SourceRange keyword = consume().range;
  auto entry = std::make_unique<EntryDecl>(keyword, /*isForward=*/true);
  entry->signature = parseSignature(Name{"forward", keyword}, "`forward`");
  parseEntryBody(*entry);
  return entry;
}

ItemPtr Parser::parseCache() {
  auto cache = std::make_unique<CacheDecl>(consume().range);
  if (std::optional<Name> name = parseName("the name of the cache"))
    cache->name = *name;
  if (accept(TokenKind::Colon))
    cache->dtype = parseName("the dtype of the cache");
  if (expectWord("capacity", DiagCode::MissingBound, "and the number of positions the cache holds"))
    cache->capacity = parseExpr();
  return cache;
}

ItemPtr Parser::parseTable() {
  auto table = std::make_unique<TableDecl>(consume().range);
  if (std::optional<Name> name = parseName("the name of the table"))
    table->name = *name;
  if (!is(TokenKind::LeftBracket)) {
    if (Diagnostic *diagnostic =
            error(DiagCode::UnexpectedToken, "expected the axes of the table, but got " + found()))
      diagnostic->help("write `table pos[t: T, c: D] = …`");
    return table;
  }
  table->axes = parseDimArguments();
  if (!accept(TokenKind::Equal)) {
    error(DiagCode::MissingValue, "expected `=` and the formula of the table, but got " + found());
    return table;
  }
  table->value = parseExpr();
  return table;
}

Pattern Parser::parseLetPattern() {
  Pattern pattern;
  SourceRange begin = current().range;
  if (is(TokenKind::LeftParen)) {
    SourceRange open = consume().range;
    parseList(TokenKind::RightParen, open, [&] {
      if (std::optional<Name> name = parseName("a name"))
        pattern.elements.push_back({*name, {}, name->range});
    });
  } else if (std::optional<Name> name = parseName("a name")) {
    pattern.name = *name;
  }
  pattern.range = begin.to(lastRange());
  return pattern;
}

ItemPtr Parser::parseLet() {
  auto let = std::make_unique<LetStmt>(consume().range);
  parseCommas([&] { let->patterns.push_back(parseLetPattern()); });
  if (!accept(TokenKind::Equal)) {
    error(DiagCode::MissingValue, "expected `=` and a value, but got " + found());
    return let;
  }
  let->value = parseExpr();
  if (acceptWord("along"))
    let->along = parseAlongAxis();
  return let;
}

ItemPtr Parser::parseReturn() {
  auto statement = std::make_unique<ReturnStmt>(consume().range);
  parseCommas([&] { statement->values.push_back(parseExpr()); });
  return statement;
}

} // namespace attn::frontend

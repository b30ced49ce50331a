// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens before a cursor to what may stand there. The text may be half typed, so brackets and
// the first words of items are all that is looked at.
#include "Place.h"

#include "compiler/frontend/syntax/Lexer.h"
#include "compiler/frontend/syntax/ParseItems.h"
#include "llvm/ADT/StringSwitch.h"

namespace attn::lsp {

using namespace attn::frontend;

namespace {

/// A bracket that is open.
struct Open {
  TokenKind kind;
  unsigned scopes;         ///< Of a brace: the items in it; 0 in an attention.
  llvm::StringRef keyword; ///< The word that began the item when it was opened.
  bool isBlock = false;
};

class Walk {
public:
  Walk(const SourceFile &source, uint32_t offset) : source(source), offset(offset) {}

  Place find() {
    DiagnosticEngine ignored(source);
    TokenStream stream = lex(source, ignored);
    place.written = {offset, offset};
    for (const ast::Comment &comment : stream.comments)
      if (comment.range.begin < offset && offset <= comment.range.end)
        return place;
    for (size_t i = 0; i < stream.tokens.size(); ++i) {
      const Token &token = stream.tokens[i];
      if (token.is(TokenKind::End) || token.range.begin >= offset)
        break;
      if (offset < token.range.end || (offset == token.range.end && isWordLike(token))) {
        if (token.is(TokenKind::String))
          return inString(token);
        size_t first = i;
        while (stream.tokens[first].afterDot && first >= 2)
          first -= 2;
        place.written = {stream.tokens[first].range.begin, offset};
        forgetPath(first, i);
        break;
      }
      step(token);
    }
    return decide();
  }

private:
  static bool isWordLike(const Token &token) {
    return token.is(TokenKind::Word) || token.is(TokenKind::Integer) || token.is(TokenKind::Float);
  }

  /// The components before the cursor's are not words before it.
  void forgetPath(size_t first, size_t last) {
    if (first == last)
      return;
    while (!before.empty() && before.back().range.begin >= place.written.begin)
      before.pop_back();
  }

  bool startsLine(uint32_t at) const {
    return before.empty() || source.line(before.back().range.end) != source.line(at);
  }

  /// Whether what stands before asks for something behind it.
  bool isOpenEnded() const {
    if (before.empty())
      return false;
    switch (before.back().kind) {
    case TokenKind::Word:
      return llvm::StringSwitch<bool>(before.back().text)
          .Cases({"over", "along", "as", "if", "then", "else", "and", "or", "not", "attend", "scan",
                  "by", "of", "from", "to", "at"},
                 true)
          .Default(false);
    case TokenKind::Integer:
    case TokenKind::Float:
    case TokenKind::String:
    case TokenKind::RightBrace:
    case TokenKind::LeftBrace:
    case TokenKind::RightParen:
    case TokenKind::RightBracket:
      return false;
    default:
      return true;
    }
  }

  bool isInBrackets() const { return !open.empty() && open.back().kind != TokenKind::LeftBrace; }

  unsigned scopes() const {
    for (const Open &bracket : llvm::reverse(open))
      if (bracket.kind == TokenKind::LeftBrace)
        return bracket.scopes;
    return InFile;
  }

  /// Whether a word at an offset begins an item or a line.
  bool beginsItem(uint32_t at) const {
    if (isInBrackets() || isOpenEnded())
      return false;
    return before.empty() || startsLine(at) || before.back().is(TokenKind::LeftBrace) ||
           before.back().is(TokenKind::RightBrace);
  }

  void step(const Token &token) {
    bool isItemWord = token.is(TokenKind::Word) && !token.inPath() && !isInBrackets() &&
                      (beginsItem(token.range.begin) || isKeywordHere(token));
    if (isItemWord) {
      keyword = token.text;
      place.item = token.range.begin;
      behindArrow = behindColon = behindEqual = false;
    }
    if (token.isWord("attend"))
      attends = true;
    behindColon |= token.is(TokenKind::Colon) && !isInBrackets();
    behindArrow |= token.is(TokenKind::Arrow) && !isInBrackets();
    behindEqual |= token.is(TokenKind::Equal) && !isInBrackets();
    switch (token.kind) {
    case TokenKind::LeftBrace:
      open.push_back(openBrace());
      attends = false;
      break;
    case TokenKind::LeftParen:
    case TokenKind::LeftBracket:
      open.push_back({token.kind, 0, keyword});
      break;
    case TokenKind::RightBrace:
      while (isInBrackets())
        open.pop_back();
      [[fallthrough]];
    case TokenKind::RightParen:
    case TokenKind::RightBracket:
      if (!open.empty()) {
        if (token.is(TokenKind::RightBrace))
          keyword = open.back().keyword;
        open.pop_back();
      }
      break;
    default:
      break;
    }
    before.push_back(token);
  }

  /// Several items or lines may stand on one line.
  bool isKeywordHere(const Token &token) const {
    unsigned here = scopes();
    if (here == 0)
      return isLineWord(token.text);
    return token.isReserved() && llvm::is_contained(itemWords(here), token.text) && !isOpenEnded();
  }

  static bool isLineWord(llvm::StringRef word) {
    return llvm::is_contained(ast::attendWords(), word);
  }

  Open openBrace() const {
    if (attends)
      return {TokenKind::LeftBrace, 0, keyword};
    unsigned inside = llvm::StringSwitch<unsigned>(keyword)
                          .Case("model", InModel)
                          .Cases({"block", "cell"}, InBlock)
                          .Cases({"entry", "forward"}, InEntry)
                          .Default(0);
    return {TokenKind::LeftBrace, inside, keyword, inside == InBlock};
  }

  void surround() {
    place.keyword = keyword;
    place.scopes = scopes();
    place.isInBlock = llvm::any_of(open, [](const Open &bracket) { return bracket.isBlock; });
  }

  Place inString(const Token &token) {
    surround();
    bool isBinding =
        behindEqual &&
        (keyword == "linear" || keyword == "embedding" || keyword == "param" ||
         keyword == "layernorm" || keyword == "rmsnorm" || keyword == "stack" || keyword == "part");
    if (isBinding || keyword == "ignore" || keyword == "precision") {
      place.expected = Expected::Tensor;
      place.written = {token.range.begin + 1, offset};
    }
    return place;
  }

  /// What stands in brackets of a type or of arguments.
  Expected inBrackets() const {
    const Token &last = before.back();
    bool isMember = last.is(TokenKind::LeftBracket) || last.is(TokenKind::Comma);
    if (open.back().kind == TokenKind::LeftBracket)
      return isMember && (keyword == "block" || keyword == "cell") && !behindColon &&
                     !behindArrow && open.size() == 2
                 ? Expected::Nothing
                 : Expected::Axis;
    bool isSignature =
        (keyword == "block" || keyword == "cell" || keyword == "entry" || keyword == "forward") &&
        !behindEqual;
    if (isSignature)
      return last.is(TokenKind::Colon) ? Expected::Dtype : Expected::Nothing;
    return operand();
  }

  Expected operand() const {
    const Token &last = before.back();
    bool isWord = last.is(TokenKind::Word) && !isOpenEnded();
    bool isBehind = isWord || last.is(TokenKind::Integer) || last.is(TokenKind::Float) ||
                    last.is(TokenKind::RightParen) || last.is(TokenKind::RightBracket);
    if (last.isWord("along") || last.isWord("as") || last.isWord("group") || last.isWord("by"))
      return Expected::Axis;
    bool isKeyword = isWord && last.text == keyword;
    return isBehind && !isKeyword ? Expected::Operator : Expected::Value;
  }

  Expected inItem() const {
    const Token &last = before.back();
    if (keyword == "use")
      return Expected::Library;
    if (keyword == "part")
      return last.is(TokenKind::Colon) ? Expected::Block : Expected::Nothing;
    if (keyword == "stack")
      return last.isWord("of") || last.isWord("shared") ? Expected::Block
             : last.is(TokenKind::Colon)                ? Expected::Axis
                                                        : Expected::Nothing;
    if (scopes() == 0 && (keyword == "score" || keyword == "bias" || keyword == "mask"))
      return operand() == Expected::Value ? Expected::Hook : Expected::Operator;
    if (scopes() == 0 && keyword == "weight")
      return Expected::Weight;
    bool hasAxes = keyword == "linear" || keyword == "embedding" || keyword == "layernorm" ||
                   keyword == "rmsnorm" || keyword == "l2norm";
    if (hasAxes)
      return behindColon && !behindEqual ? Expected::Axis : Expected::Nothing;
    if (keyword == "param" || keyword == "state" || (behindArrow && !behindEqual))
      return last.is(TokenKind::Colon) || last.is(TokenKind::Arrow) ? Expected::Dtype
                                                                    : Expected::Nothing;
    if (keyword == "dim" || keyword == "dyn" || keyword == "cache")
      return behindEqual || last.is(TokenKind::LessEqual) || last.isWord("capacity")
                 ? Expected::Axis
                 : Expected::Nothing;
    if (keyword == "let" ? behindEqual : keyword == "return")
      return operand();
    return behindEqual ? operand() : Expected::Nothing;
  }

  Place decide() {
    surround();
    if (before.empty() || beginsItem(place.written.begin))
      place.expected = Expected::Item;
    else
      place.expected = isInBrackets() ? inBrackets() : inItem();
    return place;
  }

  const SourceFile &source;
  uint32_t offset;
  Place place;
  std::vector<Token> before; ///< Tokens, without the word at the cursor.
  std::vector<Open> open;
  llvm::StringRef keyword;
  bool behindColon = false, behindArrow = false, behindEqual = false, attends = false;
};

} // namespace

Place placeAt(const Document &document, uint32_t offset) {
  return Walk(document.original(), offset).find();
}

} // namespace attn::lsp

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens of a text to names. A name means the innermost declaration that can be seen; the dim
// before the colon of `Block[E: D]` and the argument before the `=` of `f(x, shift = 1)` are those
// of what is applied.
#include "Uses.h"

#include "compiler/frontend/syntax/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace attn::lsp {

using namespace attn::frontend;

namespace {

class Finder {
public:
  explicit Finder(const Document &document)
      : ignored(document.original()), stream(lex(document.original(), ignored)) {
    for (const Declaration &declaration : document.declarations())
      byName[declaration.name].push_back(&declaration);
  }

  std::vector<Use> find() {
    llvm::ArrayRef<Token> tokens = stream.tokens;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token &token = tokens[i];
      if (token.is(TokenKind::String))
        addPattern(i);
      if (token.is(TokenKind::Word))
        i = addPath(i);
      else
        track(token);
    }
    return std::move(found);
  }

private:
  /// A bracket that is open, and what stands before it.
  struct Bracket {
    TokenKind open;
    const Declaration *applied;
    std::string word;
  };

  void track(const Token &token) {
    bool opens = token.is(TokenKind::LeftParen) || token.is(TokenKind::LeftBracket) ||
                 token.is(TokenKind::LeftBrace);
    bool closes = token.is(TokenKind::RightParen) || token.is(TokenKind::RightBracket) ||
                  token.is(TokenKind::RightBrace);
    bool isBehind = !found.empty() && found.back().range.end == lastWord;
    if (opens && closed && token.is(TokenKind::LeftParen)) // `Block[E: D](shift = 1)`
      open.push_back({token.kind, closed->applied, closed->word});
    else if (opens)
      open.push_back({token.kind, isBehind && lastWord == lastEnd ? found.back().meaning : nullptr,
                      isBehind ? found.back().path : ""});
    closed.reset();
    if (closes && !open.empty()) {
      if (token.is(TokenKind::RightBracket))
        closed = open.back();
      open.pop_back();
    }
    lastEnd = token.range.end;
  }

  const Declaration *visible(llvm::StringRef name, SourceRange use) const {
    auto list = byName.find(name);
    const Declaration *best = nullptr;
    if (list != byName.end())
      for (const Declaration *declaration : list->second)
        if (declaration->scope.begin <= use.begin && use.end <= declaration->scope.end &&
            (!best || declaration->scope.size() < best->scope.size()))
          best = declaration;
    return best;
  }

  /// What a dim or an argument of a block, a cell, an entry or a hook means that is called so.
  const Declaration *memberOf(const Declaration *applied, llvm::StringRef name,
                              SourceRange use) const {
    if (applied && applied->block())
      applied = visible(applied->block()->text, use);
    auto list = byName.find(name);
    if (applied && list != byName.end())
      for (const Declaration *declaration : list->second)
        if (declaration->item == applied->item && declaration != applied)
          return declaration;
    return nullptr;
  }

  /// Adds the path whose first word is token `i`; its last token.
  size_t addPath(size_t i) {
    llvm::ArrayRef<Token> tokens = stream.tokens;
    size_t last = i;
    while (last + 2 < tokens.size() && tokens[last + 1].is(TokenKind::Dot) &&
           tokens[last + 2].afterDot)
      last += 2;
    closed.reset();
    lastWord = lastEnd = tokens[last].range.end;
    if (tokens[i].isReserved())
      return last;
    bool isInside = !open.empty();
    const Token &next = tokens[std::min(last + 1, tokens.size() - 1)];
    bool isMember = isInside && last == i &&
                    ((open.back().open == TokenKind::LeftBracket && next.is(TokenKind::Colon)) ||
                     (open.back().open == TokenKind::LeftParen && next.is(TokenKind::Equal)));
    if (isMember && open.back().applied) {
      const Declaration *member = memberOf(open.back().applied, tokens[i].text, tokens[i].range);
      found.push_back({tokens[i].range, tokens[i].text.str(), member});
      return last;
    }
    std::string path;
    for (size_t part = i; part <= last; ++part)
      path += tokens[part].text;
    SourceRange range = tokens[i].range.to(tokens[last].range);
    for (llvm::StringRef prefix = path; !prefix.empty();) {
      SourceRange place{range.begin, range.begin + static_cast<uint32_t>(prefix.size())};
      if (const Declaration *meaning = visible(prefix, place)) {
        found.push_back({place, prefix.str(), meaning});
        return last;
      }
      size_t dot = prefix.rfind('.');
      prefix = prefix.take_front(dot == llvm::StringRef::npos ? 0 : dot);
    }
    found.push_back({range, path, nullptr});
    return last;
  }

  /// The words of a pattern of `split`, which name dims in capital or small letters.
  void addPattern(size_t i) {
    llvm::StringRef text = stream.tokens[i].text;
    if (open.empty() || open.back().word != "split" || !text.contains("->"))
      return;
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      while (end < text.size() && (llvm::isAlnum(text[end]) || text[end] == '_'))
        ++end;
      llvm::StringRef word = text.slice(at, end);
      uint32_t begin = stream.tokens[i].range.begin + at;
      SourceRange range{begin, begin + static_cast<uint32_t>(word.size())};
      at = std::max(end, at + 1);
      if (word.empty())
        continue;
      for (const std::string &name : {word.str(), word.upper()})
        if (const Declaration *meaning = visible(name, range);
            meaning && meaning->kind == Declaration::Kind::Dim) {
          found.push_back({range, word.str(), meaning});
          break;
        }
    }
  }

  DiagnosticEngine ignored;
  TokenStream stream;
  llvm::StringMap<llvm::SmallVector<const Declaration *, 2>> byName;
  std::vector<Use> found;
  std::vector<Bracket> open;
  std::optional<Bracket> closed; ///< A `]` that stands directly before.
  uint32_t lastWord = 0, lastEnd = 0;
};

} // namespace

std::vector<Use> usesIn(const Document &document) { return Finder(document).find(); }

std::optional<Use> useAt(const Document &document, uint32_t offset) {
  for (Use &use : usesIn(document))
    if (use.range.begin <= offset && offset <= use.range.end)
      return std::move(use);
  return std::nullopt;
}

} // namespace attn::lsp

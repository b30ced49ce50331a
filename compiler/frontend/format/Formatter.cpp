// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tree and its comments to text: puts every comment at its place, keeps single empty lines,
// prints bodies item by item.
#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/format/FormatterImpl.h"

#include <algorithm>

namespace attn::frontend {

using namespace ast;

constexpr unsigned lineWidth = 120;

//===------------------------------------------------------------------------------------------===//
// Comments
//===------------------------------------------------------------------------------------------===//

llvm::StringRef Formatter::commentText(size_t index) const {
  return source.text(file.comments[index].range).rtrim();
}

std::optional<std::string> Formatter::claimTrailing(uint32_t end) {
  auto behind =
      std::lower_bound(file.comments.begin(), file.comments.end(), end,
                       [](const Comment &c, uint32_t offset) { return c.range.begin < offset; });
  if (behind == file.comments.end() || claimed[behind - file.comments.begin()])
    return std::nullopt;
  llvm::StringRef between = source.text({end, behind->range.begin});
  if (between.find_first_not_of(" \t,{") != llvm::StringRef::npos)
    return std::nullopt;
  size_t index = behind - file.comments.begin();
  claimed[index] = true;
  return commentText(index).str();
}

std::vector<size_t> Formatter::claimIn(uint32_t begin, uint32_t end) {
  std::vector<size_t> found;
  auto first =
      std::lower_bound(file.comments.begin(), file.comments.end(), begin,
                       [](const Comment &c, uint32_t offset) { return c.range.begin < offset; });
  for (size_t i = first - file.comments.begin();
       i < file.comments.size() && file.comments[i].range.begin < end; ++i)
    if (!claimed[i]) {
      claimed[i] = true;
      found.push_back(i);
    }
  return found;
}

void Formatter::printComments(const std::vector<size_t> &indices) {
  for (size_t index : indices) {
    const Comment &comment = file.comments[index];
    blankLineBefore(comment.range.begin);
    out.append(indent, ' ');
    out += commentText(index);
    out += '\n';
    lastOffset = std::max(lastOffset, comment.range.end);
  }
}

//===------------------------------------------------------------------------------------------===//
// Lines
//===------------------------------------------------------------------------------------------===//

/// Keeps one blank line where the source has some, though not at the beginning of a body.
void Formatter::blankLineBefore(uint32_t offset) {
  if (!bodyStart && offset > lastOffset && source.line(offset) > source.line(lastOffset) + 1)
    out += '\n';
  bodyStart = false;
}

const std::vector<ItemPtr> *Formatter::bodyOf(const Item &item, SourceRange &closingBrace) {
  if (auto *model = llvm::dyn_cast<ModelDecl>(&item))
    return closingBrace = model->closingBrace, &model->items;
  if (auto *block = llvm::dyn_cast<BlockDecl>(&item))
    return closingBrace = block->closingBrace, &block->items;
  if (auto *entry = llvm::dyn_cast<EntryDecl>(&item);
      entry && entry->bodyKind == EntryDecl::Body::Items)
    return closingBrace = entry->closingBrace, &entry->items;
  return nullptr;
}

/// Where the head of an item with a body ends in the source: behind its name or its signature.
static uint32_t headEnd(const Item &item) {
  if (auto *model = llvm::dyn_cast<ModelDecl>(&item))
    return model->name.range.end;
  if (auto *block = llvm::dyn_cast<BlockDecl>(&item))
    return block->signature.range.end;
  return llvm::cast<EntryDecl>(item).signature.range.end;
}

void Formatter::printItem(const Item &item) {
  SourceRange closingBrace;
  const std::vector<ItemPtr> *body = bodyOf(item, closingBrace);
  uint32_t end = body ? headEnd(item) : item.range.end;
  // Leading comments are those nothing inside the item has claimed, so the head is laid out first.
  std::vector<size_t> before = claimIn(0, item.range.begin);
  Layout layout = head(item);
  std::vector<size_t> inside = claimIn(item.range.begin, end);
  printComments(before);
  bool hoisted = !inside.empty();
  blankLineBefore(hoisted && before.empty()
                      ? std::min(item.range.begin, file.comments[inside[0]].range.begin)
                      : item.range.begin);
  lastOffset = item.range.begin;
  for (size_t index : inside) {
    out.append(indent, ' ');
    out += commentText(index).str() + "\n";
  }
  out.append(indent, ' ');
  out += render(layout, indent, lineWidth);
  if (body) {
    out += " {";
    printBody(*body, closingBrace, end);
    return;
  }
  lastOffset = item.range.end;
  if (std::optional<std::string> trailing = claimTrailing(item.range.end))
    out += "  " + *trailing;
  out += '\n';
}

void Formatter::printBody(const std::vector<ItemPtr> &items, SourceRange closingBrace,
                          uint32_t bodyBegin) {
  if (std::optional<std::string> trailing = claimTrailing(bodyBegin))
    out += "  " + *trailing;
  bool hasComments =
      std::any_of(file.comments.begin(), file.comments.end(), [&](const Comment &comment) {
        return comment.range.begin >= bodyBegin && comment.range.begin < closingBrace.begin;
      });
  if (items.empty() && !hasComments) {
    out += "}";
  } else {
    out += '\n';
    indent += 2;
    bodyStart = true;
    for (const ItemPtr &item : items)
      printItem(*item);
    printComments(claimIn(0, closingBrace.begin));
    indent -= 2;
    out.append(indent, ' ');
    out += '}';
  }
  bodyStart = false;
  lastOffset = closingBrace.end;
  if (std::optional<std::string> trailing = claimTrailing(closingBrace.end))
    out += "  " + *trailing;
  out += '\n';
}

std::string Formatter::run() {
  printComments(claimIn(0, file.versionRange.begin));
  blankLineBefore(file.versionRange.begin);
  out += "attn " + std::to_string(file.version);
  lastOffset = file.versionRange.end;
  if (std::optional<std::string> trailing = claimTrailing(file.versionRange.end))
    out += "  " + *trailing;
  out += '\n';
  for (const ItemPtr &item : file.items)
    printItem(*item);
  printComments(claimIn(0, UINT32_MAX));
  return std::move(out);
}

std::string format(const File &file, const SourceFile &source) {
  return Formatter(file, source).run();
}

} // namespace attn::frontend

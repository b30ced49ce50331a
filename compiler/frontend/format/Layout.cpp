// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts to lines: goes through the pieces once, and sets each group on one line where it fits.
#include "compiler/frontend/format/Layout.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Unicode.h"

namespace attn::frontend {
namespace {

constexpr unsigned nestWidth = 2;

/// A piece still to be set.
struct Pending {
  const Layout *layout;
  unsigned indent;
  bool flat;
};

unsigned widthOf(llvm::StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? text.size() : width;
}

/// Whether `first`, set flat, and what follows it up to the next possible break fit into `room`
/// columns.
bool fits(Pending first, llvm::ArrayRef<Pending> rest, int room) {
  std::vector<Pending> stack{first};
  size_t restLeft = rest.size();
  while (room >= 0) {
    if (stack.empty()) {
      if (restLeft == 0)
        return true;
      stack.push_back(rest[--restLeft]);
    }
    Pending piece = stack.back();
    stack.pop_back();
    switch (piece.layout->kind) {
    case Layout::Kind::Text:
      room -= widthOf(piece.layout->text);
      break;
    case Layout::Kind::Comment:
      return true;
    case Layout::Kind::Break:
      if (!piece.flat || piece.layout->forced)
        return true;
      room -= widthOf(piece.layout->text);
      break;
    case Layout::Kind::Concat:
    case Layout::Kind::Group:
    case Layout::Kind::Nest:
      for (const Layout &child : llvm::reverse(piece.layout->children))
        stack.push_back({&child, piece.indent, piece.flat && !piece.layout->forced});
      break;
    }
  }
  return false;
}

} // namespace

Layout breakOr(llvm::StringRef flat) {
  Layout layout(flat);
  layout.kind = Layout::Kind::Break;
  return layout;
}

Layout lineEnd() {
  Layout layout = breakOr("");
  layout.forced = true;
  return layout;
}

Layout comment(llvm::StringRef text) {
  Layout layout(text);
  layout.kind = Layout::Kind::Comment;
  layout.forced = true;
  return layout;
}

Layout concat(Parts parts) {
  Layout layout;
  for (Layout &part : parts.list)
    layout.add(std::move(part));
  return layout;
}

Layout group(Layout inner) {
  Layout layout;
  layout.kind = Layout::Kind::Group;
  return layout.add(std::move(inner));
}

Layout nest(Layout inner) {
  Layout layout;
  layout.kind = Layout::Kind::Nest;
  return layout.add(std::move(inner));
}

std::string render(const Layout &layout, unsigned indent, unsigned width) {
  std::string out;
  unsigned column = indent;
  std::vector<Pending> stack{{&layout, indent, false}};
  while (!stack.empty()) {
    Pending piece = stack.back();
    stack.pop_back();
    const Layout &current = *piece.layout;
    switch (current.kind) {
    case Layout::Kind::Text:
      out += current.text;
      column += widthOf(current.text);
      break;
    case Layout::Kind::Comment:
      out += "  " + current.text;
      break;
    case Layout::Kind::Break:
      if (piece.flat && !current.forced) {
        out += current.text;
        column += widthOf(current.text);
        break;
      }
      out.erase(llvm::StringRef(out).rtrim(' ').size());
      out += '\n';
      out.append(piece.indent, ' ');
      column = piece.indent;
      break;
    case Layout::Kind::Concat:
      for (const Layout &child : llvm::reverse(current.children))
        stack.push_back({&child, piece.indent, piece.flat});
      break;
    case Layout::Kind::Nest:
      stack.push_back({&current.children.front(), piece.indent + nestWidth, piece.flat});
      break;
    case Layout::Kind::Group: {
      Pending flat{&current.children.front(), piece.indent, true};
      if (!piece.flat)
        flat.flat = !current.forced &&
                    fits(flat, stack, static_cast<int>(width) - static_cast<int>(column));
      stack.push_back(flat);
      break;
    }
    }
  }
  return out;
}

} // namespace attn::frontend

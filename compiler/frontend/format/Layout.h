// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text that knows where it may be broken into lines. A group is set on one line if what follows up
// to the next possible break still fits, else all breaks directly in it become line ends (P.
// Wadler, "A prettier printer", 2003; the rest of the line is taken into account).
#pragma once

#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>
#include <vector>

namespace attn::frontend {

/// A text as a tree of pieces, of which breaks may become ends of lines.
struct Layout {
  /// What a piece is.
  enum class Kind { Text, Comment, Break, Concat, Group, Nest };
  Kind kind = Kind::Concat;
  std::string text;             ///< Text, Comment; of a Break what it is on one line.
  bool forced = false;          ///< Holds something that must end a line.
  std::vector<Layout> children; ///< Concat; Group and Nest have one.

  Layout() = default;
  Layout(llvm::StringRef text) : kind(Kind::Text), text(text) {}
  Layout(const char *text) : Layout(llvm::StringRef(text)) {}
  Layout(const std::string &text) : Layout(llvm::StringRef(text)) {}

  /// Appends a piece.
  Layout &add(Layout child) {
    forced |= child.forced;
    children.push_back(std::move(child));
    return *this;
  }
};

/// `{a, b, c}`, from the first to the last. They are moved into a tree, which is as deep as
/// expressions are; a list of initialisers would copy them.
struct Parts {
  std::vector<Layout> list;

  template <typename... Ts> Parts(Ts &&...parts) {
    list.reserve(sizeof...(parts));
    (list.emplace_back(std::forward<Ts>(parts)), ...);
  }
};

/// A place where the line may end; else `flat` stands there.
Layout breakOr(llvm::StringRef flat = " ");
/// A place where the line ends.
Layout lineEnd();
/// ` // …` at the end of a line, not counted in its width; what follows must begin a line.
Layout comment(llvm::StringRef text);
Layout concat(Parts parts);
Layout group(Layout inner);
/// Lines that begin inside stand further in.
Layout nest(Layout inner);

/// The text, with lines of at most `width` where the breaks allow; the first begins at column
/// `indent`.
std::string render(const Layout &layout, unsigned indent, unsigned width);

} // namespace attn::frontend

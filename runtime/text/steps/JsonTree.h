// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON as a tree that is walked in any order, for files in which the kind of a thing may stand
// behind the thing.
#pragma once

#include "base/Slice.h"
#include "base/Text.h"

namespace attn {

class JsonTree;

/// A value of a tree, or none.
class JsonValue {
public:
  JsonValue() = default;
  JsonValue(const JsonTree *tree, uint32_t node) : tree(tree), node(node) {}

  /// What the value is: '{', '[', '"', '0' (a number), 't', 'f', 'n', or 0 for none.
  char kind() const;
  bool exists() const { return tree != nullptr; }
  /// Whether there is a value other than `null`.
  bool isSet() const { return exists() && kind() != 'n'; }
  bool isObject() const { return kind() == '{'; }
  bool isArray() const { return kind() == '['; }
  bool isString() const { return kind() == '"'; }
  /// Of an object: the member of that name, or none. The last one where there are several.
  JsonValue find(const char *key) const;
  /// Of an object or array: its first value, and of a value the one behind it in there, or none.
  JsonValue first() const;
  JsonValue next() const;
  /// How many values an object or array has.
  size_t count() const;
  /// The name of a member.
  Slice key() const;
  /// The characters of a string, unescaped, or of a number.
  Slice text() const;
  /// The number, where it is one.
  bool number(double &value) const;
  /// The number, where it is a whole one of at least `least` and at most `most`.
  bool integer(int64_t least, int64_t most, int64_t &value) const;
  /// How many values stand before this one in the same object or array.
  size_t index() const;
  /// Appends the way to this value: `pre_tokenizer.pretokenizers[1].pattern`.
  void appendPath(Text &path) const;
  /// Appends the same as a JSON pointer (RFC 6901): `/properties/a~1b/0`.
  void appendPointer(Text &path) const;
  /// The number of this value among those of the tree.
  uint32_t number() const { return node; }

private:
  friend class JsonTree;
  const JsonTree *tree = nullptr;
  uint32_t node = 0;
};

/// The tree of a text, which has to live as long: numbers stay in it.
class JsonTree {
public:
  /// Reads all of `text`. On failure `problem` says what, and `position` where.
  bool read(Slice text);
  JsonValue root() const { return JsonValue(this, 0); }
  /// How many values it has.
  size_t size() const { return nodes.size(); }

  const char *problem = nullptr;
  size_t position = 0;

private:
  friend class JsonValue;
  /// A value with its key, where it is a member; values of objects and arrays follow behind them.
  struct Node {
    char kind;
    uint32_t key, keySize; ///< in `strings`
    uint32_t begin, size;  ///< of a string in `strings`, of a number in `source`
    uint32_t end;          ///< the node behind this one's last
    uint32_t parent;       ///< itself where there is none
  };
  Slice source;
  Vector<Node> nodes;
  Vector<char> strings;
};

} // namespace attn

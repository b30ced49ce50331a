// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From text to nodes in the order of the text, by the runtime's reader of JSON.
#include "text/steps/JsonTree.h"
#include "base/Json.h"
#include <clocale>
#include <cmath>
#include <cstdlib>

using namespace attn;

namespace {

/// What `read` adds nodes with: objects and arrays call for their values.
template <typename Node> class TreeReader {
public:
  TreeReader(JsonReader &reader, Vector<Node> &nodes, Vector<char> &strings)
      : reader(reader), nodes(nodes), strings(strings) {}

  bool readValue(uint32_t parent, uint32_t key, uint32_t keySize) {
    uint32_t self = uint32_t(nodes.size());
    Node node = {};
    node.key = key;
    node.keySize = keySize;
    node.parent = parent;
    node.kind = reader.peek();
    if (!nodes.push(node))
      return reader.fail("no memory for its values");
    if (!readContent(self))
      return false;
    nodes[self].end = uint32_t(nodes.size());
    return true;
  }

private:
  bool readContent(uint32_t self) {
    switch (nodes[self].kind) {
    case '{':
      return readMembers(self);
    case '[':
      if (!reader.enterArray())
        return false;
      while (reader.nextElement())
        if (!readValue(self, 0, 0))
          return false;
      return reader.isGood();
    case '"':
      nodes[self].begin = uint32_t(strings.size());
      if (!reader.appendString(strings))
        return false;
      nodes[self].size = uint32_t(strings.size()) - nodes[self].begin;
      return true;
    case 't':
      return reader.skipWord("true");
    case 'f':
      return reader.skipWord("false");
    case 'n':
      return reader.skipWord("null");
    default:
      nodes[self].kind = '0';
      nodes[self].begin = uint32_t(reader.position);
      if (!reader.skipNumber())
        return false;
      nodes[self].size = uint32_t(reader.position) - nodes[self].begin;
      return true;
    }
  }

  bool readMembers(uint32_t self) {
    if (!reader.enterObject())
      return false;
    for (;;) {
      uint32_t key = uint32_t(strings.size());
      if (!reader.appendNextKey(strings))
        return reader.isGood();
      if (!readValue(self, key, uint32_t(strings.size()) - key))
        return false;
    }
  }

  JsonReader &reader;
  Vector<Node> &nodes;
  Vector<char> &strings;
};

} // namespace

bool JsonTree::read(Slice text) {
  source = text;
  JsonReader reader(text.data, text.size);
  TreeReader<Node> tree(reader, nodes, strings);
  bool isGood = text.size < UINT32_MAX && strings.reserve(text.size) && tree.readValue(0, 0, 0);
  if (isGood && !reader.atEnd())
    isGood = reader.fail("expected the end");
  if (isGood)
    return true;
  problem = reader.problem ? reader.problem : "no memory for its text";
  position = reader.position;
  return false;
}

char JsonValue::kind() const { return tree ? tree->nodes[node].kind : char(0); }

JsonValue JsonValue::first() const {
  if (!tree || tree->nodes[node].end == node + 1)
    return {};
  return {tree, node + 1};
}

JsonValue JsonValue::next() const {
  uint32_t end = tree->nodes[node].end, parent = tree->nodes[node].parent;
  return end < tree->nodes[parent].end ? JsonValue(tree, end) : JsonValue();
}

JsonValue JsonValue::find(const char *name) const {
  JsonValue found;
  if (isObject())
    for (JsonValue member = first(); member.exists(); member = member.next())
      if (member.key().is(name))
        found = member;
  return found;
}

size_t JsonValue::count() const {
  size_t count = 0;
  for (JsonValue value = first(); value.exists(); value = value.next())
    ++count;
  return count;
}

Slice JsonValue::key() const {
  const JsonTree::Node &self = tree->nodes[node];
  return {tree->strings.data() + self.key, self.keySize};
}

Slice JsonValue::text() const {
  const JsonTree::Node &self = tree->nodes[node];
  return {(self.kind == '"' ? tree->strings.data() : tree->source.data) + self.begin, self.size};
}

bool JsonValue::number(double &value) const {
  if (kind() != '0')
    return false;
  char digits[128];
  Slice written = text();
  if (written.size >= sizeof digits)
    return false;
  memcpy(digits, written.data, written.size);
  digits[written.size] = 0;
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", nullptr);
  if (!plain)
    return false;
  value = strtod_l(digits, nullptr, plain);
  freelocale(plain);
  return std::isfinite(value);
}

bool JsonValue::integer(int64_t least, int64_t most, int64_t &value) const {
  if (kind() != '0')
    return false;
  Slice written = text();
  bool isNegative = written.data[0] == '-';
  int64_t sum = 0;
  for (size_t i = isNegative; i < written.size; ++i) {
    int64_t digit = written.data[i] - '0';
    if (digit < 0 || digit > 9 || __builtin_mul_overflow(sum, int64_t(10), &sum) ||
        __builtin_add_overflow(sum, digit, &sum))
      return false;
  }
  sum = isNegative ? -sum : sum;
  if (sum < least || sum > most)
    return false;
  value = sum;
  return true;
}

void JsonValue::appendPath(Text &path) const {
  const JsonTree::Node &self = tree->nodes[node];
  if (self.parent == node)
    return;
  JsonValue parent(tree, self.parent);
  parent.appendPath(path);
  if (parent.isObject()) {
    if (path.size())
      path.append(".");
    path.appendQuoted(key().data, key().size);
    return;
  }
  path.append("[%zu]", index());
}

size_t JsonValue::index() const {
  size_t index = 0;
  for (JsonValue value = JsonValue(tree, tree->nodes[node].parent).first(); value.node != node;
       value = value.next())
    ++index;
  return index;
}

void JsonValue::appendPointer(Text &path) const {
  const JsonTree::Node &self = tree->nodes[node];
  if (self.parent == node)
    return;
  JsonValue parent(tree, self.parent);
  parent.appendPointer(path);
  if (!parent.isObject())
    return path.append("/%zu", index());
  path.append("/");
  Slice name = key();
  for (size_t i = 0; i < name.size; ++i)
    if (name.data[i] == '~' || name.data[i] == '/')
      path.append(name.data[i] == '~' ? "~0" : "~1");
    else {
      size_t begin = i;
      while (i + 1 < name.size && name.data[i + 1] != '~' && name.data[i + 1] != '/')
        ++i;
      path.appendQuoted(name.data + begin, i + 1 - begin);
    }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values: how they are made, compared, searched and cut.
#include "text/jinja/Value.h"
#include "text/steps/Unicode.h"

using namespace attn;
using namespace attn::jinja;

Value Value::none() {
  Value value;
  value.kind = Kind::None;
  return value;
}

Value Value::of(bool truth) {
  Value value;
  value.kind = Kind::Bool, value.truth = truth;
  return value;
}

Value Value::of(int64_t whole) {
  Value value;
  value.kind = Kind::Int, value.whole = whole;
  return value;
}

Value Value::of(double real) {
  Value value;
  value.kind = Kind::Float, value.real = real;
  return value;
}

Value Value::of(Slice text) {
  Value value;
  value.kind = Kind::String, value.chars = text.data, value.size = text.size;
  return value;
}

Value Value::undefined(Slice name) {
  Value value;
  value.chars = name.data, value.size = name.size;
  return value;
}

Value Value::list(const Value *items, size_t count, bool isTuple) {
  Value value;
  value.kind = Kind::List, value.isTuple = isTuple, value.items = items, value.size = count;
  return value;
}

Value Value::dict(const Pair *pairs, size_t count) {
  Value value;
  value.kind = Kind::Dict, value.pairs = pairs, value.size = count;
  return value;
}

double Value::number() const { return kind == Kind::Float ? real : double(integer()); }

const Value *Value::find(Slice key) const {
  for (size_t i = 0; i < size; ++i)
    if (pairs[i].key.is(Kind::String) && pairs[i].key.text() == key)
      return &pairs[i].value;
  return nullptr;
}

Binding *Scope::own(Slice name) const {
  Binding *binding = first;
  while (binding && binding->name != name)
    binding = binding->next;
  return binding;
}

Binding *Scope::find(Slice name) const {
  for (const Scope *scope = this; scope; scope = scope->parent)
    if (Binding *binding = scope->own(name))
      return binding;
  return nullptr;
}

const char *jinja::nameOf(const Value &value) {
  static const char *const names[] = {
      "an undefined value", "none",       "a truth value", "a whole number", "a number",
      "a string",           "a list",     "a mapping",     "a namespace",    "a macro",
      "a method",           "a function", "`loop`"};
  return names[size_t(value.kind)];
}

bool jinja::isTrue(const Value &value) {
  switch (value.kind) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
    return value.truth;
  case Kind::Int:
    return value.whole != 0;
  case Kind::Float:
    return value.real != 0;
  case Kind::String:
  case Kind::List:
  case Kind::Dict:
    return value.size != 0;
  default:
    return true;
  }
}

static bool areEqualDicts(const Value &a, const Value &b, Memory &memory, int depth) {
  for (size_t i = 0; i < a.size; ++i) {
    bool isFound = false;
    for (size_t j = 0; j < b.size && !isFound; ++j)
      isFound = areEqual(a.pairs[i].key, b.pairs[j].key, memory, depth) &&
                areEqual(a.pairs[i].value, b.pairs[j].value, memory, depth);
    if (!isFound)
      return false;
  }
  return a.size == b.size;
}

bool jinja::areEqual(const Value &a, const Value &b, Memory &memory, int depth) {
  if (a.isWhole() && b.isWhole())
    return a.integer() == b.integer();
  if (a.isNumber() && b.isNumber())
    return a.number() == b.number();
  if (a.kind != b.kind || depth > deepestValue || !memory.step(a.is(Kind::String) ? a.size : 0))
    return false;
  switch (a.kind) {
  case Kind::Undefined:
  case Kind::None:
    return true;
  case Kind::String:
    return a.text() == b.text();
  case Kind::List:
    for (size_t i = 0; i < a.size && a.size == b.size; ++i)
      if (!areEqual(a.items[i], b.items[i], memory, depth + 1))
        return false;
    return a.size == b.size && a.isTuple == b.isTuple;
  case Kind::Dict:
    return areEqualDicts(a, b, memory, depth + 1);
  default:
    return a.items == b.items && a.size == b.size;
  }
}

bool jinja::compare(const Value &a, const Value &b, Memory &memory, int &order, int depth) {
  auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (a.isWhole() && b.isWhole()) {
    order = sign(a.integer(), b.integer());
    return true;
  }
  if (a.isNumber() && b.isNumber()) {
    order = sign(a.number(), b.number());
    return true;
  }
  if (a.is(Kind::String) && b.is(Kind::String)) {
    size_t least = a.size < b.size ? a.size : b.size;
    int bytes = least ? memcmp(a.chars, b.chars, least) : 0; // the order of characters, in UTF-8
    order = bytes ? bytes : sign(a.size, b.size);
    return true;
  }
  if (!a.is(Kind::List) || !b.is(Kind::List) || depth > deepestValue || !memory.step())
    return false;
  for (size_t i = 0; i < a.size && i < b.size; ++i)
    if (!areEqual(a.items[i], b.items[i], memory, depth + 1))
      return compare(a.items[i], b.items[i], memory, order, depth + 1);
  order = sign(a.size, b.size);
  return true;
}

size_t jinja::characters(Slice text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size; ++i)
    count += (static_cast<unsigned char>(text.data[i]) & 0xc0) != 0x80;
  return count;
}

size_t jinja::offsetOf(Slice text, size_t character) {
  size_t at = 0;
  for (; at < text.size && character > 0; --character) {
    size_t length;
    decodeUtf8(text.data + at, length);
    at += length;
  }
  return at;
}

bool jinja::isPythonSpace(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

Slice jinja::strip(Slice text, const Slice *chars, bool atBegin, bool atEnd) {
  auto isOut = [&](uint32_t c, Slice bytes) {
    if (!chars)
      return isPythonSpace(c);
    for (size_t i = 0, length; i < chars->size; i += length) {
      decodeUtf8(chars->data + i, length);
      if (chars->between(i, i + length) == bytes)
        return true;
    }
    return false;
  };
  size_t length;
  while (atBegin && text.size > 0) {
    uint32_t c = decodeUtf8(text.data, length);
    if (!isOut(c, text.between(0, length)))
      break;
    text = text.from(length);
  }
  while (atEnd && text.size > 0) {
    uint32_t c = decodeBefore(text.data, text.size, length);
    if (!isOut(c, text.from(text.size - length)))
      break;
    text.size -= length;
  }
  return text;
}

/// A number of JSON: whole where it is written so.
static bool fromNumber(const JsonValue &json, Value &value) {
  Slice text = json.text();
  bool isWhole = true;
  for (size_t i = 0; i < text.size; ++i)
    isWhole &= text.data[i] == '-' || (text.data[i] >= '0' && text.data[i] <= '9');
  value.kind = isWhole ? Kind::Int : Kind::Float;
  return isWhole ? json.integer(INT64_MIN, INT64_MAX, value.whole) : json.number(value.real);
}

static bool fromMembers(const JsonValue &json, Memory &memory, Value &value) {
  size_t count = json.count();
  auto *pairs = memory.make<Pair>(count);
  size_t at = 0;
  for (JsonValue member = json.first(); pairs && member.exists(); member = member.next()) {
    Slice key = memory.copy(member.key());
    if (!key.data)
      return false;
    // Of members of one name the last one counts, at the first one's place.
    size_t place = 0;
    while (place < at && pairs[place].key.text() != key)
      ++place;
    pairs[place].key = Value::of(key);
    if (!memory.step(16 * place) || !fromJson(member, memory, pairs[place].value))
      return false;
    at += place == at;
  }
  value = Value::dict(pairs, at);
  return pairs != nullptr;
}

bool jinja::fromJson(const JsonValue &json, Memory &memory, Value &value) {
  switch (json.kind()) {
  case '{':
    return fromMembers(json, memory, value);
  case '[': {
    auto *items = memory.make<Value>(json.count());
    size_t at = 0;
    for (JsonValue item = json.first(); items && item.exists(); item = item.next())
      if (!fromJson(item, memory, items[at++]))
        return false;
    value = Value::list(items, at);
    return items != nullptr;
  }
  case '"': {
    Slice text = memory.copy(json.text());
    value = Value::of(text);
    return text.data != nullptr;
  }
  case 't':
  case 'f':
    value = Value::of(json.kind() == 't');
    return true;
  case '0':
    return fromNumber(json, value);
  default:
    value = Value::none();
    return true;
  }
}

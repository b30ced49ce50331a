// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Templates. Bert's and Roberta's processors are templates, too.
#include "text/steps/PostProcessor.h"
#include <algorithm>

using namespace attn;

/// Items of all templates: a token may stand for many, and a template name it often.
static constexpr size_t mostItems = size_t(1) << 16;

/// An item {"SpecialToken": {"id": "[CLS]", "type_id": 0}} or {"Sequence": {"id": "A", ...}}.
static bool readItem(ComponentReader &reader, JsonValue value, JsonValue specials,
                     Vector<TemplateItem> &items) {
  JsonValue sequence = value.find("Sequence"), special = value.find("SpecialToken");
  JsonValue body = sequence.exists() ? sequence : special;
  TemplateItem item;
  int64_t type = 0;
  JsonValue id = body.find("id");
  if (!id.isString())
    return reader.fail(value, "expected `Sequence` or `SpecialToken` with an `id`");
  if (!reader.readInteger(body, "type_id", 0, INT32_MAX, type, false))
    return false;
  item.type = int32_t(type);
  if (sequence.exists()) {
    item.sequence = id.text().is("B");
    if (!id.text().is("A") && !id.text().is("B"))
      return reader.fail(id, "expected A or B");
    if (items.size() == mostItems)
      return reader.fail(id, "a template of more than %zu tokens", mostItems);
    return items.push(item) || reader.failMemory();
  }
  JsonValue known;
  for (JsonValue one = specials.first(); one.exists(); one = one.next())
    if (one.key() == id.text())
      known = one;
  JsonValue ids = known.find("ids");
  if (!ids.isArray())
    return reader.fail(id, "expected a token of `special_tokens`");
  for (JsonValue one = ids.first(); one.exists(); one = one.next()) {
    int64_t number;
    if (!one.integer(0, maxTokens - 1, number))
      return reader.fail(one, "expected the id of a token");
    if (items.size() == mostItems)
      return reader.fail(id, "a template of more than %zu tokens", mostItems);
    item.id = int32_t(number);
    if (!items.push(item))
      return reader.failMemory();
  }
  return true;
}

static bool readTemplate(ComponentReader &reader, JsonValue value, PostProcessor &step,
                         Vector<TemplateItem> &items) {
  JsonValue specials = value.find("special_tokens");
  JsonValue single = value.find("single"), pair = value.find("pair");
  if (specials.isSet() && !specials.isObject())
    return reader.fail(specials, "expected an object");
  if (!single.isArray() || (pair.isSet() && !pair.isArray()))
    return reader.fail(value, "expected arrays `single` and `pair`");
  step.single = uint32_t(items.size());
  for (JsonValue one = single.first(); one.exists(); one = one.next())
    if (!readItem(reader, one, specials, items))
      return false;
  step.singleEnd = step.pair = uint32_t(items.size());
  for (JsonValue one = pair.first(); one.exists(); one = one.next())
    if (!readItem(reader, one, specials, items))
      return false;
  step.pairEnd = uint32_t(items.size());
  return true;
}

/// A pair ["[SEP]", 102].
static bool readTokenPair(ComponentReader &reader, JsonValue value, const char *key, int32_t &id) {
  JsonValue member = value.find(key);
  JsonValue first = member.isArray() ? member.first() : JsonValue();
  JsonValue second = first.exists() ? first.next() : JsonValue();
  int64_t number;
  if (!second.integer(0, maxTokens - 1, number))
    return reader.fail(value, "expected a token and its id `%s`, [\"[SEP]\", 102]", key);
  id = int32_t(number);
  return true;
}

bool PostProcessors::addFrame(ComponentReader &reader, int32_t before, int32_t behind,
                              int32_t between, int32_t pairType) {
  PostProcessor step;
  bool isGood = true;
  auto special = [&](int32_t id, int32_t type) {
    isGood = isGood && (id < 0 || items.push({-1, id, type}));
  };
  auto sequence = [&](int32_t which, int32_t type) {
    isGood = isGood && items.push({which, -1, type});
  };
  step.single = uint32_t(items.size());
  special(before, 0);
  sequence(0, 0);
  special(behind, 0);
  step.singleEnd = step.pair = uint32_t(items.size());
  special(before, 0);
  sequence(0, 0);
  special(behind, 0);
  special(between, pairType);
  sequence(1, pairType);
  special(behind, pairType);
  step.pairEnd = uint32_t(items.size());
  return (isGood && steps.push(step)) || reader.failMemory();
}

bool PostProcessors::read(ComponentReader &reader, JsonValue value) {
  if (!value.isSet())
    return true;
  Slice type;
  if (!reader.readType(value, type))
    return false;
  PostProcessor step;
  if (type.is("Sequence")) {
    JsonValue list = value.find("processors");
    if (!list.isArray())
      return reader.fail(value, "expected an array `processors`");
    for (JsonValue one = list.first(); one.exists(); one = one.next())
      if (!read(reader, one))
        return false;
    return true;
  }
  for (const PostProcessor &other : steps)
    if (other.kind == PostProcessor::Template && !type.is("ByteLevel"))
      return reader.fail(value, "a second post-processor that adds tokens");
  if (type.is("TemplateProcessing"))
    return readTemplate(reader, value, step, items) && (steps.push(step) || reader.failMemory());
  bool isRoberta = type.is("RobertaProcessing");
  if (isRoberta || type.is("ByteLevel")) {
    bool trims = true;
    step.kind = PostProcessor::TrimOffsets;
    if (!reader.readFlag(value, "trim_offsets", trims) ||
        !reader.readFlag(value, "add_prefix_space", step.addsSpace))
      return false;
    if (trims && !steps.push(step))
      return reader.failMemory();
    if (!isRoberta)
      return true;
  }
  if (isRoberta || type.is("BertProcessing")) {
    int32_t first, last;
    return readTokenPair(reader, value, "cls", first) &&
           readTokenPair(reader, value, "sep", last) &&
           addFrame(reader, first, last, isRoberta ? last : -1, isRoberta ? 0 : 1);
  }
  return reader.failUnknown(value, "post-processor",
                            "BertProcessing, ByteLevel, RobertaProcessing, Sequence, "
                            "TemplateProcessing");
}

size_t PostProcessors::countAdded(bool isPair) const {
  size_t count = 0;
  for (const PostProcessor &step : steps)
    if (step.kind == PostProcessor::Template)
      for (uint32_t i = isPair ? step.pair : step.single,
                    end = isPair ? step.pairEnd : step.singleEnd;
           i < end; ++i)
        count += items[i].sequence < 0;
  return count;
}

size_t PostProcessors::countJoined(const Encoding *texts, bool isPair, bool addsSpecial) const {
  size_t count = 0;
  bool hasFrame = false;
  for (const PostProcessor &step : steps) {
    if (step.kind != PostProcessor::Template)
      continue;
    hasFrame = true;
    uint32_t end = isPair ? step.pairEnd : step.singleEnd;
    for (uint32_t i = isPair ? step.pair : step.single; i < end; ++i)
      count += items[i].sequence >= 0 ? texts[items[i].sequence].size() : addsSpecial;
  }
  return hasFrame ? count : texts[0].size() + texts[1].size();
}

static bool appendTokens(const Encoding &from, int32_t type, Encoding &to) {
  for (size_t i = 0; i < from.size(); ++i)
    if (!to.push(from.ids[i], type, from.ranges[i], from.origins[i]))
      return false;
  return true;
}

bool PostProcessors::join(Encoding *texts, bool isPair, bool addsSpecial, Encoding &joined) const {
  const PostProcessor *frame = nullptr;
  for (const PostProcessor &step : steps)
    if (step.kind == PostProcessor::Template)
      frame = &step;
  if (!frame)
    return appendTokens(texts[0], 0, joined) && (!isPair || appendTokens(texts[1], 1, joined));
  uint32_t end = isPair ? frame->pairEnd : frame->singleEnd;
  for (uint32_t i = isPair ? frame->pair : frame->single; i < end; ++i) {
    const TemplateItem &item = items[i];
    if (item.sequence >= 0) {
      if ((item.sequence == 0 || isPair) && !appendTokens(texts[item.sequence], item.type, joined))
        return false;
    } else if (addsSpecial && !joined.push(item.id, item.type, {}, Origin::Special)) {
      return false;
    }
  }
  return true;
}

/// Spaces, as characters or in the alphabet of ByteLevel, that a token begins or ends with.
static size_t countSpaces(Slice token, bool areLeading) {
  size_t count = 0, length;
  while (token.size) {
    Char c =
        areLeading ? decodeUtf8(token.data, length) : decodeBefore(token.data, token.size, length);
    if (c != 0x120 && !isSpace(c))
      break;
    token = areLeading ? token.from(length) : token.between(0, token.size - length);
    ++count;
  }
  return count;
}

void PostProcessors::trim(Slice token, Slice text, bool isFirst, Range &range) const {
  auto isInside = [&](uint32_t at) {
    return at < text.size && (static_cast<unsigned char>(text.data[at]) & 0xc0) == 0x80;
  };
  for (const PostProcessor &step : steps) {
    if (step.kind != PostProcessor::TrimOffsets || !isUtf8(token))
      continue;
    size_t leading = countSpaces(token, true), trailing = countSpaces(token, false);
    if (leading > 0 && step.addsSpace && (isFirst || range.begin == 0))
      --leading;
    for (; leading > 0 && range.begin < range.end; --leading)
      do
        ++range.begin;
      while (isInside(range.begin));
    range.end = std::max(range.begin, range.end);
    for (; trailing > 0 && range.begin < range.end; --trailing)
      do
        --range.end;
      while (isInside(range.end));
  }
}

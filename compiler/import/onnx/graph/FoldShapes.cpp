// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that make tensors of constants and shapes, and those that move elements.
#include "compiler/import/onnx/graph/ConstantFolder.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>

using namespace llvm;

namespace attn::importer {

std::string ConstantFolder::constant() {
  auto scalar = [&](double number, OnnxType type) {
    give(0, type, {}, std::make_shared<Elements>(1, Quantity(number)));
    return std::string();
  };
  if (auto *tensor = node->attribute<OnnxTensor>("value")) {
    if (!tensor->isReadable || tensor->isExternal)
      return "a constant whose elements are not read";
    Expected<GraphValue> value = constantOf(graph, *tensor);
    if (!value)
      return toString(value.takeError());
    give(0, tensor->type, *value->sizes, value->known);
    if (!node->outputs.empty() && node->outputs[0] >= 0)
      graph[node->outputs[0]].tensor = tensor;
    return "";
  }
  if (auto *number = node->attribute<float>("value_float"))
    return scalar(*number, OnnxType::F32);
  if (auto *number = node->attribute<int64_t>("value_int"))
    return scalar(static_cast<double>(*number), OnnxType::I64);
  if (auto *list = node->attribute<std::vector<int64_t>>("value_ints")) {
    auto elements = std::make_shared<Elements>();
    for (int64_t number : *list)
      elements->emplace_back(static_cast<double>(number));
    give(0, OnnxType::I64, {Quantity(static_cast<double>(list->size()))}, elements);
    return "";
  }
  return "a constant of another kind than a tensor or numbers";
}

std::string ConstantFolder::constantOfShape() {
  const Elements *wanted = known(0);
  if (!wanted)
    return "a shape that is computed from other than shapes";
  Sizes sizes(wanted->begin(), wanted->end());
  Quantity number(0);
  OnnxType type = OnnxType::F32;
  if (auto *tensor = node->attribute<OnnxTensor>("value")) {
    Expected<Elements> elements = elementsOf(graph, *tensor);
    if (!elements)
      return toString(elements.takeError());
    if (elements->size() != 1)
      return "a `value` that is not one element";
    number = elements->front();
    type = tensor->type;
  }
  std::shared_ptr<Elements> elements;
  if (isSmall(sizes) && areNumbers(sizes))
    elements = std::make_shared<Elements>(static_cast<size_t>(countOf(sizes).whole()), number);
  give(0, type, sizes, elements);
  return "";
}

std::string ConstantFolder::shape() {
  const Sizes &all = *sizes(0);
  auto rank = static_cast<int64_t>(all.size());
  auto clamped = [&](int64_t at) {
    return static_cast<size_t>(std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank));
  };
  size_t begin = clamped(node->integer("start", 0)), end = clamped(node->integer("end", rank));
  auto elements = std::make_shared<Elements>();
  for (size_t i = begin; i < end; ++i)
    elements->push_back(all[i]);
  give(0, OnnxType::I64, {Quantity(static_cast<double>(elements->size()))}, elements);
  return "";
}

std::string ConstantFolder::range() {
  const Elements *first = known(0), *limit = known(1), *step = known(2);
  if (!first || !limit || !step || first->empty() || limit->empty() || step->empty())
    return "bounds that are computed from other than shapes";
  if (!step->front().isNumber() || step->front().factor == 0)
    return "a step that is not known";
  Quantity negated = first->front();
  negated.factor = -negated.factor;
  std::optional<Quantity> length = sum(limit->front(), negated);
  if (!length)
    return "a length that is not known";
  double by = step->front().factor;
  if (length->isNumber())
    length = Quantity(std::max(0.0, std::ceil(length->factor / by)));
  else if (by != 1)
    return "a step other than 1";
  std::shared_ptr<Elements> elements;
  if (length->isNumber() && length->factor <= 1 << 14 && first->front().isNumber()) {
    elements = std::make_shared<Elements>();
    auto count = static_cast<int64_t>(length->factor);
    for (int64_t i = 0; i < count; ++i)
      elements->emplace_back(first->front().factor + double(i) * by);
  }
  give(0, in(0)->type, {*length}, elements);
  return "";
}

std::string ConstantFolder::giveReshaped(const Sizes &sizes) {
  std::shared_ptr<const Elements> elements = in(0)->known;
  give(0, in(0)->type, sizes, elements);
  return "";
}

std::string ConstantFolder::reshape() {
  const Elements *wanted = known(1);
  if (!wanted)
    return "a shape that is computed from other than shapes";
  const Sizes &before = *sizes(0);
  Sizes after;
  int open = -1;
  for (size_t i = 0; i < wanted->size(); ++i) {
    Quantity size = (*wanted)[i];
    if (size.is(0) && !node->integer("allowzero", 0)) {
      if (i >= before.size())
        return "a shape that copies an axis which is not there";
      size = before[i];
    }
    if (size.is(-1)) {
      if (open >= 0)
        return "a shape with two sizes of -1";
      open = static_cast<int>(i);
      size = Quantity(1);
    }
    if (size.factor < 1)
      return "a shape with a size that cannot be";
    after.push_back(size);
  }
  Quantity all = countOf(before), given = countOf(after);
  if (open >= 0) {
    std::optional<Quantity> rest = quotient(all, given);
    if (!rest || rest->factor < 1)
      return "a shape that does not go into the elements";
    after[static_cast<size_t>(open)] = *rest;
  } else if (all != given && all.isNumber() && given.isNumber()) {
    return "a shape that has another number of elements";
  }
  return giveReshaped(after);
}

std::string ConstantFolder::flatten() {
  const Sizes &before = *sizes(0);
  int64_t axis = node->integer("axis", 1);
  axis = axis < 0 ? axis + static_cast<int64_t>(before.size()) : axis;
  if (axis < 0 || axis > static_cast<int64_t>(before.size()))
    return "an axis that is not there";
  ArrayRef<Quantity> all = before;
  return giveReshaped({countOf(all.take_front(static_cast<size_t>(axis))),
                       countOf(all.drop_front(static_cast<size_t>(axis)))});
}

std::string ConstantFolder::transpose() {
  const Sizes &before = *sizes(0);
  std::vector<int64_t> order;
  if (auto *given = node->attribute<std::vector<int64_t>>("perm"))
    order = *given;
  else
    for (size_t i = before.size(); i-- > 0;)
      order.push_back(static_cast<int64_t>(i));
  std::vector<int64_t> sorted = order;
  llvm::sort(sorted);
  if (sorted.size() != before.size())
    return "a `perm` that does not name each axis once";
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i))
      return "a `perm` that does not name each axis once";
  Sizes after;
  for (int64_t axis : order)
    after.push_back(before[static_cast<size_t>(axis)]);
  give(0, in(0)->type, after, moved(after, [&](ArrayRef<int64_t> place) {
         SmallVector<int64_t, 6> from(place.size());
         for (size_t i = 0; i < order.size(); ++i)
           from[static_cast<size_t>(order[i])] = place[i];
         return flatPlace(from, before);
       }));
  return "";
}

std::string ConstantFolder::unsqueeze() {
  bool isGiven = false;
  auto axes = integers("axes", 1, isGiven);
  if (!axes || !isGiven)
    return "axes that are not known";
  size_t rank = sizes(0)->size() + axes->size();
  SmallVector<bool, 8> isNew(rank, false);
  for (int64_t axis : *axes) {
    int at = axisOf(axis, rank);
    if (at < 0 || isNew[static_cast<size_t>(at)])
      return "axes that cannot be";
    isNew[static_cast<size_t>(at)] = true;
  }
  Sizes after;
  for (size_t i = 0, next = 0; i < rank; ++i)
    after.push_back(isNew[i] ? Quantity(1) : (*sizes(0))[next++]);
  return giveReshaped(after);
}

std::string ConstantFolder::squeeze() {
  bool isGiven = false;
  auto axes = integers("axes", 1, isGiven);
  if (!axes)
    return "axes that are not known";
  const Sizes &before = *sizes(0);
  SmallVector<bool, 8> isGone(before.size(), false);
  for (int64_t axis : *axes) {
    int at = axisOf(axis, before.size());
    if (at < 0)
      return "an axis that is not there";
    isGone[static_cast<size_t>(at)] = true;
  }
  Sizes after;
  for (size_t i = 0; i < before.size(); ++i)
    if (isGiven ? !isGone[i] : !before[i].is(1))
      after.push_back(before[i]);
    else if (!before[i].is(1))
      return "an axis of more than one element";
  return giveReshaped(after);
}

std::string ConstantFolder::expand() {
  const Elements *wanted = known(1);
  if (!wanted)
    return "a shape that is computed from other than shapes";
  Sizes sizesWanted(wanted->begin(), wanted->end());
  const Sizes &before = *sizes(0);
  std::optional<Sizes> after = broadcast(before, sizesWanted);
  if (!after)
    return "a shape that does not fit";
  size_t skipped = after->size() - before.size();
  give(0, in(0)->type, *after, moved(*after, [&](ArrayRef<int64_t> place) {
         SmallVector<int64_t, 6> from;
         for (size_t i = 0; i < before.size(); ++i)
           from.push_back(before[i].is(1) ? 0 : place[skipped + i]);
         return flatPlace(from, before);
       }));
  return "";
}

std::string ConstantFolder::concat() {
  const Sizes &first = *sizes(0);
  int axis = axisOf(node->integer("axis", 0), first.size());
  if (axis < 0)
    return "an axis that is not there";
  Sizes after = first;
  auto at = static_cast<size_t>(axis);
  bool isKnown = first.size() == 1 && known(0);
  auto elements = std::make_shared<Elements>();
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    const Sizes *part = sizes(i);
    if (!part || part->size() != first.size())
      return "parts of different ranks";
    isKnown = isKnown && known(i);
    if (isKnown)
      append_range(*elements, *known(i));
    if (i == 0)
      continue;
    for (size_t other = 0; other < after.size(); ++other)
      if (other != at && after[other].is(1)) // what is one for all of a batch goes with each
        after[other] = (*part)[other];
    std::optional<Quantity> both = sum(after[at], (*part)[at]);
    if (!both)
      return "parts whose sizes are only named and cannot be added";
    after[at] = *both;
  }
  give(0, in(0)->type, after, isKnown ? elements : nullptr);
  return "";
}

std::string ConstantFolder::slice() {
  const Sizes &before = *sizes(0);
  Sizes after = before;
  SmallVector<int64_t, 6> first(before.size(), 0), stride(before.size(), 1);
  bool hasStarts = false, hasAxes = false, hasSteps = false;
  auto starts = integers("starts", 1, hasStarts), axes = integers("axes", 3, hasAxes),
       steps = integers("steps", 4, hasSteps);
  if (!starts || !axes || !steps || !hasStarts)
    return "a slice that begins where nobody knows";
  Elements ends;
  if (auto *list = node->attribute<std::vector<int64_t>>("ends"))
    for (int64_t end : *list)
      ends.emplace_back(static_cast<double>(end));
  else if (const Elements *given = known(2))
    ends = *given;
  else
    return "a slice that ends where nobody knows";
  if (ends.size() != starts->size() || (hasAxes && axes->size() != starts->size()) ||
      (hasSteps && steps->size() != starts->size()))
    return "a slice whose lists have different lengths";
  for (size_t i = 0; i < starts->size(); ++i) {
    int axis = axisOf(hasAxes ? (*axes)[i] : static_cast<int64_t>(i), before.size());
    int64_t step = hasSteps ? (*steps)[i] : 1, begin = (*starts)[i];
    if (axis < 0 || step == 0)
      return "a slice along an axis that is not there, or with a step of 0";
    auto at = static_cast<size_t>(axis);
    const Quantity &size = before[at];
    bool isWhole = begin == 0 && step == 1 && ends[i].isNumber() && ends[i].factor >= INT32_MAX;
    if (isWhole || (begin == 0 && step == 1 && ends[i] == size))
      continue;
    if (!size.isNumber() || !ends[i].isNumber()) {
      // Of a table, the first rows that a sequence has.
      if (begin != 0 || step != 1 || ends[i].factor < 1 || (!size.isNumber() && ends[i].isNumber()))
        return "a slice of an axis whose size is only named";
      after[at] = ends[i];
      continue;
    }
    auto length = size.whole();
    auto end = std::clamp<int64_t>(ends[i].whole(), -1000000000000000, 1000000000000000);
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? length : length - 1;
    begin = std::clamp(begin < 0 ? begin + length : begin, step > 0 ? 0 : int64_t(0), high);
    end = std::clamp(end < 0 && end > -1000000000000 ? end + length : end, low, high);
    int64_t count = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
    first[at] = begin;
    stride[at] = step;
    after[at] = Quantity(static_cast<double>(std::max<int64_t>(count, 0)));
  }
  give(0, in(0)->type, after, moved(after, [&](ArrayRef<int64_t> place) {
         SmallVector<int64_t, 6> from;
         for (size_t i = 0; i < place.size(); ++i)
           from.push_back(first[i] + place[i] * stride[i]);
         return flatPlace(from, before);
       }));
  return "";
}

std::string ConstantFolder::split() {
  const Sizes &before = *sizes(0);
  int axis = axisOf(node->integer("axis", 0), before.size());
  bool isGiven = false;
  auto lengths = integers("split", 1, isGiven);
  if (axis < 0 || !lengths)
    return "an axis that is not there, or lengths that are not known";
  const Quantity &size = before[static_cast<size_t>(axis)];
  size_t parts = node->outputs.size();
  if (!size.isNumber())
    return "parts of an axis whose size is only named";
  if (!isGiven) {
    auto all = size.whole(), count = static_cast<int64_t>(parts), each = (all + count - 1) / count;
    for (int64_t i = 0; i < count; ++i)
      lengths->push_back(std::min(each, all - i * each));
  }
  if (lengths->size() != parts ||
      std::accumulate(lengths->begin(), lengths->end(), int64_t(0)) != size.whole())
    return "parts that do not make up the axis";
  int64_t first = 0;
  for (size_t i = 0; i < parts; ++i) {
    if ((*lengths)[i] < 1)
      return "a part without elements";
    Sizes after = before;
    after[static_cast<size_t>(axis)] = Quantity(static_cast<double>((*lengths)[i]));
    give(i, in(0)->type, after, moved(after, [&](ArrayRef<int64_t> place) {
           SmallVector<int64_t, 6> from(place);
           from[static_cast<size_t>(axis)] += first;
           return flatPlace(from, before);
         }));
    first += (*lengths)[i];
  }
  return "";
}

std::string ConstantFolder::gather() {
  if (!sizes(1))
    return "a node without places";
  const Sizes &from = *sizes(0), &at = *sizes(1);
  int axis = axisOf(node->integer("axis", 0), from.size());
  if (axis < 0)
    return "an axis that is not there";
  auto cut = static_cast<size_t>(axis);
  Sizes after(from.begin(), from.begin() + axis);
  append_range(after, at);
  append_range(after, ArrayRef<Quantity>(from).drop_front(cut + 1));
  const Elements *places = known(1);
  std::shared_ptr<const Elements> elements;
  if (places && areNumbers(at))
    elements = moved(after, [&](ArrayRef<int64_t> place) {
      SmallVector<int64_t, 6> source(place.take_front(cut));
      const Quantity &index =
          (*places)[static_cast<size_t>(flatPlace(place.slice(cut, at.size()), at))];
      auto size = from[cut].whole();
      auto number = index.isNumber() ? index.whole() : -1;
      source.push_back(number < 0 ? number + size : number);
      append_range(source, place.drop_front(cut + at.size()));
      return source[cut] < 0 || source[cut] >= size ? -1 : flatPlace(source, from);
    });
  give(0, in(0)->type, after, elements);
  return "";
}

} // namespace attn::importer

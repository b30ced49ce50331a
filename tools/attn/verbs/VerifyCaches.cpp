// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries with caches: a sequence is computed in several calls, a long one and single positions,
// or cut anywhere. Compiled code is compared with the reference interpreter call by call, and,
// where the spec gives the same numbers for the sequence in one call, with that. Of a program that
// an emulator runs it is first calls alone.
#include "Verifier.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <random>

using namespace llvm;

namespace attn::tool {
namespace {

/// Positions of the first two sequences; a third is as long as the interpreter's budget allows.
constexpr int64_t shortPositions[] = {6, 13};
constexpr int64_t steps = 4;
/// Of what only a call that fills a cache for others takes.
constexpr int64_t sizeOfOthers = 5;
/// What double precision explains between two ways to cut a sequence.
constexpr double sameBound = 1e-9;

/// The numbers of a part of a tensor.
Numbers partOf(const Numbers &all, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes) {
  Numbers part;
  part.name = all.name;
  part.shape = sizes.vec();
  part.rounding = all.rounding;
  SmallVector<int64_t> strides = reference::denseStrides(all.shape);
  int64_t offset = reference::offsetAt(starts, strides);
  part.values.resize(size_t(reference::countOf(sizes)));
  reference::copyStrided(sizes, all.values.data() + offset, strides, part.values.data(),
                         reference::denseStrides(sizes));
  return part;
}

/// The part that belongs to positions [begin, begin + rows) of an entry's tensor for all positions:
/// those along the axis of positions, all up to there along the cache's.
Numbers positionsOf(int32_t rowsDim, int32_t cacheDim, const attn_abi_tensor &tensor,
                    const Numbers &all, int64_t begin, int64_t rows) {
  SmallVector<int64_t> starts(all.shape.size(), 0), sizes(all.shape.begin(), all.shape.end());
  for (int32_t a = 0; a < tensor.rank; ++a) {
    const attn_abi_axis &axis = tensor.axes[a];
    if (axis.dim == rowsDim)
      starts[size_t(a)] = axis.scale * begin, sizes[size_t(a)] = axis.scale * rows;
    else if (axis.dim == cacheDim)
      sizes[size_t(a)] = axis.scale * (begin + rows);
  }
  return partOf(all, starts, sizes);
}

bool follows(const attn_abi_tensor &tensor, int32_t dim) {
  return any_of(ArrayRef(tensor.axes, size_t(tensor.rank)),
                [&](const attn_abi_axis &axis) { return axis.dim == dim; });
}

/// The positions that an entry adds to its caches; none: an axis of size 0.
const attn_abi_axis &rowsOf(const attn_abi_entry &entry) {
  static constexpr attn_abi_axis none = {"", -1, 0, 0};
  const attn_abi_cache_use *push = pushOf(entry);
  return push ? push->rows : none;
}

/// The input of an entry with the name of another's; null where there is none.
const attn_abi_tensor *inputCalled(const attn_abi_entry &entry, StringRef name) {
  for (const attn_abi_tensor &input : ArrayRef(entry.inputs, size_t(entry.inputCount)))
    if (input.name == name)
      return &input;
  return nullptr;
}

} // namespace

void Verifier::fillFirst(Sequence &sequence) const {
  std::set<int32_t> filled;
  std::vector<Cut> before;
  auto note = [&](int32_t entry) {
    for (int32_t c = 0; c < entryAt(entry).cacheCount; ++c)
      if (entryAt(entry).caches[c].use == ATTN_CACHE_FILL)
        filled.insert(entryAt(entry).caches[c].cache);
  };
  for (const Cut &cut : sequence.cuts) {
    for (int32_t c = 0; c < entryAt(cut.entry).cacheCount; ++c) {
      const attn_abi_cache_use &use = entryAt(cut.entry).caches[c];
      if (use.use != ATTN_CACHE_READ || filled.count(use.cache))
        continue;
      int32_t found = -1; // best one that adds no positions
      for (int32_t e = 0; e < model.tables()->entryCount; ++e)
        if (usesCache(entryAt(e), ATTN_CACHE_FILL, use.cache) && !entryAt(e).unfold)
          found = found < 0 || !pushOf(entryAt(e)) ? e : found;
      if (found < 0) // said by the run
        continue;
      note(found);
      const attn_abi_axis &rows = rowsOf(entryAt(found));
      before.push_back({found, rows.dim < 0 ? rows.offset : 1});
      if (before.back().rows)
        sequence.whole.clear();
    }
    note(cut.entry);
  }
  sequence.cuts.insert(sequence.cuts.begin(), before.begin(), before.end());
}

/// Whether parts of the inputs are inputs.
bool Verifier::canBeCut(const attn_abi_entry &entry) const {
  for (const attn_abi_tensor &input : ArrayRef(entry.inputs, size_t(entry.inputCount)))
    for (const attn_abi_axis &axis : ArrayRef(input.axes, size_t(input.rank)))
      if (axis.dim >= 0 && (axis.dim == rowsOf(entry).dim || axis.dim == cacheDim(entry)) &&
          axis.offset != 0)
        return false;
  return true;
}

/// Whether an entry of a fixed number of positions takes what the other one does, but for what it
/// reads of a cache instead.
bool Verifier::isStepOf(const attn_abi_entry &step, const attn_abi_entry &sequence) const {
  const attn_abi_axis &rows = rowsOf(step), &all = rowsOf(sequence);
  bool isSameCount = step.inputCount == sequence.inputCount || usesCache(step, ATTN_CACHE_READ);
  if (rows.dim >= 0 || !isSameCount || step.outputCount != sequence.outputCount)
    return false;
  for (int32_t i = 0; i < step.inputCount; ++i) {
    const attn_abi_tensor &a = step.inputs[i], *other = inputCalled(sequence, a.name);
    if (!other || a.dtype != other->dtype || a.rank != other->rank)
      return false;
    const attn_abi_tensor &b = *other;
    for (int32_t d = 0; d < a.rank; ++d) {
      const attn_abi_axis &own = a.axes[d], &other = b.axes[d];
      bool isSame = own.dim == other.dim && own.scale == other.scale && own.offset == other.offset;
      bool isStep = own.dim < 0 && other.dim == all.dim &&
                    own.offset == other.scale * rows.offset + other.offset;
      if (!isSame && !isStep)
        return false;
    }
  }
  return true;
}

int Verifier::verifyCache(int32_t cache, ArrayRef<int32_t> entries) {
  int64_t capacity = model.tables()->dims[model.tables()->caches[cache].dim].value;
  SmallVector<int32_t> sequences, others;
  for (int32_t entry : entries)
    (rowsOf(entryAt(entry)).dim >= 0 ? sequences : others).push_back(entry);
  SmallVector<int32_t> alone = others;
  for (int32_t entry : sequences) {
    SmallVector<int32_t> own;
    copy_if(others, std::back_inserter(own),
            [&](int32_t step) { return isStepOf(entryAt(step), entryAt(entry)); });
    if (!emulator)
      erase_if(alone, [&](int32_t step) { return is_contained(own, step); });
    const attn_abi_dim &rows = model.tables()->dims[rowsOf(entryAt(entry)).dim];
    int64_t most = std::min(capacity, rows.value);
    if (auto fixed = choice->fixedSize(rows.name); fixed || !inputs.empty()) {
      if (int code = verifyPositions(entry, own, 1, fixed.value_or(1)))
        return code;
      continue;
    }
    for (auto [batch, positions] : zip_equal(std::array{1, 3}, shortPositions))
      if (int code = verifyPositions(entry, own, batch, std::min(most, positions)))
        return code;
    Runner::Sizes sizes = choice->uniform(entryAt(entry), 1);
    int64_t longest = choice->longest(most, [&](int64_t positions) {
      sizes.push_back({rows.name, positions});
      double operations = runner->operations(entry, sizes, 0);
      sizes.pop_back();
      return operations;
    });
    if (longest > shortPositions[1])
      if (int code = verifyPositions(entry, own, 1, longest))
        return code;
  }
  for (int64_t batch : {1, 3})
    if (int code = alone.empty() ? Ok : verifySteps(alone, batch))
      return code;
  return Ok;
}

std::vector<Verifier::Cut> Verifier::longThenSteps(int32_t entry, ArrayRef<int32_t> own,
                                                   int64_t positions) {
  int64_t rows = own.empty() ? 1 : rowsOf(entryAt(own.front())).offset, count = 0;
  SmallVector<int32_t> same; // entries of other numbers of positions do not fit in
  copy_if(own, std::back_inserter(same),
          [&](int32_t step) { return rowsOf(entryAt(step)).offset == rows; });
  while (count < steps && (count + 1) * rows < positions)
    ++count;
  std::vector<Cut> cuts{{entry, positions - count * rows}};
  for (int64_t i = 0; i < count; ++i)
    cuts.push_back({same.empty() ? entry : same[size_t(i) % same.size()], rows});
  return cuts;
}

std::vector<Verifier::Cut> Verifier::randomCuts(int32_t entry, ArrayRef<int32_t> own,
                                                int64_t positions) {
  std::mt19937_64 random(seed + uint64_t(positions));
  std::vector<Cut> cuts;
  for (int64_t left = positions; left > 0; left -= cuts.back().rows) {
    int64_t most = std::max<int64_t>(1, std::min(left, positions * 2 / 5));
    cuts.push_back({entry, 1 + int64_t(random() % uint64_t(most))});
    for (int32_t step : own)
      if (rowsOf(entryAt(step)).offset == cuts.back().rows && random() % 2)
        if (cuts.size() > 1 || !usesCache(entryAt(step), ATTN_CACHE_READ))
          cuts.back().entry = step;
  }
  return cuts;
}

/// A sequence of an entry that takes any number of positions, cut in two ways.
int Verifier::verifyPositions(int32_t entry, ArrayRef<int32_t> own, int64_t batch,
                              int64_t positions) {
  const attn_abi_entry &taken = entryAt(entry);
  Sequence sequence{
      entry, {}, {}, inputs.empty() ? choice->uniform(taken, batch) : Runner::Sizes()};
  int32_t rowsDim = rowsOf(taken).dim;
  StringRef rowsName = model.tables()->dims[rowsDim].name;
  Runner::Request request;
  request.entry = entry;
  request.inputs = inputs;
  request.sizes = sequence.sizes;
  request.sizes.push_back({rowsName.str(), positions});
  request.seed = seed;
  std::vector<Numbers> whole;
  if (int code = runner->read(request, whole))
    return code;
  for (auto [numbers, tensor] : zip_equal(whole, ArrayRef(taken.inputs, size_t(taken.inputCount))))
    for (int32_t a = 0; a < tensor.rank && size_t(a) < numbers.shape.size(); ++a)
      if (tensor.axes[a].dim == rowsDim)
        positions = (numbers.shape[size_t(a)] - tensor.axes[a].offset) / tensor.axes[a].scale;
  if (canBeCut(taken))
    sequence.whole = whole;
  if (!inputs.empty() || emulator) // as one call first: it says what is wrong with inputs
    sequence.cuts = {{entry, positions}};
  if (int code = sequence.cuts.empty() ? Ok : verifySequence(sequence))
    return code;
  if (emulator || (!canBeCut(taken) && !inputs.empty()))
    return Ok;
  std::vector<Cut> first = longThenSteps(entry, own, positions),
                   second = randomCuts(entry, own, positions);
  auto isSame = [](const Cut &a, const Cut &b) { return a.entry == b.entry && a.rows == b.rows; };
  sequence.cuts = first;
  if (int code = verifySequence(sequence))
    return code;
  sequence.cuts = second;
  bool isDone = std::equal(first.begin(), first.end(), second.begin(), second.end(), isSame);
  return isDone ? Ok : verifySequence(sequence);
}

/// Entries of a fixed number of positions alone, in turns; on an emulator, the first call of each.
int Verifier::verifySteps(ArrayRef<int32_t> entries, int64_t batch) {
  if (emulator && entries.size() > 1) {
    for (int32_t entry : entries)
      if (int code = verifySteps(entry, batch))
        return code;
    return Ok;
  }
  if (emulator && usesCache(entryAt(entries.front()), ATTN_CACHE_READ)) {
    say(fmt::format("{}: not compared, for it reads what another call has filled",
                    entryAt(entries.front()).name));
    return Ok;
  }
  int32_t dim = cacheDim(entryAt(entries.front()));
  int64_t left = dim < 0 ? 0 : model.tables()->dims[dim].value;
  Sequence sequence{entries.front(), {}, {}, {}};
  for (int64_t i = 0; i < (emulator ? 1 : steps); ++i)
    for (int32_t entry : entries)
      if (int64_t rows = rowsOf(entryAt(entry)).offset; rows <= left) {
        sequence.cuts.push_back({entry, rows});
        left -= rows;
      }
  sequence.sizes = choice->uniform(entryAt(entries.front()), batch);
  return verifySequence(sequence);
}

int Verifier::givenTo(const Sequence &sequence, const Cut &cut, int64_t begin,
                      std::vector<Numbers> &given) {
  const attn_abi_entry &entry = entryAt(cut.entry), &taken = entryAt(sequence.entry);
  ArrayRef<attn_abi_tensor> inputsOf(entry.inputs, size_t(entry.inputCount));
  bool isPart = !sequence.whole.empty() && cut.rows > 0;
  for (const attn_abi_tensor &input : inputsOf)
    if (isPart) { // the same as in one call
      const attn_abi_tensor *own = inputCalled(taken, input.name);
      given.push_back(positionsOf(rowsOf(taken).dim, cacheDim(taken), *own,
                                  sequence.whole[size_t(own - taken.inputs)], begin, cut.rows));
    }
  if (isPart)
    return Ok;
  Runner::Request request;
  request.entry = cut.entry;
  request.inputs = inputs;
  request.sizes = choice->uniform(entry, sizeOfOthers);
  for (auto &[name, size] : request.sizes)
    for (const auto &[known, own] : sequence.sizes)
      size = known == name ? own : size;
  if (int32_t dim = rowsOf(entry).dim; dim >= 0)
    request.sizes.push_back({model.tables()->dims[dim].name, cut.rows});
  request.seed = seed + uint64_t(begin);
  request.cached = begin;
  return runner->read(request, given);
}

int Verifier::runCuts(const Sequence &sequence, Results &results) {
  runner->emptyCaches();
  reference::Caches kept;
  int64_t begin = 0;
  for (const Cut &cut : sequence.cuts) {
    std::vector<Numbers> given, made;
    if (int code = givenTo(sequence, cut, begin, given))
      return code;
    if (int code = runner->run(cut.entry, given, made))
      return code;
    Tensors expected;
    if (int code = interpret(cut.entry, given, kept, expected))
      return code;
    for (auto [got, wanted] : zip_equal(made, expected))
      if (int code = checkShape(entryAt(cut.entry).name, got, wanted.shape))
        return code;
    results.made.push_back(std::move(made));
    results.expected.push_back(std::move(expected));
    begin += cut.rows;
  }
  return Ok;
}

/// "prefill 9, decode 1+1+1 B = 3"
std::string Verifier::cutsText(const Sequence &sequence) const {
  std::string text;
  const Cut *before = nullptr;
  for (const Cut &cut : sequence.cuts) {
    if (before && before->entry == cut.entry)
      text += "+" + std::to_string(cut.rows);
    else
      text += (before ? ", " : "") + std::string(entryAt(cut.entry).name) +
              (cut.rows ? " " + std::to_string(cut.rows) : "");
    before = &cut;
  }
  return text + sizesText(sequence.sizes);
}

/// For each entry and output, all calls in one line.
void Verifier::reportCuts(const Sequence &sequence, const Results &results) {
  SmallVector<int32_t> reported;
  for (const Cut &first : sequence.cuts) {
    if (is_contained(reported, first.entry))
      continue;
    reported.push_back(first.entry);
    forOutputs(first.entry, [&](size_t o) {
      Difference difference;
      const Numbers *shown = nullptr;
      for (auto [cut, made, expected] : zip_equal(sequence.cuts, results.made, results.expected))
        if (cut.entry == first.entry) {
          difference.add(made[o].values, expected[o].data, made[o].shape);
          shown = shown ? shown : &made[o];
        }
      bool isOnly = all_of(sequence.cuts, [&](const Cut &cut) { return cut.entry == first.entry; });
      report(first.entry,
             (isOnly ? "" : entryAt(first.entry).name + std::string(" of ")) + cutsText(sequence),
             *shown, difference);
    });
  }
}

int Verifier::reportWhole(const Sequence &sequence, const Results &results) {
  const attn_abi_entry &entry = entryAt(sequence.entry);
  reference::Caches none;
  Tensors expected;
  if (int code = interpret(sequence.entry, sequence.whole, none, expected))
    return code;
  forOutputs(sequence.entry, [&](size_t o) {
    const attn_abi_tensor &tensor = entry.outputs[o];
    const reference::Tensor &all = expected[o];
    Numbers whole{tensor.name, {all.shape.begin(), all.shape.end()}, all.data};
    // What does not follow the positions is that of the last ones.
    bool hasPositions = follows(tensor, rowsOf(entry).dim);
    Difference bySpec, difference;
    int64_t begin = 0;
    for (size_t c = 0; c < sequence.cuts.size(); begin += sequence.cuts[c++].rows) {
      if (!hasPositions && c + 1 < sequence.cuts.size())
        continue;
      Numbers part = positionsOf(rowsOf(entry).dim, cacheDim(entry), tensor, whole, begin,
                                 sequence.cuts[c].rows);
      const std::vector<double> &own = results.expected[c][o].data;
      if (own.size() != part.values.size())
        continue; // a step gives less
      whole.rounding = std::max(whole.rounding, results.made[c][o].rounding);
      bySpec.add(own, part.values, part.shape);
      difference.add(results.made[c][o].values, part.values, part.shape);
    }
    if (bySpec.relativeL2() <= sameBound)
      report(sequence.entry, "  as in one call", whole, difference);
    else
      say(fmt::format("{:<24} {:<16} {:<16} not compared: in one call the spec gives other "
                      "numbers, relative L2 {:.2e}",
                      "  as in one call", whole.name, shapeText(whole.shape), bySpec.relativeL2()));
  });
  return Ok;
}

int Verifier::verifySequence(Sequence sequence) {
  fillFirst(sequence);
  Results results;
  if (int code = runCuts(sequence, results))
    return code;
  reportCuts(sequence, results);
  return sequence.whole.empty() || sequence.cuts.size() == 1 ? Ok : reportWhole(sequence, results);
}

} // namespace attn::tool

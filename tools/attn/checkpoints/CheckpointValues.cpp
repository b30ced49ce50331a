// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint to what its numbers are like, tensor by tensor.
#include "Checkpoints.h"
#include "base/Dtype.h"
#include "io/ElementReader.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace attn::tool {
namespace {

/// A value and where it is.
struct Outlier {
  double value, distance; ///< from the mean
  int64_t place;
};

/// What is known of a tensor's numbers; two readings of it are needed for outliers.
struct Values {
  double least = INFINITY, greatest = -INFINITY, sum = 0, squares = 0;
  int64_t numbers = 0, nan = 0, infinite = 0, firstBad = -1;
  std::vector<Outlier> outliers; ///< the furthest first

  double mean() const { return numbers ? sum / double(numbers) : NAN; }
  double deviation() const {
    return numbers ? std::sqrt(std::max(0.0, squares / double(numbers) - mean() * mean())) : NAN;
  }
  void add(double value, int64_t place);
  void keepOutlier(double value, int64_t place);
};

} // namespace

/// Elements that are read at a time, about: a few megabytes.
static constexpr int64_t pieceElements = 1 << 20;
static constexpr size_t mostOutliers = 3;
/// Among a million normal deviates none is further from the mean.
static constexpr double farDeviations = 6;

void Values::add(double value, int64_t place) {
  if (!std::isfinite(value)) {
    ++(std::isnan(value) ? nan : infinite);
    firstBad = firstBad < 0 ? place : firstBad;
    return;
  }
  ++numbers;
  least = std::min(least, value);
  greatest = std::max(greatest, value);
  sum += value;
  squares += value * value;
}

void Values::keepOutlier(double value, int64_t place) {
  double distance = std::fabs(value - mean());
  if (!std::isfinite(value) || distance <= farDeviations * deviation() ||
      (outliers.size() == mostOutliers && distance <= outliers.back().distance))
    return;
  auto further = [&](const Outlier &known) { return known.distance < distance; };
  outliers.insert(std::find_if(outliers.begin(), outliers.end(), further),
                  {value, distance, place});
  if (outliers.size() > mostOutliers)
    outliers.pop_back();
}

template <typename T> static double wholeAt(const char *bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * int64_t(sizeof value), sizeof value);
  return double(value);
}

static double valueAt(const attn::StoredTensor &view, int64_t index) {
  if (attn::isFloat(view.dtype))
    return attn::loadFloat(view.data, view.dtype, index);
  if (view.dtype == ATTN_I64)
    return wholeAt<int64_t>(view.data, index);
  if (view.dtype == ATTN_I32)
    return wholeAt<int32_t>(view.data, index);
  return wholeAt<uint8_t>(view.data, index); // truth values and bytes
}

/// Calls `body` for every element. Whole rows are read, which blocks of codes never cross. False
/// after an error.
template <typename Body>
static bool forElements(attn::ElementReader &reader, const attn::StoredTensor &tensor,
                        int64_t elements, Body body) {
  int64_t row = tensor.rank ? std::max<int64_t>(tensor.shape[tensor.rank - 1], 1) : 1,
          piece = std::max<int64_t>(pieceElements / row, 1) * row;
  for (int64_t first = 0; first < elements; first += piece) {
    int64_t count = std::min(piece, elements - first);
    attn::StoredTensor view;
    if (!reader.take(tensor, first, count, view))
      return false;
    for (int64_t i = 0; i < count; ++i)
      body(valueAt(view, i), first + i);
  }
  return true;
}

static std::string placeText(const attn::StoredTensor &tensor, int64_t element) {
  int64_t place[ATTN_MAX_RANK];
  for (int32_t axis = tensor.rank; axis-- > 0; element /= tensor.shape[axis])
    place[axis] = element % tensor.shape[axis];
  attn::Text text;
  text.appendShape(place, tensor.rank);
  return text.c_str();
}

static std::string describe(const attn::StoredTensor &tensor, const Values &values,
                            int64_t elements) {
  std::string text = values.numbers == 0
                         ? std::string("no numbers")
                         : fmt::format("{:11.4f}{:11.4f}{:11.4f}{:11.4f}", values.least,
                                       values.greatest, values.mean(), values.deviation());
  if (values.nan)
    text += fmt::format("  {} of {} NaN", values.nan, elements);
  if (values.infinite)
    text += fmt::format("  {} of {} infinite", values.infinite, elements);
  if (values.firstBad >= 0)
    text += ", first at " + placeText(tensor, values.firstBad);
  for (const Outlier &outlier : values.outliers)
    text += fmt::format("{} {:g} at {}", &outlier == values.outliers.data() ? "  outliers" : ",",
                        outlier.value, placeText(tensor, outlier.place));
  return text;
}

int printValues(const std::string &path) {
  attn::Error error;
  attn::Checkpoint checkpoint;
  if (checkpoint.open(path.c_str(), error))
    return failToRead(error);
  constexpr size_t widest = 60;
  size_t width = 0, bad = 0;
  std::vector<std::string> names;
  for (const attn::StoredTensor &tensor : checkpoint.tensors()) {
    attn::Text name;
    name.appendQuoted(tensor.name, tensor.nameLength);
    names.emplace_back(name.c_str());
    width = std::max(width, std::min(names.back().size(), widest));
  }
  llvm::outs() << llvm::left_justify("values", unsigned(width + 2))
               << "      least   greatest       mean  deviation\n";
  std::string firstBad;
  for (size_t i = 0; i < names.size(); ++i) {
    const attn::StoredTensor &tensor = checkpoint.tensors()[i];
    int64_t elements = 0;
    llvm::outs() << "  " << llvm::left_justify(names[i], unsigned(width));
    if (tensor.dtype < 0 || !attn::countElements(tensor.shape, tensor.rank, elements)) {
      llvm::outs() << "  not read: " << tensor.dtypeName << '\n';
      continue;
    }
    Values values;
    attn::ElementReader reader;
    bool isRead = forElements(reader, tensor, elements,
                              [&](double value, int64_t at) { values.add(value, at); }) &&
                  forElements(reader, tensor, elements,
                              [&](double value, int64_t at) { values.keepOutlier(value, at); });
    if (!isRead) {
      llvm::outs() << '\n';
      reader.failure.report(tensor.name, error);
      return failToRead(error);
    }
    llvm::outs() << describe(tensor, values, elements) << '\n';
    if (values.firstBad >= 0 && bad++ == 0)
      firstBad = names[i];
  }
  if (bad)
    llvm::outs() << bad << (bad == 1 ? " tensor holds" : " tensors hold")
                 << " NaN or infinities, the first is " << firstBad << '\n';
  else
    llvm::outs() << "no tensor holds NaN or infinities\n";
  return Ok;
}

} // namespace attn::tool

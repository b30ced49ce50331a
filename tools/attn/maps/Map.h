// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is drawn of a tensor: the last two axes are rows (queries) and columns (keys), those before
// them (batch, heads) make panels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn::maps {

/// An axis of the tensor that is drawn.
struct Axis {
  std::string name;
  int64_t size = 1;
  int64_t first = 0;               ///< The number of its first element.
  std::vector<std::string> labels; ///< One for each element, or none.

  /// "cat", or "H 2".
  std::string labelOf(int64_t index) const;
};

/// A tensor as it is drawn: row-major values, with what its axes are called.
struct Map {
  std::string name;
  std::vector<Axis> axes; ///< at least two
  std::vector<double> values;
  std::string notes;   ///< What was done to it: ", mean over H".
  bool isGrid = false; ///< Rows and columns are those of a picture's patches.

  /// The axis of the queries, and that of the keys.
  const Axis &rows() const { return axes[axes.size() - 2]; }
  const Axis &columns() const { return axes.back(); }
  /// The number of panels, and the values of one, [rows, columns].
  int64_t panels() const;
  const double *panel(int64_t index) const;
  /// "B 0, H 2": what a panel is, of the axes from `from` on that have more than one element.
  std::string panelName(int64_t index, size_t from = 0) const;
};

/// Labels for the elements of an axis.
struct Labels {
  std::string axis; ///< Empty: of the keys, and of the queries too where there are as many.
  std::string file; ///< Where they come from, for messages.
  std::vector<std::string> texts;
};

/// How a map is made of a tensor.
struct MapOptions {
  std::string rows; ///< The axis of the queries, where it is not the last but one.
  std::vector<Labels> labels;
  std::vector<std::string> average;                ///< Axes before the last two.
  std::optional<int64_t> row;                      ///< The one query to draw.
  std::optional<std::pair<int64_t, int64_t>> grid; ///< Rows and columns of patches in the keys.
};

/// What is wrong with a request; no text: nothing.
struct Problem {
  std::string text, help;
  bool isUsage = true; ///< The command line is wrong, not a file.

  explicit operator bool() const { return !text.empty(); }
};

/// What can be said before there are numbers: names, and the number of axes.
Problem checkMap(const Map &map, const MapOptions &options);

/// The axis of the rows, labels, averages, one query, the patches of its keys, in this order.
Problem applyOptions(Map &map, const MapOptions &options);

/// The least and the greatest finite value; 0 belongs to what is not negative.
std::pair<double, double> rangeOf(const double *values, int64_t count);

} // namespace attn::maps

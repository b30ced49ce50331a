// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor and what is asked of it to the map that is drawn: rows, labels, means, one query,
// patches.
#include "Map.h"

#include <algorithm>
#include <cmath>

namespace attn::maps {

std::string Axis::labelOf(int64_t index) const {
  if (size_t(index) < labels.size())
    return labels[size_t(index)];
  return name + " " + std::to_string(first + index);
}

int64_t Map::panels() const {
  int64_t count = 1;
  for (size_t a = 0; a + 2 < axes.size(); ++a)
    count *= axes[a].size;
  return count;
}

const double *Map::panel(int64_t index) const {
  return values.data() + index * rows().size * columns().size;
}

std::string Map::panelName(int64_t index, size_t from) const {
  std::string text;
  for (size_t a = axes.size() - 2; a-- > from;) {
    if (axes[a].size > 1)
      text.insert(0, axes[a].labelOf(index % axes[a].size) + (text.empty() ? "" : ", "));
    index /= axes[a].size;
  }
  return text;
}

std::pair<double, double> rangeOf(const double *values, int64_t count) {
  double least = 0, most = -INFINITY;
  for (int64_t i = 0; i < count; ++i)
    if (std::isfinite(values[i])) {
      least = std::min(least, values[i]);
      most = std::max(most, values[i]);
    }
  return {least, most > least ? most : least + 1};
}

/// The position of an axis, or -1.
static int find(const Map &map, const std::string &name) {
  for (size_t a = 0; a < map.axes.size(); ++a)
    if (map.axes[a].name == name)
      return int(a);
  return -1;
}

static std::string axisNames(const Map &map) {
  std::string text = "the axes of `" + map.name + "` are ";
  for (const Axis &axis : map.axes)
    text.append(&axis == &map.axes.front() ? "`" : ", `").append(axis.name).append("`");
  return text;
}

static Problem noAxis(const Map &map, const std::string &option, const std::string &name) {
  return {"`" + option + "`: `" + map.name + "` has no axis `" + name + "`", axisNames(map)};
}

static Problem checkAverage(const Map &map, const std::string &name, const std::string &rows) {
  std::string option = "--map-average " + name;
  int axis = find(map, name), queries = find(map, rows);
  if (axis < 0)
    return noAxis(map, option, name);
  if (queries < 0)
    queries = int(map.axes.size()) - 2;
  if (axis == queries || axis + 1 == int(map.axes.size()))
    return {"`" + option + "`: rows and columns are drawn, not averaged", axisNames(map)};
  return {};
}

Problem checkMap(const Map &map, const MapOptions &options) {
  if (map.axes.size() < 2)
    return {"`" + map.name + "` has one axis: a map needs two or more, queries and keys the last",
            ""};
  if (!options.rows.empty() && find(map, options.rows) < 0)
    return noAxis(map, "--map-rows " + options.rows, options.rows);
  if (!options.rows.empty() && find(map, options.rows) + 1 == int(map.axes.size()))
    return {"`--map-rows " + options.rows + "`: the last axis is that of the columns",
            axisNames(map)};
  for (const std::string &name : options.average)
    if (Problem problem = checkAverage(map, name, options.rows))
      return problem;
  for (const Labels &labels : options.labels)
    if (!labels.axis.empty() && find(map, labels.axis) < 0)
      return noAxis(map, "--map-labels " + labels.axis + "=" + labels.file, labels.axis);
  return {};
}

/// Makes an axis the last but one.
static void moveRows(Map &map, size_t axis) {
  // [outer, rows, between, keys] -> [outer, between, rows, keys]
  size_t outer = 1, rows = size_t(map.axes[axis].size), between = 1;
  size_t keys = size_t(map.columns().size);
  for (size_t a = 0; a < axis; ++a)
    outer *= size_t(map.axes[a].size);
  for (size_t a = axis + 1; a + 1 < map.axes.size(); ++a)
    between *= size_t(map.axes[a].size);
  std::vector<double> moved;
  moved.reserve(map.values.size());
  for (size_t o = 0; o < outer; ++o)
    for (size_t b = 0; b < between; ++b)
      for (size_t r = 0; r < rows; ++r) {
        const double *from = map.values.data() + ((o * rows + r) * between + b) * keys;
        moved.insert(moved.end(), from, from + keys);
      }
  map.values = std::move(moved);
  auto place = map.axes.begin() + long(axis);
  std::rotate(place, place + 1, map.axes.end() - 1);
}

static Problem setLabels(Map &map, const Labels &labels) {
  Axis &axis = labels.axis.empty() ? map.axes.back() : map.axes[size_t(find(map, labels.axis))];
  if (labels.texts.size() != size_t(axis.size))
    return {"`" + labels.file + "` has " + std::to_string(labels.texts.size()) +
                " labels, but axis `" + axis.name + "` of `" + map.name + "` has " +
                std::to_string(axis.size) + " elements",
            "write one label a line, for each of them", false};
  axis.labels = labels.texts;
  Axis &queries = map.axes[map.axes.size() - 2];
  if (labels.axis.empty() && queries.size == axis.size && queries.labels.empty())
    queries.labels = labels.texts;
  return {};
}

static void average(Map &map, size_t axis) {
  int64_t inner = 1, count = map.axes[axis].size;
  for (size_t a = axis + 1; a < map.axes.size(); ++a)
    inner *= map.axes[a].size;
  std::vector<double> means(map.values.size() / size_t(count));
  for (size_t i = 0; i < means.size(); ++i) {
    size_t outer = i / size_t(inner), rest = i % size_t(inner);
    double sum = 0;
    for (int64_t n = 0; n < count; ++n)
      sum += map.values[(outer * size_t(count) + size_t(n)) * size_t(inner) + rest];
    means[i] = sum / double(count);
  }
  map.values = std::move(means);
  map.notes += ", mean over " + map.axes[axis].name;
  map.axes.erase(map.axes.begin() + long(axis));
}

/// Keeps of every panel rows [row, row + 1) and columns [column, end).
static void keep(Map &map, int64_t row, int64_t column) {
  int64_t rows = map.rows().size, columns = map.columns().size;
  std::vector<double> kept;
  for (int64_t p = 0; p < map.panels(); ++p) {
    const double *from = map.values.data() + (p * rows + row) * columns;
    kept.insert(kept.end(), from + column, from + columns);
  }
  map.values = std::move(kept);
}

static Problem takeRow(Map &map, int64_t row) {
  Axis &queries = map.axes[map.axes.size() - 2];
  if (row < 0 || row >= queries.size)
    return {"`--map-row " + std::to_string(row) + "`: axis `" + queries.name + "` of `" + map.name +
                "` has " + std::to_string(queries.size) + " queries",
            "they are counted from 0"};
  map.notes += ", query " + (queries.labels.empty() ? std::to_string(row)
                                                    : "`" + queries.labels[size_t(row)] + "`");
  keep(map, row, 0);
  queries.first = row;
  queries.size = 1;
  if (!queries.labels.empty())
    queries.labels = {queries.labels[size_t(row)]};
  return {};
}

static Problem layOut(Map &map, int64_t height, int64_t width) {
  Axis &keys = map.axes.back();
  // What stands before the patches, a class token for example, has no place in the picture.
  int64_t before = keys.size - height * width;
  if (before < 0)
    return {"`--map-grid " + std::to_string(height) + "x" + std::to_string(width) + "` needs " +
                std::to_string(height * width) + " keys, but axis `" + keys.name + "` of `" +
                map.name + "` has " + std::to_string(keys.size),
            ""};
  keep(map, 0, before);
  map.axes[map.axes.size() - 2] = {"", height, 0, {}};
  map.axes.back() = {"", width, 0, {}};
  map.isGrid = true;
  return {};
}

Problem applyOptions(Map &map, const MapOptions &options) {
  if (Problem problem = checkMap(map, options))
    return problem;
  if (!options.rows.empty())
    moveRows(map, size_t(find(map, options.rows)));
  for (const Labels &labels : options.labels)
    if (Problem problem = setLabels(map, labels))
      return problem;
  for (const std::string &name : options.average)
    if (int axis = find(map, name); axis >= 0)
      average(map, size_t(axis));
  if (options.row || options.grid)
    if (Problem problem = takeRow(map, options.row.value_or(0)))
      return problem;
  return options.grid ? layOut(map, options.grid->first, options.grid->second) : Problem();
}

} // namespace attn::maps

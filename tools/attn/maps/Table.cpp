// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map to lines of a terminal: numbers where they fit, else blocks.
#include "Table.h"

#include "ColourMap.h"
#include "llvm/Support/Unicode.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace attn::maps {

/// How many columns a text takes on a terminal.
static int columnsOf(const std::string &text) {
  int columns = llvm::sys::unicode::columnWidthUTF8(text);
  return columns < 0 ? int(text.size()) : columns;
}

/// The text in `width` columns: filled up with spaces, or cut.
static std::string fit(std::string text, int width, bool atRight) {
  while (columnsOf(text) > width) {
    while (text.size() > 1 && (text.back() & 0xc0) == 0x80)
      text.pop_back();
    text.pop_back();
  }
  std::string space(size_t(width - columnsOf(text)), ' ');
  return atRight ? space + text : text + space;
}

namespace {

class Table {
public:
  Table(const Map &map, const Terminal &terminal) : map(map), terminal(terminal) {
    std::tie(least, most) = rangeOf(map.values.data(), int64_t(map.values.size()));
    isShare = std::all_of(map.values.begin(), map.values.end(),
                          [](double value) { return value >= 0 && value <= 1; });
    chooseWidths();
  }

  std::string print() {
    int64_t perPart = std::max<int64_t>((terminal.columns - rowWidth - isBlocks) / cellWidth, 1);
    for (int64_t p = 0; p < map.panels(); ++p) {
      std::string name = map.panelName(p);
      line(map.name + (name.empty() ? "" : ", " + name) + map.notes + unit());
      for (int64_t first = 0; first < map.columns().size; first += perPart)
        printPart(map.panel(p), first, std::min(first + perPart, map.columns().size));
    }
    return text;
  }

private:
  void chooseWidths();
  void printPart(const double *values, int64_t first, int64_t last);
  void printHead(int64_t first, int64_t last);
  std::string cell(double value) const;
  const char *block(double value, double from, double to) const;
  std::string coloured(const std::string &content, double value) const;
  std::string unit() const;
  std::string label(const Axis &axis, int64_t index) const {
    return axis.labels.empty() ? std::to_string(axis.first + index) : axis.labels[size_t(index)];
  }
  void line(std::string content) {
    content = fit(content, std::min(columnsOf(content), terminal.columns), false);
    content.erase(content.find_last_not_of(' ') + 1);
    text += content + "\n";
  }

  const Map &map;
  const Terminal &terminal;
  double least = 0, most = 1;
  bool isShare = false, isBlocks = false;
  int rowWidth = 0, cellWidth = 1;
  std::string text;
};

} // namespace

void Table::chooseWidths() {
  constexpr int widestRow = 16, widestCell = 9;
  for (int64_t r = 0; r < map.rows().size; ++r)
    rowWidth = std::max(rowWidth, columnsOf(label(map.rows(), r)));
  rowWidth = std::min({rowWidth, widestRow, terminal.columns / 2});
  int number = isShare ? 4 : 7, widest = 0;
  for (int64_t c = 0; c < map.columns().size; ++c)
    widest = std::max(widest, columnsOf(label(map.columns(), c)));
  // Labels have the room that is left; without room for the numbers there are blocks.
  int64_t room = (terminal.columns - rowWidth) / map.columns().size;
  isBlocks = room < number + 1;
  cellWidth = isBlocks ? 1
                       : std::min({int(std::min<int64_t>(room, 80)),
                                   std::max(number, std::min(widest, widestCell)) + 1});
}

std::string Table::unit() const {
  if (isBlocks)
    return ", each row up to its largest";
  return isShare ? ", in %" : "";
}

std::string Table::cell(double value) const {
  if (!isShare)
    return fmt::format("{:.3g}", value);
  return value > 0 && value < 0.005 ? "<1" : fmt::format("{:.0f}", 100 * value);
}

/// A block between `from` and `to`, which is greater.
const char *Table::block(double value, double from, double to) const {
  static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
  if (!std::isfinite(value))
    return "x";
  int level = int(std::lround(8 * (value - from) / (to - from)));
  return terminal.hasUtf8 ? blocks[level] : ascii[level];
}

/// Labels above their keys; above blocks the number of the first and last key.
void Table::printHead(int64_t first, int64_t last) {
  std::string head = std::string(size_t(rowWidth), ' ');
  if (isBlocks) {
    std::string from = label(map.columns(), first), to = label(map.columns(), last - 1);
    int between = int(last - first) - columnsOf(from) - columnsOf(to);
    head += " " + from;
    if (between > 0)
      head += std::string(size_t(between), ' ') + to;
  } else {
    for (int64_t c = first; c < last; ++c)
      head += " " + fit(label(map.columns(), c), cellWidth - 1, true);
  }
  line(head);
}

void Table::printPart(const double *values, int64_t first, int64_t last) {
  printHead(first, last);
  for (int64_t r = 0; r < map.rows().size; ++r) {
    const double *row = values + r * map.columns().size;
    std::string cells = fit(label(map.rows(), r), rowWidth, true) + (isBlocks ? " " : "");
    auto [from, to] = rangeOf(row, map.columns().size);
    for (int64_t c = first; c < last; ++c)
      cells += isBlocks ? block(row[c], from, to)
                        : coloured(" " + fit(cell(row[c]), cellWidth - 1, true), row[c]);
    cells.erase(cells.find_last_not_of(' ') + 1);
    text += cells + "\n";
  }
}

std::string Table::coloured(const std::string &content, double value) const {
  if (!terminal.hasColour || !std::isfinite(value))
    return content;
  double share = (value - least) / (most - least);
  Colour colour = colourOf(share);
  return fmt::format("\x1b[48;2;{};{};{};38;5;{}m{}\x1b[0m", colour.red, colour.green, colour.blue,
                     share < 0.6 ? 231 : 16, content);
}

std::string tableOf(const Map &map, const Terminal &terminal) {
  return Table(map, terminal).print();
}

} // namespace attn::maps

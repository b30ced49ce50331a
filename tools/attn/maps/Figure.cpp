// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A figure's layout and drawing. Sizes are in pixels; the panels stand in a grid, row labels are
// left of its first column, column labels below the lowest panel of each column.
#include "Figure.h"

#include "ColourMap.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace attn::maps {
namespace {

constexpr Colour ink{32, 38, 50}, pale{110, 118, 134}, edge{150, 156, 168}, white{255, 255, 255};
constexpr double small = 1.6, large = 2;
constexpr int margin = 22, gap = 18, tick = 6, barWidth = 16, longestLabel = 150, scaleTicks = 5;

/// How the labels of one side are drawn.
struct Side {
  const Axis *axis = nullptr;
  int cell = 1;
  int64_t step = 1;       ///< Every so many elements have one.
  int depth = 0;          ///< How far they reach from the panel.
  bool isUpwards = false; ///< Of columns.

  std::string text(int64_t index) const {
    if (axis->labels.empty())
      return std::to_string(axis->first + index);
    return fitText(axis->labels[size_t(index)], small, longestLabel);
  }
};

class Figure {
public:
  Figure(const Map &map, const Pictures &pictures) : map(map), pictures(pictures) {
    std::tie(least, most) = rangeOf(map.values.data(), int64_t(map.values.size()));
    chooseCells();
    choosePanels();
    measure();
  }

  int64_t pixels() const { return int64_t(width) * height; }
  Canvas draw() const;

private:
  void chooseCells();
  void choosePanels();
  void measure();
  void placePictures();
  Side sideOf(const Axis &axis, int cell, bool isColumn) const;
  void drawPanel(Canvas &canvas, int64_t index) const;
  bool showsValues() const;
  void drawCellValue(Canvas &canvas, int x, int y, double value) const;
  void drawRowLabels(Canvas &canvas, int x, int y) const;
  void drawColumnLabels(Canvas &canvas, int x, int y) const;
  void drawPicture(Canvas &canvas, int64_t index, int x, int y) const;
  void drawBar(Canvas &canvas) const;
  void drawHollow(Canvas &canvas, int x, int y) const;
  double share(double value) const {
    return std::isfinite(value) ? (value - least) / (most - least) : value;
  }
  int slotX(int64_t column) const { return left + int(column) * (slotWidth + gap); }
  int slotY(int64_t row) const { return top + int(row) * (slotHeight + gap); }

  const Map &map;
  const Pictures &pictures;
  double least = 0, most = 1;
  int cellWidth = 1, cellHeight = 1, panelWidth = 1, panelHeight = 1;
  int64_t panelRows = 1, panelColumns = 1;
  int pictureWidth = 0, pictureHeight = 0;
  int slotWidth = 1, slotHeight = 1, heading = 0;
  Side rows, columns;
  int nameLeft = 0; ///< Where the names of rows' axes stand.
  int left = 0, top = 0, width = 0, height = 0;
};

} // namespace

std::vector<double> ticksOf(double least, double most, int wanted) {
  double rough = (most - least) / wanted, power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * (rough / power <= 1   ? 1
                         : rough / power <= 2 ? 2
                         : rough / power <= 5 ? 5
                                              : 10);
  auto first = int64_t(std::ceil(least / step - 1e-9)),
       last = int64_t(std::floor(most / step + 1e-9));
  std::vector<double> ticks;
  for (int64_t n = first; n <= last; ++n)
    ticks.push_back(double(n) * step);
  return ticks;
}

static std::string numberText(double value) { return fmt::format("{:.4g}", value); }

/// The smallest of 1, 2, 5, 10, … elements that are `room` pixels or more.
static int64_t stepOf(int cell, int room) {
  for (int64_t power = 1;; power *= 10)
    for (int64_t step : {power, 2 * power, 5 * power})
      if (step * cell >= room)
        return step;
}

void Figure::chooseCells() {
  constexpr int wanted = 280, mostCell = 46, line = 18, mostLabelled = 150;
  int64_t longest = std::max(map.rows().size, map.columns().size);
  int cell = int(std::clamp<int64_t>(wanted / longest, 1, mostCell));
  bool isLabelled = !map.rows().labels.empty() || !map.columns().labels.empty();
  if (isLabelled && longest <= mostLabelled)
    cell = std::max(cell, line);
  cellWidth = cellHeight = cell;
  if (map.rows().size == 1)
    cellHeight = std::max(cell, 28);
  panelWidth = int(std::min<int64_t>(map.columns().size * cellWidth, 1 << 20));
  panelHeight = int(std::min<int64_t>(map.rows().size * cellHeight, 1 << 20));
}

void Figure::choosePanels() {
  int64_t count = std::min<int64_t>(map.panels(), 1 << 20);
  std::vector<int64_t> leading;
  for (size_t a = 0; a + 2 < map.axes.size(); ++a)
    leading.push_back(map.axes[a].size);
  if (pictures.count > 0)
    panelColumns = count / pictures.count;
  else if (leading.size() >= 2 && leading.back() > 1 && leading.back() < count)
    panelColumns = leading.back();
  else // one axis: nearly a square, wider than high
    panelColumns = count <= 4 ? count : int64_t(std::ceil(std::sqrt(double(count))));
  panelColumns = std::max<int64_t>(panelColumns, 1);
  panelRows = (count + panelColumns - 1) / panelColumns;
}

Side Figure::sideOf(const Axis &axis, int cell, bool isColumn) const {
  Side side{&axis, cell};
  if (map.isGrid)
    return side;
  int line = textHeight(small) + 4, widest = 0;
  int64_t measured = std::min<int64_t>(axis.size, 4096);
  for (int64_t i = 0; i < measured; ++i)
    widest = std::max(widest, textWidth(side.text(axis.labels.empty() ? axis.size - 1 : i), small));
  bool isNumbers = axis.labels.empty();
  side.isUpwards = isColumn && !isNumbers && widest + 6 > cell;
  side.step = isNumbers ? stepOf(cell, isColumn ? widest + 8 : line)
                        : (std::max(line - 2, 1) + cell - 1) / cell;
  side.depth = tick + (isColumn && !side.isUpwards ? textHeight(small) : widest);
  return side;
}

void Figure::measure() {
  int line = textHeight(small);
  rows = sideOf(map.rows(), cellHeight, false);
  columns = sideOf(map.columns(), cellWidth, true);
  bool hasHeadings = map.panels() > 1 || pictures.count > 0;
  heading = hasHeadings ? line + 10 : 0;
  slotWidth = panelWidth;
  slotHeight = panelHeight + heading;
  for (int64_t p = 0; hasHeadings && p < std::min<int64_t>(map.panels(), 4096); ++p)
    slotWidth = std::max(
        slotWidth, std::min(textWidth(map.panelName(p, pictures.count > 0), small), longestLabel));
  int axisName = map.isGrid ? 0 : line + 14;
  placePictures();
  nameLeft = margin + (pictureWidth ? pictureWidth + gap : 0);
  left = nameLeft + axisName + rows.depth;
  top = margin + textHeight(large) + 18;
  int64_t wide = left + panelColumns * (slotWidth + gap) + gap + barWidth + tick + 4;
  int widestTick = textWidth("-inf", small);
  for (double value : ticksOf(least, most, scaleTicks))
    widestTick = std::max(widestTick, textWidth(numberText(value), small));
  wide = std::max<int64_t>(wide + widestTick + margin,
                           2 * margin + textWidth(map.name + map.notes, large));
  int64_t high = top + panelRows * (slotHeight + gap) - gap + columns.depth + axisName + margin;
  width = int(std::min<int64_t>(wide, 1 << 24));
  height = int(std::min<int64_t>(std::max<int64_t>(high, top + heading + 170), 1 << 24));
}

static std::string cellText(double value) {
  return std::fabs(value) < 10 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

/// All cells or none show their numbers.
bool Figure::showsValues() const {
  bool isFew = !map.isGrid && map.panels() <= 16 && map.rows().size * map.columns().size <= 144;
  return isFew && textHeight(small) + 6 <= cellHeight &&
         std::all_of(map.values.begin(), map.values.end(), [&](double value) {
           return textWidth(cellText(value), small) + 4 <= cellWidth;
         });
}

void Figure::drawCellValue(Canvas &canvas, int x, int y, double value) const {
  std::string text = cellText(value);
  canvas.text(x + (cellWidth - textWidth(text, small)) / 2,
              y + (cellHeight - textHeight(small)) / 2, text, small,
              std::isfinite(value) && share(value) < 0.6 ? white : ink);
}

void Figure::drawPanel(Canvas &canvas, int64_t index) const {
  int64_t row = index / panelColumns, column = index % panelColumns;
  int x = slotX(column), y = slotY(row) + heading;
  if (heading)
    canvas.text(x, y - heading + 2,
                fitText(map.panelName(index, pictures.count > 0), small, slotWidth), small, ink);
  const double *values = map.panel(index);
  bool hasValues = showsValues();
  for (int64_t r = 0; r < map.rows().size; ++r)
    for (int64_t c = 0; c < map.columns().size; ++c) {
      double value = values[r * map.columns().size + c];
      int cx = x + int(c) * cellWidth, cy = y + int(r) * cellHeight;
      canvas.fill(cx, cy, cellWidth, cellHeight, colourOf(share(value)));
      if (hasValues)
        drawCellValue(canvas, cx, cy, value);
    }
  canvas.frame(x - 1, y - 1, panelWidth + 2, panelHeight + 2, edge);
  if (map.isGrid)
    return;
  if (column == 0)
    drawRowLabels(canvas, x, y);
  if (index + panelColumns >= map.panels())
    drawColumnLabels(canvas, x, y + panelHeight);
}

void Figure::drawRowLabels(Canvas &canvas, int x, int y) const {
  for (int64_t r = 0; r < map.rows().size; r += rows.step) {
    std::string text = rows.text(r);
    int middle = y + int(r) * cellHeight + cellHeight / 2;
    canvas.text(x - tick - textWidth(text, small), middle - textHeight(small) / 2, text, small,
                ink);
  }
  std::string name = map.rows().name;
  if (name.size() <= 2) // a letter reads better as it stands
    canvas.text(nameLeft, y + (panelHeight - textHeight(small)) / 2, name, small, pale);
  else
    canvas.textUpwards(nameLeft, y + (panelHeight + textWidth(name, small)) / 2, name, small, pale);
}

void Figure::drawColumnLabels(Canvas &canvas, int x, int y) const {
  for (int64_t c = 0; c < map.columns().size; c += columns.step) {
    std::string text = columns.text(c);
    int middle = x + int(c) * cellWidth + cellWidth / 2, wide = textWidth(text, small);
    if (columns.isUpwards)
      canvas.textUpwards(middle - textHeight(small) / 2, y + tick + wide, text, small, ink);
    else
      canvas.text(middle - wide / 2, y + tick, text, small, ink);
  }
  std::string name = map.columns().name;
  canvas.text(x + (panelWidth - textWidth(name, small)) / 2, y + columns.depth + 12, name, small,
              pale);
}

/// As large as a panel, or smaller where their shape is another.
void Figure::placePictures() {
  if (pictures.count == 0)
    return;
  double across = double(pictures.width), down = double(pictures.height);
  double zoom = std::min(panelWidth / across, panelHeight / down);
  pictureWidth = std::max(int(zoom * across), 1);
  pictureHeight = std::max(int(zoom * down), 1);
}

void Figure::drawPicture(Canvas &canvas, int64_t index, int x, int y) const {
  int64_t size = pictures.channels * pictures.height * pictures.width;
  const double *values = pictures.values.data() + index * size;
  auto [low, high] = std::minmax_element(values, values + size);
  double from = *low, range = *high > *low ? *high - *low : 1;
  canvas.text(x, y - heading + 2, fitText(map.axes.front().labelOf(index), small, pictureWidth),
              small, ink);
  for (int py = 0; py < pictureHeight; ++py)
    for (int px = 0; px < pictureWidth; ++px) {
      int64_t r = py * pictures.height / pictureHeight, c = px * pictures.width / pictureWidth;
      auto part = [&](int64_t channel) {
        int64_t plane = std::min(channel, pictures.channels - 1);
        double value = values[(plane * pictures.height + r) * pictures.width + c];
        return uint8_t(std::lround(255 * std::clamp((value - from) / range, 0.0, 1.0)));
      };
      canvas.fill(x + px, y + py, 1, 1, {part(0), part(1), part(2)});
    }
  canvas.frame(x - 1, y - 1, pictureWidth + 2, pictureHeight + 2, edge);
}

void Figure::drawBar(Canvas &canvas) const {
  int x = slotX(panelColumns) + gap - gap / 2, y = top + heading;
  int high = std::max(std::min(slotY(panelRows) - gap - y, 260), 100);
  for (int row = 0; row < high; ++row)
    canvas.fill(x, y + row, barWidth, 1, colourOf(1 - (row + 0.5) / high));
  canvas.frame(x - 1, y - 1, barWidth + 2, high + 2, edge);
  for (double value : ticksOf(least, most, scaleTicks)) {
    int at = y + int(std::lround((1 - share(value)) * (high - 1)));
    canvas.fill(x + barWidth + 1, at, 4, 1, edge);
    canvas.text(x + barWidth + tick + 4, at - textHeight(small) / 2, numberText(value), small, ink);
  }
  drawHollow(canvas, x, y + high + 14);
}

/// Says below the scale what the colour of masked scores is, where there are any.
void Figure::drawHollow(Canvas &canvas, int x, int y) const {
  auto isHollow = [](double value) { return !std::isfinite(value); };
  auto isMasked = [](double value) { return value == -INFINITY; };
  auto found = std::count_if(map.values.begin(), map.values.end(), isHollow);
  if (found == 0)
    return;
  bool isInfinity = std::count_if(map.values.begin(), map.values.end(), isMasked) == found;
  canvas.fill(x, y, barWidth, barWidth, hollow);
  canvas.frame(x - 1, y - 1, barWidth + 2, barWidth + 2, edge);
  canvas.text(x + barWidth + tick + 4, y + (barWidth - textHeight(small)) / 2,
              isInfinity ? "-inf" : "NaN", small, ink);
}

Canvas Figure::draw() const {
  Canvas canvas(width, height);
  canvas.text(margin, margin, map.name, large, ink);
  canvas.text(margin + textWidth(map.name, large), margin, map.notes, large, pale);
  for (int64_t p = 0; p < map.panels(); ++p)
    drawPanel(canvas, p);
  for (int64_t p = 0; p < pictures.count; ++p)
    drawPicture(canvas, p, margin, slotY(p) + heading);
  drawBar(canvas);
  return canvas;
}

std::optional<Canvas> drawFigure(const Map &map, const Pictures &pictures, Problem &problem) {
  Figure figure(map, pictures);
  if (figure.pixels() <= largestFigure)
    return figure.draw();
  problem = {"`" + map.name + "` is too large to draw: " + std::to_string(map.panels()) +
                 " panels of " + std::to_string(map.rows().size) + " x " +
                 std::to_string(map.columns().size) + " cells",
             "average over an axis (`--map-average`), or draw one query (`--map-row`)"};
  return std::nullopt;
}

} // namespace attn::maps

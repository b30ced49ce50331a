// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--taps`, `--map` and the options that say how a map is drawn.
#include "MapArguments.h"

#include "tools/attn/support/Files.h"
#include "tools/attn/support/Options.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include <cstdlib>

using namespace llvm;

namespace attn::tool {

/// The lines of a file, without what could move a terminal's cursor.
static int readLabels(StringRef argument, maps::Labels &labels) {
  auto [axis, file] = argument.split('=');
  if (file.empty())
    std::swap(axis, file);
  if (file.empty())
    return fail(Usage, "`--map-labels " + argument + "`: expected FILE or AXIS=FILE");
  labels.axis = axis.str();
  labels.file = file.str();
  std::unique_ptr<MemoryBuffer> buffer = readInput(file);
  if (!buffer)
    return Environment;
  SmallVector<StringRef> lines;
  StringRef text = buffer->getBuffer();
  text.consume_back("\n");
  text.split(lines, '\n');
  for (auto [number, line] : enumerate(lines)) {
    std::string label = line.trim().str();
    auto *begin = reinterpret_cast<const UTF8 *>(label.data());
    if (!isLegalUTF8String(&begin, begin + label.size()))
      return fail(BadInput, "`" + file + "`: line " + Twine(number + 1) + " is not UTF-8");
    for (char &c : label)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        c = '?';
    labels.texts.push_back(std::move(label));
  }
  return Ok;
}

static int readGrid(StringRef argument, maps::MapOptions &options) {
  auto [height, width] = argument.split('x');
  auto rows = parseNumber(height, 1, 1 << 20), columns = parseNumber(width, 1, 1 << 20);
  if (!rows || !columns)
    return fail(Usage, "`--map-grid " + argument + "`: expected ROWSxCOLUMNS, `14x14` for example");
  options.grid = {*rows, *columns};
  return Ok;
}

static maps::Terminal standardOutput() {
  maps::Terminal terminal;
  bool isTerminal = sys::Process::StandardOutIsDisplayed();
  unsigned columns = sys::Process::StandardOutColumns();
  if (const char *text = std::getenv("COLUMNS"); text && !isTerminal)
    StringRef(text).getAsInteger(10, columns);
  if (columns >= 20)
    terminal.columns = int(std::min(columns, 1000u));
  terminal.hasColour = isTerminal && !std::getenv("NO_COLOR");
  // As the C library looks for it: the first of these that is set.
  for (const char *name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char *value = std::getenv(name); value && *value) {
      terminal.hasUtf8 = StringRef(value).contains_insensitive("utf-8") ||
                         StringRef(value).contains_insensitive("utf8");
      break;
    }
  return terminal;
}

int readObservation(const opt::InputArgList &args, Observation &observation) {
  observation.taps = args.getLastArgValue(OPT_taps).str();
  observation.entry = args.getLastArgValue(OPT_entry).str();
  observation.terminal = standardOutput();
  observation.hasPictures = args.hasArg(OPT_map_image);
  for (const std::string &text : args.getAllArgValues(OPT_map)) {
    auto [name, file] = StringRef(text).split('=');
    if (name.empty() || file.empty())
      return fail(Usage, "`--map " + text + "`: expected NAME=FILE.png, or NAME=- for a table");
    observation.maps.push_back({name.str(), file.str(), {}});
  }
  for (auto id :
       {OPT_map_rows, OPT_map_average, OPT_map_labels, OPT_map_row, OPT_map_grid, OPT_map_image})
    if (const opt::Arg *arg = args.getLastArg(id); arg && observation.maps.empty())
      return fail(Usage, "`" + arg->getSpelling() + "` says how a map is drawn, and there is none",
                  "add `--map NAME=FILE.png`");
  maps::MapOptions &options = observation.mapOptions;
  options.rows = args.getLastArgValue(OPT_map_rows).str();
  options.average = args.getAllArgValues(OPT_map_average);
  for (const std::string &text : args.getAllArgValues(OPT_map_labels))
    if (int code = readLabels(text, options.labels.emplace_back()))
      return code;
  if (const opt::Arg *arg = args.getLastArg(OPT_map_row)) {
    options.row = parseNumber(arg->getValue(), 0, INT64_MAX);
    if (!options.row)
      return fail(Usage, "`--map-row " + Twine(arg->getValue()) + "`: expected a query's number");
  }
  if (const opt::Arg *arg = args.getLastArg(OPT_map_grid))
    return readGrid(arg->getValue(), options);
  return Ok;
}

} // namespace attn::tool

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of a run to a file of named intermediates, and to maps as text or pictures.
#include "RunObserver.h"

#include "Runner.h"
#include "io/Checkpoint.h"
#include "io/Safetensors.h"
#include "main/Command.h"
#include "tools/attn/maps/Figure.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include <algorithm>
#include <cstdio>

namespace attn::tool {
namespace {

class Observer {
public:
  Observer(const attn_abi_model &tables, const Observation &wanted)
      : tables(tables), wanted(wanted) {}

  /// Finds what is wrong with the request before anything runs.
  int check() const;
  int observe(int32_t entry, const Tensors &inputs, const Tensors &outputs) const;

private:
  int checkEntry(const attn_abi_entry &entry) const;
  int writeTaps(int32_t entry, const Tensors &outputs) const;
  int draw(int32_t entry, const Observation::Drawing &drawing, const Tensors &inputs,
           const Tensors &outputs) const;
  int readPictures(int32_t entry, const Tensors &inputs, maps::Pictures &pictures) const;
  int32_t ownOutputs(int32_t entry) const {
    return wanted.outputs.empty() ? tables.entries[entry].outputCount
                                  : wanted.outputs[size_t(entry)];
  }

  const attn_abi_model &tables;
  const Observation &wanted;
};

} // namespace

static int failWith(const maps::Problem &problem) {
  return fail(problem.isUsage ? Usage : BadInput, problem.text, problem.help);
}

/// The output of that name, an entry's own before an intermediate; -1 where there is none.
static int32_t findOutput(const attn_abi_entry &entry, const std::string &name) {
  for (int32_t i = 0; i < entry.outputCount; ++i)
    if (name == entry.outputs[i].name)
      return i;
  return -1;
}

/// The options of one of the maps: rows are its queries, unless `--map-rows` says otherwise.
static maps::MapOptions optionsOf(const Observation &wanted, const Observation::Drawing &drawing) {
  maps::MapOptions options = wanted.mapOptions;
  if (options.rows.empty())
    options.rows = drawing.rows;
  return options;
}

/// A map without its numbers.
static maps::Map emptyMap(const attn_abi_tensor &tensor, const int64_t *shape) {
  maps::Map map;
  map.name = tensor.name;
  for (int32_t a = 0; a < tensor.rank; ++a)
    map.axes.push_back({tensor.axes[a].name, shape ? shape[a] : 1, 0, {}});
  return map;
}

int Observer::checkEntry(const attn_abi_entry &entry) const {
  for (const Observation::Drawing &drawing : wanted.maps) {
    int32_t output = findOutput(entry, drawing.name);
    if (output >= 0) {
      const maps::Map map = emptyMap(entry.outputs[output], nullptr);
      if (maps::Problem problem = checkMap(map, optionsOf(wanted, drawing)))
        return failWith(problem);
      continue;
    }
    std::string names;
    for (int32_t i = 0; i < entry.outputCount; ++i)
      names += std::string(i ? ", `" : "`") + entry.outputs[i].name + "`";
    return fail(Usage,
                "`--map`: entry `" + std::string(entry.name) + "` computes nothing called `" +
                    drawing.name + "`",
                "there are " + names);
  }
  return Ok;
}

int Observer::check() const {
  // Where the choice of an entry is wrong, attn_main says so.
  for (int32_t e = 0; e < tables.entryCount; ++e)
    if (wanted.entry == tables.entries[e].name || (wanted.entry.empty() && tables.entryCount == 1))
      return checkEntry(tables.entries[e]);
  return Ok;
}

int Observer::writeTaps(int32_t entry, const Tensors &outputs) const {
  std::vector<attn_named_tensor> taps;
  for (size_t i = size_t(ownOutputs(entry)); i < outputs.list.size(); ++i)
    taps.push_back({tables.entries[entry].outputs[i].name, outputs.list[i]});
  attn::Error error;
  if (writeSafetensors(wanted.taps.c_str(), taps.data(), taps.size(), error))
    return failWithMessage(ExitCode(exitCode(error.status)), error.text.c_str());
  return Ok;
}

int Observer::readPictures(int32_t entry, const Tensors &inputs, maps::Pictures &pictures) const {
  for (int32_t i = 0; i < tables.imageCount; ++i) {
    if (tables.images[i].entry != entry)
      continue;
    Numbers numbers = toNumbers("image", inputs.list[size_t(tables.images[i].input)]);
    size_t rank = numbers.shape.size();
    pictures.channels = numbers.shape[rank - 3];
    pictures.height = numbers.shape[rank - 2];
    pictures.width = numbers.shape[rank - 1];
    pictures.count = 1;
    for (size_t a = 0; a + 3 < rank; ++a)
      pictures.count *= numbers.shape[a];
    pictures.values = std::move(numbers.values);
    return Ok;
  }
  return fail(Usage, "`--map-image`: entry `" + std::string(tables.entries[entry].name) +
                         "` takes no picture");
}

/// Of what the steps of a loop over tokens have given: those of the longest row, where the axis of
/// the steps has more.
static void keepSteps(maps::Map &map, const attn_tensor &counts) {
  const auto *count = static_cast<const int32_t *>(counts.data);
  int64_t rows = 1, most = 1, inner = 1;
  for (int32_t a = 0; a < counts.rank; ++a)
    rows *= counts.shape[a];
  for (int64_t row = 0; row < rows; ++row)
    most = std::max<int64_t>(most, count[row]);
  for (size_t a = 1; a < map.axes.size(); ++a)
    inner *= map.axes[a].size;
  map.axes.front().size = std::min(most, map.axes.front().size);
  map.values.resize(size_t(map.axes.front().size * inner));
}

int Observer::draw(int32_t entry, const Observation::Drawing &drawing, const Tensors &inputs,
                   const Tensors &outputs) const {
  int32_t output = findOutput(tables.entries[entry], drawing.name);
  const attn_tensor &tensor = outputs.list[size_t(output)];
  maps::Map map = emptyMap(tables.entries[entry].outputs[output], tensor.shape);
  map.values = toNumbers(drawing.name.c_str(), tensor).values;
  if (tables.entries[entry].unfold && output >= 2) // behind `tokens` and `count`
    keepSteps(map, outputs.list[1]);
  maps::Problem problem = applyOptions(map, optionsOf(wanted, drawing));
  if (problem)
    return failWith(problem);
  if (drawing.file == "-") {
    std::string text = tableOf(map, wanted.terminal);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return Ok;
  }
  maps::Pictures pictures;
  if (wanted.hasPictures)
    if (int code = readPictures(entry, inputs, pictures))
      return code;
  if (wanted.hasPictures && (map.axes.size() < 3 || map.axes.front().size != pictures.count))
    return fail(Usage, "`--map-image`: the first axis of `" + drawing.name +
                           "` is not that of the " + std::to_string(pictures.count) + " pictures");
  std::optional<maps::Canvas> figure = drawFigure(map, pictures, problem);
  if (!figure)
    return failWith(problem);
  std::string bytes = figure->png();
  return bytes.empty() ? fail(Internal, "`" + drawing.file + "` could not be made by libpng")
                       : writeOutput(drawing.file, bytes);
}

int Observer::observe(int32_t entry, const Tensors &inputs, const Tensors &outputs) const {
  if (!wanted.taps.empty())
    if (int code = writeTaps(entry, outputs))
      return code;
  for (const Observation::Drawing &drawing : wanted.maps)
    if (int code = draw(entry, drawing, inputs, outputs))
      return code;
  return Ok;
}

int runObserved(const attn_abi_model *tables, int argc, char **argv, Observation &observation) {
  Observer observer(*tables, observation);
  if (int code = observer.check())
    return code;
  Command command;
  command.observe = [](void *context, int32_t entry, const Tensors &inputs,
                       const Tensors &outputs) {
    return static_cast<const Observer *>(context)->observe(entry, inputs, outputs);
  };
  command.observeContext = &observer;
  if (!observation.taps.empty())
    command.otherOutputs.push({"--taps", observation.taps.c_str()});
  for (const Observation::Drawing &drawing : observation.maps)
    command.otherOutputs.push({"--map", drawing.file.c_str()});
  command.written = observation.outputs.empty() ? nullptr : observation.outputs.data();
  return runCommandLine(*tables, argc, argv, command);
}

int runCounted(const attn_abi_model *tables, int argc, char **argv,
               double (*liveShare)(void *, int32_t, const int64_t *, const char *), void *context) {
  Command command;
  command.liveShare = liveShare;
  command.liveShareContext = context;
  return runCommandLine(*tables, argc, argv, command);
}

} // namespace attn::tool

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// preprocessor_config.json: how a picture becomes a tensor.
#include "compiler/import/folder/Families.h"

using namespace llvm;

namespace attn::importer {

std::string numbersText(Config &from, StringRef key) {
  std::vector<double> numbers = from.numbers(key);
  if (numbers.empty())
    return "";
  if (all_of(numbers, [&](double one) { return one == numbers.front(); }))
    return numberText(numbers.front());
  std::string text;
  for (double number : numbers)
    text += (text.empty() ? "[" : ", ") + numberText(number);
  return text + "]";
}

/// The side of the square that a processor makes of a picture; 0 where it says none.
static int64_t sideOf(Config &values, bool crops) {
  for (StringRef key : {crops ? StringRef("crop_size") : StringRef("size"), StringRef("size")}) {
    if (std::optional<int64_t> side = values.whole(key))
      return *side;
    Config size = values.within(key);
    for (StringRef part : {"height", "shortest_edge"})
      if (std::optional<int64_t> side = size.whole(part))
        return *side;
  }
  return 0;
}

/// What a picture is resized to before its middle of `side` is taken: " from 256", of its shorter
/// edge, or " from 256 x 256".
static std::string resizedText(Config &values, int64_t side) {
  std::optional<int64_t> edge = values.whole("size"), height, width;
  if (!edge) {
    Config size = values.within("size");
    edge = size.whole("shortest_edge"), height = size.whole("height"), width = size.whole("width");
  }
  int64_t least = edge.value_or(std::min(height.value_or(0), width.value_or(0)));
  if (least < side) {
    values.note("a picture is resized to " + Twine(side) + " x " + Twine(side) +
                " as a whole; what the published processor resizes it to is smaller, or not said");
    return "";
  }
  return edge ? " from " + std::to_string(*edge)
              : " from " + std::to_string(*height) + " x " + std::to_string(*width);
}

/// The filter, the means and deviations, and the end of the line.
static std::string pixelsText(Config &values) {
  static constexpr StringRef filters[] = {"nearest", "", "bilinear", "bicubic"};
  int64_t filter = values.whole("resample").value_or(2);
  if (filter < 0 || filter > 3 || filters[filter].empty()) {
    values.refuse("resample", "0 (nearest), 2 (bilinear) or 3 (bicubic)");
    filter = 2;
  }
  std::string text = " " + filters[filter].str();
  if (values.flag("do_normalize", true)) {
    std::string mean = numbersText(values, "image_mean"),
                deviation = numbersText(values, "image_std");
    text += (mean.empty() ? "" : " mean " + mean) + (deviation.empty() ? "" : " std " + deviation);
  }
  return text + "  // a picture becomes the tensor\n";
}

Picture readPicture(FamilyWriter &writer, int64_t side) {
  Picture picture{side, side, ""};
  if (!writer.folder.preprocessor) {
    writer.config.note(
        "there is no `preprocessor_config.json`: the spec does not say how a picture "
        "becomes the tensor");
    return picture;
  }
  Config values(*writer.folder.preprocessor, "preprocessor_config.json");
  bool crops = values.flag("do_center_crop", false);
  if (int64_t own = sideOf(values, crops); own >= 1 && own <= 65536)
    picture.side = own;
  std::string words = std::to_string(picture.side);
  picture.line = "image input " + words + " x " + words;
  if (crops)
    picture.line += resizedText(values, picture.side);
  picture.line += pixelsText(values);
  picture.width = picture.side;
  writer.config.adopt(values);
  return picture;
}

Picture readFramedPicture(FamilyWriter &writer, int64_t shortest, int64_t longest) {
  json::Object empty;
  const json::Object &object = writer.folder.preprocessor ? *writer.folder.preprocessor : empty;
  Config values(object, "preprocessor_config.json");
  static const json::Object none;
  Config size = values.whole("size") ? Config(none, "") : values.within("size");
  auto read = [&](int64_t &to, Config &from, StringRef key) {
    if (std::optional<int64_t> said = from.whole(key); said && *said >= 1 && *said <= 65536)
      to = *said;
  };
  read(shortest, values, "size");
  read(shortest, size, "shortest_edge");
  read(longest, values, "max_size");
  read(longest, size, "longest_edge");
  Picture picture{shortest, std::min(shortest * 4 / 3, std::max(longest, shortest)), ""};
  if (size.whole("height") && size.whole("width")) {
    read(picture.side, size, "height");
    read(picture.width, size, "width");
  } else {
    values.note("a picture is resized to " + Twine(picture.side) + " x " + Twine(picture.width) +
                " as a whole; the published processor keeps the ratio of its sides, the shorter " +
                Twine(shortest) + " long and the longer at most " + Twine(longest));
  }
  picture.line = "image input " + std::to_string(picture.side) + " x " +
                 std::to_string(picture.width) + pixelsText(values);
  if (!writer.folder.preprocessor)
    picture.line.clear();
  writer.config.adopt(values);
  return picture;
}

} // namespace attn::importer

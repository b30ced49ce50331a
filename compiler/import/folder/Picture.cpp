// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// preprocessor_config.json: how a picture becomes a tensor.
#include "compiler/import/folder/Families.h"

using namespace llvm;

namespace attn::importer {

std::string numbersText(Config &from, const json::Object &object, StringRef key) {
  const json::Array *array = object.getArray(key);
  std::string text;
  bool isOne = true;
  for (size_t i = 0; array && i < array->size(); ++i) {
    std::optional<double> number = (*array)[i].getAsNumber();
    if (!number) {
      from.refuse(key, "a list of numbers");
      return "0.5";
    }
    isOne &= (*array)[i] == (*array)[0];
    text += (i ? ", " : "") + numberText(*number);
  }
  if (text.empty())
    return "";
  return isOne ? StringRef(text).split(',').first.str() : "[" + text + "]";
}

/// The side of the square that a processor makes of a picture; 0 where it says none.
static int64_t sideOf(const json::Object &object, bool crops) {
  for (StringRef key : {crops ? StringRef("crop_size") : StringRef("size"), StringRef("size")}) {
    if (std::optional<int64_t> side = object.getInteger(key))
      return *side;
    const json::Object *size = object.getObject(key);
    for (StringRef part : {"height", "shortest_edge"})
      if (std::optional<int64_t> side = size ? size->getInteger(part) : std::nullopt)
        return *side;
  }
  return 0;
}

/// What a picture is resized to before its middle of `side` is taken: " from 256", of its shorter
/// edge, or " from 256 x 256".
static std::string resizedText(Config &values, const json::Object &object, int64_t side) {
  const json::Object *size = object.getObject("size");
  std::optional<int64_t> edge =
                             size ? size->getInteger("shortest_edge") : object.getInteger("size"),
                         height = size ? size->getInteger("height") : std::nullopt,
                         width = size ? size->getInteger("width") : std::nullopt;
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
static std::string pixelsText(Config &values, const json::Object &object) {
  static constexpr StringRef filters[] = {"nearest", "", "bilinear", "bicubic"};
  int64_t filter = object.getInteger("resample").value_or(2);
  if (filter < 0 || filter > 3 || filters[filter].empty()) {
    values.refuse("resample", "0 (nearest), 2 (bilinear) or 3 (bicubic)");
    filter = 2;
  }
  std::string text = " " + filters[filter].str();
  if (values.flag("do_normalize", true)) {
    std::string mean = numbersText(values, object, "image_mean"),
                deviation = numbersText(values, object, "image_std");
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
  const json::Object &object = *writer.folder.preprocessor;
  Config values(object, "preprocessor_config.json");
  bool crops = values.flag("do_center_crop", false);
  if (int64_t own = sideOf(object, crops); own >= 1 && own <= 65536)
    picture.side = own;
  std::string words = std::to_string(picture.side);
  picture.line = "image input " + words + " x " + words;
  if (crops)
    picture.line += resizedText(values, object, picture.side);
  picture.line += pixelsText(values, object);
  picture.width = picture.side;
  writer.config.adopt(values);
  return picture;
}

Picture readFramedPicture(FamilyWriter &writer, int64_t shortest, int64_t longest) {
  json::Object empty;
  const json::Object &object = writer.folder.preprocessor ? *writer.folder.preprocessor : empty;
  Config values(object, "preprocessor_config.json");
  const json::Object *size = object.getObject("size");
  auto read = [&](int64_t &to, const json::Object *from, StringRef key) {
    if (std::optional<int64_t> said = from ? from->getInteger(key) : std::nullopt;
        said && *said >= 1 && *said <= 65536)
      to = *said;
  };
  read(shortest, &object, "size");
  read(shortest, size, "shortest_edge");
  read(longest, &object, "max_size");
  read(longest, size, "longest_edge");
  Picture picture{shortest, std::min(shortest * 4 / 3, std::max(longest, shortest)), ""};
  if (size && size->getInteger("height") && size->getInteger("width")) {
    read(picture.side, size, "height");
    read(picture.width, size, "width");
  } else {
    values.note("a picture is resized to " + Twine(picture.side) + " x " + Twine(picture.width) +
                " as a whole; the published processor keeps the ratio of its sides, the shorter " +
                Twine(shortest) + " long and the longer at most " + Twine(longest));
  }
  picture.line = "image input " + std::to_string(picture.side) + " x " +
                 std::to_string(picture.width) + pixelsText(values, object);
  if (!writer.folder.preprocessor)
    picture.line.clear();
  writer.config.adopt(values);
  return picture;
}

} // namespace attn::importer

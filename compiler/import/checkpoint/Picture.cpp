// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// preprocessor_config.json: how a picture becomes a tensor, by the class of the processor.
#include "compiler/import/checkpoint/PictureReader.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

namespace {

constexpr Normalisation halves = {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
                        imageNet = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
                        clip = {{0.48145466, 0.4578275, 0.40821073},
                                {0.26862954, 0.26130258, 0.27577711}};

constexpr StringRef ofVit[] = {"vit", "swin", "swinv2", "vit_msn", "ijepa", "vit_mae"},
                    ofDeit[] = {"deit"}, ofBeit[] = {"beit", "data2vec-vision"},
                    ofDino3[] = {"dinov3_vit", "dinov3_convnext"},
                    ofConvNext[] = {"convnext", "convnextv2"},
                    ofClip[] = {"clip", "clip_vision_model"},
                    ofSiglip[] = {"siglip", "siglip_vision_model"},
                    ofBit[] = {"dinov2", "dinov2_with_registers"},
                    ofSam[] = {"sam", "sam_vision_model"}, ofDetr[] = {"detr"},
                    ofYolos[] = {"yolos"}, ofSegformer[] = {"segformer"},
                    ofDpt[] = {"depth_anything"}, ofPvt[] = {"pvt", "pvt_v2"},
                    ofIdefics[] = {"idefics3", "smolvlm"}, ofIntern[] = {"internvl"},
                    ofPixtral[] = {"mistral3"}, ofGemma[] = {"gemma3_text"},
                    ofGemma4[] = {"gemma4_text"},
                    ofQwen[] = {"qwen2_vl_text",     "qwen2_5_vl_text", "qwen3_vl_text",
                                "qwen3_vl_moe_text", "qwen3_5_text",    "qwen3_5_moe_text"};

const ProcessorClass classes[] = {
    {"ViT", OneNumber::Both, 224, false, 0, 2, halves, ofVit},
    {"DeiT", OneNumber::Both, 256, true, 224, 3, halves, ofDeit},
    {"Beit", OneNumber::Both, 256, true, 224, 3, halves, ofBeit},
    {"CLIP", OneNumber::Shorter, 224, true, 224, 3, clip, ofClip},
    {"Siglip", OneNumber::None, 224, false, 0, 3, halves, ofSiglip},
    {"Bit", OneNumber::Shorter, 224, true, 224, 3, clip, ofBit},
    {"ConvNext", OneNumber::Shorter, 384, false, 0, 3, halves, ofConvNext},
    {"DINOv3ViT", OneNumber::Both, 224, false, 0, 2, imageNet, ofDino3},
    {"Sam", OneNumber::None, 1024, false, 0, 2, imageNet, ofSam},
    {"Detr", OneNumber::Shorter, 800, false, 0, 2, imageNet, ofDetr},
    {"DPT", OneNumber::Both, 384, false, 0, 3, halves, ofDpt},
    {"Segformer", OneNumber::Both, 512, false, 0, 2, imageNet, ofSegformer},
    {"Pvt", OneNumber::Both, 224, false, 0, 2, imageNet, ofPvt},
    {"Yolos", OneNumber::Shorter, 800, false, 0, 2, imageNet, ofYolos},
    {"Gemma3", OneNumber::None, 224, false, 0, 2, halves, ofGemma},
    {"Qwen2VL", OneNumber::None, 0, false, 0, 3, clip, ofQwen, true},
    {"Idefics3", OneNumber::None, 0, false, 0, 1, halves, ofIdefics, true},
    {"Pixtral", OneNumber::None, 0, false, 0, 3, clip, ofPixtral, true},
    {"GotOcr2", OneNumber::None, 0, false, 0, 3, clip, ofIntern, true},
    {"SmolVLM", OneNumber::None, 0, false, 0, 1, halves, ofIdefics, true},
    {"Gemma4", OneNumber::None, 0, false, 0, 3, halves, ofGemma4, true, false},
};

/// The fast form of this class has other defaults.
constexpr ProcessorClass fastBeit = {"Beit", OneNumber::Both, 224, false, 224, 3, halves, {}};

} // namespace

/// One number where all are the same, else "[a, b, c]".
static std::string joined(ArrayRef<double> numbers) {
  if (numbers.empty())
    return "";
  if (all_of(numbers, [&](double one) { return one == numbers.front(); }))
    return numberText(numbers.front());
  std::string text;
  for (double number : numbers)
    text += (text.empty() ? "[" : ", ") + numberText(number);
  return text + "]";
}

std::string numbersText(Config &from, StringRef key) { return joined(from.numbers(key)); }

/// The channels of pictures, which the config says, or its part for pictures.
static int64_t channelsOf(const json::Object &config) {
  const json::Object *own = &config;
  for (StringRef part : {"vision_config", "encoder"})
    if (const json::Object *inner = config.getObject(part))
      own = inner;
  return own->getInteger("num_channels").value_or(3);
}

/// Means or deviations, each divided by `by`: of the file, or else of the class.
std::string PictureReader::dividedText(StringRef key, ArrayRef<double> otherwise, double by) {
  std::vector<double> numbers = otherwise.vec();
  const json::Value *said = values.valueAt(key);
  if (said && said->getAsNumber())
    numbers = {*said->getAsNumber()};
  else if (said)
    numbers = values.numbers(key);
  int64_t channels = channelsOf(writer.folder.config);
  if (!all_equal(numbers) && numbers.size() != size_t(channels))
    values.refuse(key, "one number for each channel, of which `num_channels` says that there are " +
                           Twine(channels));
  for (double &number : numbers)
    number /= by;
  return joined(numbers);
}

void PictureReader::findClass(bool isPatched) {
  StringRef key =
      values.has("image_processor_type") ? "image_processor_type" : "feature_extractor_type";
  std::string text = values.text("image_processor_type", ""),
              older = values.text("feature_extractor_type", "");
  StringRef name = text.empty() ? older : text;
  isFast = name.consume_back("Fast");
  if (!name.consume_back("ImageProcessor"))
    name.consume_back("FeatureExtractor");
  StringRef type = writer.around.empty() ? writer.type : writer.around;
  std::string list;
  for (const ProcessorClass &one : classes) {
    if (one.isPatched != isPatched)
      continue;
    if (name.empty() ? is_contained(one.families, type) : name == one.name)
      found = &one;
    list += (list.empty() ? "" : ", ") + (one.name + "ImageProcessor").str();
  }
  if (!found) {
    if (!name.empty())
      values.refuse(key, "one of " + list);
    found = llvm::find_if(classes, [&](const auto &one) { return one.isPatched == isPatched; });
  }
  if (isFast && found->name == "Beit")
    found = &fastBeit;
}

std::string PictureReader::pixelsText() {
  static constexpr StringRef filters[] = {"nearest", "lanczos", "bilinear",
                                          "bicubic", "box",     "hamming"};
  if (!values.flag("do_resize", true))
    values.refuse("do_resize", "true: the tensor has one size, and pictures have many");
  double filter = values.number("resample").value_or(double(found->resample));
  if (!(filter >= 0 && filter <= 5 && filter == int(filter))) {
    values.refuse("resample", "0 (nearest), 1 (lanczos), 2 (bilinear), 3 (bicubic), 4 (box) or "
                              "5 (hamming)");
    filter = 2;
  }
  std::string text = " " + filters[int(filter)].str();
  // Pixels are divided by 255 here: what else they are multiplied by is one with the normalisation.
  double factor = values.number("rescale_factor").value_or(1.0 / 255);
  if (!values.flag("do_rescale", true))
    factor = 1;
  double by = factor * 255 > 0 ? factor * 255 : 1;
  if (!(factor > 0))
    values.refuse("rescale_factor", "more than 0");
  by = std::abs(by - 1) < 1e-9 ? 1 : by;
  if (values.flag("do_normalize", found->normalises))
    text += " mean " + dividedText("image_mean", found->normalisation.mean, by) + " std " +
            dividedText("image_std", found->normalisation.deviation, by);
  else if (by != 1)
    text += " std " + numberText(1 / by);
  return text + "  // a picture becomes the tensor\n";
}

Size PictureReader::sizeAt(StringRef key, OneNumber number) {
  Size size;
  const json::Value *value = values.valueAt(key);
  if (!value)
    return size;
  bool isGood = true;
  auto take = [&](const json::Value &from, int64_t &to) {
    std::optional<int64_t> said = from.getAsInteger();
    isGood &= said && *said >= 1 && *said <= 65536;
    to = said.value_or(0);
  };
  const json::Array *array = value->getAsArray();
  if (const json::Object *object = value->getAsObject()) {
    for (const auto &[part, length] : *object) {
      int64_t *to = part == "height"          ? &size.height
                    : part == "width"         ? &size.width
                    : part == "shortest_edge" ? &size.shorter
                    : part == "longest_edge"  ? &size.longer
                                              : nullptr;
      if (to && length.kind() != json::Value::Null)
        take(length, *to);
      isGood &= to != nullptr;
    }
  } else if (array && array->size() == 2) {
    take((*array)[0], size.height), take((*array)[1], size.width);
  } else if (!array && number == OneNumber::Both) {
    take(*value, size.height), size.width = size.height;
  } else if (!array && number == OneNumber::Shorter) {
    take(*value, size.shorter);
  } else {
    isGood = false;
  }
  if (!isGood)
    values.refuse(key, number == OneNumber::None
                           ? "`height` and `width`, or `longest_edge`, up to 65536"
                           : "a number up to 65536, or `height` and `width`, or `shortest_edge`");
  return size;
}

/// The side of a square; an error where it is none.
int64_t PictureReader::squareOf(StringRef key, const Size &size) {
  if (size.height < 1 || size.height != size.width)
    values.refuse(key, "`height` and `width` of a square, which is what the model takes");
  return std::max<int64_t>(size.height, 1);
}

/// " from 256", of the shorter edge, or " from 256 x 256"; where the middle is larger, with a
/// border.
std::string PictureReader::resizedText(const Size &size, int64_t side) {
  int64_t height = size.shorter ? size.shorter : size.height,
          width = size.shorter ? size.shorter : size.width;
  std::string text = " from " + std::to_string(height);
  if (!size.shorter)
    text += " x " + std::to_string(width);
  if (std::min(height, width) >= side)
    return text;
  // Both classes put the border's odd row on other sides.
  bool isSame = !size.shorter && (side - height) % 2 == 0 && (side - width) % 2 == 0;
  if (isFast && !isSame)
    values.refuse("size", "at least `crop_size` of a fast processor");
  return text + " padded";
}

/// ConvNeXT's: below 384 the shorter side is resized to more, and the middle is taken.
Picture PictureReader::readRatio(const Size &size) {
  int64_t side = size.shorter ? size.shorter : squareOf("size", size);
  Picture picture{side, side, ""};
  double part = values.number("crop_pct").value_or(224.0 / 256);
  if (!(part > 0 && part <= 1)) {
    values.refuse("crop_pct", "more than 0, and up to 1");
    part = 1;
  }
  if (side < 384)
    picture.line = resizedText({0, 0, int64_t(double(side) / part), 0}, side);
  return picture;
}

Picture PictureReader::read() {
  Size size = sizeAt("size", found->number);
  if (!values.has("size") && found->number == OneNumber::Shorter)
    size.shorter = found->size;
  else if (!values.has("size"))
    size.height = size.width = found->size;
  if (size.longer)
    values.refuse("size", "no `longest_edge`, since the tensor has one size");
  if (found->name == "ConvNext")
    return readRatio(size);
  Picture picture{1, 1, ""};
  if (values.flag("do_center_crop", found->crops)) {
    Size crop = sizeAt("crop_size", OneNumber::Both);
    if (!values.has("crop_size"))
      crop.height = crop.width = found->crop;
    picture.side = squareOf("crop_size", crop);
    picture.line = resizedText(size, picture.side);
  } else {
    values.valueAt("crop_size"); // says nothing then
    picture.side = squareOf("size", size);
  }
  picture.width = picture.side;
  return picture;
}

Picture PictureReader::readWithin(int64_t side) {
  Size size, pad;
  const json::Value *said = values.valueAt("size");
  if (said && said->getAsInteger())
    size.longer = *said->getAsInteger();
  else
    size = sizeAt("size", OneNumber::None);
  pad = sizeAt("pad_size", OneNumber::Both);
  if (!said)
    size.longer = found->size;
  if (!values.has("pad_size"))
    pad.height = pad.width = found->size;
  if (size.longer != side)
    values.refuse("size", "`longest_edge`, " + Twine(side) + " as `image_size` says");
  if (pad.height != side || pad.width != side || !values.flag("do_pad", true))
    values.refuse("pad_size", Twine(side) + " x " + Twine(side) + ", which `do_pad` makes");
  return {side, side, " within"};
}

Picture readPicture(FamilyWriter &writer, int64_t side) {
  Picture picture{side, side, ""};
  if (!writer.folder.preprocessor) {
    writer.config.note(
        "there is no `preprocessor_config.json`: the spec does not say how a picture "
        "becomes the tensor");
    return picture;
  }
  Config values(*writer.folder.preprocessor, writer.folder.preprocessorFile);
  PictureReader reader(writer, values);
  reader.findClass();
  picture = reader.found->name == "Sam" ? reader.readWithin(side) : reader.read();
  std::string words = std::to_string(picture.side);
  picture.line = "image input " + words + " x " + words + picture.line + reader.pixelsText();
  writer.config.adopt(values);
  return picture;
}

Picture readFramedPicture(FamilyWriter &writer, int64_t shortest, int64_t longest,
                          int64_t multiple) {
  json::Object empty;
  Config values(writer.folder.preprocessor ? *writer.folder.preprocessor : empty,
                writer.folder.preprocessorFile);
  PictureReader reader(writer, values);
  reader.findClass();
  Size size = reader.sizeAt("size", OneNumber::Shorter);
  shortest = size.shorter ? size.shorter : shortest;
  longest = size.longer ? size.longer : values.size("max_size", longest);
  Picture picture{shortest, std::min(shortest * 4 / 3, std::max(longest, shortest)), ""};
  if (size.height && size.width)
    picture.side = size.height, picture.width = size.width;
  for (int64_t *side : {&picture.side, &picture.width})
    *side = std::max(*side - *side % multiple, multiple);
  if (!size.height || !size.width)
    values.note("a picture is resized to " + Twine(picture.side) + " x " + Twine(picture.width) +
                " as a whole; the published processor keeps the ratio of its sides, the shorter " +
                Twine(shortest) + " long and the longer at most " + Twine(longest));
  picture.line = "image input " + std::to_string(picture.side) + " x " +
                 std::to_string(picture.width) + reader.pixelsText();
  if (!writer.folder.preprocessor)
    picture.line.clear();
  writer.config.adopt(values);
  return picture;
}

} // namespace attn::importer

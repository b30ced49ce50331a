// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// preprocessor_config.json of models that take pictures in prompts: whole, cut into patches, or
// into tiles.
#include "compiler/import/checkpoint/PictureReader.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

/// The pixels that pictures have at least and at most, by `size` or by keys of their own.
static std::pair<int64_t, int64_t> pixelsOf(Config &values) {
  Config size = values.within("size");
  auto read = [&](StringRef own, StringRef within, int64_t otherwise) {
    int64_t said = size.size(within, otherwise);
    return values.size(own, said);
  };
  std::pair<int64_t, int64_t> pixels = {read("min_pixels", "shortest_edge", 56 * 56),
                                        read("max_pixels", "longest_edge", 28 * 28 * 1280)};
  if (pixels.first > pixels.second)
    values.refuse(values.has("max_pixels") ? "max_pixels" : "size",
                  "as many pixels at most as at least, " + Twine(pixels.first));
  values.adopt(size);
  return pixels;
}

/// What is done without the file of the processor.
static constexpr StringLiteral asTheClass =
    "pictures are taken as the published class of the processor does where nothing is said";

PatchedPicture readPatchedPicture(FamilyWriter &writer, int64_t patch, int64_t merged,
                                  int64_t frames) {
  Config values = writer.preprocessor(asTheClass);
  PictureReader reader(writer, values);
  reader.findClass(/*isPatched=*/true);
  for (auto [key, wanted, otherwise] : {std::tuple("patch_size", patch, 14),
                                        {"merge_size", merged, 2},
                                        {"temporal_patch_size", frames, 2}})
    if (values.size(key, writer.folder.preprocessor ? otherwise : wanted) != wanted)
      values.refuse(key, Twine(wanted) + ", as `vision_config` says");
  auto [least, most] = pixelsOf(values);
  int64_t square = patch * merged;
  PatchedPicture picture;
  picture.most = std::max<int64_t>(most / (square * square), 1);
  std::string pixels = reader.pixelsText();
  picture.line = "image input " + std::to_string(patch) + " x " + std::to_string(patch) +
                 " patches " + std::to_string(merged) + " of " + std::to_string(least) + " to " +
                 std::to_string(most) + " pixels" + StringRef(pixels).split("  //").first.str() +
                 " prompt \"<|image_pad|>\" alone \"<|vision_start|><|image_pad|><|vision_end|>\"";
  writer.config.adopt(values);
  return picture;
}

PatchedPicture readFilledPicture(FamilyWriter &writer, int64_t patch, int64_t merged) {
  Config values = writer.preprocessor(asTheClass);
  PictureReader reader(writer, values);
  reader.findClass(/*isPatched=*/true);
  for (auto [key, wanted, otherwise] :
       {std::tuple("patch_size", patch, 16), {"pooling_kernel_size", merged, 3}})
    if (values.size(key, writer.folder.preprocessor ? otherwise : wanted) != wanted)
      values.refuse(key, Twine(wanted) + ", as `vision_config` says");
  PatchedPicture picture;
  picture.most = values.size("max_soft_tokens", 280);
  bool isNormalised = values.flag("do_normalize", false);
  if (isNormalised)
    values.refuse("do_normalize", "false: the model itself takes pixels to -1 … 1");
  std::string pixels = reader.pixelsText();
  StringRef filter = StringRef(pixels).split("  //").first;
  if (filter.contains("std") && !isNormalised)
    values.refuse("rescale_factor", "1 / 255");
  picture.line = "image input " + std::to_string(patch) + " x " + std::to_string(patch) +
                 " patches " + std::to_string(merged) + " of " +
                 std::to_string(picture.most * merged * merged * patch * patch) + " pixels" +
                 filter.str() + " mean 0.5 std 0.5";
  writer.config.adopt(values);
  return picture;
}

std::string readPromptPicture(FamilyWriter &writer, StringRef family, int64_t side) {
  Config values = writer.preprocessor(asTheClass);
  FamilyWriter own{writer.folder, writer.config,       writer.os,  family.str(),
                   writer.model,  writer.architecture, writer.task};
  PictureReader reader(own, values);
  reader.findClass();
  Picture picture{side, side, ""};
  if (writer.folder.preprocessor)
    picture = reader.read();
  if (picture.side != side || picture.width != side)
    values.refuse(values.has("crop_size") ? "crop_size" : "size",
                  Twine(side) + ", as `image_size` says");
  std::string words = std::to_string(side), pixels = reader.pixelsText();
  writer.config.adopt(values);
  return "image input " + words + " x " + words + picture.line +
         StringRef(pixels).split("  //").first.str();
}

PatchedPicture readEdgedPicture(FamilyWriter &writer, int64_t patch, int64_t merged, int64_t side) {
  Config values = writer.preprocessor(asTheClass);
  FamilyWriter own{writer.folder, writer.config,       writer.os,  "mistral3",
                   writer.model,  writer.architecture, writer.task};
  PictureReader reader(own, values);
  reader.findClass(/*isPatched=*/true);
  if (reader.found->name != "Pixtral")
    values.refuse("image_processor_type", "PixtralImageProcessor");
  Config size = values.within("size");
  int64_t edge = size.size("longest_edge", writer.folder.preprocessor ? 1024 : side),
          square = patch * merged, along = (edge + square - 1) / square;
  // Angles are looked up by places, which there are so many of.
  if (edge > 4096 || along * square > side / patch * patch)
    size.refuse("longest_edge", "up to " + Twine(side) + ", as `image_size` says, and 4096");
  values.adopt(size);
  std::string pixels = reader.pixelsText(), length = std::to_string(patch);
  writer.config.adopt(values);
  return {"image input " + length + " x " + length + " patches " + std::to_string(merged) +
              " within " + std::to_string(edge) + " pixels" +
              StringRef(pixels).split("  //").first.str(),
          along * along};
}

/// How many tiles there are at most, and the words of the line that say so: of Idefics 3's
/// processor, whose tiles are of `side`.
static std::pair<int64_t, std::string> tilesOfEdge(Config &values, int64_t side, bool isSaid) {
  Config size = values.within("size"), tile = values.within("max_image_size");
  int64_t edge = size.size("longest_edge", isSaid ? 4 * 364 : 4 * side),
          each = tile.size("longest_edge", isSaid ? 364 : side);
  if (edge > 4096)
    size.refuse("longest_edge", "up to 4096");
  if (each != side)
    tile.refuse("longest_edge", Twine(side) + ", as `image_size` says");
  if (!values.flag("do_image_splitting", true))
    values.refuse("do_image_splitting", "true: pictures are cut into tiles");
  values.adopt(size), values.adopt(tile);
  int64_t along = (edge + side - 1) / side;
  return {along * along, " tiles of " + std::to_string(edge) + " pixels"};
}

/// The same of InternVL's, whatever is said of `crop_to_patches`.
static std::pair<int64_t, std::string> tilesByRatio(Config &values, PictureReader &reader,
                                                    int64_t side, bool isSaid) {
  Size size = reader.sizeAt("size", OneNumber::None);
  if (!values.has("size") && isSaid)
    size.height = size.width = 384;
  if (isSaid && (size.height != side || size.width != side))
    values.refuse("size", "`height` and `width`, " + Twine(side) + " as `image_size` says");
  int64_t least = values.size("min_patches", 1), most = values.size("max_patches", 12);
  if (least > most || most > 1024)
    values.refuse("max_patches", "from `min_patches` to 1024");
  return {most, " tiles " + std::to_string(least) + " to " + std::to_string(most)};
}

PatchedPicture readTiledPicture(FamilyWriter &writer, StringRef family, int64_t side) {
  Config values = writer.preprocessor(asTheClass);
  FamilyWriter own{writer.folder, writer.config,       writer.os,  family.str(),
                   writer.model,  writer.architecture, writer.task};
  PictureReader reader(own, values);
  reader.findClass(/*isPatched=*/true);
  if (!is_contained(reader.found->families, family))
    values.refuse("image_processor_type", "one whose pictures are cut into tiles");
  bool isSaid = bool(writer.folder.preprocessor);
  auto [most, words] = family == "internvl" ? tilesByRatio(values, reader, side, isSaid)
                                            : tilesOfEdge(values, side, isSaid);
  std::string pixels = reader.pixelsText(), length = std::to_string(side);
  writer.config.adopt(values);
  return {"image input " + length + " x " + length + words +
              StringRef(pixels).split("  //").first.str(),
          most > 1 ? most + 1 : 1};
}

} // namespace attn::importer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders of pictures that are a tower of CLIP or SigLIP, with a map to the language model.
//
//   Liu et al. 2023, "Visual Instruction Tuning"; 2024, "Improved Baselines with Visual Instruction
//     Tuning" (LLaVA: the last layer but one of CLIP, two linear maps)
//   Gemma Team 2025, "Gemma 3 Technical Report" (SigLIP, means of squares of patches, one map; the
//     rows of a picture see each other)
//   Laurencon et al. 2024, "Building and better understanding vision-language models" (Idefics 3,
//     of which SmolVLM is: SigLIP on tiles, rows of squares of patches, one map)
//   Beyer et al. 2024, "PaliGemma" (SigLIP, one map; all tokens of a prompt see each other)
#include "compiler/import/checkpoint/Eyes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

/// Idefics 3 and SmolVLM.
static bool isTiled(const EyesReader &reader) {
  return reader.type == "idefics3" || reader.type == "smolvlm";
}

/// Sets the values of the tower that its config says; the number of patches along a side.
static int64_t setTower(EyesReader &reader, StringRef part, Config &vision, bool isSiglip,
                        TemplateValues &values) {
  bool hasTiles = isTiled(reader);
  int64_t width = vision.size("hidden_size", hasTiles ? 1152 : 768),
          heads = vision.size("num_attention_heads", hasTiles ? 16 : 12),
          side = vision.size("image_size", 224),
          patch = vision.size("patch_size", isSiglip && !hasTiles ? 16 : 32),
          grid = std::max<int64_t>(side / patch, 1);
  if (width % heads)
    vision.refuse("num_attention_heads", "a divisor of `hidden_size`");
  if (side < patch)
    vision.refuse("image_size", "as large as a patch at least");
  values.setIf("cropped", side % patch != 0); // what is left over is not seen
  values.set("side", side);
  if (vision.size("num_channels", 3) != 3)
    vision.refuse("num_channels", "3: pictures are of red, green and blue");
  values.set("part", part);
  values.set("width", width);
  values.set("heads", heads);
  values.set("hidden", vision.size("intermediate_size", 3072));
  values.set("patch", patch);
  values.set("grid", grid);
  values.set("eps", numberText(vision.number("layer_norm_eps", isSiglip ? 1e-6 : 1e-5)));
  values.set("act", activation(vision, "hidden_act", isSiglip ? "gelu_pytorch_tanh" : "quick_gelu",
                               "mlp.fc1(m)"));
  values.setIf("siglip", isSiglip);
  values.setIf("numbered",
               reader.writer.folder.around->has((part + "embeddings.position_ids").str()));
  return grid;
}

/// LLaVA's: which layer is the last, and both maps.
static void setLlava(EyesReader &reader, StringRef part, int64_t layers, bool isSiglip,
                     TemplateValues &values) {
  Config &outer = reader.outer;
  std::vector<std::string> ignored;
  int64_t last = reader.lastLayer(layers, -2, (part + "encoder.layers.").str(), ignored);
  std::string strategy = outer.text("vision_feature_select_strategy", "default");
  if (strategy != "default" && strategy != "full")
    outer.refuse("vision_feature_select_strategy", "`default` or `full`");
  if (isSiglip && strategy == "default")
    outer.refuse("vision_feature_select_strategy",
                 "`full`, since the encoder has no token in front of the patches");
  values.set("layers", last);
  values.setIf("shortened", last < layers);
  values.set("unused", quotedNames(ignored));
  values.setIf("llava", true);
  values.setIf("first_dropped", !isSiglip && strategy == "default");
  values.setIf("biased", outer.flag("multimodal_projector_bias", true));
  values.set("map", reader.partOf("multi_modal_projector"));
  values.set("map_act", activation(outer, "projector_hidden_act", "gelu", "u"));
}

/// Gemma 3's: means of squares of patches, and one map; the rows of a picture.
static int64_t setGemma(EyesReader &reader, int64_t layers, int64_t grid, TemplateValues &values) {
  // The published class takes the root, rounded down.
  auto side = int64_t(std::sqrt(double(reader.outer.size("mm_tokens_per_image", 256))));
  if (grid % side)
    reader.outer.refuse("mm_tokens_per_image",
                        "a number whose root divides " + Twine(grid) + " patches");
  values.set("layers", layers);
  values.setIf("gemma", true);
  values.set("map", reader.partOf("multi_modal_projector"));
  values.set("rows_side", side);
  values.set("square", std::max<int64_t>(grid / side, 1));
  return side * side;
}

/// PaliGemma's: one map.
static void setPali(EyesReader &reader, int64_t layers, TemplateValues &values) {
  if (reader.outer.size("projection_dim", 2048) != reader.width)
    reader.outer.refuse("projection_dim",
                        Twine(reader.width) + ", the width of the language model");
  values.set("layers", layers);
  values.setIf("pali", true);
  values.set("map", reader.partOf("multi_modal_projector"));
}

/// How many patches along a side there are where the published class of Idefics 3, which divides
/// places by that number in f32, takes some for their neighbours; up to 64, as torch computes them.
static constexpr int64_t roundedGrids[] = {19, 25, 29, 31, 38, 40, 41, 43, 47,
                                           49, 50, 54, 55, 58, 59, 61, 62};

/// Idefics 3's: squares of patches of each tile, and one map.
static void setTiled(EyesReader &reader, int64_t layers, int64_t grid, TemplateValues &values) {
  int64_t square = reader.outer.size("scale_factor", 2);
  if (grid % square)
    reader.outer.refuse("scale_factor", "a divisor of " + Twine(grid) + " patches");
  if (is_contained(roundedGrids, grid))
    reader.outer.note(
        "with " + Twine(grid) +
        " patches along a side the published class takes the "
        "places of some patches for those of their neighbours: here each has its own");
  values.set("layers", layers);
  values.setIf("tiled", true);
  values.set("square", square);
  values.set("map", reader.partOf("connector"));
}

static constexpr StringRef tilesOfIdefics =
    " prompt \"<image>\" as "
    "\"<fake_token_around_image><global-img>{<image>}<fake_token_around_image>\" tile "
    "\"<fake_token_around_image><row_{row}_col_{column}>{<image>}\" line \"\\n\" whole "
    "\"\\n\\n<fake_token_around_image><global-img>{<image>}<fake_token_around_image>\"";

/// What stands for a picture in prompts, and what that becomes.
static StringRef promptOf(StringRef type) {
  return StringSwitch<StringRef>(type)
      .Case("gemma3", " prompt \"<start_of_image>\" as \"\\n\\n<start_of_image>"
                      "{<image_soft_token>}<end_of_image>\\n\\n\"")
      .Case("paligemma", " prompt \"<image>\" begin \"<bos>\" end \"\\n\"")
      .Case("idefics3", tilesOfIdefics)
      .Case("smolvlm", tilesOfIdefics)
      .Default(" prompt \"<image>\" alone \"<image>\\n\"");
}

static Eyes readTower(EyesReader &reader, raw_ostream &os) {
  FamilyWriter &writer = reader.writer;
  FamilyWriter own{writer.folder, writer.config,       os,         writer.type,
                   writer.model,  writer.architecture, writer.task};
  Config vision = reader.outer.within("vision_config");
  bool isGemma = reader.type == "gemma3", isPali = reader.type == "paligemma",
       ofGoogle = isGemma || isPali, hasTiles = isTiled(reader);
  std::string type =
      vision.text("model_type", ofGoogle ? "siglip_vision_model" : "clip_vision_model");
  if (hasTiles) // whatever it says, the class is one
    type = "siglip_vision_model";
  bool isSiglip = type == "siglip_vision_model";
  if (!isSiglip && (ofGoogle || type != "clip_vision_model"))
    vision.refuse("model_type",
                  ofGoogle ? "siglip_vision_model" : "clip_vision_model or siglip_vision_model");
  std::string part = reader.partOf(hasTiles ? "vision_model" : "vision_tower");
  if (reader.hasWithin(part + "vision_model")) // which later versions of the library leave out
    part += "vision_model.";
  Eyes eyes;
  eyes.isWhole = ofGoogle;
  eyes.isPrefix = isPali;
  TemplateValues values;
  int64_t grid = setTower(reader, part, vision, isSiglip, values),
          layers = vision.size("num_hidden_layers", 12);
  if (isGemma)
    eyes.rows = setGemma(reader, layers, grid, values);
  else if (isPali)
    setPali(reader, layers, values);
  else if (hasTiles)
    setTiled(reader, layers, grid, values);
  else
    setLlava(reader, part, layers, isSiglip, values);
  int64_t side = vision.size("image_size", 224);
  std::string line;
  if (hasTiles) {
    PatchedPicture picture = readTiledPicture(own, reader.type, side);
    line = picture.line;
    values.set("most", picture.most);
  } else {
    line = readPromptPicture(own, isGemma ? writer.type : type, side);
  }
  values.set("picture", line + promptOf(reader.type).str());
  writeTemplate(own, "tower_eyes", values);
  reader.outer.adopt(vision);
  return eyes;
}

static constexpr StringRef towerParts[] = {"vision_tower",          "model.vision_tower",
                                           "multi_modal_projector", "model.multi_modal_projector",
                                           "model.vision_model",    "model.connector"};
const EyesKind towerEyes = {"gemma3 llava paligemma idefics3 smolvlm", towerParts, readTower};

} // namespace attn::importer

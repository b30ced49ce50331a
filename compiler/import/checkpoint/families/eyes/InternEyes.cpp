// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// InternVL's encoder of pictures (Chen et al. 2024, "How Far Are We to GPT-4V? Closing the Gap to
// Commercial Multimodal Models with Open-Source Suites"), which takes them in tiles: a ViT whose
// layers are scaled, and a map of squares of patches.
#include "compiler/import/checkpoint/Eyes.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

/// A side of pictures or of patches: one number, or two that are the same.
static int64_t sideOf(Config &vision, StringRef key, int64_t otherwise) {
  const json::Value *said = vision.valueAt(key);
  if (!said || !said->getAsArray())
    return vision.size(key, otherwise);
  std::vector<int64_t> sides = vision.sizes(key);
  if (sides.size() == 2 && sides[0] == sides[1] && sides[0] >= 1)
    return sides[0];
  vision.refuse(key, "the sides of a square");
  return otherwise;
}

/// Sets the values of the blocks, and which of them is the last.
static void setBlocks(EyesReader &reader, Config &vision, StringRef part, TemplateValues &values) {
  std::vector<std::string> ignored;
  int64_t last = reader.lastLayer(vision.size("num_hidden_layers", 24), -1,
                                  (part + "encoder.layer.").str(), ignored);
  bool isWhole = reader.outer.number("vision_feature_layer").value_or(-1) == -1,
       hasNorm = !vision.flag("use_mean_pooling", true);
  if (hasNorm && !isWhole)
    ignored.push_back((part + "layernorm.*").str());
  if (vision.flag("use_mask_token", false))
    ignored.push_back((part + "embeddings.mask_token").str());
  std::string norm = vision.text("norm_type", "layer_norm");
  if (norm != "layer_norm" && norm != "rms_norm")
    vision.refuse("norm_type", "`layer_norm` or `rms_norm`");
  values.set("layers", last);
  values.setIf("last", hasNorm && isWhole);
  values.setIf("ignores", !ignored.empty());
  values.set("ignored", quotedNames(ignored));
  values.set("norm", norm == "rms_norm" ? "rmsnorm" : "layernorm");
  values.setIf("normed", vision.flag("use_qk_norm", false));
  values.setIf("places", vision.flag("use_absolute_position_embeddings", true));
  values.set("bias", vision.flag("attention_bias", false) ? " bias" : "");
  values.set("act", activation(vision, "hidden_act", "gelu", "mlp.fc1(m)"));
  values.set("eps", numberText(vision.number("layer_norm_eps").value_or(1e-6)));
}

static Eyes readIntern(EyesReader &reader, raw_ostream &os) {
  FamilyWriter &writer = reader.writer;
  FamilyWriter own{writer.folder, writer.config,       os,         writer.type,
                   writer.model,  writer.architecture, writer.task};
  Config &outer = reader.outer;
  Config vision = outer.within("vision_config");
  std::string part = reader.partOf("vision_tower"), map = reader.partOf("multi_modal_projector");
  int64_t width = vision.size("hidden_size", 1024), heads = vision.size("num_attention_heads", 16),
          side = sideOf(vision, "image_size", 448), patch = sideOf(vision, "patch_size", 14),
          grid = std::max<int64_t>(side / patch, 1);
  auto square = int64_t(1 / outer.number("downsample_ratio").value_or(0.5));
  if (width % heads)
    vision.refuse("num_attention_heads", "a divisor of `hidden_size`");
  if (side % patch)
    vision.refuse("image_size", "a multiple of `patch_size`");
  if (vision.size("num_channels", 3) != 3)
    vision.refuse("num_channels", "3: pictures are of red, green and blue");
  if (square < 1 || grid % square)
    outer.refuse("downsample_ratio", "one divided by a divisor of " + Twine(grid) + " patches");
  if (outer.text("vision_feature_select_strategy", "default") != "default")
    outer.refuse("vision_feature_select_strategy", "`default`: rows of patches alone are a square");
  PatchedPicture picture = readTiledPicture(own, "internvl", side);
  TemplateValues values;
  for (auto [name, number] : {std::pair("width", width),
                              {"heads", heads},
                              {"hidden", vision.size("intermediate_size", 4096)},
                              {"patch", patch},
                              {"grid", grid},
                              {"square", std::max<int64_t>(square, 1)},
                              {"most", picture.most}})
    values.set(name, number);
  setBlocks(reader, vision, part, values);
  values.set("part", part);
  values.set("map", map);
  values.set("map_act", activation(outer, "projector_hidden_act", "gelu", "u"));
  values.set("picture", picture.line + " prompt \"<IMG_CONTEXT>\" as \"<img>{<IMG_CONTEXT>}</img>\""
                                       " alone \"<IMG_CONTEXT>\\n\"");
  writeTemplate(own, "intern_eyes", values);
  outer.adopt(vision);
  return {};
}

static constexpr StringRef internParts[] = {"vision_tower", "model.vision_tower",
                                            "multi_modal_projector", "model.multi_modal_projector"};
const EyesKind internEyes = {"internvl", internParts, readIntern};

} // namespace attn::importer

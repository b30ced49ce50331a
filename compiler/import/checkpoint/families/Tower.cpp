// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One of the two encoders of CLIP or of SigLIP (papers in Clip.cpp) by itself, as other models take
// it: of texts or of pictures, with or without the map into the space of both.
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

/// What a config of an encoder of pictures says of them.
static void setSeen(FamilyWriter &writer, TemplateValues &values, bool isSiglip) {
  Config &config = writer.config;
  int64_t side = config.size("image_size", 224),
          patch = config.size("patch_size", isSiglip ? 16 : 32);
  if (side % patch)
    config.refuse("image_size", "a multiple of `patch_size`");
  int64_t grid = std::max<int64_t>(side / patch, 1);
  Picture picture = readPicture(writer, grid * patch);
  if (picture.side != grid * patch)
    config.refuse("image_size", "that of preprocessor_config.json, " + Twine(picture.side));
  values.set("channels", config.size("num_channels", 3));
  values.set("patch", patch);
  values.set("grid", grid);
  values.set("front", isSiglip ? "" : "1 + ");
  values.set("picture", picture.line);
}

static void writeTower(FamilyWriter &writer) {
  Config &config = writer.config;
  StringRef type = writer.type;
  TemplateValues values;
  bool isSiglip = type.starts_with("siglip"), isSeen = type.contains("vision"),
       isProjected = StringRef(writer.architecture).ends_with("WithProjection");
  std::string part = isSeen ? "vision_model." : "text_model.";
  bool isSmall = !isSeen && !isSiglip; // CLIP's encoder of texts
  int64_t width = config.size("hidden_size", isSmall ? 512 : 768),
          heads = config.size("num_attention_heads", isSmall ? 8 : 12);
  if (width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  if (!writer.task.empty())
    config.refuse("architectures", "the bare encoder");
  // Later versions of the library leave the part's name out.
  if (!writer.folder.hasWithin(part + "embeddings"))
    part.clear();
  bool isHeaded = isSeen && isSiglip && config.flag("vision_use_head", true);
  values.set("model", writer.model);
  values.set("prefix", part);
  values.set("width", width);
  values.set("heads", heads);
  values.set("layers", config.size("num_hidden_layers", 12));
  values.set("hidden", config.size("intermediate_size", isSmall ? 2048 : 3072));
  values.set("eps", numberText(config.number("layer_norm_eps", isSiglip ? 1e-6 : 1e-5)));
  values.set("act",
             activation(config, "hidden_act", isSiglip ? "gelu_pytorch_tanh" : "quick_gelu", "u"));
  values.setIf("seen", isSeen);
  values.setIf("siglip", isSiglip);
  values.setIf("headed", isHeaded);
  values.setIf("projected", isProjected);
  values.setIf("causal", isSmall);
  values.setIf("numbered", writer.folder.has(part + "embeddings.position_ids"));
  if (isSeen) {
    setSeen(writer, values, isSiglip);
  } else {
    values.set("tokens", config.size("vocab_size", isSiglip ? 32000 : 49408));
    values.set("positions", config.size("max_position_embeddings", isSiglip ? 64 : 77));
  }
  if (!isSeen && isSiglip)
    values.set("space", config.size("projection_size", width));
  else if (isProjected)
    values.set("space", config.size("projection_dim", 512));
  std::string rows = isSeen ? "N" : "T",
              pooled = isSiglip && !isSeen ? ", pooled: [B, A]" : ", pooled: [B, D]";
  if (isSiglip && isSeen && !isHeaded)
    pooled.clear();
  values.set("result", isProjected ? "embedding: [B, A]" : "hidden: [B, " + rows + ", D]" + pooled);
  writeTemplate(writer, "tower", values);
}

const Family familyTower = {
    "clip_text_model clip_vision_model siglip_text_model siglip_vision_model", writeTower};

} // namespace attn::importer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pixtral's encoder of pictures (Agrawal et al. 2024, "Pixtral 12B") around Mistral 3, which takes
// a picture of any shape as patches whose heads turn by row and column, and merges squares of them.
#include "compiler/import/checkpoint/Eyes.h"

using namespace llvm;

namespace attn::importer {

static Eyes readPixtral(EyesReader &reader, raw_ostream &os) {
  FamilyWriter &writer = reader.writer;
  FamilyWriter own{writer.folder, writer.config,       os,         writer.type,
                   writer.model,  writer.architecture, writer.task};
  Config &outer = reader.outer;
  Config vision = outer.within("vision_config");
  StringRef key = vision.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  Config rope = vision.within(key);
  std::string part = reader.partOf("vision_tower"), map = reader.partOf("multi_modal_projector");
  int64_t width = vision.size("hidden_size", 1024), heads = vision.size("num_attention_heads", 16),
          side = vision.size("image_size", 1024), patch = vision.size("patch_size", 16),
          merged = outer.size("spatial_merge_size", 2);
  if (vision.text("model_type", "pixtral") != "pixtral")
    vision.refuse("model_type", "pixtral");
  if (width % heads || width / heads % 4)
    vision.refuse("num_attention_heads", "heads of the width, each with a multiple of 4 features");
  if (vision.size("head_dim", width / heads) != width / heads)
    vision.refuse("head_dim", "`hidden_size` / `num_attention_heads`");
  if (vision.size("num_channels", 3) != 3)
    vision.refuse("num_channels", "3: pictures are of red, green and blue");
  if (rope.text("rope_type", "default") != "default")
    rope.refuse("rope_type", "`default`");
  double base = rope.number("rope_theta").value_or(vision.number("rope_theta").value_or(10000));
  PatchedPicture picture = readEdgedPicture(own, patch, merged, side);
  TemplateValues values;
  for (auto [name, number] : {std::pair("width", width),
                              {"heads", heads},
                              {"hidden", vision.size("intermediate_size", 4096)},
                              {"patch", patch},
                              {"merged", merged},
                              {"most", picture.most}})
    values.set(name, number);
  std::vector<std::string> ignored;
  values.set("layers", reader.lastLayer(vision.size("num_hidden_layers", 24), -1,
                                        part + "transformer.layers.", ignored));
  values.setIf("ignores", !ignored.empty());
  values.set("ignored", quotedNames(ignored));
  values.set("part", part);
  values.set("map", map);
  values.set("bias", outer.flag("multimodal_projector_bias", false) ? " bias" : "");
  values.set("eps", numberText(writer.config.number("rms_norm_eps").value_or(1e-6)));
  values.set("base", numberText(base));
  values.set("act", activation(vision, "hidden_act", "gelu", "feed_forward.gate_proj(m)"));
  values.set("map_act", activation(outer, "projector_hidden_act", "gelu", "u"));
  values.set("picture",
             picture.line + " prompt \"[IMG]\" as \"{[IMG]}[IMG_END]\" line \"[IMG_BREAK]\"");
  writeTemplate(own, "pixtral_eyes", values);
  vision.adopt(rope);
  outer.adopt(vision);
  return {};
}

static constexpr StringRef pixtralParts[] = {
    "vision_tower", "model.vision_tower", "multi_modal_projector", "model.multi_modal_projector"};
const EyesKind pixtralEyes = {"mistral3", pixtralParts, readPixtral};

} // namespace attn::importer

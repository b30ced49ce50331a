// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gemma 4's encoder of pictures (Google 2026, "Gemma 4"), which takes a picture of any shape as
// patches: learnt places by column and by row, and heads of which one half turns by each.
#include "compiler/import/checkpoint/Eyes.h"

using namespace llvm;

namespace attn::importer {

static Eyes readGemma4(EyesReader &reader, raw_ostream &os) {
  FamilyWriter &writer = reader.writer;
  FamilyWriter own{writer.folder, writer.config,       os,         writer.type,
                   writer.model,  writer.architecture, writer.task};
  Config vision = reader.outer.within("vision_config");
  Config rope = vision.within("rope_parameters");
  std::string begin = reader.hasWithin("model.vision_tower") ? "model." : "",
              part = begin + "vision_tower.", map = begin + "embed_vision.";
  int64_t heads = vision.size("num_attention_heads", 12),
          groups = vision.size("num_key_value_heads", 12), features = vision.size("head_dim", 64),
          width = vision.size("hidden_size", 768), patch = vision.size("patch_size", 16),
          merged = vision.size("pooling_kernel_size", 3);
  if (heads % groups)
    vision.refuse("num_key_value_heads", "a divisor of `num_attention_heads`");
  if (features % 4)
    vision.refuse("head_dim", "a multiple of 4 features: pairs turn by row and by column");
  if (rope.text("rope_type", "default") != "default")
    rope.refuse("rope_type", "`default`");
  PatchedPicture picture = readFilledPicture(own, patch, merged);
  TemplateValues values;
  bool isClipped = vision.flag("use_clipped_linears", false);
  for (auto [name, number] : {std::pair("width", width),
                              {"heads", heads},
                              {"groups", groups},
                              {"features", features},
                              {"layers", vision.size("num_hidden_layers", 16)},
                              {"hidden", vision.size("intermediate_size", 3072)},
                              {"patch", patch},
                              {"merged", merged},
                              {"positions", vision.size("position_embedding_size", 10240)},
                              {"most", picture.most}})
    values.set(name, number);
  values.set("part", part);
  values.set("map", map);
  values.set("eps", numberText(vision.number("rms_norm_eps").value_or(1e-6)));
  values.set("base", numberText(rope.number("rope_theta").value_or(100)));
  values.set("act",
             activation(vision, "hidden_activation", "gelu_pytorch_tanh", "mlp.gate_proj(m)"));
  values.setIf("standard", vision.flag("standardize", false));
  values.setIf("clipped", isClipped);
  values.set("picture", picture.line + " prompt \"<|image|>\" as \"<|image>{<|image|>}<image|>\"");
  writeTemplate(own, "gemma4_eyes", values);
  Eyes eyes;
  eyes.rows = picture.most;
  vision.adopt(rope);
  reader.outer.adopt(vision);
  return eyes;
}

static constexpr StringRef gemma4Parts[] = {"vision_tower", "model.vision_tower", "embed_vision",
                                            "model.embed_vision"};
const EyesKind gemma4Eyes = {"gemma4", gemma4Parts, readGemma4};

} // namespace attn::importer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Siméoni et al. 2025, "DINOv3": a vision transformer whose patches turn by where they are in the
// picture, with registers behind the class token.
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

static void writeDinov3(FamilyWriter &writer) {
  Config &config = writer.config;
  TemplateValues values;
  if (!writer.task.empty())
    config.refuse("architectures", "the bare model, `DINOv3ViTModel`");
  int64_t width = config.size("hidden_size"), heads = config.size("num_attention_heads"),
          patch = config.size("patch_size", 16), side = config.size("image_size", 224),
          registers = config.whole("num_register_tokens").value_or(0);
  if (width % heads || (width / heads) % 4)
    config.refuse("num_attention_heads", "a divisor of `hidden_size` that leaves heads of a "
                                         "multiple of 4 features");
  Picture picture = readPicture(writer, side / patch * patch);
  if (picture.side % patch || side < patch)
    config.refuse("patch_size", "a divisor of the picture's side, " + Twine(picture.side));
  bool isGated = config.flag("use_gated_mlp", false);
  std::string up = isGated ? "mlp.gate_proj(m)" : "mlp.up_proj(m)";
  auto bias = [&](StringRef key, bool otherwise) {
    return config.flag(key, otherwise) ? " bias" : "";
  };
  values.set("model", writer.model);
  values.set("width", width);
  values.set("heads", heads);
  values.set("layers", config.size("num_hidden_layers"));
  values.set("hidden", config.size("intermediate_size"));
  values.set("channels", config.size("num_channels", 3));
  values.set("patch", patch);
  values.set("grid", std::max<int64_t>(picture.side / patch, 1));
  values.set("front", 1 + registers);
  values.set("registerCount", registers);
  values.setIf("registers", registers > 0);
  values.setIf("emptyRegisters", !registers && writer.folder.has("embeddings.register_tokens"));
  values.setIf("masked", writer.folder.has("embeddings.mask_token"));
  values.set("stack", writer.folder.has("model.layer.0.norm1.weight") ? "model.layer" : "layer");
  values.set("eps", numberText(config.number("layer_norm_eps", 1e-5)));
  values.set("base", numberText(config.number("rope_theta", 100)));
  values.set("queryBias", bias("query_bias", true));
  values.set("keyBias", bias("key_bias", false));
  values.set("valueBias", bias("value_bias", true));
  values.set("outBias", bias("proj_bias", true));
  values.set("mlpBias", bias("mlp_bias", true));
  values.setIf("gated", isGated);
  values.set("mlp",
             activation(config, "hidden_act", "gelu", up) + (isGated ? " * mlp.up_proj(m)" : ""));
  values.set("picture", picture.line);
  writeTemplate(writer, "dinov3", values);
}

const Family familyDinov3 = {"dinov3_vit", writeDinov3};

} // namespace attn::importer

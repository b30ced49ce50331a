// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPT-NeoX and Pythia: Black et al. 2022, "GPT-NeoX-20B: An Open-Source Autoregressive Language
// Model".
#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/Rope.h"

using namespace llvm;

namespace attn::importer {

static void writeGptNeoX(FamilyWriter &writer) {
  Config &config = writer.config;
  TemplateValues values;
  bool hasHead = writer.task == "ForCausalLM";
  if (!hasHead && !writer.task.empty())
    config.refuse("architectures", "`GPTNeoXForCausalLM`, or `GPTNeoXModel`");
  int64_t width = config.size("hidden_size"), heads = config.size("num_attention_heads"),
          positions = config.size("max_position_embeddings"),
          features = std::max<int64_t>(width / heads, 1);
  if (width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  bool hasParameters = config.has("rope_parameters") && !config.has("rope_scaling");
  Config angles = config.within(hasParameters ? "rope_parameters" : "rope_scaling");
  RopeReader rope{config, features, positions, /*hasParts=*/true};
  rope.partKey = "rotary_pct";
  rope.part = 0.25;
  Rotation rotation = rope.read(angles, "rotary_emb_base", 10000);
  // Some versions of the published class write these, too, and read them in none.
  if (auto base = config.number("rope_theta"); base && *base != rotation.base)
    config.refuse("rope_theta", numberText(rotation.base) + ", as `rotary_emb_base`, which counts");
  if (auto again = config.number("partial_rotary_factor");
      again && int64_t(*again * double(features)) != rotation.turned)
    config.refuse("partial_rotary_factor", "what `rotary_pct` says, which counts");
  std::string prefix = writer.folder.has("gpt_neox.embed_in.weight") ? "gpt_neox." : "",
              part = rotation.turned == features ? "" : "R";
  bool isTied = config.flag("tie_word_embeddings", false),
       hasBias = config.flag("attention_bias", true);
  values.set("prefix", prefix);
  values.set("width", width);
  values.set("heads", heads);
  values.set("positions", positions);
  values.set("hidden", config.size("intermediate_size"));
  values.set("layers", config.size("num_hidden_layers"));
  values.set("tokens", config.size("vocab_size"));
  values.set("eps", numberText(config.number("layer_norm_eps", 1e-5)));
  values.set("mlp", activation(config, "hidden_act", "gelu", "mlp.dense_h_to_4h(m)"));
  values.setIf("partlyTurned", !part.empty());
  values.set("turned", rotation.turned);
  values.set("table", rotation.tableLine("turns", part.empty() ? "E" : part));
  values.set("turnedQueries", rotation.applied("attention.q(n)", "half", "turns", part));
  values.set("turnedKeys", rotation.applied("attention.k(n)", "half", "turns", part));
  values.setIf("parallel", config.flag("use_parallel_residual", true));
  values.set("bias", hasBias ? " bias" : "");
  values.set("packed", hasBias ? ".{weight|bias}" : "");
  values.setIf("head", hasHead);
  values.setIf("tied", isTied);
  values.setIf("headIsThere", hasHead && isTied && writer.folder.has("embed_out.weight"));
  std::string first = prefix + "layers.0.attention.";
  values.setIf("masksAreThere", writer.folder.has(first + "bias"));
  values.setIf("anglesAreThere", writer.folder.has(first + "rotary_emb.inv_freq"));
  values.set("entries", hasHead ? generationEntries(writer, positions) : "entry encode = forward");
  writeTemplate(writer, "gpt_neox", values);
}

const Family familyGptNeoX = {"gpt_neox", writeGptNeoX};

} // namespace attn::importer

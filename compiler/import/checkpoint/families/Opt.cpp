// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OPT: Zhang et al. 2022, "OPT: Open Pre-trained Transformer Language Models".
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

static void writeOpt(FamilyWriter &writer) {
  Config &config = writer.config;
  TemplateValues values;
  bool hasHead = writer.task == "ForCausalLM";
  if (!hasHead && !writer.task.empty())
    config.refuse("architectures", "`OPTForCausalLM`, or `OPTModel`");
  int64_t width = config.size("hidden_size"), heads = config.size("num_attention_heads"),
          embedded = config.size("word_embed_proj_dim", width),
          positions = config.size("max_position_embeddings");
  if (width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  std::string prefix = "model.decoder.";
  for (StringRef shorter : {"decoder.", ""})
    if (!writer.folder.has(prefix + "embed_tokens.weight"))
      prefix = shorter.str();
  bool isFirst = config.flag("do_layer_norm_before", true),
       hasLast = isFirst && !config.flag("_remove_final_layer_norm", false),
       isTied = config.flag("tie_word_embeddings", true), isProjected = embedded != width;
  if (!isFirst)
    config.passOver({"_remove_final_layer_norm"});
  if (!config.flag("layer_norm_elementwise_affine", true))
    config.refuse("layer_norm_elementwise_affine", "true: norms have weights");
  values.set("prefix", prefix);
  values.set("width", width);
  values.set("heads", heads);
  values.set("positions", positions);
  values.set("embedded", embedded);
  values.set("hidden", config.size("ffn_dim"));
  values.set("layers", config.size("num_hidden_layers"));
  values.set("tokens", config.size("vocab_size"));
  values.set("bias", config.flag("enable_bias", true) ? " bias" : "");
  values.set("mlp", activation(config, "activation_function", "relu",
                               isFirst ? "fc1(final_layer_norm(y))" : "fc1(y)"));
  values.setIf("projected", isProjected);
  values.setIf("normsFirst", isFirst);
  values.setIf("lastNorm", hasLast);
  values.setIf("head", hasHead);
  values.setIf("tied", isTied);
  values.setIf("headIsThere", hasHead && isTied && writer.folder.has("lm_head.weight"));
  values.set("out", isProjected ? "W" : "D");
  auto applied = [&](bool isThere, StringRef name, const std::string &to) {
    return isThere ? (name + "(" + to + ")").str() : to;
  };
  values.set("embedding",
             applied(isProjected, prefix + "project_in", prefix + "embed_tokens(ids)"));
  std::string states = applied(hasLast, prefix + "final_layer_norm", "y");
  states = applied(isProjected, prefix + "project_out", states);
  values.set("result", applied(hasHead, "lm_head", states));
  values.set("entries", hasHead ? generationEntries(writer, positions) : "entry encode = forward");
  writeTemplate(writer, "opt", values);
}

const Family familyOpt = {"opt", writeOpt};

} // namespace attn::importer

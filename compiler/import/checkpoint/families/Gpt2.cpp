// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

static void writeGpt2(FamilyWriter &writer) {
  Config &config = writer.config;
  TemplateValues values;
  bool hasHead = writer.task == "ForCausalLM" || writer.task == "LMHeadModel" ||
                 StringRef(writer.model).ends_with("LMHead");
  if (!hasHead && !writer.task.empty())
    config.refuse("architectures", "`GPT2LMHeadModel`, or `GPT2Model`");
  int64_t width = config.size("n_embd"), heads = config.size("n_head"),
          positions = config.size("n_positions");
  if (width % heads)
    config.refuse("n_head", "a divisor of `n_embd`");
  std::string prefix = writer.folder.has("transformer.wte.weight") ? "transformer." : "";
  values.set("prefix", prefix);
  values.set("width", width);
  values.set("heads", heads);
  values.set("positions", positions);
  values.set("hidden", config.size("n_inner", 4 * width));
  values.set("layers", config.size("n_layer"));
  values.set("tokens", config.size("vocab_size"));
  values.set("eps", numberText(config.number("layer_norm_epsilon", 1e-5)));
  values.set("mlp", activation(config, "activation_function", "gelu_new", "mlp.c_fc(ln_2(y))"));
  // What an encoder gives is read where it is given, and here none gives any.
  values.setIf("readsOthers", config.flag("add_cross_attention", false));
  bool isScaled = config.flag("scale_attn_weights", true),
       isByLayer = config.flag("scale_attn_by_inverse_layer_idx", false),
       isTied = config.flag("tie_word_embeddings", true);
  values.setIf("scaled", isScaled);
  values.setIf("scaledByLayer", isByLayer);
  values.set("score", isByLayer ? "score scaled(depth = depth)" : isScaled ? "" : "score dot");
  values.setIf("head", hasHead);
  values.setIf("tied", isTied);
  values.setIf("headIsThere", hasHead && isTied && writer.folder.has("lm_head.weight"));
  values.setIf("masksAreThere", writer.folder.has(prefix + "h.0.attn.bias"));
  // llama.cpp's converter lays matrices as other linears have them.
  values.set("transposed", writer.ofLlamaCpp() ? "" : " @conv1d");
  values.set("entries", hasHead ? generationEntries(writer, positions) : "entry encode = forward");
  writeTemplate(writer, "gpt2", values);
}

const Family familyGpt2 = {"gpt2", writeGpt2};

} // namespace attn::importer

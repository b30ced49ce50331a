// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is said of a folder that no family reads.
#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/Wrapper.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Tensors that a family's checkpoints have, behind any prefix.
struct Signature {
  StringRef type;
  std::vector<StringRef> tensors;
};

} // namespace

/// Types that are a family's under another name.
static constexpr std::pair<StringRef, StringRef> synonyms[] = {{"xlm_roberta", "xlm-roberta"}};

/// Types whose tensors have the names of a family that computes something else with them.
static constexpr std::pair<StringRef, StringRef> others[] = {
    {"deepseek_v32", "queries see the keys that an indexer chooses alone"}};

/// The family whose names the tensors have; empty where they are of none.
static StringRef familyByTensors(const Folder &folder) {
  static const Signature signatures[] = {
      {"llama",
       {"layers.0.self_attn.q_proj.weight", "layers.0.mlp.gate_proj.weight",
        "layers.0.input_layernorm.weight"}},
      {"bert",
       {"encoder.layer.0.attention.self.query.weight", "encoder.layer.0.intermediate.dense.weight",
        "embeddings.word_embeddings.weight"}},
      {"gpt2", {"h.0.attn.c_attn.weight", "h.0.mlp.c_fc.weight", "wte.weight"}},
      {"bart",
       {"encoder.layers.0.self_attn.q_proj.weight", "decoder.layers.0.encoder_attn.q_proj.weight",
        "encoder.layers.0.fc1.weight", "shared.weight"}},
      {"t5",
       {"encoder.block.0.layer.0.SelfAttention.q.weight",
        "decoder.block.0.layer.1.EncDecAttention.q.weight", "shared.weight"}},
      {"vit",
       {"encoder.layer.0.attention.attention.query.weight",
        "embeddings.patch_embeddings.projection.weight",
        "encoder.layer.0.layernorm_before.weight"}},
      {"clip",
       {"text_model.encoder.layers.0.self_attn.q_proj.weight",
        "vision_model.encoder.layers.0.self_attn.q_proj.weight"}}};
  for (const Signature &one : signatures)
    if (all_of(one.tensors, [&](StringRef wanted) {
          return any_of(folder.shapes, [&](const auto &tensor) {
            StringRef name = tensor.first;
            return name.consume_back(wanted) && (name.empty() || name.ends_with("."));
          });
        }))
      return one.type;
  return "";
}

/// What can be done about a type.
static std::string helpFor(const Folder &folder, StringRef type) {
  for (auto [known, own] : synonyms)
    if (type == known)
      return "`" + type.str() + "` is `" + own.str() + "` under another name: write that there";
  StringRef own = familyByTensors(folder);
  for (auto [known, why] : others)
    if (type == known)
      return "it is near to `" + (own.empty() ? std::string("llama") : own.str()) + "`, but " +
             why.str() + ": import that, and change the spec";
  if (!own.empty())
    return "its tensors have the names of `" + own.str() +
           "`: where it computes the same, which names do not say, write that there, and compare "
           "numbers";
  if (folder.config.getObject("text_config"))
    return "`text_config` is a model of its own: a folder with it as config.json, and with its "
           "tensors alone, may be read";
  return "";
}

Error unknownType(const Folder &folder, StringRef type) {
  SmallVector<StringRef> known;
  for (const Family *family : families())
    family->types.split(known, ' ');
  llvm::sort(known);
  std::string list = join(known, ", ");
  std::string shown;
  raw_string_ostream(shown) << json::Value(json::fixUTF8(type));
  return importError("`config.json`: no family reads the `model_type` " + shown +
                         "; those that are read are " + list,
                     helpFor(folder, type));
}

Error checkPacking(const json::Object &config) {
  for (StringRef key : {"quantization_config", "compression_config"}) {
    const json::Object *packed = config.getObject(key);
    auto method = packed ? packed->getString("quant_method") : std::nullopt;
    if (!packed || (!method && key == "quantization_config") ||
        (method && is_contained({"gptq", "awq", "fp8", "mxfp4"}, *method)))
      continue;
    std::string shown = method.value_or("compressed-tensors").str();
    if (auto format = packed->getString("format"))
      shown += "`, format `" + format->str();
    return importError("`config.json`: `" + key + "` says that weights are packed by `" +
                           json::fixUTF8(shown) +
                           "`, which is not read; those that are read are gptq, awq, fp8 and mxfp4",
                       "import the model without this packing, and let `precision` in the spec "
                       "choose int8 or int4");
  }
  return Error::success();
}

} // namespace attn::importer

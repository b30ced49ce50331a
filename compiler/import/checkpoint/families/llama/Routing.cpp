// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixtures of experts in the layers of decoders in Llama's form: what a config says of them, which
// experts a row is given to, and with which weights.
//
//   Fedus et al. 2021, "Switch Transformers"; Jiang et al. 2024, "Mixtral of Experts"
//   DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.2; "DeepSeek-V3 Technical Report", equations 12-16
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

void LlamaConfig::readExperts() {
  if (!kind.experts || (is(OnePart) && isRouted.empty()))
    return;
  // transformers 5 writes what the class's own key stands for.
  StringRef count = kind.experts->countKey, newer = "num_local_experts";
  if (config.number(count) == 0.0 && kind.experts->sharedOtherwise) { // that of all rows is left
    hidden = config.size(kind.experts->sharedKey, kind.experts->sharedOtherwise);
    return;
  }
  experts = config.size(config.has(count) ? count : config.has(newer) ? newer : count);
  if (experts == 1 && !kind.experts->periodKey.empty()) {
    experts = 0;
    return;
  }
  if (config.has(newer) && config.size(newer) != experts)
    config.refuse(newer, Twine(experts) + ", which is `" + count + "`");
  // There is no expert of all rows where its width is 0 or, of Granite, unsaid.
  StringRef sharedKey = kind.experts->sharedKey;
  double without = kind.experts->sharedOtherwise ? double(kind.experts->sharedOtherwise)
                   : kind.experts->isGranite     ? 0
                                                 : 1;
  if (!kind.experts->shared.empty() && config.number(sharedKey).value_or(without) != 0)
    sharedHidden =
        (kind.experts->sharedOtherwise ? config.size(sharedKey, kind.experts->sharedOtherwise)
                                       : config.size(sharedKey)) *
        (kind.experts->countsShared ? hidden : 1);
  StringRef key = kind.experts->chosenKey;
  auto oneOf = [&](StringRef name) { // of all layers, where each has its own
    if (config.isSilent(name) || config.whole(name))
      return config.size(name);
    std::vector<int64_t> each = config.sizes(name);
    if (each.empty() || any_of(each, [&](int64_t size) { return size != each.front(); }))
      config.refuse(name, "a number, or the same for each layer");
    return each.empty() ? 1 : each.front();
  };
  StringRef usual = "num_experts_per_tok";
  chosen = oneOf(config.has(usual) && !config.has(key) ? usual : key);
  if (chosen > experts)
    config.refuse(key, "at most " + Twine(experts) + ", the number of experts");
  if (!kind.experts->scaleKey.empty())
    routedScale =
        config.number(kind.experts->scaleKey, writer.ofLlamaCpp() ? 1 : kind.experts->scale);
  isCorrected =
      !kind.experts->correction.empty() &&
      (kind.experts->correctionKey.empty() || config.flag(kind.experts->correctionKey, true));
  readExpertGroups();
  if (!kind.experts->latentKey.empty() && config.has(kind.experts->latentKey))
    latentWidth = config.size(kind.experts->latentKey);
  if (is(OnePart) && hasDense)
    denseHidden = config.size("intermediate_size");
  if (!is(OnePart))
    readRouted();
}

void LlamaConfig::readExpertGroups() {
  if (kind.experts->groupsByBest) { // DeepSeek V2's, which are asked for by name
    std::string method = config.text("topk_method", "greedy");
    if (method != "greedy" && method != "group_limited_greedy")
      config.refuse("topk_method", "`greedy` or `group_limited_greedy`");
    if (method != "group_limited_greedy")
      return config.passOver({"n_group", "topk_group"});
  }
  expertGroups = config.size("n_group", kind.experts->groups);
  chosenGroups = config.size("topk_group", kind.experts->chosenGroups);
  int64_t each = experts / expertGroups;
  if (experts % expertGroups)
    config.refuse("n_group",
                  "a divisor of " + Twine(experts) + ", which is `" + kind.experts->countKey + "`");
  else if (expertGroups > 1 && each < 2 && !kind.experts->groupsByBest)
    config.refuse("n_group", "groups of two experts at least");
  if (chosenGroups > expertGroups)
    config.refuse("topk_group", "at most " + Twine(expertGroups) + ", the number of groups");
  else if (chosen > chosenGroups * each && !kind.experts->groupsByBest) // else others weigh 0
    config.refuse(kind.experts->chosenKey, "at most " + Twine(chosenGroups * each) +
                                               ", the experts of `topk_group` of `n_group` groups");
  if (chosenGroups >= expertGroups)
    expertGroups = 1; // of which all count
}

void LlamaConfig::readRouted() {
  std::vector<std::string> types = config.texts("mlp_layer_types");
  if (!types.empty() && types.size() != size_t(layers))
    config.refuse("mlp_layer_types", "one for each of " + Twine(layers) + " layers");
  for (const std::string &type : types)
    if (type != "sparse" && type != "dense")
      config.refuse("mlp_layer_types", "`sparse` and `dense`");
  StringRef key = kind.experts->denseKey;
  double first = key.empty() ? 0 : config.number(key, double(kind.experts->dense));
  int64_t step = config.size(kind.experts->stepKey, 1);
  StringRef lastKey = kind.experts->lastKey;
  double last = lastKey.empty() ? -1 : config.number(lastKey).value_or(-1);
  if (last < 0)
    last = double(layers) - 1;
  std::vector<double> plain = config.numbers("mlp_only_layers");
  bool isPeriodic = !kind.experts->periodKey.empty();
  int64_t period = isPeriodic ? config.size(kind.experts->periodKey, 2) : 1;
  double offset = isPeriodic ? config.number(kind.experts->offsetKey, 1) : 0;
  for (int64_t n = 0; n < layers; ++n)
    isRouted.push_back(size_t(n) < types.size() ? types[size_t(n)] == "sparse"
                       : isPeriodic ? double(n % period) == offset
                                    : double(n) >= first && double(n) <= last &&
                                          (n + 1) % step == 0 && !is_contained(plain, double(n)));
  if (none_of(isRouted, [](bool routed) { return routed; }))
    config.refuse(!types.empty()                      ? "mlp_layer_types"
                  : isPeriodic                        ? kind.experts->periodKey
                  : !key.empty()                      ? key
                  : config.has("decoder_sparse_step") ? "decoder_sparse_step"
                                                      : "mlp_only_layers",
                  "a layer with experts at least");
  if (all_of(isRouted, [](bool routed) { return routed; }))
    return isRouted.clear();
  denseHidden = config.size("intermediate_size");
}

/// The map that scores experts.
static std::string routerOf(const LlamaExperts &experts) {
  return (experts.name + "." + experts.router).str();
}

/// What their chances are corrected by.
static std::string correctionOf(const LlamaExperts &experts) {
  return (experts.name + "." + experts.correction).str();
}

/// Whether that is a matrix of one row.
static bool isOneRow(const FamilyWriter &writer, const LlamaExperts &experts) {
  return experts.isCorrectionOneRow && !writer.ofLlamaCpp();
}

void LlamaFeedForward::writeRouting(StringRef m) {
  const LlamaExperts &own = *kind.experts;
  bool sharesSum = own.sharesSum ||
                   (!own.groupsByBest && config.flag("norm_topk_prob", own.sharesOtherwise)),
       isSigmoid = !own.correction.empty(), isSoftmax = !isSigmoid || own.areChancesShared;
  std::string scores = (routerOf(own) + "(" + m + ")").str(),
              scale = routedScale == 1 ? "" : " * " + numberText(routedScale);
  if (own.isSparseMixer)
    return writeSparseMixer(scores);
  if (!isSigmoid && expertGroups == 1 && sharesSum) {
    // A softmax over all, made to sum up to 1, is one over the chosen.
    os << "let s, places = topk(X, " << scores << ", A)\nlet weights = softmax(A, s)" << scale
       << '\n';
    return;
  }
  if (!isSigmoid && expertGroups == 1 && scale.empty()) {
    os << "let weights, places = topk(X, softmax(X, " << scores << "), A)\n";
    return;
  }
  os << "let chances = " << (isSoftmax ? "softmax(X, " : "sigmoid(") << scores << ")\n";
  std::string ranked = "chances";
  if (isCorrected)
    ranked +=
        " + " + (isOneRow(writer, own) ? "sum(J, " + correctionOf(own) + ")" : correctionOf(own));
  if (expertGroups > 1)
    ranked = writeGroups(ranked);
  if (own.groupsByBest && expertGroups > 1) { // experts of other groups have a chance of 0
    os << "let picked, places = topk(X, " << ranked << ", A)\nlet weights = picked" << scale
       << '\n';
    return;
  }
  std::string sum = "sum(A, picked)";
  if (own.leastSum)
    sum = "(" + sum + " + " + numberText(own.leastSum) + ")";
  double least = own.leastKey.empty() ? 0 : config.number(own.leastKey).value_or(1e-12);
  if (least > 0)
    sum = "max(" + sum + ", " + numberText(least) + ")";
  os << "let best, places = topk(X, " << ranked
     << ", A)\nlet picked = pick(chances, X at places)\nlet weights = "
     << (sharesSum ? "picked / " + sum : "picked") << scale << '\n';
}

/// Where one trains, experts are drawn from those whose scores are near the best one's: the weight
/// of the best is its share among them, and that of the second its share without the best.
void LlamaFeedForward::writeSparseMixer(StringRef scores) {
  if (chosen != 2)
    config.refuse(kind.experts->chosenKey, "2: the published class of this model takes two");
  double least = 2 * config.number("router_jitter_noise").value_or(0.01);
  os << "let s = " << scores << "\nlet best, places = topk(X, s, A)\nlet all = repeat(s, A)\n"
     << "let weights = 1 / sum(X, if all > best or (best - all) / max(abs(all), best) > "
     << numberText(least) << " then 0 else exp(all - best))\n";
}

std::string LlamaFeedForward::writeGroups(StringRef ranked) {
  os << "let grouped = split(" << ranked << ", \"b t (o ox) -> b t o ox\")\n";
  if (kind.experts->groupsByBest)
    os << "let of_group = max(OX, grouped)\n";
  else
    os << "let of_best, best_two = topk(OX, grouped, OB)\nlet of_group = sum(OB, of_best)\n";
  os << "let of_chosen, chosen_groups = topk(O, of_group, OA)\n"
     << "let counting = if of_group >= last(OA, of_chosen) then grouped else "
     << (kind.experts->groupsByBest ? "0\n" : "-1e30\n");
  return "relabel(split(counting, \"b t o ox -> b t (o ox)\"), O*OX as X)";
}

void LlamaFeedForward::writeFeedForwards() {
  writeDenseBlock("Z");
  writeRoutedBlock();
}

void LlamaFeedForward::writeDenseBlock(StringRef size) {
  os << "block Dense[T](m: [B, T, D]) -> [B, T, D] {\n";
  declareDenseMlp(size);
  os << "return " << denseMlpOf("m") << "\n}\n\n";
}

void LlamaFeedForward::writeRoutedBlock() {
  os << "block Routed[T](m: [B, T, D]) -> [B, T, D] {\n";
  writeExperts();
  writeRouting("m");
  os << "return " << mlpOf("m") << "\n}\n\n";
}

void LlamaFeedForward::writeExperts() {
  os << "linear " << routerOf(*kind.experts) << ": D -> X"
     << (kind.experts->isGptOss ? " bias" : "") << "\nstack " << kind.experts->name
     << ".experts: X of Expert\n";
  StringRef bias = hasMlpBias ? " bias" : "";
  if (latentWidth)
    os << "linear " << kind.experts->name << ".fc1_latent_proj: D -> O" << bias << "\nlinear "
       << kind.experts->name << ".fc2_latent_proj: O -> D" << bias << '\n';
  if (isCorrected)
    os << (isOneRow(writer, *kind.experts) ? "dim J = 1\n" : "") << "param "
       << correctionOf(*kind.experts)
       << (isOneRow(writer, *kind.experts) ? ": [J, X]\n" : ": [X]\n");
  if (!sharedHidden)
    return;
  if (kind.experts->isGranite) {
    os << "linear shared_mlp.gate, shared_mlp.up: D -> I"
       << (writer.ofLlamaCpp() ? "" : " = split(\"shared_mlp.input_linear\", gate up)")
       << "\nlinear shared_mlp.output_linear: I -> D\n";
    return;
  }
  std::string path = (kind.experts->name + "." + kind.experts->shared).str();
  if (kind.experts->isSharedWeighted)
    os << "linear " << path << "_gate: D -> U\n";
  os << "linear " << (kind.experts->gate.empty() ? "" : path + ".gate_proj, ") << path
     << ".up_proj: D -> I" << bias << "\nlinear " << path << ".down_proj: I -> D" << bias << '\n';
}

std::string LlamaFeedForward::sharedOf(StringRef x) const {
  std::string path = (kind.experts->name + "." + kind.experts->shared).str(),
              of = "(" + x.str() + ")";
  if (kind.experts->isGranite)
    return "shared_mlp.output_linear(" + activated("shared_mlp.gate" + of) + " * shared_mlp.up" +
           of + ")";
  if (kind.experts->gate.empty())
    return path + ".down_proj(" + activated(path + ".up_proj" + of) + ")";
  return (kind.experts->isSharedWeighted ? "sum(U, sigmoid(" + path + "_gate" + of + ")) * " : "") +
         path + ".down_proj(" + activated(path + ".gate_proj" + of) + " * " + path + ".up_proj" +
         of + ")";
}

std::string LlamaFeedForward::mlpOf(StringRef x) {
  if (!experts)
    return denseMlpOf(x);
  std::string own = kind.experts->name.str() + ".",
              taken = latentWidth ? own + "fc1_latent_proj(" + x.str() + ")" : x.str(),
              routed = "route(" + own + "experts, " + taken + ", places, weights)";
  if (latentWidth)
    routed = own + "fc2_latent_proj(" + routed + ")";
  if (!sharedHidden)
    return routed;
  std::string sum = routed + " + " + sharedOf(x);
  return residualScale == 1 ? sum : "(" + sum + ")";
}

/// One of the experts that a row is routed to.
void LlamaFeedForward::writeExpert() {
  if (kind.experts->isGptOss)
    return writeGptOssExpert();
  if (kind.experts->gate.empty()) {
    StringRef axis = latentWidth ? "O" : "D", suffix = writer.ofLlamaCpp() ? "" : "_proj";
    os << "block Expert(x: [" << axis << "]) -> [" << axis << "] {\nlinear up" << suffix << ": "
       << axis << " -> F\nlinear down" << suffix << ": F -> " << axis << "\nreturn down" << suffix
       << "(" << activated(("up" + suffix + "(x)").str()) << ")\n}\n\n";
    return;
  }
  StringRef gate = kind.experts->gate, up = kind.experts->up, down = kind.experts->down;
  if (writer.ofLlamaCpp())
    gate = "gate", up = "up", down = "down";
  auto firstRouted = llvm::find(isRouted, true) - isRouted.begin(); // 0 where all have experts
  auto both =
      writer.folder.shapes.find(prefix + "layers." + std::to_string(firstRouted) + "." +
                                kind.experts->name.str() + ".experts.0.gate_up_proj.weight");
  bool isPacked = both != writer.folder.shapes.end() && both->second.size() == 2,
       isTurned = isPacked && kind.experts->isTurned && both->second[0] == width;
  StringRef packed = writer.ofLlamaCpp()       ? ""
                     : kind.experts->isGranite ? "input_linear"
                     : isPacked                ? "gate_up_proj"
                                               : "";
  os << "block Expert(x: [D]) -> [D] {\nlinear " << gate << ", " << up << ": D -> F";
  if (!packed.empty())
    os << " = split(\"" << packed << "\", " << gate << " " << up << ")"
       << (isTurned ? " @conv1d" : "");
  os << "\nlinear " << down << ": F -> D" << (isTurned ? " @conv1d" : "") << "\nreturn " << down
     << "(" << activated((gate + "(x)").str()) << " * " << up << "(x))\n}\n\n";
}

void LlamaFeedForward::writeGptOssExpert() {
  // Float matrices are [in, out], those of MXFP4 are [out, in]. The shape of a square matrix does
  // not tell which, but `quantization_config` does.
  auto shape = writer.folder.shapes.find(prefix + "layers.0.mlp.experts.0.gate_up_proj.weight");
  bool isTransposed = shape != writer.folder.shapes.end() && shape->second.size() == 2 &&
                      shape->second[0] == width &&
                      (shape->second[1] != width || !config.has("quantization_config"));
  double limit = config.number("swiglu_limit", 7);
  StringRef suffix = isTransposed ? " @conv1d" : "";
  StringRef down = writer.ofLlamaCpp() ? "down" : "down_proj";
  os << "block Expert(x: [D]) -> [D] {\nlinear gate, up: D -> F bias";
  if (!writer.ofLlamaCpp())
    os << " = split(\"gate_up_proj.{weight|bias}\", f gate up)" << suffix;
  os << "\nlinear " << down << ": F -> D bias" << (isTransposed ? " = \"down_proj\" @conv1d" : "")
     << "\nlet g = min(gate(x), " << numberText(limit) << ")\nreturn " << down
     << "(g * sigmoid(1.702 * "
     << "g) * (clamp(up(x), " << numberText(-limit) << ", " << numberText(limit)
     << ") + 1))\n}\n\n";
}

} // namespace attn::importer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One layer of a decoder in Llama's form, and what the stack of layers gives it.
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

std::string LlamaWriter::maskOf(bool isWindowed) const {
  std::string near = isWindowed ? "window(" + std::to_string(reach) + ", " +
                                      std::to_string(seesBothWays ? reach : 0) + ")"
                                : "causal";
  return seesBothWays && !isWindowed ? "true" : near;
}

std::string LlamaWriter::nearOf(bool isWindowed) const {
  return "window(" + std::to_string(isWindowed ? reach : capacity) + ", " +
         std::to_string(eyes->rows - 1) + ")";
}

std::string LlamaWriter::layerArguments() const {
  SmallVector<std::string> given;
  bool isSeen = !isFull.empty() && reach;
  if (isSeen)
    given.push_back("seen = if " + layersWhere(isFull) + " then " + maskOf(false) + " else " +
                    maskOf(true));
  if (isSeen && eyes && eyes->isWhole && !eyes->isPrefix)
    given.push_back("near = if " + layersWhere(isFull) + " then " + nearOf(false) + " else " +
                    nearOf(true));
  if (turnsByLayer())
    given.push_back("full = " + layersWhere(isFull));
  if (!isTurned.empty())
    given.push_back("turned = " + layersWhere(isTurned));
  if (!isAttending.empty())
    given.push_back("attends = " + layersWhere(isAttending));
  if (!mixer.ownStatic.empty())
    given.push_back(mixer.ownStatic + " = " + mixer.staticOfLayer);
  if (!isMixing.empty())
    given.push_back("mixes = " + layersWhere(isMixing));
  if (!isRouted.empty())
    given.push_back("routed = " + layersWhere(isRouted));
  for (int64_t layer = 0; eyes && layer < eyes->deep; ++layer)
    given.push_back("deep" + std::to_string(layer) + " = n == " + std::to_string(layer));
  return given.empty() ? "" : "(" + join(given, ", ") + ")";
}

std::string LlamaWriter::mask() const {
  std::string own = reach ? (isFull.empty() ? maskOf(true) : "seen") : maskOf(false);
  if (eyes && eyes->isPrefix)
    return own + " or prompt";
  if (eyes && eyes->isWhole)
    return own + " or picture and " + (own == "seen" ? "near" : nearOf(reach > 0));
  if (!seesBothWays)
    return own;
  return own == "true" ? "inside" : "inside and " + own;
}

/// `x`, between -clip and clip, where that is not 0.
static std::string clipped(const std::string &x, double clip) {
  if (!clip)
    return x;
  return "clamp(" + x + ", " + numberText(-clip) + ", " + numberText(clip) + ")";
}

void LlamaWriter::writeHeadNorms() {
  StringRef keyHeads = groups == heads ? "H" : "G";
  std::string queries = ("self_attn." + kind.queryNorm).str(),
              keys = ("self_attn." + kind.keyNorm).str();
  switch (headNorm) {
  case LlamaHeadNorm::None:
    return;
  case LlamaHeadNorm::Own:
    os << "layernorm self_attn.each: E eps " << numberText(eps) << " no weight no bias\n"
       << "param " << queries << ".weight: [H, E], " << keys << ".weight: [" << keyHeads
       << ", E]\n";
    return;
  case LlamaHeadNorm::All:
    os << norms.declared({queries}, "H * E", eps);
    os << norms.declared({keys}, (keyHeads + " * E").str(), eps);
    return;
  case LlamaHeadNorm::Each:
  case LlamaHeadNorm::Turned:
    os << norms.declared({queries, keys}, "E", eps);
  }
}

std::string LlamaWriter::result(StringRef norm, const std::string &made) const {
  std::string whole = norms.of(norm, made);
  return residualScale == 1 ? whole : whole + " * " + numberText(residualScale);
}

std::string LlamaWriter::turned(StringRef what, const Rotation &own, StringRef table,
                                StringRef features) const {
  if (isPlaced())
    return ("rotary(" + what + ", half, angles = phase" +
            (own.turned != this->features ? ", features = " + features : "") + ")")
        .str();
  return own.applied(what, turnsNeighbours ? "interleaved" : "half", table,
                     own.turned != this->features ? features : "");
}

void LlamaWriter::writeProjections() {
  StringRef bias = hasBias ? " bias" : "", outBias = hasOutBias ? " bias" : "",
            keyHeads = groups == heads ? "H" : "G";
  if (is(Packed)) {
    os << "linear self_attn.q: D -> H, E = slice(\"self_attn.qkv_proj\", 0 to H * E)\n"
       << "linear self_attn.k: D -> " << keyHeads
       << ", E = slice(\"self_attn.qkv_proj\", H * E to H * E + " << keyHeads << " * E)\n"
       << "linear self_attn.v: D -> " << keyHeads << ", E = slice(\"self_attn.qkv_proj\", H * E + "
       << keyHeads << " * E to H * E + 2 * " << keyHeads << " * E)\n"
       << "linear self_attn." << kind.out << ": H, E -> D\n";
    return;
  }
  if (is(GatedHeads)) {
    os << "dim E2 = E, EE = 2 * E\nlinear self_attn.q_proj: D -> H, EE" << bias
       << "\nlinear self_attn.k_proj, self_attn.v_proj: D -> " << keyHeads << ", E" << bias
       << "\nlinear self_attn." << kind.out << ": H, E -> D" << outBias << '\n';
    return;
  }
  bool isOneRow = headNorm == LlamaHeadNorm::All; // what is normed before it is heads
  StringRef between = isOneRow ? " * " : ", ";
  if (groups == heads && !isOneRow)
    os << "linear self_attn.q_proj, self_attn.k_proj, self_attn.v_proj: D -> H, E" << bias << '\n';
  else
    os << "linear self_attn.q_proj: D -> H" << between << "E" << bias << "\nlinear self_attn.k_proj"
       << (isOneRow ? ": D -> " : ", self_attn.v_proj: D -> ") << keyHeads << between << "E" << bias
       << '\n';
  if (isOneRow)
    os << "linear self_attn.v_proj: D -> " << keyHeads << ", E" << bias << '\n';
  if (is(SubNorms))
    os << norms.declared({"self_attn.attn_sub_norm"}, "H * E", eps)
       << norms.declared({"mlp.ffn_sub_norm"}, "F", eps);
  os << "linear self_attn." << kind.out << (is(SubNorms) ? ": H * E" : ": H, E") << " -> D"
     << outBias << '\n';
}

void LlamaFeedForward::writeMlp() {
  if (experts)
    writeExperts();
  else
    declareDenseMlp("F");
}

bool LlamaFeedForward::isPackedMlp() const {
  return kind.mlp == LlamaMlp::Packed &&
         !(writer.ofLlamaCpp() && writer.folder.has(prefix + "layers.0.mlp.gate_proj.weight"));
}

void LlamaFeedForward::declareDenseMlp(StringRef size) {
  StringRef bias = hasMlpBias ? " bias" : "";
  if (isPackedMlp())
    os << "linear mlp.gate, mlp.up: D -> " << size << " = split(\"mlp.gate_up_proj\", gate up)\n"
       << "linear mlp.down_proj: " << size << " -> D\n";
  else
    os << "linear " << (kind.mlp != LlamaMlp::Plain ? "mlp.gate_proj, " : "") << "mlp." << kind.up
       << ": D -> " << size << bias << "\nlinear mlp." << kind.down << ": " << size << " -> D"
       << bias << '\n';
}

/// The activation with learnt slopes, of `x`, whose lines it writes.
static std::string xielu(raw_ostream &os, const std::string &x) {
  os << "param mlp.act_fn.alpha_p, mlp.act_fn.alpha_n: [N]\nlet u = " << x
     << "\nlet rise = log(1 + exp(sum(N, mlp.act_fn.alpha_p)))\nlet fall = 0.5 + log(1 + "
        "exp(sum(N, mlp.act_fn.alpha_n)))\n";
  return "0.5 * u + (if u > 0 then rise * u * u else fall * (exp(min(u, -1e-6)) - 1 - u))";
}

std::string LlamaFeedForward::denseMlpOf(StringRef x) {
  bool isPacked = isPackedMlp(), isPlain = kind.mlp == LlamaMlp::Plain;
  std::string up = isPacked ? "mlp.up" : ("mlp." + kind.up).str(), gate = isPacked ? "mlp.gate"
                                                                          : isPlain
                                                                              ? up
                                                                              : "mlp.gate_proj";
  if (isXielu)
    return "mlp." + kind.down.str() + "(" + xielu(os, gate + "(" + x.str() + ")") + ")";
  std::string inner =
      activated(gate + "(" + x.str() + ")" + (gateScale == 1 ? "" : " * " + numberText(gateScale)));
  if (!isPlain)
    inner += " * " + up + "(" + x.str() + ")";
  if (is(SubNorms))
    inner = norms.of("mlp.ffn_sub_norm", inner);
  return ("mlp." + kind.down + "(" + inner + ")").str() +
         (downScale == 1 ? "" : " * " + numberText(downScale));
}

std::string LlamaWriter::turnedByLayer(StringRef name, const std::string &made) {
  if (turnsNone)
    return made;
  std::string plain = made;
  if (turnsByLayer() || !isTurned.empty()) {
    plain = (name + "_plain").str();
    os << "let " << plain << " = " << made << '\n';
  }
  std::string whole = turned(plain, rotation, "turns", "R");
  if (turnsByLayer())
    whole = "if full then " + whole + " else " + turned(plain, windowed, "windowed_turns", "W");
  return isTurned.empty() ? whole : "if turned then " + whole + " else " + plain;
}

void LlamaWriter::writeTurned(StringRef name, const std::string &map, StringRef norm) {
  std::string path = ("self_attn." + norm).str(), made = map;
  if (headNorm == LlamaHeadNorm::Own)
    made = "self_attn.each(" + made + ") * " + path + ".weight";
  else if (headNorm == LlamaHeadNorm::Each)
    made = norms.of(path, made);
  else if (headNorm == LlamaHeadNorm::All)
    made = "split(" + norms.of(path, made) +
           (name == "q" || groups == heads ? ", \"b t (h e) -> b t h e\")"
                                           : ", \"b t (g e) -> b t g e\")");
  made = turnedByLayer(name, clipped(made, clip));
  if (headNorm == LlamaHeadNorm::Turned)
    made = norms.of(path, made);
  if (temper && name == "q")
    made += " * temper";
  os << "let " << name << " = " << made << '\n';
}

void LlamaWriter::declareAttention() {
  if (latent.ofKeys)
    return declareLatent();
  writeHeadNorms();
  writeProjections();
  if (is(Sinks))
    os << "param self_attn.sinks: [H]"
       << (writer.ofLlamaCpp() ? " = \"attn_sinks.weight\"\n" : "\n");
}

std::string LlamaWriter::attended(StringRef n) {
  if (latent.ofKeys)
    return attendedLatent(n);
  auto map = [&](StringRef name) {
    return ("self_attn." + name + (is(Packed) ? "(" : "_proj(") + n + ")").str();
  };
  std::string queries = map("q"), weight;
  if (is(GatedHeads)) {
    os << "let plain_q, gate = unpack(" << queries << ", EE as E, E2)\n";
    queries = "plain_q", weight = " * sigmoid(relabel(gate, E2 = E))";
  }
  writeTurned("q", queries, kind.queryNorm);
  writeTurned("k", map("k") + (keyScale == 1 ? "" : " * " + numberText(keyScale)), kind.keyNorm);
  os << "let a = attend q over " << (isEncoder ? "k, " : "kv.push(k, ") << clipped(map("v"), clip)
     << (isEncoder ? "" : ")") << " along T as S" << (groups == heads ? "" : " group H by G")
     << " {\n"
     << (queryScale ? "score scaled\n" : "") << (cap ? "cap " + numberText(cap) + "\n" : "")
     << "mask " << mask() << '\n'
     << (is(Sinks) ? "weight softmax(sink = self_attn.sinks[h])\n}\n" : "}\n");
  std::string read = is(SubNorms)
                         ? norms.of("self_attn.attn_sub_norm", "split(a, \"b t h e -> b t (h e)\")")
                         : "a";
  return ("self_attn." + kind.out + "(" + read + weight + ")").str();
}

void LlamaWriter::writeTables() {
  auto table = [&](const Rotation &own, StringRef name, StringRef part) {
    return own.tableLine(name, own.turned == features ? "E" : part);
  };
  os << table(rotation, "turns", "R");
  if (turnsByLayer())
    os << table(windowed, "windowed_turns", "W");
  if (temper)
    os << "table temper[t: T] = 1 + " << numberText(temper) << " * log(1 + floor(t / "
       << numberText(temperLength) << "))  // of queries, by their positions\n";
}

void LlamaWriter::writeAttention() {
  bool isMixed = hasStates();
  std::string n = places.beforeAttention.empty() ? "x" : "n";
  if (!isMixed)
    writeTables();
  if (n != "x")
    os << "let n = " << norms.of(places.beforeAttention, "x") << '\n';
  std::string made = "mixed";
  if (isMixed)
    made = writeMixed(n);
  else
    made = attended(n);
  if (is(NormedResidual))
    os << "let y = " << (isMixed ? made : weighed(n, made, 0)) << '\n';
  else
    os << "let y = x + " << result(places.behindAttention, made) << '\n';
}

/// What the mlp reads: `n`, `y` or what is made of it.
std::string LlamaWriter::writeMlpInput() {
  if (isParallel)
    return "n";
  if (places.beforeMlp.empty())
    return "y";
  os << "let m = " << norms.of(places.beforeMlp, "y") << '\n';
  return "m";
}

void LlamaWriter::writeLayer() {
  if (is(OnePart))
    return writeOnePart();
  if (eyes && eyes->isPrefix)
    os << "// Tokens of a prompt see each other.\nmask prompt(b, j) with input final: i32[B] = "
          "j <= final[b]\n\n";
  else if (eyes && eyes->isWhole)
    os << "// Rows of one picture see each other.\nmask picture(b, i, j) with input since: i32[B, "
          "T], until: i32[B, T] = since[b, i.row] <= j and j <= until[b, i.row]\n\n";
  if (seesBothWays)
    os << "mask inside(b, j) with input lengths: i32[B] = j < lengths[b]  // the rest is "
          "padding\n\n";
  SmallVector<std::string> statics;
  if (!isFull.empty() && reach)
    statics.push_back("seen = " + maskOf(false));
  if (!isFull.empty() && reach && eyes && eyes->isWhole && !eyes->isPrefix)
    statics.push_back("near = " + nearOf(false));
  if (turnsByLayer())
    statics.push_back("full = true");
  if (!isTurned.empty())
    statics.push_back("turned = true");
  bool isMixed = hasStates(), isByLayer = !isAttending.empty(), isRoutedByLayer = !isRouted.empty();
  if (isByLayer)
    statics.push_back("attends = true");
  if (!mixer.ownStatic.empty())
    statics.push_back(mixer.ownStatic + " = 1");
  if (isMixed)
    writeMixers();
  if (isRoutedByLayer) {
    statics.push_back("routed = true");
    writeFeedForwards();
  }
  for (int64_t layer = 0; eyes && layer < eyes->deep; ++layer)
    statics.push_back("deep" + std::to_string(layer) + " = false");
  os << "block Layer[T](x: [B, T, D]"
     << (!isEncoder     ? ", kv: cache"
         : seesBothWays ? ", lengths: i32[B]"
                        : "")
     << mixer.parameters() << pictureParameters()
     << (statics.empty() ? "" : "; " + join(statics, ", ")) << ") -> [B, T, D]" << mixer.types()
     << " {\n";
  os << norms.declared({places.beforeAttention, places.behindAttention,
                        isParallel ? StringRef() : places.beforeMlp, places.behindMlp},
                       "D", eps);
  if (isMixed)
    os << "part attention: Attention = \"\"" << (isByLayer ? " if attends" : "") << "\npart "
       << mixer.part << ": " << mixer.called() << (isByLayer ? " if not attends\n" : "\n");
  else
    declareAttention();
  if (isRoutedByLayer)
    os << "part dense_mlp: Dense = \"\" if not routed\npart routed_mlp: Routed = \"\" if routed\n";
  else
    writeMlp();
  writeAttention();
  std::string m = writeMlpInput();
  if (experts && !isRoutedByLayer)
    writeRouting(m);
  std::string fed = isRoutedByLayer
                        ? "(if routed then routed_mlp(" + m + ") else dense_mlp(" + m + "))"
                        : mlpOf(m);
  std::string made = is(NormedResidual) ? weighed(m, fed, 2)
                                        : withDeepRows("y + " + result(places.behindMlp, fed));
  os << "return " << made << mixer.names("next_") << "\n}\n\n";
}

} // namespace attn::importer

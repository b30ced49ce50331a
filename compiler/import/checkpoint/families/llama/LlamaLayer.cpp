// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One layer of a decoder in Llama's form, and what the stack of layers gives it.
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

bool LlamaWriter::turnsByLayer() const { return !isFull.empty() && !(rotation == windowed); }

std::string LlamaWriter::maskOf(bool isWindowed) const {
  std::string near = isWindowed ? "window(" + std::to_string(reach) + ", " +
                                      std::to_string(seesBothWays ? reach : 0) + ")"
                                : "causal";
  return seesBothWays && !isWindowed ? "true" : near;
}

std::string LlamaWriter::layerArguments() const {
  if (isFull.empty() || (!reach && !turnsByLayer()))
    return "";
  std::string condition = layersWhere(isFull), text;
  if (reach)
    text = "seen = if " + condition + " then " + maskOf(false) + " else " + maskOf(true);
  if (turnsByLayer())
    text += (text.empty() ? "full = " : ", full = ") + condition;
  return "(" + text + ")";
}

std::string LlamaWriter::mask() const {
  std::string own = reach ? (isFull.empty() ? maskOf(true) : "seen") : maskOf(false);
  if (!seesBothWays)
    return own;
  return own == "true" ? "inside" : "inside and " + own;
}

std::string LlamaWriter::norms(StringRef names, StringRef axis) const {
  return ("rmsnorm " + names + ": " + axis + " eps " + numberText(eps) +
          (is(OnePlusNorms) && !writer.folder.addedOne ? " offset 1" : "") + "\n")
      .str();
}

std::string LlamaWriter::turned(StringRef what, const Rotation &own, StringRef table,
                                StringRef features) const {
  return own.applied(what, writer.folder.turnsNeighbours ? "interleaved" : "half", table,
                     own.turned != this->features ? features : "");
}

void LlamaWriter::writeTable(const Rotation &own, StringRef name, StringRef turned) {
  os << own.tableLine(name, own.turned == features ? "E" : turned);
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
       << "linear self_attn.o_proj: H, E -> D\n";
    return;
  }
  if (groups == heads)
    os << "linear self_attn.q_proj, self_attn.k_proj, self_attn.v_proj: D -> H, E" << bias << '\n';
  else
    os << "linear self_attn.q_proj: D -> H, E" << bias
       << "\nlinear self_attn.k_proj, self_attn.v_proj: D -> G, E" << bias << '\n';
  os << "linear self_attn.o_proj: H, E -> D" << outBias << '\n';
}

void LlamaWriter::writeMlp() {
  StringRef bias = hasMlpBias ? " bias" : "";
  if (experts)
    os << "linear " << router() << ": D -> X" << (kind.experts->isGptOss ? " bias" : "")
       << "\nstack " << kind.experts->name << ".experts: X of Expert\n";
  else if (is(Packed))
    os << "linear mlp.gate, mlp.up: D -> F = split(\"mlp.gate_up_proj\", gate up)\n"
       << "linear mlp.down_proj: F -> D\n";
  else
    os << "linear mlp.gate_proj, mlp.up_proj: D -> F" << bias << "\nlinear mlp.down_proj: F -> D"
       << bias << '\n';
}

std::string LlamaWriter::mlpOf() {
  if (experts)
    return ("route(" + kind.experts->name + ".experts, m, places, weights)").str();
  StringRef gate = is(Packed) ? "mlp.gate" : "mlp.gate_proj",
            up = is(Packed) ? "mlp.up" : "mlp.up_proj";
  return "mlp.down_proj(" + activation(config, act, kind.act, (gate + "(m)").str()) + " * " +
         up.str() + "(m))";
}

/// One of the experts that a row is routed to.
void LlamaWriter::writeExpert() {
  if (kind.experts->isGptOss)
    return writeGptOssExpert();
  StringRef gate = kind.experts->gate, up = kind.experts->up, down = kind.experts->down;
  if (writer.ofLlamaCpp())
    gate = "gate", up = "up", down = "down";
  os << "block Expert(x: [D]) -> [D] {\nlinear " << gate << ", " << up << ": D -> F\nlinear "
     << down << ": F -> D\nreturn " << down << "("
     << activation(config, act, kind.act, (gate + "(x)").str()) << " * " << up << "(x))\n}\n\n";
}

void LlamaWriter::writeGptOssExpert() {
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

std::string LlamaWriter::router() const {
  return (kind.experts->name + "." + kind.experts->router).str();
}

void LlamaWriter::writeAttention() {
  StringRef q = is(Packed) ? "self_attn.q" : "self_attn.q_proj",
            k = is(Packed) ? "self_attn.k" : "self_attn.k_proj",
            v = is(Packed) ? "self_attn.v" : "self_attn.v_proj";
  writeTable(rotation, "turns", "R");
  if (turnsByLayer())
    writeTable(windowed, "windowed_turns", "W");
  os << "let n = input_layernorm(x)\n";
  for (auto [name, map, norm] : {std::tuple("q", q, "q_norm"), {"k", k, "k_norm"}}) {
    std::string made = (map + "(n)").str();
    if (is(HeadNorms))
      made = ("self_attn." + Twine(norm) + "(" + made + ")").str();
    if (turnsByLayer()) {
      std::string plain = std::string(name) + "_plain";
      os << "let " << plain << " = " << made << '\n'
         << "let " << name << " = if full then " << turned(plain, rotation, "turns", "R")
         << " else " << turned(plain, windowed, "windowed_turns", "W") << '\n';
    } else {
      os << "let " << name << " = " << turned(made, rotation, "turns", "R") << '\n';
    }
  }
  os << "let a = attend q over " << (isEncoder ? "k, " : "kv.push(k, ") << v
     << (isEncoder ? "(n)" : "(n))") << " along T as S" << (groups == heads ? "" : " group H by G")
     << " {\n"
     << (queryScale ? "score scaled\n" : "") << (cap ? "cap " + numberText(cap) + "\n" : "")
     << "mask " << mask() << '\n'
     << (is(Sinks) ? "weight softmax(sink = self_attn.sinks[h])\n}\n" : "}\n") << "let y = x + "
     << (is(FourNorms) ? "post_attention_layernorm(self_attn.o_proj(a))" : "self_attn.o_proj(a)")
     << "\nlet m = " << (is(FourNorms) ? "pre_feedforward_layernorm" : "post_attention_layernorm")
     << "(y)\n";
}

void LlamaWriter::writeLayer() {
  if (seesBothWays)
    os << "mask inside(b, j) with input lengths: i32[B] = j < lengths[b]  // the rest is "
          "padding\n\n";
  os << "block Layer[T](x: [B, T, D]"
     << (!isEncoder     ? ", kv: cache"
         : seesBothWays ? ", lengths: i32[B]"
                        : "");
  if (!layerArguments().empty())
    os << "; " << (reach ? "seen = " + maskOf(false) : "") << (reach && turnsByLayer() ? ", " : "")
       << (turnsByLayer() ? "full = true" : "");
  os << ") -> [B, T, D] {\n";
  if (is(FourNorms))
    os << norms("input_layernorm, post_attention_layernorm, pre_feedforward_layernorm, "
                "post_feedforward_layernorm",
                "D");
  else
    os << norms("input_layernorm, post_attention_layernorm", "D");
  if (is(HeadNorms))
    os << norms("self_attn.q_norm, self_attn.k_norm", "E");
  writeProjections();
  if (is(Sinks))
    os << "param self_attn.sinks: [H]"
       << (writer.ofLlamaCpp() ? " = \"attn_sinks.weight\"\n" : "\n");
  writeMlp();
  writeAttention();
  bool sharesSum =
      kind.experts && (kind.experts->sharesSum || config.flag("norm_topk_prob", false));
  if (sharesSum) // a softmax over all, made to sum up to 1, is one over the chosen
    os << "let s, places = topk(X, " << router() << "(m), A)\nlet weights = softmax(A, s)\n";
  else if (experts)
    os << "let weights, places = topk(X, softmax(X, " << router() << "(m)), A)\n";
  std::string mlp = mlpOf();
  os << "return y + " << (is(FourNorms) ? "post_feedforward_layernorm(" + mlp + ")" : mlp)
     << "\n}\n\n";
}

} // namespace attn::importer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

void writeGpt2(FamilyWriter &writer) {
  Config &config = writer.config;
  raw_ostream &os = writer.os;
  bool hasHead = writer.task == "ForCausalLM" || writer.task == "LMHeadModel" ||
                 StringRef(writer.model).ends_with("LMHead");
  if (!hasHead && !writer.task.empty())
    config.refuse("architectures", "`GPT2LMHeadModel`, or `GPT2Model`");
  int64_t width = config.size("n_embd"), heads = config.size("n_head"),
          positions = config.size("n_positions"), hidden = config.size("n_inner", 4 * width);
  if (width % heads)
    config.refuse("n_head", "a divisor of `n_embd`");
  // What an encoder gives is read where it is given, and here none gives any.
  bool readsOthers = config.flag("add_cross_attention", false);
  bool isScaled = config.flag("scale_attn_weights", true),
       isByLayer = config.flag("scale_attn_by_inverse_layer_idx", false);
  std::string p = writer.folder.has("transformer.wte.weight") ? "transformer." : "",
              eps = numberText(config.number("layer_norm_epsilon", 1e-5)),
              mlp = activation(config, "activation_function", "gelu_new", "mlp.c_fc(ln_2(y))");
  bool isTied = config.flag("tie_word_embeddings", true);
  // llama.cpp's converter lays matrices as other linears have them.
  StringRef turned = writer.ofLlamaCpp() ? "" : " @conv1d";
  os << "model GPT2 {\ndim D = " << width << ", H = " << heads
     << ", E = D / H, L = " << config.size("n_layer") << ", F = " << hidden
     << ", V = " << config.size("vocab_size") << ", P = " << positions
     << "  // width, heads, features of a head, layers, feed-forward, tokens, positions\n"
     << "dyn B <= 8\ncache kv capacity P\n\n"
     << "embedding " << p << "wte: V -> D\nembedding " << p << "wpe: P -> D\nstack " << p
     << "h: L of Layer" << (isByLayer ? "(depth = n + 1)" : "") << "\nlayernorm " << p
     << "ln_f: D eps " << eps << '\n';
  if (hasHead)
    os << "linear lm_head: D -> V" << (isTied ? " = tied(" + p + "wte)" : "") << '\n';
  if (hasHead && isTied && writer.folder.has("lm_head.weight"))
    os << "ignore \"lm_head.weight\"  // the same numbers as the embedding\n";
  if (writer.folder.has(p + "h.0.attn.bias"))
    os << "ignore \"" << p << "h.*.attn.bias\", \"" << p
       << "h.*.attn.masked_bias\"  // the causal mask, as a tensor\n";
  if (readsOthers)
    os << "ignore \"" << p << "h.*.crossattention.*\", \"" << p
       << "h.*.ln_cross_attn.*\"  // of what an encoder gives, which there is none of\n";
  if (isByLayer)
    os << "score scaled(q, k; depth = 1) = dot(q, k) " << (isScaled ? "* E ** -0.5 " : "")
       << "/ depth\n";
  StringRef score = isByLayer ? "score scaled(depth = depth)\n" : isScaled ? "" : "score dot\n";
  os << "\nblock Layer[T](x: [B, T, D], kv: cache" << (isByLayer ? "; depth = 1" : "")
     << ") -> [B, T, D] {\n"
     << "layernorm ln_1, ln_2: D eps " << eps << '\n'
     << "linear attn.q, attn.k, attn.v: D -> H, E bias = split(\"attn.c_attn.{weight|bias}\", q k "
        "v)"
     << turned << "\nlinear attn.c_proj: H, E -> D bias" << turned
     << "\nlinear mlp.c_fc: D -> F bias" << turned << "\nlinear mlp.c_proj: F -> D bias" << turned
     << "\n"
     << "let n = ln_1(x)\n"
     << "let y = x + attn.c_proj(attend attn.q(n) over kv.push(attn.k(n), attn.v(n)) along T as S "
        "{\n"
     << score << "mask causal\n})\n"
     << "return y + mlp.c_proj(" << mlp << ")\n}\n\n";
  std::string states = p + "ln_f(" + p + "h(" + p + "wte(ids) + " + p + "wpe(positions(T)), kv))";
  if (!hasHead) {
    os << "forward[T](ids: i32[B, T], kv: cache) -> [B, T, D] = " << states
       << "\nentry encode = forward\n}\n";
    return;
  }
  os << "forward[T](ids: i32[B, T], kv: cache) -> [B, T, V] = lm_head(" << states << ")\n";
  writeGeneration(writer, positions);
  os << "}\n";
}

} // namespace attn::importer

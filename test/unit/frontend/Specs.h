// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Specs that several tests read, and a parse with its diagnostics in one place.
#pragma once

#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"

namespace attn::frontend::test {

/// A spec, its tree and what was said about it.
struct Parsed {
  explicit Parsed(std::string text, std::string name = "test.attn")
      : source(std::move(name), std::move(text)), diagnostics(source),
        file(parse(source, diagnostics)) {}

  std::string errors() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    diagnostics.render(os);
    return text;
  }
  /// `A0101 A0102`: the codes in the order of the text.
  std::string codes() const {
    std::string text;
    for (const Diagnostic *diagnostic : diagnostics.sorted())
      text += (text.empty() ? "" : " ") + codeText(diagnostic->code).str();
    return text;
  }
  std::string formatted() const { return format(*file, source); }

  SourceFile source;
  DiagnosticEngine diagnostics;
  std::unique_ptr<ast::File> file;
};

/// A vision transformer, formatted.
inline const char *const visionTransformer = R"(attn 1
model ViT {
  dim D = 768, H = 12, L = 12, F = 3072, K = 1000  // width, heads, layers, feed-forward, classes
  dim C = 3, P = 16, Q = 16, Y = 14, X = 14  // channels, patch, grid
  dim E = D / H, N = 1 + Y * X
  dyn B <= 64

  linear patch_embed.proj: C, P, Q -> D bias
  param cls_token: [1, D], pos_embed: [N, D]
  stack blocks: L of Block
  layernorm norm: D eps 1e-6
  linear head: D -> K bias

  block Block[T](x: [B, T, D]) -> [B, T, D] {
    layernorm norm1, norm2: D eps 1e-6
    linear attn.q, attn.k, attn.v: D -> H, E bias = split("attn.qkv.{weight|bias}", q k v)
    linear attn.proj: H, E -> D bias
    linear mlp.fc1: D -> F bias
    linear mlp.fc2: F -> D bias
    let n = norm1(x)
    let y = x + attn.proj(attend attn.q(n) over attn.k(n), attn.v(n) along T as S { score scaled_dot })
    return y + mlp.fc2(gelu(mlp.fc1(norm2(y))))
  }

  image input 224 x 224 bicubic mean 0.5 std 0.5  // how a picture becomes the tensor, where one is given
  entry classify(image: f32[B, C, Y*P, X*Q]) -> f32[B, K] {
    let patches = split(image, "b c (y p) (x q) -> b (y x) c p q")
    let tokens = pack(N, cls_token, patch_embed.proj(patches)) + pos_embed
    return head(first(N, norm(blocks(tokens))))
  }
}
)";

/// Everything else the language has, formatted.
inline const char *const everyForm = R"(attn 1
use std.attention
use "../blocks.attn"  // beside it

score scaled_dot(q, k) = dot(q, k) * rsqrt(dim(q))
score additive(q, k) with linear A, C: E -> U, param u: [U] = dot(u, tanh(A(q) + C(k)))

bias alibi(h, i, j) with param slope: [H] = -slope[h] * abs(i - j)
bias swin(h, i, j) with param table: [R, H] = table[(i.y - j.y + M - 1) * (2 * M - 1) + (i.x - j.x + M - 1), h]
bias given(b, h, i, j) with input m: f32[B, H, T, S] = m[b, h, i.row, j.row]

mask window(i, j; left, right = 0) = i - left <= j and j <= i + right  // both ends included
mask prefix(b, j) with input n: i32[B] = j < n[b]
mask others(i, j) = not (i == j)

model Everything {
  dim D = config.hidden_size ?? 768
  cache kv capacity 4096
  cache low: bf16 capacity 2 ** 12
  state h: [B, U]
  ignore "decoder.*", "mask_token"
  linear c_attn: D -> H @conv1d optional
  bias after_a_linear_map(i, j) = i - j
  linear out_layer.1: D -> H bias = tied(wte.3.x)
  embedding wte: V -> D = "transformer.wte"
  param a, b: [D] = "q" optional, c: f32[3, D]
  linear wide: D -> F bias if D > 64 = "mlp.fc1" @conv1d if not (small or D < 8)
  param d: [D] if small, e: [D] = split("de", d e) optional if D == 8
  linear gate: D -> F bias = slice("packed.{weight|bias}", F to 2 * F of 3 * F) @conv1d
  rmsnorm ln: D eps 1e-5 if small
  part self_attn, cross_attn: MultiheadAttention[E: D, H: 8](bias = false, allowed = causal)
  part mlp: Residual = "h.mlp" if small
  stack blocks: L of SwinBlock(shift = if n % 2 == 1 then M / 2 else 0)
  stack layers: L of shared Layer[D: 64](shift = 0) = "h.{n}"
  image input 224 x 224 bicubic mean [0.485, 0.456, 0.406] std [0.229, 0.224, 0.225]
  table pos[t: T, c: D] = if c % 2 == 0 then sin(t / 10000 ** (c / D)) else cos(t / 10000 ** ((c - 1) / D))

  block Layer[T](x: [B, T, D], kv: cache) -> [B, T, D] {
    let k, v = kv.push(k_proj(x), v_proj(x)) along S
    let out, lse = attend q over k, v along S group H by G {
      score scaled_dot
      bias alibi
      cap 50  // 50 * tanh(s / 50)
      // a window, and the first four
      mask causal and (window(4096, 0) or j < 4)
      weight softmax(sink = s[h])
      return out, lse
    }
    return out
  }
  block Cross[T, M](x: [B, T, D], mem: [B, M, D]) -> [B, T, D] {
    return attend q over xkv.once(k_proj(mem), v_proj(mem)) along M { mask none }
  }
  block SwinBlock[D, H](x: [B, Y, X, D]; shift) -> [B, Y, X, D] {
    let rolled = roll(x, Y by -shift, X by -shift)
    let left, right = unpack(slice(x, Y from 1 to 1 + Z as Z), D as E, F)
    let row = pick(mean(D, x where x > 0 and if.odd), Y at min(max(i, 0), Y - 1))
    return attend q over k, v along (My, Mx) { bias swin  mask same_region(shift) }
  }
  cell LSTM(x: [B, I], h: [B, U], c: [B, U]) -> h, c {
    linear ih: I -> 4, U bias = "weight_ih_l{n}"
    return h, c
  }
  forward[T](ids: i32[B, T], kv: cache) -> [B, T, V] = lm_head(norm(h(wte(ids) + wpe(positions(T)), kv)))
  entry prefill = forward last T
  entry decode = forward[T: 1]
  entry generate(prompt: i32[B, T], stop: i32, limit: i32) -> i32[B, G] = greedy(prefill, decode)
  entry rnn(x: [B, T, D]) -> [B, T, U] {
    let hs, (h, c) = scan LSTM over x along T from (zeros, zeros)
    return hs
  }
}
)";

} // namespace attn::frontend::test

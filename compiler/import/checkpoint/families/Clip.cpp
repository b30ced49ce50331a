// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two encoders that put texts and pictures into one space.
//
//   Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision":
//     a causal text encoder read at the end token, a picture's class token
//   Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training" (SigLIP): texts read at their
//     last token, pictures by an attention of a learnt probe
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// One of the two encoders.
struct Tower {
  Config values;
  std::string width, heads, layers, hidden; ///< what its dims are called

  Tower(Config values, const std::string &number)
      : values(std::move(values)), width("D" + number), heads("H" + number), layers("L" + number),
        hidden("F" + number) {}
};

/// Writes both encoders.
class ClipWriter {
public:
  explicit ClipWriter(FamilyWriter &writer)
      : writer(writer), config(writer.config), os(writer.os), isSiglip(writer.type == "siglip"),
        text(configOf("text_config"), "1"), image(configOf("vision_config"), "2") {}
  void write();

private:
  Config configOf(StringRef key);
  void writeSizes();
  void writeTower(Tower &tower, StringRef prefix);
  void writeHeads();
  void writeLayer();
  void writeText();
  void writePicture();
  std::string eps(Tower &tower) {
    return numberText(tower.values.number("layer_norm_eps", isSiglip ? 1e-6 : 1e-5));
  }
  static std::string unit(StringRef value) {
    return ("return " + value + " / sqrt(sum(A, " + value + " * " + value + "))\n").str();
  }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  bool isSiglip;
  Tower text, image;
  int64_t patch = 1, grid = 1, space = 1;
};

} // namespace

Config ClipWriter::configOf(StringRef key) {
  if (!config.has(key))
    config.refuse(key, "an object with the sizes of that encoder");
  return config.within(key);
}

void ClipWriter::writeSizes() {
  int64_t textWidth = text.values.size("hidden_size", isSiglip ? 768 : 512),
          imageWidth = image.values.size("hidden_size", 768),
          side = image.values.size("image_size", 224);
  patch = image.values.size("patch_size", isSiglip ? 16 : 32);
  if (side % patch)
    image.values.refuse("image_size", "a multiple of `patch_size`");
  grid = std::max<int64_t>(side / patch, 1);
  space = isSiglip ? imageWidth : config.size("projection_dim", 512);
  if (isSiglip && text.values.size("projection_size", space) != space)
    text.values.refuse("projection_size", Twine(space) + ", the width of pictures");
  os << "model " << writer.model << " {\n";
  for (Tower *tower : {&text, &image}) {
    bool isText = tower == &text;
    int64_t width = isText ? textWidth : imageWidth,
            heads = tower->values.size("num_attention_heads", isText && !isSiglip ? 8 : 12);
    if (width % heads)
      tower->values.refuse("num_attention_heads", "a divisor of `hidden_size`");
    os << "dim " << tower->width << " = " << width << ", " << tower->heads << " = " << heads << ", "
       << tower->layers << " = " << tower->values.size("num_hidden_layers", 12) << ", "
       << tower->hidden << " = "
       << tower->values.size("intermediate_size", isText && !isSiglip ? 2048 : 3072) << "  // of "
       << (isText ? "texts" : "pictures") << ": width, heads, layers, feed-forward\n";
  }
  os << "dim V = " << text.values.size("vocab_size", isSiglip ? 32000 : 49408)
     << ", P = " << text.values.size("max_position_embeddings", isSiglip ? 64 : 77)
     << ", A = " << space
     << "  // tokens, positions, what both become\ndim C = " << image.values.size("num_channels", 3)
     << ", Q = " << patch << ", R = " << patch << ", Y = " << grid << ", X = " << grid
     << ", N = " << (isSiglip ? "" : "1 + ")
     << "Y * X, O = 1  // channels, patch, grid, tokens of a picture\n";
  os << "dyn B <= 64, T <= P\n\n";
}

void ClipWriter::writeTower(Tower &tower, StringRef prefix) {
  os << "stack " << prefix << "encoder.layers: " << tower.layers << " of Layer[H: " << tower.heads
     << ", F: " << tower.hidden << "]\n";
}

void ClipWriter::writeHeads() {
  os << "embedding text_model.embeddings.token_embedding: V -> D1\nembedding "
        "text_model.embeddings.position_embedding: P -> D1\n";
  writeTower(text, "text_model.");
  os << "layernorm text_model.final_layer_norm: D1 eps " << eps(text) << '\n'
     << (isSiglip ? "linear text_model.head: D1 -> A bias\n" : "linear text_projection: D1 -> A\n")
     << '\n'
     << "linear vision_model.embeddings.patch_embedding: C, Q, R -> D2" << (isSiglip ? " bias" : "")
     << "\n"
     << (isSiglip ? "" : "param vision_model.embeddings.class_embedding: [O, D2]\n")
     << "param vision_model.embeddings.position_embedding.weight: [N, D2]\n";
  writeTower(image, "vision_model.");
  if (!isSiglip)
    os << "layernorm vision_model.pre_layrnorm, vision_model.post_layernorm: D2 eps " << eps(image)
       << "  // (sic)\nlinear visual_projection: D2 -> A\n";
  else
    os << "layernorm vision_model.post_layernorm, vision_model.head.layernorm: D2 eps "
       << eps(image) << "\ndim E2 = D2 / H2\nparam vision_model.head.probe: [O, D2]\n"
       << "linear vision_model.head.attention.q, vision_model.head.attention.k, "
          "vision_model.head.attention.v: D2 -> H2, E2 bias "
       << "= split(\"vision_model.head.attention.in_proj_{weight|bias}\", q k v)\n"
       << "linear vision_model.head.attention.out_proj: H2, E2 -> D2 bias\nlinear "
          "vision_model.head.mlp.fc1: D2 -> F2 bias\n"
       << "linear vision_model.head.mlp.fc2: F2 -> D2 bias\n";
  os << "param logit_scale" << (isSiglip ? ", logit_bias" : "") << ": [O]\n";
  for (StringRef name :
       {"text_model.embeddings.position_ids", "vision_model.embeddings.position_ids"})
    if (writer.folder.has(name))
      os << "ignore \"" << name << "\"\n";
  os << '\n';
}

void ClipWriter::writeLayer() {
  std::string act = activation(text.values, "hidden_act",
                               isSiglip ? "gelu_pytorch_tanh" : "quick_gelu", "u"),
              other = activation(image.values, "hidden_act",
                                 isSiglip ? "gelu_pytorch_tanh" : "quick_gelu", "u");
  if (act != other)
    image.values.refuse("hidden_act", "that of `text_config`");
  if (eps(text) != eps(image))
    image.values.refuse("layer_norm_eps", "that of `text_config`");
  os << "block Layer[T, D, H, F](x: [T, D]; allowed = true) -> [T, D] {\ndim E = D / H\nlayernorm "
        "layer_norm1, layer_norm2: D eps "
     << eps(text)
     << "\nlinear self_attn.q_proj, self_attn.k_proj, self_attn.v_proj: D -> H, E bias\n"
     << "linear self_attn.out_proj: H, E -> D bias\nlinear mlp.fc1: D -> F bias\nlinear mlp.fc2: F "
        "-> D bias\n"
     << "let n = layer_norm1(x)\nlet y = x + self_attn.out_proj(attend self_attn.q_proj(n) over "
        "self_attn.k_proj(n), "
     << "self_attn.v_proj(n) along T as S { mask allowed })\nlet u = "
        "mlp.fc1(layer_norm2(y))\nreturn y + mlp.fc2("
     << act << ")\n}\n\n";
}

void ClipWriter::writeText() {
  os << "// Texts, whose "
     << (isSiglip ? "last token, of as many as there are positions," : "end token, at `end`,")
     << " stands for all: vectors of length 1.\nentry text(ids: i32[B, T]"
     << (isSiglip ? "" : ", end: i32[B]")
     << ") -> embedding: [B, A] {\nlet x = text_model.embeddings.token_embedding(ids) + "
     << "text_model.embeddings.position_embedding(positions(T))\n"
     << "let y = text_model.final_layer_norm(text_model.encoder.layers(x"
     << (isSiglip ? "" : ", allowed = causal") << "))\n"
     << "let v = "
     << (isSiglip ? "text_model.head(last(T, y))\n"
                  : "text_projection(pick(y, T at min(max(end, 0), T - 1)))\n")
     << unit("v") << "}\n\n";
}

void ClipWriter::writePicture() {
  Picture made = readPicture(writer, grid * patch);
  if (made.side != grid * patch)
    config.refuse("vision_config",
                  "`image_size` as in preprocessor_config.json, " + Twine(made.side));
  os << made.line << "entry picture(image: [B, C, Y*Q, X*R]) -> embedding: [B, A] {\n"
     << "let patches = vision_model.embeddings.patch_embedding(split(image, \"b c (y q) (x r) -> b "
        "(y x) c q r\"))\n";
  if (!isSiglip) {
    os << "let x = pack(N, vision_model.embeddings.class_embedding, patches) + "
          "vision_model.embeddings.position_embedding.weight\n"
       << "let y = vision_model.encoder.layers(vision_model.pre_layrnorm(x))\n"
       << "let v = visual_projection(vision_model.post_layernorm(first(N, y)))\n";
  } else {
    os << "let x = relabel(patches, Y*X as N) + vision_model.embeddings.position_embedding.weight\n"
       << "let y = vision_model.post_layernorm(vision_model.encoder.layers(x))\n"
       << "let p = vision_model.head.attention.q(vision_model.head.probe)\n"
       << "let a = vision_model.head.attention.out_proj(attend p over "
          "vision_model.head.attention.k(y), "
       << "vision_model.head.attention.v(y) along N { score scaled_dot })\n"
       << "let u = vision_model.head.mlp.fc1(vision_model.head.layernorm(a))\n"
       << "let w = a + vision_model.head.mlp.fc2("
       << activation(image.values, "hidden_act", "gelu_pytorch_tanh", "u")
       << ")\nlet v = relabel(first(O, w), D2 = A)\n";
  }
  os << unit("v") << "}\n\n";
}

void ClipWriter::write() {
  if (!writer.task.empty())
    config.refuse("architectures", "the model with both encoders");
  writeSizes();
  writeHeads();
  writeLayer();
  writeText();
  writePicture();
  os << "// How well each of M texts goes with each of B pictures"
     << (isSiglip ? ", before the sigmoid.\n" : ", before the softmax.\n") << "dyn M <= 64\n"
     << "entry compare(picture: [B, A], text: [M, A]) -> scores: [B, M] {\n"
     << "let s = sum(A, repeat(picture, M) * text)\nreturn s * first(O, exp(logit_scale))"
     << (isSiglip ? " + first(O, logit_bias)" : "") << "\n}\n}\n";
  config.adopt(text.values);
  config.adopt(image.values);
}

static void writeClip(FamilyWriter &writer) { ClipWriter(writer).write(); }

const Family familyClip = {"clip siglip", writeClip};

} // namespace attn::importer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DETR with ResNet-50, with the names of Hugging Face's checkpoints.
//
//   Carion et al. 2020, "End-to-End Object Detection with Transformers": features of a picture are
//     read by an encoder, and learnt queries look for objects in what it gives
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one DETR.
class DetrWriter {
public:
  explicit DetrWriter(FamilyWriter &writer)
      : writer(writer), config(writer.config), os(writer.os) {}
  void write();

private:
  void readSizes();
  void writeSizes();
  void writeParameters();
  void writeAttention(StringRef name);
  void writeEncoderLayer();
  void writeDecoderLayer();
  void writeForward();
  void writeEntries();
  /// The layer's feed-forward.
  std::string fed(StringRef of) {
    return "fc2(" + activation(config, "activation_function", "relu", ("fc1(" + of + ")").str()) +
           ")";
  }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  int64_t width = 0, heads = 0, decoderHeads = 0, hidden = 0, decoderHidden = 0, features = 2048;
  /// What the sizes of the layers at hand are called: the decoder's may be others.
  std::string head = "G", feature = "E", wide = "F";
};

} // namespace

void DetrWriter::readSizes() {
  width = config.size("d_model");
  heads = config.size("encoder_attention_heads");
  hidden = config.size("encoder_ffn_dim");
  decoderHeads = config.size("decoder_attention_heads");
  decoderHidden = config.size("decoder_ffn_dim");
  if (width % 4)
    config.refuse("d_model", "a multiple of 4, for the sines of positions");
  if (width % heads)
    config.refuse("encoder_attention_heads", "a divisor of `d_model`");
  if (width % decoderHeads)
    config.refuse("decoder_attention_heads", "a divisor of `d_model`");
  if (!config.flag("use_timm_backbone", true))
    config.refuse("use_timm_backbone", "true: a backbone with timm's names");
  if (config.text("backbone", "resnet50") != "resnet50")
    config.refuse("backbone", "\"resnet50\"");
  if (config.flag("dilation", false))
    config.refuse("dilation", "false");
  if (config.text("position_embedding_type", "sine") != "sine")
    config.refuse("position_embedding_type", "\"sine\"");
  if (writer.task != "ForObjectDetection")
    config.refuse("architectures", "a model `…ForObjectDetection`");
  // The config does not say how wide a backbone is, which is named.
  if (auto found = writer.folder.shapes.find("model.input_projection.weight");
      found != writer.folder.shapes.end() && found->second.size() > 1 && found->second[1] > 0)
    features = found->second[1];
  if (features % 32)
    config.refuse("backbone", "features that 32 divides, not " + Twine(features) +
                                  " as `model.input_projection.weight` takes");
}

void DetrWriter::writeSizes() {
  Picture picture = readFramedPicture(writer, 800, 1333);
  os << "use std.detection\nmodel " << writer.model << " {\ndim H = " << picture.side
     << ", W = " << picture.width << ", C = " << config.size("num_channels", 3)
     << "  // the picture\n"
     << "dim Y = (H + 31 - (H + 31) % 32) / 32, X = (W + 31 - (W + 31) % 32) / 32, S = Y * X  // a "
        "place for 32 x 32 of it\n"
     << "dim D = " << width << ", G = " << heads << ", E = D / G, F = " << hidden
     << ", L = " << config.size("encoder_layers") << ", M = " << config.size("decoder_layers")
     << ", N = " << config.size("num_queries") << ", I = " << features
     << "  // width, heads, features of a head, feed-forward, layers of encoder and decoder, "
        "queries, the backbone's features\n";
  if (heads != decoderHeads)
    os << "dim J = " << decoderHeads
       << ", Q = D / J  // of the decoder: heads and their features\n";
  if (hidden != decoderHidden)
    os << "dim U = " << decoderHidden << "  // feed-forward of the decoder\n";
  os << "dim K = " << classCount(config) + 1
     << ", A = 4  // classes, the last of which is none; a box: its centre, width and height, as "
        "parts of the picture's\ndyn B <= 8\n\n"
     << picture.line;
}

void DetrWriter::writeParameters() {
  os << "part model.backbone.conv_encoder.model: ResNet50[Y: Y, X: X, D: I]\n"
     << "part places_of: PicturePositions[D: D]\n"
     << "linear model.input_projection: I -> D bias\n"
     << "param model.query_position_embeddings.weight: [N, D]\n"
     << "stack model.encoder.layers: L of EncoderLayer\nstack model.decoder.layers: M of "
        "DecoderLayer\n"
     << "layernorm model.decoder.layernorm: D eps 1e-5\n"
     << "linear class_labels_classifier: D -> K bias\n"
     << "linear bbox_predictor.layers.0, bbox_predictor.layers.1: D -> D bias\nlinear "
        "bbox_predictor.layers.2: D -> A bias\n";
  if (llvm::any_of(writer.folder.shapes, [](const auto &tensor) {
        return StringRef(tensor.first).ends_with("num_batches_tracked");
      }))
    os << "ignore \"*.num_batches_tracked\"  // of training\n";
  os << '\n';
}

void DetrWriter::writeAttention(StringRef name) {
  os << "linear " << name << ".q_proj, " << name << ".k_proj, " << name << ".v_proj: D -> " << head
     << ", " << feature << " bias\nlinear " << name << ".out_proj: " << head << ", " << feature
     << " -> D bias\n";
}

void DetrWriter::writeEncoderLayer() {
  os << "// Places are added to what asks and is asked for, not to what is given.\n"
     << "block EncoderLayer(x: [S, D], places: [S, D]; allowed) -> [S, D] {\n";
  writeAttention("self_attn");
  os << "linear fc1: D -> " << wide << " bias\nlinear fc2: " << wide << " -> D bias\n"
     << "layernorm self_attn_layer_norm, final_layer_norm: D eps 1e-5\nlet p = x + places\n"
     << "let a = attend self_attn.q_proj(p) over self_attn.k_proj(p), self_attn.v_proj(x) along S "
        "as Z { mask allowed }\n"
     << "let y = self_attn_layer_norm(x + self_attn.out_proj(a))\nreturn final_layer_norm(y + "
     << fed("y") << ")\n}\n\n";
}

void DetrWriter::writeDecoderLayer() {
  if (heads != decoderHeads)
    head = "J", feature = "Q";
  if (hidden != decoderHidden)
    wide = "U";
  os << "block DecoderLayer(x: [N, D], queries: [N, D], memory: [S, D], places: [S, D]; "
        "allowed) -> [N, D] {\n";
  writeAttention("self_attn");
  writeAttention("encoder_attn");
  os << "linear fc1: D -> " << wide << " bias\nlinear fc2: " << wide << " -> D bias\n"
     << "layernorm self_attn_layer_norm, encoder_attn_layer_norm, final_layer_norm: D eps 1e-5\n"
     << "let p = x + queries\n"
     << "let a = attend self_attn.q_proj(p) over self_attn.k_proj(p), self_attn.v_proj(x) along N "
        "as Z { score scaled_dot }\n"
     << "let y = self_attn_layer_norm(x + self_attn.out_proj(a))\n"
     << "let b = attend encoder_attn.q_proj(y + queries) over encoder_attn.k_proj(memory + "
        "places), "
        "encoder_attn.v_proj(memory) along S { mask allowed }\n"
     << "let z = encoder_attn_layer_norm(y + encoder_attn.out_proj(b))\nreturn final_layer_norm(z "
        "+ "
     << fed("z") << ")\n}\n\n";
}

void DetrWriter::writeForward() {
  os << "block Detect(image: [C, H, W], there: bool[Y, X]; allowed) -> [N, K], [N, A] "
        "{\n"
     << "let features = model.input_projection(model.backbone.conv_encoder.model(image))\n"
     << "let x = relabel(split(features, \"y x d -> (y x) d\"), Y * X as S)\n"
     << "let places = relabel(split(places_of(there), \"y x d -> (y x) d\"), Y * X as S)\n"
     << "let memory = model.encoder.layers(x, places, allowed = allowed)\n"
     << "let queries = model.query_position_embeddings.weight\n"
     << "let found = model.decoder.layers(queries * 0, queries, memory, places, allowed "
        "= allowed)\n"
     << "let y = model.decoder.layernorm(found)\n"
     << "let box = relu(bbox_predictor.layers.1(relu(bbox_predictor.layers.0(y))))\n"
     << "return class_labels_classifier(y), sigmoid(bbox_predictor.layers.2(box))\n}\n\n";
}

void DetrWriter::writeEntries() {
  os << "entry detect(image: f32[B, C, H, W]) -> logits: [B, N, K], boxes: [B, N, A] {\n"
     << "return Detect(image, repeat(positions(Y) >= 0, X), allowed = true)\n}\n\n"
     << "// Pictures of other sizes, above and left of a border; `there` is true where the picture "
        "is.\n"
     << "mask inside(b, j) with input seen: bool[B, S] = seen[b, j]\n"
     << "entry detect_bordered(image: f32[B, C, H, W], there: bool[B, H, W]) -> logits: [B, N, K], "
        "boxes: [B, N, A] {\n"
     << "let grid = pick(pick(there, H at floor(positions(Y) * H / Y)), W at floor(positions(X) * "
        "W "
        "/ X))\n"
     << "let seen = relabel(split(grid, \"b y x -> b (y x)\"), Y * X as S)\n"
     << "return Detect(image, grid, allowed = inside)\n}\n}\n";
}

void DetrWriter::write() {
  readSizes();
  writeSizes();
  writeParameters();
  writeEncoderLayer();
  writeDecoderLayer();
  writeForward();
  writeEntries();
}

static void writeDetr(FamilyWriter &writer) { DetrWriter(writer).write(); }

const Family familyDetr = {"detr", writeDetr};

} // namespace attn::importer

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax tree of a spec: what was written, where, and nothing about what it means. Names are
// not resolved and nothing is folded. Expressions (`Expr`, in Expr.h) and items (`Item`:
// declarations and statements) are hierarchies with tags for llvm::isa/dyn_cast.
#pragma once

#include "compiler/frontend/syntax/Expr.h"

namespace attn::frontend::ast {

//===------------------------------------------------------------------------------------------===//
// Types, parameters, bindings
//===------------------------------------------------------------------------------------------===//

/// `[B, T, D]`, `f32[B, C, Y*P]`, `i32`, `cache`; in the results of a cell also the name of a state
/// (`-> h, c`).
struct Type {
  std::optional<Name> word;  ///< `f32`, `cache`, …; none: the activation's dtype.
  bool hasShape = false;     ///< Whether brackets were written.
  std::vector<ExprPtr> dims; ///< Dims or dim expressions.
  SourceRange range;

  /// Whether the type is `cache`.
  bool isCache() const { return dims.empty() && word && word->text == "cache"; }
};

/// `x: [B, T, D]`
struct Parameter {
  Name name;
  Type type;
};

/// A compile-time argument, after the `;`: `shift` or `shift = 0`.
struct Static {
  Name name;
  ExprPtr defaultValue; ///< Null where it must be given.
};

/// `T: 1` in `forward[T: 1]`
struct DimArgument {
  Name name;
  ExprPtr value;
};

/// Where a parameter's tensor is in the checkpoint, where that is not simply its path:
/// `= "attn.c_attn" @conv1d`, `= split("attn.qkv.{weight|bias}", h q k v)`, `= tied(wte)`,
/// `optional`; `if D > 64`.
struct Binding {
  /// How the binding says which tensors of the checkpoint it means.
  enum class Kind { Path, String, Split, Slice, Tied };
  Kind kind = Kind::Path;       ///< Path: no `=`, the declaration's own path.
  Name pattern;                 ///< String, Split, Slice: the text without quotes; range with them.
  std::vector<Name> components; ///< Split: `q k v` or `h q k v`, outermost first.
  ExprPtr from, to;             ///< Slice: rows [from, to) of the tensor.
  ExprPtr of;                   ///< Slice: how many rows there are; null where not said.
  Path tiedTo;                  ///< Tied.
  std::vector<Name> layouts;    ///< `@conv1d`; text without `@`.
  bool optional = false;
  size_t optionalAt = 0; ///< How many layouts stand before `optional`.
  ExprPtr condition;     ///< `if packed`: there only where it holds; null where not said.
  SourceRange range;     ///< Empty where nothing was written.
};

//===------------------------------------------------------------------------------------------===//
// Items: declarations and statements
//===------------------------------------------------------------------------------------------===//

/// A declaration or a statement of any kind.
struct Item {
  /// The kinds of items, one for each struct below.
  enum class Kind {
    Use,
    Model,
    Dim,
    Dyn,
    Linear,
    Embedding,
    Param,
    Norm,
    Stack,
    Part,
    Block,
    Hook,
    Ignore,
    Weights,
    Precision,
    Image,
    Sound,
    Entry,
    Cache,
    Table,
    Let,
    Return
  };

  const Kind kind;
  SourceRange keyword; ///< The word it starts with.
  SourceRange range;   ///< All of it.

  virtual ~Item();

protected:
  Item(Kind kind, SourceRange keyword) : kind(kind), keyword(keyword), range(keyword) {}
};
/// An item, owned by the body that it is in.
using ItemPtr = std::unique_ptr<Item>;

/// `use std.attention`, `use "blocks.attn"`
struct UseDecl : Item {
  Path path;                ///< Of a library.
  std::optional<Name> file; ///< Without quotes; range with them.
  explicit UseDecl(SourceRange keyword) : Item(Kind::Use, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Use; }
};

/// `model ViT { … }`
struct ModelDecl : Item {
  Name name;
  std::vector<ItemPtr> items;
  SourceRange closingBrace;
  explicit ModelDecl(SourceRange keyword) : Item(Kind::Model, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Model; }
};

/// `dim D = 768, H = 12`
struct DimDecl : Item {
  /// One dim with its size.
  struct Entry {
    Name name;
    ExprPtr value;
  };
  std::vector<Entry> entries;
  explicit DimDecl(SourceRange keyword) : Item(Kind::Dim, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Dim; }
};

/// `dyn B <= 64, T <= 4096`
struct DynDecl : Item {
  /// One dim with its bound.
  struct Entry {
    Name name;
    ExprPtr bound;
  };
  std::vector<Entry> entries;
  explicit DynDecl(SourceRange keyword) : Item(Kind::Dyn, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Dyn; }
};

/// `linear attn.q, attn.k: D -> H, E bias = …`
struct LinearDecl : Item {
  std::vector<Path> names;
  std::vector<ExprPtr> from, to; ///< The axes either side of the arrow: dims or dim expressions.
  std::vector<ExprPtr> along;    ///< `along C`: axes each of whose places has weights of its own.
  bool bias = false;
  ExprPtr biasCondition; ///< `bias if c`: where it holds; null where not said.
  Binding binding;
  explicit LinearDecl(SourceRange keyword) : Item(Kind::Linear, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Linear; }
};

/// `embedding wte: V -> D`: a table of rows, applied to integers.
struct EmbeddingDecl : Item {
  std::vector<Path> names;
  std::vector<ExprPtr> from, to; ///< `from` is the number of rows.
  Binding binding;
  explicit EmbeddingDecl(SourceRange keyword) : Item(Kind::Embedding, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Embedding; }
};

/// `param cls_token: [1, D], pos_embed: [N, D]`; also `input m: f32[B, T]` of a hook and `state h:
/// [B, U]`.
struct ParamDecl : Item {
  /// Which of the three words it begins with.
  enum class Role { Param, Input, State };
  /// Names that share a type.
  struct Group {
    std::vector<Path> names;
    Type type;
    Binding binding; ///< Only for Role::Param.
  };
  Role role;
  std::vector<Group> groups;
  ParamDecl(SourceRange keyword, Role role) : Item(Kind::Param, keyword), role(role) {}
  static bool classof(const Item *i) { return i->kind == Kind::Param; }
};

/// `layernorm norm1, norm2: D eps 1e-6`, `layernorm norm: D no bias`, `rmsnorm norm: D offset 1`,
/// `l2norm unit: D`
struct NormDecl : Item {
  /// Which norm it is.
  enum class Norm { Layer, RootMeanSquare, Euclidean };
  /// The word that begins its declaration.
  static llvm::StringRef wordOf(Norm norm) {
    return norm == Norm::Layer ? "layernorm" : norm == Norm::RootMeanSquare ? "rmsnorm" : "l2norm";
  }
  /// Whether a norm has weights, or biases, where its declaration does not say `no`.
  static bool mayHave(Norm norm, llvm::StringRef part) {
    return norm == Norm::Layer || (norm == Norm::RootMeanSquare && part == "weight");
  }
  Norm norm;
  std::vector<Path> names;
  std::vector<ExprPtr> dims;
  ExprPtr eps;    ///< Null where not said.
  ExprPtr offset; ///< What is added to the weights; null where not said.
  /// `no bias`: the words behind each `no`, `weight` or `bias`, none twice.
  std::vector<Name> without;
  bool lacks(llvm::StringRef part) const {
    return !mayHave(norm, part) ||
           llvm::any_of(without, [&](const Name &name) { return name.text == part; });
  }
  Binding binding;
  NormDecl(SourceRange keyword, Norm norm) : Item(Kind::Norm, keyword), norm(norm) {}
  static bool classof(const Item *i) { return i->kind == Kind::Norm; }
};

/// `stack blocks: L of Block`, `stack layers: 6 of shared Layer[D: 64](shift = n % 2)`
struct StackDecl : Item {
  Path name;
  ExprPtr count;
  bool shared = false; ///< All layers are one.
  Name block;
  std::vector<DimArgument> dimArguments;
  std::vector<Argument> arguments; ///< The block's statics; `n` is the layer's number.
  Binding binding;
  explicit StackDecl(SourceRange keyword) : Item(Kind::Stack, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Stack; }
};

/// `part self_attn: MultiheadAttention[E: D, H: 8](bias = 0)`: a block with parameters of its own.
struct PartDecl : Item {
  std::vector<Path> names;
  Name block;
  std::vector<DimArgument> dimArguments;
  std::vector<Argument> arguments; ///< The block's statics.
  Binding binding;
  explicit PartDecl(SourceRange keyword) : Item(Kind::Part, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Part; }
};

/// What a block, a cell, an entry and `forward` have in common: `Name[T](x: [B, T, D]; shift) ->
/// [B, T, D]`.
struct Signature {
  Name name;
  std::vector<Name> dims;
  std::vector<Parameter> parameters;
  std::vector<Static> statics;
  std::vector<Type> results;
  std::vector<std::optional<Name>> resultNames; ///< One for each result: `-> y: [B, K]`.
  SourceRange range;                            ///< From the name to the last result.

  /// The parameter that a cell's result is the new state of, -1 where it is none: `-> h`.
  int stateOf(size_t result) const {
    const Type &type = results[result];
    for (size_t i = 0; type.word && !type.hasShape && i < parameters.size(); ++i)
      if (parameters[i].name.text == type.word->text)
        return static_cast<int>(i);
    return -1;
  }
  /// The type of a cell's result: a state has that of its parameter.
  const Type &resultType(size_t result) const {
    int state = stateOf(result);
    return state < 0 ? results[result] : parameters[state].type;
  }
};

/// `block Block[T](…) -> … { … }`, `cell LSTM(…) -> h, c { … }`
struct BlockDecl : Item {
  bool isCell;
  Signature signature;
  std::vector<ItemPtr> items; ///< Declarations, then or between them `let` and `return`.
  SourceRange closingBrace;
  BlockDecl(SourceRange keyword, bool isCell) : Item(Kind::Block, keyword), isCell(isCell) {}
  static bool classof(const Item *i) { return i->kind == Kind::Block; }
};

/// `score name(q, k) with linear W: E -> E2 = …`, and `bias`, `mask` likewise.
struct HookDecl : Item {
  /// Which hook it is.
  enum class Hook { Score, Bias, Mask };
  Hook hook;
  Name name;
  std::vector<Name> parameters;
  std::vector<Static> statics;
  std::vector<ItemPtr> with; ///< LinearDecl, ParamDecl (roles Param and Input); without bindings.
  ExprPtr body;
  HookDecl(SourceRange keyword, Hook hook) : Item(Kind::Hook, keyword), hook(hook) {}
  static bool classof(const Item *i) { return i->kind == Kind::Hook; }
};

/// `ignore "decoder.*", "mask_token"`
struct IgnoreDecl : Item {
  std::vector<Name> patterns; ///< Text without quotes; range with them.
  explicit IgnoreDecl(SourceRange keyword) : Item(Kind::Ignore, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Ignore; }
};

/// `weights "./Qwen3-0.6B"`
struct WeightsDecl : Item {
  Name file; ///< Text without quotes; range with them. Empty after an error.
  explicit WeightsDecl(SourceRange keyword) : Item(Kind::Weights, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Weights; }
};

/// `precision int4`, `precision int8 for "output.weight", "blk.*.ffn_down.weight"`
struct PrecisionDecl : Item {
  Name name;
  std::vector<Name> patterns; ///< As of IgnoreDecl; none for all linear maps.
  explicit PrecisionDecl(SourceRange keyword) : Item(Kind::Precision, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Precision; }
};

/// `image input 224 x 224 bicubic mean 0.5 std 0.5`, `image input 224 x 224 from 256 bicubic`,
/// `image input 14 x 14 patches 2 of 3136 to 1003520 pixels bicubic prompt "<|image_pad|>"`,
/// `image input 448 x 448 tiles 1 to 12 prompt "<image>"`, `image input 512 x 512 tiles of 2048
/// pixels`
struct ImageDecl : Item {
  ExprPtr height, width;
  ExprPtr fromHeight; ///< What the picture is resized to before its middle is taken; null: nothing
                      ///< is cut off. Of the shorter edge where there is no `fromWidth`.
  ExprPtr fromWidth;
  std::optional<Name> fit; ///< `within`, `patches`, `tiles`, or behind `from` `round` or `padded`.
  ExprPtr merged; ///< Of `patches`: the sides of a square of them which become one row together.
  ExprPtr leastPixels, mostPixels; ///< Likewise: of a picture that is cut into patches. Without the
                                   ///< least it is as large as the most allow.
  ExprPtr edge; ///< Of `tiles`: how long the longer edge becomes first; else how many there are:
  ExprPtr leastTiles, mostTiles;
  std::optional<Name> resampling; ///< `nearest`, `bilinear`, `bicubic`, …
  std::vector<ExprPtr> mean,
      std; ///< One number, or one per channel where written `[a, b, c]`; empty: not said.
  std::optional<Name> mark;  ///< What stands for a picture in a prompt.
  std::optional<Name> shown; ///< What the mark becomes: a token for each row within `{` and `}`.
  std::optional<Name> tile;  ///< What each tile of a picture that is cut becomes, in the same way.
  std::optional<Name> line;  ///< What stands between lines of tiles.
  std::optional<Name> whole; ///< What the whole picture behind its tiles becomes.
  std::optional<Name> alone; ///< What is put in front of a prompt that has no mark.
  std::optional<Name>
      begin;               ///< What is put behind the last picture, not what a tokenizer begins by.
  std::optional<Name> end; ///< What is put behind a prompt with pictures.
  explicit ImageDecl(SourceRange keyword) : Item(Kind::Image, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Image; }
};

/// `sound input 80 x 3000 rate 16000 fft 400 hop 160`, `sound input 128 x 1024 kaldi mean -4.27`,
/// `sound input samples rate 16000 unit`
struct SoundDecl : Item {
  ExprPtr bands, frames;             ///< Null where the samples themselves are taken.
  std::optional<Name> unit;          ///< Samples of mean 0 and variance 1.
  std::optional<Name> form;          ///< Which spectrogram; not said: Whisper's.
  ExprPtr rate, fft, hop, mean, std; ///< Null: not said.
  explicit SoundDecl(SourceRange keyword) : Item(Kind::Sound, keyword) {}
  /// What the parameter is called that a sound becomes.
  llvm::StringRef parameter() const { return bands ? "mel" : "samples"; }
  static bool classof(const Item *i) { return i->kind == Kind::Sound; }
};

/// An entry point, or the `forward` that entries specialise:
/// `entry classify(…) -> … { … }`, `entry generate(…) -> … = greedy(prefill, decode)`,
/// `forward[T](…) -> … = …`, `entry decode = forward[T: 1]`, `entry prefill = forward last T`,
/// `entry next = forward[T: 1] without source`, `entry read = forward only memory`.
struct EntryDecl : Item {
  bool isForward;
  Signature signature; ///< For `forward`, the name is `forward`.
  /// What stands behind the signature: a body in braces, `= value`, `= forward[T: 1]`,
  /// or `= unfold(first, step, …)`.
  enum class Body { Items, Expression, Specialisation, Unfold };
  Body bodyKind = Body::Items;
  std::vector<ItemPtr> items;           ///< Items.
  SourceRange closingBrace;             ///< Items.
  ExprPtr value;                        ///< Expression, Unfold.
  std::vector<DimArgument> specialised; ///< Specialisation: `[T: 1]`.
  std::vector<Name> without;            ///< Specialisation: inputs that it lacks.
  std::vector<Name> only;               ///< Specialisation: caches that it only fills.
  std::optional<Name> last;             ///< Specialisation: `last T`.
  std::optional<Name> rows;             ///< Specialisation: `by B`, rows by themselves.
  EntryDecl(SourceRange keyword, bool isForward)
      : Item(Kind::Entry, keyword), isForward(isForward) {}
  static bool classof(const Item *i) { return i->kind == Kind::Entry; }
};

/// `cache kv capacity 4096`, `cache own: bf16 capacity 4096, memory capacity 1500`
struct CacheDecl : Item {
  /// One cache.
  struct Entry {
    Name name;
    std::optional<Name> dtype;
    ExprPtr capacity;
  };
  std::vector<Entry> entries;
  explicit CacheDecl(SourceRange keyword) : Item(Kind::Cache, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Cache; }
};

/// `table pos[t: T, c: D] = …`: constants by formula.
struct TableDecl : Item {
  Name name;
  std::vector<DimArgument> axes; ///< Index name and the dim it runs over.
  ExprPtr value;
  explicit TableDecl(SourceRange keyword) : Item(Kind::Table, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Table; }
};

/// `y`, or `(h, c)` in `let hs, (h, c) = …`
struct Pattern {
  Name name;                     ///< Empty text where this is a tuple.
  std::vector<Pattern> elements; ///< Of a tuple.
  SourceRange range;
  /// Whether it is a tuple of patterns.
  bool isTuple() const { return !elements.empty(); }
};

/// `let y = …`, `let q, k = …`, `let k, v = kv.push(…) along T as S`
struct LetStmt : Item {
  std::vector<Pattern> patterns;
  ExprPtr value;
  std::optional<AlongAxis> along;
  explicit LetStmt(SourceRange keyword) : Item(Kind::Let, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Let; }
};

/// `return y`, `return h, c`
struct ReturnStmt : Item {
  std::vector<ExprPtr> values;
  explicit ReturnStmt(SourceRange keyword) : Item(Kind::Return, keyword) {}
  static bool classof(const Item *i) { return i->kind == Kind::Return; }
};

//===------------------------------------------------------------------------------------------===//
// The file
//===------------------------------------------------------------------------------------------===//

/// `// …`, kept for the formatter; the range is without the line ending.
struct Comment {
  SourceRange range;
};

/// A whole file: `attn 1`, then what it uses, models, and what libraries hold (blocks, cells,
/// hooks).
struct File {
  int64_t version = 0; ///< 0: missing or unknown, reported.
  SourceRange versionRange;
  std::vector<ItemPtr> items;
  std::vector<Comment> comments; ///< In the order written.
};

} // namespace attn::frontend::ast

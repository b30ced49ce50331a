// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attn dialect, its attributes. Semantics: dialect/README.md.
#ifndef ATTN_DIALECT_TD
#define ATTN_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def AttnDialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attn";
  let summary = "Transformers: linear maps, attention with its hooks, norms, on tensors with named axes";
  let description = [{
    What a model is. Tensors carry the names of their axes in the encoding, `tensor<?x197x768xf32, #attn.axes<"B", "T", "D">>`.
    The op specification, with numbered constraints, is dialect/README.md.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  // Attributes on ops of others: Attributes.def.
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class AttnAttr<string name, string mnem, list<Trait> traits = []> : AttrDef<AttnDialect, name, traits> {
  let mnemonic = mnem;
}

def Attn_AxesAttr : AttnAttr<"Axes", "axes"> {
  let summary = "the names of a tensor's axes, outermost first";
  let description = [{
    A static axis may have any name. A dynamic axis is named by a linear expression in one declared dynamic dim:
    `"B"`, `"2*T"`, `"T + 1"`, `"2*T + 1"`. A word and a colon may stand before it, where two axes have one size: `"S:T"` is called S.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let assemblyFormat = "`<` custom<Names>($names) `>`";
}

def Attn_SourceAttr : AttnAttr<"Source", "source"> {
  let summary = "where a parameter lies in the checkpoint";
  let description = [{
    Element `i` of the parameter is element `offset + sum(i[d] * strides[d])` of the checkpoint's tensor, which is named by
    `pattern` (with `{n}` for the layer) and has `shape`, dense and row-major.
  }];
  let parameters = (ins
    "::mlir::StringAttr":$pattern,
    ArrayRefParameter<"int64_t">:$shape,
    "int64_t":$offset,
    ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` $pattern `,` custom<Sizes>($shape) `,` `offset` `=` $offset `,` `strides` `=` custom<Sizes>($strides) `>`";
}

class AttnEnum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}

/// What an attention is made of. Locations of a kernel's ops say it (Locations.h), and the discriminators of its
/// instructions in tables of lines (DWARF), where 0 means none of them.
def Attn_AttentionTerm : AttnEnum<"AttentionTerm", "a term of an attention", [
    I32EnumAttrCase<"Score", 1, "score">,   // queries and keys compared
    I32EnumAttrCase<"Bias", 2, "bias">,     // what is added to a score
    I32EnumAttrCase<"Cap", 3, "cap">,       // the function that bounds it
    I32EnumAttrCase<"Mask", 4, "mask">,     // which pairs there are
    I32EnumAttrCase<"Weight", 5, "weight">, // scores made weights, and what was summed rescaled
    I32EnumAttrCase<"Values", 6, "values">  // the product of weights and values
  ]>;
def Attn_AttentionTermAttr : EnumAttr<AttnDialect, Attn_AttentionTerm, "term">;

/// What makes weights of a row of scores.
def Attn_Normaliser : AttnEnum<"Normaliser", "how scores become weights", [
    I32EnumAttrCase<"Softmax", 0, "softmax">,    // exp(s) / sum of exp(s), and of the sink's
    I32EnumAttrCase<"Sigmoid", 1, "sigmoid">,    // 1 / (1 + exp(-s))
    I32EnumAttrCase<"Relu", 2, "relu">,          // max(s, 0)
    I32EnumAttrCase<"ReluMean", 3, "relu_mean">, // max(s, 0) / number of keys
    I32EnumAttrCase<"Hardmax", 4, "hardmax">,    // 1 for the first of the largest scores
    I32EnumAttrCase<"Identity", 5, "identity">   // s
]>;
def Attn_NormaliserAttr : EnumAttr<AttnDialect, Attn_Normaliser, "normaliser">;

/// What an attention returns beside its output.
def Attn_Returned : AttnEnum<"Returned", "a further result of an attention", [
    I32EnumAttrCase<"LogSumExp", 0, "lse">,
    I32EnumAttrCase<"Weights", 1, "weights">,
    I32EnumAttrCase<"Raw", 2, "raw">,
    I32EnumAttrCase<"Biased", 3, "biased">,
    I32EnumAttrCase<"Capped", 4, "capped">
]>;
def Attn_ReturnedAttr : EnumAttr<AttnDialect, Attn_Returned, "returned"> { let assemblyFormat = "$value"; }
def Attn_ReturnedArrayAttr : TypedArrayAttrBase<Attn_ReturnedAttr, "results of an attention">;

/// How an attention kernel goes through its keys.
def Attn_AttentionLowering : AttnEnum<"AttentionLowering", "the lowering of an attention", [
    I32EnumAttrCase<"Strip", 0, "strip">,    // all scores of a block of queries, before any weight
    I32EnumAttrCase<"Online", 1, "online">,  // tile by tile of keys, sums rescaled in between
    I32EnumAttrCase<"Unfused", 2, "unfused"> // all scores of many blocks, then all weights, then their products
]>;
def Attn_AttentionLoweringAttr : EnumAttr<AttnDialect, Attn_AttentionLowering, "lowering">;

/// What the weights of linears are stored as, and their products computed in.
def Attn_Precision : AttnEnum<"Precision", "the precision of linears", [
    I32EnumAttrCase<"F32", 0, "f32">,
    I32EnumAttrCase<"BF16", 1, "bf16">, // weights rounded to bf16, products in f32
    I32EnumAttrCase<"F16", 2, "f16">,   // the same with f16
    I32EnumAttrCase<"Int8", 3, "int8">, // weights per output, activations per row; products are exact
    I32EnumAttrCase<"Int4", 4, "int4">, // weights on lines of 32 inputs of an output, activations as in int8
    I32EnumAttrCase<"Int4Groups", 7, "int4_groups">, // as int4, without what is added: weights are multiples of a scale for each 32 inputs of an output
    I32EnumAttrCase<"Int8Groups", 6, "int8_groups">, // as int8, with a scale for each 32 inputs of an output
    I32EnumAttrCase<"TF32", 5, "tf32">  // stored as f32, which it is on CPUs; products on GPUs have 11 bits of both factors
]>;
def Attn_PrecisionAttr : EnumAttr<AttnDialect, Attn_Precision, "precision"> { let assemblyFormat = "$value"; }

/// What makes one element of many.
def Attn_Reduction : AttnEnum<"Reduction", "how elements become one", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Mean", 1, "mean">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"ArgMax", 4, "argmax"> // the place of the first of the largest
]>;
def Attn_ReductionAttr : EnumAttr<AttnDialect, Attn_Reduction, "reduction"> { let assemblyFormat = "$value"; }

/// What a norm does with a row x of n elements.
def Attn_NormKind : AttnEnum<"NormKind", "how rows are normalised", [
    I32EnumAttrCase<"Layer", 0, "layer">,         // (x - mean) / sqrt(variance + eps): Ba, Kiros, Hinton 2016
    I32EnumAttrCase<"RootMeanSquare", 1, "rms">,  // x / sqrt(mean of x^2 + eps): Zhang, Sennrich 2019
    I32EnumAttrCase<"Euclidean", 2, "l2">         // x / max(sqrt(sum of x^2), eps): torch.nn.functional.normalize
]>;

def Attn_NormAttr : AttnAttr<"Norm", "norm"> {
  let summary = "a norm: its kind, the number that keeps it from dividing by 0, and what is added to its weights";
  let description = [{
    A row becomes normalised(x) * (offset + weight) + bias; without weights or biases these are 1 and 0. `eps` is at least 0; no `offset` is 0.
  }];
  let parameters = (ins "::attn::NormKind":$kind, "::mlir::FloatAttr":$eps, OptionalParameter<"::mlir::FloatAttr">:$offset);
  let assemblyFormat = "`<` $kind `,` `eps` `=` $eps (`,` `offset` `=` $offset^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    double eps() const { return getEps().getValueAsDouble(); }
    double offset() const { return getOffset() ? getOffset().getValueAsDouble() : 0; }
    /// "norm", as profiles name it.
    llvm::StringRef title() const;
  }];
}

/// What is taken of angles.
def Attn_AngleFunction : AttnEnum<"AngleFunction", "a function of angles", [
    I32EnumAttrCase<"Cosine", 0, "cos">,
    I32EnumAttrCase<"Sine", 1, "sin">
]>;

def Attn_AnglesAttr : AttnAttr<"Angles", "angles", [TypedAttrInterface]> {
  let summary = "cosines or sines of angles that grow with the position";
  let description = [{
    Elements of a table, of type [positions, frequencies...] of f32: element (t, p) is `function` of `t * frequencies[p]`, in double precision, then rounded.
    Nobody writes them down: the runtime computes them when weights are bound.
  }];
  let parameters = (ins AttributeSelfTypeParameter<"[positions, frequencies...] of f32">:$type, "::attn::AngleFunction":$function,
                        "::mlir::DenseF64ArrayAttr":$frequencies);
  let assemblyFormat = "`<` $function `,` $frequencies `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t positions() const { return llvm::cast<mlir::ShapedType>(getType()).getDimSize(0); }
    float at(int64_t position, int64_t pair) const;
  }];
}

#endif // ATTN_DIALECT_TD

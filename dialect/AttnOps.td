// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of the attn dialect. Each constraint is numbered in dialect/README.md and cited by the verifier (ops/<Op>.cpp).
#ifndef ATTN_OPS_TD
#define ATTN_OPS_TD

include "dialect/AttnDialect.td"
include "dialect/AttnKernelOps.td"
include "dialect/ComputeInterfaces.td"
include "dialect/tiles/Attention.td"
include "dialect/tiles/Linear.td"
include "dialect/tiles/Rows.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class AttnOp<string mnemonic, list<Trait> traits = []> : Op<AttnDialect, mnemonic, traits>;

/// An op that becomes a kernel; `answers` are the methods of ComputeOpInterface that it defines.
class AttnComputeOp<string mnemonic, list<string> answers = [], list<Trait> traits = []>
    : AttnOp<mnemonic, [Pure, DeclareOpInterfaceMethods<ComputeOpInterface, answers>] # traits>;

/// A ranked tensor of f32, f16, bf16, i32, i64 or i1 whose encoding is #attn.axes; a dynamic axis' name is a linear size.
def Attn_Tensor : Type<CPred<"::attn::isAxesTensor($_self)">, "tensor with #attn.axes", "::mlir::RankedTensorType">;

//===-- the model -----------------------------------------------------------------------------------------------===//

def Attn_DimOp : AttnOp<"dim", [Symbol]> {
  let summary = "declares a size with a name; dynamic dims have an upper bound";
  let description = [{ A `cache` is a dynamic dim, too: the positions in it, those of the running call included, up to its capacity. }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$size, UnitAttr:$dynamic, UnitAttr:$cache);
  let assemblyFormat = "$sym_name (`dyn` $dynamic^)? $size (`cache` $cache^)? attr-dict";
  let hasVerifier = 1;
}

def Attn_ParamOp : AttnOp<"param", [Symbol]> {
  let summary = "declares a parameter: logical type, and where its elements lie in the checkpoint";
  let description = [{
    `layers` says that the parameter belongs to a stack and exists once per layer; `{n}` stands in the source's pattern then. `precision` is
    that of the linears that it is in, where it is another than that of the model's.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_Tensor>:$type, Attn_SourceAttr:$source,
                       OptionalAttr<I64Attr>:$layers, UnitAttr:$optional, OptionalAttr<Attn_PrecisionAttr>:$precision);
  let assemblyFormat = "$sym_name `:` $type `from` $source (`layers` $layers^)? (`optional` $optional^)? (`in` $precision^)? attr-dict";
  let hasVerifier = 1;
}

def Attn_GetOp : AttnOp<"get", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a parameter's value, of one layer where it belongs to a stack";
  let arguments = (ins FlatSymbolRefAttr:$param, Optional<Index>:$layer);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$param (`[` $layer^ `]`)? attr-dict `:` type($result)";
}

def Attn_StateOp : AttnOp<"state", [Symbol]> {
  let summary = "declares a tensor that is kept from call to call: what was pushed to a cache";
  let description = [{
    Dense and row-major, with the cache's capacity along its axis, once for each of `layers`. The states of a cache lie one after the other.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_Tensor>:$type, FlatSymbolRefAttr:$cache, I64Attr:$layers);
  let assemblyFormat = "$sym_name `:` $type `in` $cache `layers` $layers attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The position of the cache's axis.
    int64_t axis();
  }];
}

def Attn_PushOp : AttnOp<"push", [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "writes rows behind those that a cache holds; the result is all of them";
  let arguments = (ins Attn_Tensor:$rows, FlatSymbolRefAttr:$state, Optional<Index>:$layer);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$rows `into` $state (`[` $layer^ `]`)? attr-dict `:` type($rows) `->` type($result)";
}

def Attn_SizeOp : AttnOp<"size", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a dynamic dim";
  let arguments = (ins FlatSymbolRefAttr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
}

def Attn_UnfoldOp : AttnOp<"unfold", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "an entry that runs entry `first`, then `step` again and again, each time with the tokens that were chosen";
  let description = [{
    The first result of both are scores of the next token, [rows..., vocabulary]; with `begin`, the first token is that and `first` gives none. Input
    `token` of `step` takes the tokens of all rows. Its other inputs are results of the step before of the same name, of `first` where no step gives
    them, or inputs of this entry: those of `first`, then what `step` takes besides. Caches are emptied before.

    A row ends before a token of the setting `stop`, or with `limit` tokens. Results are tokens [rows..., limit], -1 behind a row's end, their
    numbers [rows...], and what `step` gives and does not take, [limit, ...], 0 where no step was.

    `settings` say how the token is chosen, by the names of rows of runtime/include/attn/settings.def: a number is an f64, a list of tokens an array of
    i64. What is not said has the value of its row. "Settings of a generation" in compiler/frontend/REFERENCE.md says what each does.

    Entry `shared` is the same function of rows that are by themselves (attn.rows), by which many users share steps: of any number of positions of each
    row it gives the scores that `first` and `step` give of the row alone.

    With `beams` above 1, the step is run with all hypotheses as rows, `beams` for each of this entry's, along an axis known only when running.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$first, FlatSymbolRefAttr:$step, I64Attr:$token, OptionalAttr<I64Attr>:$begin,
                       I64Attr:$limit, OptionalAttr<FlatSymbolRefAttr>:$shared, DictionaryAttr:$settings);
  let assemblyFormat = "$sym_name `from` $first `then` $step (`shared` $shared^)? `token` $token (`begin` $begin^)? `limit` $limit `settings` $settings attr-dict";
}

//===-- tensors to tensors --------------------------------------------------------------------------------------===//

def Attn_LinearOp : AttnComputeOp<"linear", ["writesHalves", "costTitle", "flopPerElement"], [AttrSizedOperandSegments]> {
  let summary = "x . W^T + b over the last `contract` axes of x, then the epilogue";
  let description = [{
    `weights` are [out..., in...]; several of them have the same `in` axes and their flattened outputs are concatenated along one
    last axis (projections packed by the `fused` stage). `norm` normalises the input over its contracted axes first, as attn.norm does.
    The epilogue region maps one element (sum, captures...) to the stored one.
  }];
  let arguments = (ins Attn_Tensor:$input, Variadic<Attn_Tensor>:$weights, Variadic<Attn_Tensor>:$biases,
                       Optional<Attn_Tensor>:$norm_weight, Optional<Attn_Tensor>:$norm_bias, Variadic<Attn_Tensor>:$captures,
                       I64Attr:$contract, OptionalAttr<Attn_NormAttr>:$norm);
  let results = (outs Attn_Tensor:$result);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    $input `,` $weights (`bias` $biases^)? (`norm` $norm^)? (`norm_weight` $norm_weight^)? (`norm_bias` $norm_bias^)? `contract` $contract attr-dict
    (`captures` `(` $captures^ `)`)? (`epilogue` $epilogue^)?
    `:` functional-type(operands, results)
  }];
  let builders = [
    /// Without norm, captures and epilogue.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::ValueRange":$weights, "::mlir::ValueRange":$biases, "uint64_t":$contract), [{
      build($_builder, $_state, result, input, weights, biases, /*norm_weight=*/{}, /*norm_bias=*/{}, /*captures=*/{}, contract, /*norm=*/{});
    }]>
  ];
  let hasVerifier = 1;
}

def Attn_NormOp : AttnComputeOp<"norm", ["writesHalves"], [AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>]> {
  let summary = "normalised(x) * (offset + weight) + bias over the last `axes` axes of x";
  let arguments = (ins Attn_Tensor:$input, Optional<Attn_Tensor>:$weight, Optional<Attn_Tensor>:$bias, Attn_NormAttr:$norm, I64Attr:$axes);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $input $norm `over` $axes (`weight` $weight^)? (`bias` $bias^)? attr-dict `:` type($input) (`weight` type($weight)^)? (`bias` type($bias)^)?
  }];
  let hasVerifier = 1;
}

def Attn_MapOp : AttnComputeOp<"map", ["writesHalves", "costTitle", "flopPerElement"], [SingleBlock]> {
  let summary = "a scalar function of elements matched by axis name";
  let description = [{
    The result's axes are those of all the inputs; an input that lacks an axis is repeated along it.
  }];
  let arguments = (ins Variadic<Attn_Tensor>:$inputs);
  let results = (outs Attn_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $result) $body";
  let hasVerifier = 1;
}

def Attn_RearrangeOp : AttnOp<"rearrange", [Pure]> {
  let summary = "splits, reorders and merges axes; moves no element's meaning";
  let description = [{
    The input's axes are split into `atoms` (row-major, `split[d]` atoms for axis d); result axis d is the merge of
    `merge[d]` atoms taken from `order`. Atom sizes are `atoms`, -1 for the dynamic one.
  }];
  let arguments = (ins Attn_Tensor:$input, DenseI64ArrayAttr:$split, DenseI64ArrayAttr:$atoms, DenseI64ArrayAttr:$order,
                       DenseI64ArrayAttr:$merge);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $input `split` $split `atoms` $atoms `order` $order `merge` $merge attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Attn_RelabelOp : AttnOp<"relabel", [Pure]> {
  let summary = "the same tensor with other axis names";
  let arguments = (ins Attn_Tensor:$input);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_ConcatOp : AttnComputeOp<"concat"> {
  let summary = "the inputs one after the other along result axis `axis`";
  let description = [{
    Input axes are matched to result axes by name, but for one axis each that stands for the concatenated one (`along[i]`, its
    position in input i). An input that lacks another axis is repeated along it.
  }];
  let arguments = (ins Variadic<Attn_Tensor>:$inputs, I64Attr:$axis, DenseI64ArrayAttr:$along);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "`(` $inputs `)` `axis` $axis `along` $along attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
}

def Attn_SliceOp : AttnOp<"slice", [Pure]> {
  let summary = "elements [offset, offset + size) along an axis; an axis of one element may be dropped";
  let description = [{ Of a dynamic axis, as many as the result has from `offset` on, or the last ones (`end`). }];
  let arguments = (ins Attn_Tensor:$input, I64Attr:$axis, I64Attr:$offset, UnitAttr:$end, UnitAttr:$drop);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input `axis` $axis `at` $offset (`end` $end^)? (`drop` $drop^)? attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_ReduceOp : AttnComputeOp<"reduce", ["costTitle", "workTensor", "flopPerElement"]> {
  let summary = "elements along axes to one: their sum, mean, largest, smallest, or the place of the largest";
  let description = [{
    The axes `over` are those of the inputs that the result lacks; the others are matched by name, and an input that lacks one is repeated along it.
    What is reduced is `body` of one element of each input; without a body, the one input's element.
  }];
  let arguments = (ins Variadic<Attn_Tensor>:$inputs, Attn_ReductionAttr:$kind, StrArrayAttr:$over);
  let results = (outs Attn_Tensor:$result);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = "$kind `(` $inputs `)` `over` $over attr-dict `:` functional-type($inputs, $result) ($body^)?";
  let hasVerifier = 1;
}

def Attn_SoftmaxOp : AttnComputeOp<"softmax", ["flopPerElement"], [AllTypesMatch<["input", "result"]>]> {
  let summary = "exp(x) / sum of exp(x) along one axis; zeros where all elements are -inf";
  let arguments = (ins Attn_Tensor:$input, I64Attr:$axis);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Attn_PadOp : AttnComputeOp<"pad"> {
  let summary = "a border of one value: `low[d]` elements before axis d, `high[d]` behind it";
  let arguments = (ins Attn_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, F32Attr:$value);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input `by` $low `,` $high `with` $value attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_WindowsOp : AttnOp<"windows", [Pure]> {
  let summary = "overlapping pieces of axes";
  let description = [{
    Axis `axes[i]` of the input becomes the windows along it, and the places in a window are an axis behind all others, in the order of `axes`:
    element (.., w, .., p) is element `w * strides[i] + p * dilations[i]` along the axis.
  }];
  let arguments = (ins Attn_Tensor:$input, DenseI64ArrayAttr:$axes, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input `axes` $axes `by` $strides `dilated` $dilations attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_LookupOp : AttnComputeOp<"lookup", ["becomesKernel", "movedTensors"]> {
  let summary = "rows of a table, one for each index";
  let description = [{
    `y[i..., d...] = table[indices[i...], d...]`. An index below 0 or beyond the table has no meaning: whoever runs the model checks them
    (`attn.below` of an entry's argument says the bound).
  }];
  let arguments = (ins Attn_Tensor:$table, Attn_Tensor:$indices);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the rows are the table's first ones in order, which is no copy but a view.
    bool isBeginning();
  }];
}

def Attn_PickOp : AttnComputeOp<"pick", ["movedTensors"]> {
  let summary = "along one axis, the elements at an index";
  let description = [{
    `y[b..., i..., d...] = x[b..., indices[b..., i...], d...]`, with the picked axis between b and d: axes of the indices that x has, too, go together, but for the
    picked one; the others are new, and stand in its place. An index beyond the axis has no meaning.
  }];
  let arguments = (ins Attn_Tensor:$input, Attn_Tensor:$indices, I64Attr:$axis);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input `axis` $axis `at` $indices attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Of the axes of the indices, the positions of those that are new.
    llvm::SmallVector<int64_t> newAxes();
  }];
}

def Attn_TableOp : AttnOp<"table", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "constants: elements, or angles that the runtime computes";
  let description = [{
    Along an axis known only when running, `elements` go up to its bound, and the result is their beginning.
  }];
  let arguments = (ins AnyAttrOf<[ElementsAttr, Attn_AnglesAttr]>:$elements);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "custom<Elements>($elements) attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The shape and element type of what a table may be made of.
    static mlir::ShapedType typeOfElements(mlir::Attribute elements);
  }];
}

def Attn_RotaryOp : AttnComputeOp<"rotary", ["writesHalves", "flopPerElement"], [AllTypesMatch<["input", "result"]>, AllTypesMatch<["cos", "sin"]>]> {
  let summary = "pairs of features turned by angles (Su et al. 2021)";
  let description = [{
    `cos` and `sin` are [axes of x..., P]. Of the features in the last axis the first 2P are turned, the others stay. Pair `p` is
    (x[2p], x[2p + 1]) where `interleaved`, else (x[p], x[p + P]), and (a, b) becomes (a cos[p] - b sin[p], b cos[p] + a sin[p]).
  }];
  let arguments = (ins Attn_Tensor:$input, Attn_Tensor:$cos, Attn_Tensor:$sin, UnitAttr:$interleaved);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input `by` $cos `,` $sin (`interleaved` $interleaved^)? attr-dict `:` type($input) `,` type($cos)";
  let hasVerifier = 1;
}

def Attn_AttentionOp : AttnComputeOp<"attention", ["writesHalves", "costTitle"]> {
  let summary = "attention: score, bias, cap, mask and sink are regions of one (query, key) pair";
  let description = [{
    query [batch and query axes..., feature], key [batch axes..., S, feature], value [batch axes..., S, value feature], in any order but
    the feature axis last. S (`key_axis`) is an axis of key and value and none of query's. Result: query's axes with the feature replaced by value's.

    Every region takes, after what is said here, the position of every non-feature query axis (index), then j, the key's, and the captures as
    tensors: score (q: tensor<E>, k: tensor<E>) -> f32; bias (score: f32) -> f32; mask () -> i1; sink () -> f32, without j. cap (score: f32) -> f32
    takes nothing else. An empty bias, cap, mask or sink stands for none. Masked keys get weight 0; a row without a live key is 0.
    A sink is the score of a further key without a value, of softmax alone.

    Further results (`returned`): lse [query's axes but the feature], log of the sum of exp(score) over live keys and the sink; weights and scores (raw, biased or
    capped, of all pairs whatever the mask) [query's axes but the feature..., S].
  }];
  let arguments = (ins Attn_Tensor:$query, Attn_Tensor:$key, Attn_Tensor:$value, Variadic<Attn_Tensor>:$captures, StrAttr:$key_axis,
                       DefaultValuedAttr<Attn_NormaliserAttr, "::attn::Normaliser::Softmax">:$normaliser,
                       OptionalAttr<Attn_ReturnedArrayAttr>:$returned);
  let results = (outs Attn_Tensor:$result, Variadic<Attn_Tensor>:$further);
  let regions = (region SizedRegion<1>:$score, MaxSizedRegion<1>:$bias, MaxSizedRegion<1>:$cap, MaxSizedRegion<1>:$mask,
                        MaxSizedRegion<1>:$sink);
  let assemblyFormat = [{
    $query `over` $key `,` $value `along` $key_axis (`captures` `(` $captures^ `)`)? attr-dict `:` functional-type(operands, results)
    `score` $score (`bias` $bias^)? (`cap` $cap^)? (`mask` $mask^)? (`sink` $sink^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The kinds of the further results, in their order.
    llvm::SmallVector<::attn::Returned> returnedKinds();
  }];
}

def Attn_ScanOp : AttnOp<"scan", [RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "a recurrence: the body for each step along an axis, states passed on from step to step";
  let description = [{
    The body takes each input at the step, without the axis, then the states, and ends with attn.next: what the step gives, then the new states. The results are
    what the steps give, along the axis, then the last states. In `reverse`, the last step is the first. The body may read tensors of around the op.
  }];
  let arguments = (ins Variadic<Attn_Tensor>:$inputs, Variadic<Attn_Tensor>:$initial, StrAttr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<Attn_Tensor>:$values);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `over` `(` $inputs `)` `from` `(` $initial `)` `along` $axis (`reverse` $reverse^)? attr-dict `:` functional-type(operands, results) $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// What steps give, along the axis.
    ::mlir::ResultRange outputs() { return getValues().drop_back(getInitial().size()); }
    /// The states after the last step.
    ::mlir::ResultRange states() { return getValues().take_back(getInitial().size()); }
    /// What the body takes of the inputs; its states.
    ::mlir::Block::BlockArgListType stepArguments() { return getBody().getArguments().take_front(getInputs().size()); }
    ::mlir::Block::BlockArgListType stateArguments() { return getBody().getArguments().drop_front(getInputs().size()); }
    /// The end of the body.
    ::attn::NextOp next();
  }];
}

def Attn_NextOp : AttnOp<"next", [Pure, Terminator, HasParent<"ScanOp">]> {
  let summary = "ends a step of a scan: what it gives, then the new states";
  let arguments = (ins Variadic<Attn_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let extraClassDeclaration = [{
    /// What the step gives; the new states.
    ::mlir::OperandRange outputs();
    ::mlir::OperandRange states();
  }];
}

//===-- inside regions ------------------------------------------------------------------------------------------===//

def Attn_DotOp : AttnOp<"dot", [Pure]> {
  let summary = "the inner product of two vectors, inside a score region";
  let arguments = (ins 1DTensorOf<[F32]>:$lhs, 1DTensorOf<[F32]>:$rhs);
  let results = (outs F32:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the vectors are the query and the key that the score is of.
    bool isOfQueryAndKey();
  }];
}

def Attn_ElementOp : AttnOp<"element", [Pure]> {
  let summary = "an element of a captured tensor, inside a region of an attention";
  let description = [{
    Positions are inside the tensor: who builds it has shown that. Floats come as f32, integers as index, truth values as i1.
    Without a position for the last axis, f32 come as a vector, in a score.
  }];
  let arguments = (ins AnyTypeOf<[AnyRankedTensor, AnyMemRef]>:$tensor, Variadic<Index>:$positions);
  let results = (outs AnyTypeOf<[F32, Index, I1, 1DTensorOf<[F32]>]>:$result);
  let assemblyFormat = "$tensor `[` $positions `]` attr-dict `:` type($tensor) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_YieldOp : AttnOp<"yield", [Pure, Terminator,
                                    ParentOneOf<["MapOp", "ReduceOp", "LinearOp", "AttentionOp", "MapKernelOp", "ReduceKernelOp", "LinearKernelOp", "AttentionKernelOp", "ScoreTileOp", "ResetTileOp",
                                                 "LinearTileOp", "LinearAmxTileOp", "LinearAmxFinishOp", "MapRowOp", "ReduceRowOp"]>]> {
  let summary = "the value of a region";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // ATTN_OPS_TD

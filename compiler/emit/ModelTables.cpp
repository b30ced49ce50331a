// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's module to the tables that the runtime reads (runtime/include/attn/abi.h), as constants
// of an LLVM module: dims, parameters, slots, levels, entries, caches, kernels, GPUs.
#include "compiler/emit/ModelTables.h"
#include "attn/abi.h"
#include "compiler/emit/ConstantBuilder.h"
#include "compiler/emit/Describe.h"
#include "compiler/emit/EntryWrappers.h"
#include "compiler/emit/InputTables.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/emit/SlotParts.h"
#include "compiler/transforms/OutlineKernel.h"
#include "compiler/transforms/ParameterLayout.h"
#include "dialect/Locations.h"
#include "dialect/Settings.h"
#include "dialect/Unfold.h"
#include "dialect/WeightFormat.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace mlir;

namespace attn {

static int32_t dtypeCode(Type type) {
  return llvm::StringSwitch<int32_t>(dtypeName(type))
      .Case("f16", ATTN_F16)
      .Case("bf16", ATTN_BF16)
      .Case("f64", ATTN_F64)
      .Case("i32", ATTN_I32)
      .Case("i64", ATTN_I64)
      .Case("u8", ATTN_U8)
      .Case("bool", ATTN_BOOL)
      .Default(ATTN_F32);
}

namespace {

using Constants = llvm::SmallVector<llvm::Constant *>;

class TableWriter {
public:
  TableWriter(ModuleOp model, ModuleOp memory, const CompileOptions &options,
              llvm::ArrayRef<GpuCode> gpus, llvm::Module &module)
      : model(model), memory(memory), options(options), gpus(gpus), module(module), build(module),
        entries(entriesOf(model)) {}

  LogicalResult write();

private:
  Constants dims();
  llvm::Constant *tensors(llvm::ArrayRef<TensorInfo> list);
  llvm::Constant *axis(const AxisInfo &axis);
  llvm::Constant *range(const std::optional<InputRange> &range);
  Constants tensor(const TensorInfo &tensor);
  Constants caches();
  llvm::Constant *cacheUses(const EntryInfo &entry);
  Constants entryTable();
  llvm::Constant *unfold(const EntryInfo &entry);
  llvm::Constant *terms(ArrayAttr polynomial);
  Constants kernels();
  Constants parameters();
  LogicalResult addSlot(SlotOp slot, Constants &slots);
  int64_t slotPanelWidth() const;
  std::pair<llvm::Constant *, llvm::Constant *> functionsOf(llvm::StringRef suffix);
  Constants levels();
  llvm::Constant *binary(llvm::StringRef bytes, llvm::StringRef name);
  Constants gpuTable();
  Constants ignores();
  /// Puts the packed explanation into a section of its own.
  void keepExplanation();
  llvm::Constant *description();
  llvm::Constant *embedded();

  ModuleOp model, memory;
  const CompileOptions &options;
  llvm::ArrayRef<GpuCode> gpus;
  llvm::Module &module;
  ConstantBuilder build;
  std::vector<EntryInfo> entries;
  llvm::StringMap<int32_t> dimIndex, cacheIndex;
  llvm::StringMap<int32_t> costIndex;
  llvm::StringMap<int32_t> parameterIndex; ///< by the pattern of the checkpoint's tensors
  int64_t packedBytes = 0;
};

} // namespace

Constants TableWriter::dims() {
  Constants table;
  for (DimOp dim : model.getOps<DimOp>()) {
    dimIndex[dim.getSymName()] = int32_t(table.size());
    table.push_back(build.structure(
        {build.text(dim.getSymName()), build.i64(dim.getSize()), build.i32(dim.getDynamic())}));
  }
  return table;
}

llvm::Constant *TableWriter::axis(const AxisInfo &axis) {
  int32_t dim = axis.isDynamic() ? dimIndex.lookup(axis.dim) : -1;
  return build.structure({build.text(axis.name), build.i32(dim),
                          build.i64(axis.isDynamic() ? axis.scale : 0),
                          build.i64(axis.isDynamic() ? axis.offset : axis.size)});
}

Constants TableWriter::tensor(const TensorInfo &tensor) {
  Constants axes;
  for (const AxisInfo &info : tensor.axes)
    axes.push_back(axis(info));
  return {build.text(tensor.name),         build.i32(dtypeCode(tensor.elementType)),
          build.i32(int64_t(axes.size())), build.array(axes, "axes"),
          build.i64(tensor.below),         range(tensor.range),
          build.i32(tensor.state + 1)};
}

llvm::Constant *TableWriter::range(const std::optional<InputRange> &range) {
  if (!range)
    return build.array({}, "random");
  Constants notable;
  for (int64_t value : range->notable)
    notable.push_back(build.i64(value));
  return build.array(
      {build.structure({axis(range->least), axis(range->most), build.i32(int64_t(notable.size())),
                        build.array(notable, "notable")})},
      "random");
}

llvm::Constant *TableWriter::tensors(llvm::ArrayRef<TensorInfo> list) {
  Constants table;
  for (const TensorInfo &info : list)
    table.push_back(build.structure(tensor(info)));
  return build.array(table, "tensors");
}

Constants TableWriter::caches() {
  Constants table;
  for (DimOp dim : model.getOps<DimOp>()) {
    if (!dim.getCache())
      continue;
    Constants states;
    for (StateOp state : model.getOps<StateOp>()) {
      if (state.getCache() != dim.getSymName())
        continue;
      auto type = cast<RankedTensorType>(state.getType());
      TensorInfo info{state.getSymName().str(), type.getElementType(), axesOf(model, type)};
      states.push_back(
          build.structure({build.structure(tensor(info)), build.i32(int64_t(state.getLayers()))}));
    }
    cacheIndex[dim.getSymName()] = int32_t(table.size());
    table.push_back(
        build.structure({build.text(dim.getSymName()), build.i32(dimIndex.lookup(dim.getSymName())),
                         build.i32(int64_t(states.size())), build.array(states, "states")}));
  }
  return table;
}

llvm::Constant *TableWriter::unfold(const EntryInfo &entry) {
  if (!entry.unfold)
    return build.null();
  UnfoldOp op = entry.unfold->op;
  const UnfoldWiring &wiring = entry.unfold->wiring;
  Constants sources, own, stacked, numbers, lists;
  for (const UnfoldSource &source : wiring.sources)
    sources.push_back(build.structure(
        {build.i32(source.input), build.i32(source.first), build.i32(source.step)}));
  for (int32_t input : wiring.own)
    own.push_back(build.i32(input));
  for (int32_t output : wiring.stacked)
    stacked.push_back(build.i32(output));
  auto count = [&](const Constants &list) { return build.i32(int64_t(list.size())); };
  for (const GenerationSetting &setting : generationSettings()) {
    if (!setting.isList()) {
      numbers.push_back(build.f64(numberOf(op, setting)));
      continue;
    }
    Constants tokens;
    for (int64_t token : tokensOf(op, setting))
      tokens.push_back(build.i64(token));
    lists.push_back(build.structure({build.array(tokens, setting.name), count(tokens)}));
  }
  return build.place(
      build.structure({build.i32(entry.unfold->first), build.i32(entry.unfold->step),
                       build.i32(entry.unfold->shared),
                       build.i64(op.getBegin() ? int64_t(*op.getBegin()) : -1),
                       build.i64(int64_t(op.getLimit())), count(sources), count(own),
                       count(stacked), build.array(sources, "sources"), build.array(own, "own"),
                       build.array(stacked, "stacked"), build.array(numbers, "settings"),
                       build.array(lists, "tokens")}),
      "unfold");
}

llvm::Constant *TableWriter::cacheUses(const EntryInfo &entry) {
  Constants table;
  for (const CacheInfo &cache : entry.caches) {
    int32_t use = cache.use == CacheUse::Kind::Push   ? ATTN_CACHE_PUSH
                  : cache.use == CacheUse::Kind::Fill ? ATTN_CACHE_FILL
                                                      : ATTN_CACHE_READ;
    table.push_back(build.structure(
        {build.i32(cacheIndex.lookup(cache.name)), build.i32(use), axis(cache.rows)}));
  }
  return build.array(table, "uses");
}

Constants TableWriter::entryTable() {
  Constants table;
  for (const EntryInfo &entry : entries)
    table.push_back(
        build.structure({build.text(entry.name), build.i32(int64_t(entry.inputs.size())),
                         build.i32(int64_t(entry.outputs.size())), tensors(entry.inputs),
                         tensors(entry.outputs), build.i32(int64_t(entry.caches.size())),
                         build.i32(entry.batch.empty() ? -1 : dimIndex.lookup(entry.batch)),
                         build.i32(entry.rows.empty() ? -1 : dimIndex.lookup(entry.rows)),
                         cacheUses(entry), unfold(entry)}));
  return table;
}

llvm::Constant *TableWriter::terms(ArrayAttr polynomial) {
  Constants table;
  for (auto term : polynomial.getAsRange<ArrayAttr>()) {
    Constants factors(ATTN_MAX_FACTORS, build.i32(-1));
    for (auto [i, dim] : llvm::enumerate(term.getValue().drop_front()))
      factors[i] = build.i32(dimIndex.lookup(cast<StringAttr>(dim)));
    table.push_back(
        build.structure({build.i64(cast<IntegerAttr>(term[0]).getInt()), build.sequence(factors)}));
  }
  return build.array(table, "terms");
}

Constants TableWriter::kernels() {
  Constants table;
  llvm::StringMap<std::string> names; // of costs' kernels
  for (const NamedKernel &kernel : kernelsOf(memory))
    if (mlir::StringAttr cost = costOf(kernel.kernel))
      names.try_emplace(cost.getValue(), kernel.name);
  for (CostOp cost : memory.getOps<CostOp>()) {
    costIndex[cost.getSymName()] = int32_t(table.size());
    table.push_back(build.structure(
        {build.text(names.lookup(cost.getSymName())), build.text(cost.getTitle()),
         build.text(shortPlaceText(cost.getLoc())), build.i32(int64_t(cost.getFlop().size())),
         build.i32(int64_t(cost.getBytes().size())), terms(cost.getFlop()),
         terms(cost.getBytes())}));
  }
  return table;
}

Constants TableWriter::parameters() {
  Constants table;
  for (ParamOp param : model.getOps<ParamOp>()) {
    SourceAttr source = param.getSource();
    if (!parameterIndex.try_emplace(source.getPattern().getValue(), int32_t(table.size())).second)
      continue;
    Constants shape;
    for (int64_t size : source.getShape())
      shape.push_back(build.i64(size));
    Type element = cast<RankedTensorType>(param.getType()).getElementType();
    table.push_back(
        build.structure({build.text(source.getPattern().getValue()), build.i32(dtypeCode(element)),
                         build.i32(int64_t(param.getLayers().value_or(0))),
                         build.i32(int64_t(shape.size())), build.i32(param.getOptional()),
                         build.array(shape, "shape"), build.text(shortPlaceText(param.getLoc()))}));
  }
  return table;
}

/// How the runtime packs a slot: panels of what weights are stored in (slot_c3), or rows (slot_c4,
/// slot_c5).
static int32_t layoutOf(SlotOp slot) {
  if (std::optional<AnglesAttr> angles = slot.getAngles())
    return angles->getFunction() == AngleFunction::Cosine ? ATTN_PACK_COSINES : ATTN_PACK_SINES;
  const WeightFormat &format = formatOf(slot.getPrecision());
  return slot.getWidth() ? format.layout : format.rows;
}

LogicalResult TableWriter::addSlot(SlotOp slot, Constants &slots) {
  int64_t k = slot.getK(), column = 0;
  llvm::SmallVector<attn_abi_part> parts;
  for (auto name : slot.getParams().getAsRange<FlatSymbolRefAttr>()) {
    auto param = memory.lookupSymbol<ParamOp>(name.getAttr());
    if (!param)
      return slot.emitError() << "no parameter " << name;
    int32_t parameter = parameterIndex.lookup(param.getSource().getPattern().getValue());
    if (failed(addParts(param, parameter, k, column, parts)))
      return failure();
    column += cast<RankedTensorType>(param.getType()).getNumElements() / std::max<int64_t>(k, 1);
  }
  Constants table, frequencies;
  if (std::optional<AnglesAttr> angles = slot.getAngles())
    for (double frequency : angles->getFrequencies().asArrayRef())
      frequencies.push_back(build.f64(frequency));
  for (const attn_abi_part &part : parts)
    table.push_back(
        build.structure({build.i32(part.parameter), build.i64(part.column), build.i64(part.count),
                         build.i64(part.offset), build.i64(part.kStride), build.i64(part.inner),
                         build.i64(part.innerStride), build.i64(part.outerStride),
                         build.i64(part.kInner), build.i64(part.kOuterStride)}));
  int64_t layers = slot.getLayers(), last = int64_t(slot.getOffset()) +
                                            (layers - 1) * int64_t(slot.getLayerStride()) +
                                            int64_t(slot.getBytes());
  packedBytes = std::max(packedBytes, (last + 63) / 64 * 64);
  int64_t columns = slot.getColumns(),
          padded = slot.getWidth() ? paddedColumns(columns, slot.getWidth()) : columns;
  slots.push_back(build.structure(
      {build.i64(slot.getOffset()), build.i64(slot.getLayerStride()), build.i64(slot.getBytes()),
       build.i32(layers), build.i32(layoutOf(slot)), build.i64(k), build.i64(columns),
       build.i64(padded), build.i32(slot.getWidth() ? slotPanelWidth() : 0),
       build.i32(int64_t(parts.size())), build.array(table, "parts"),
       build.array(frequencies, "frequencies")}));
  return success();
}

/// The columns of a slot's panels that serve all of the code; where levels differ, the widest.
int64_t TableWriter::slotPanelWidth() const {
  int64_t width = gpus.empty() ? 0 : panelWidth;
  for (const CpuTarget *level : options.targets.levels)
    width = std::max(width, level->panelWidth);
  return width;
}

Constants TableWriter::levels() {
  Constants table;
  for (const CpuTarget *level : options.targets.levels) {
    auto [functions, sizes] = functionsOf(level->suffix);
    table.push_back(build.structure({build.text(level->name), build.i32(level->code),
                                     build.i32(level->panelWidth), functions, sizes}));
  }
  return table;
}

/// The functions of all entries: those that run them, and those that give the bytes of their
/// workspaces.
std::pair<llvm::Constant *, llvm::Constant *> TableWriter::functionsOf(llvm::StringRef suffix) {
  Constants functions, workspaces;
  auto function = [&](const std::string &name) {
    llvm::Function *found = module.getFunction((name + suffix).str());
    // Only the tables refer to it.
    found->setLinkage(llvm::GlobalValue::InternalLinkage);
    found->setVisibility(llvm::GlobalValue::DefaultVisibility);
    return found;
  };
  for (const EntryInfo &entry : entries) {
    if (entry.unfold)
      continue;
    functions.push_back(function(entrySymbol(entry.name)));
    workspaces.push_back(function(workspaceSymbol(entry.name)));
  }
  return {build.array(functions, "entries"), build.array(workspaces, "sizes")};
}

/// A pointer to what a driver loads; null where there is none.
llvm::Constant *TableWriter::binary(llvm::StringRef bytes, llvm::StringRef name) {
  if (bytes.empty())
    return build.null();
  auto *data = llvm::ConstantDataArray::getString(module.getContext(), bytes, /*AddNull=*/false);
  llvm::GlobalVariable *variable = build.place(data, name);
  variable->setAlignment(llvm::Align(16));
  return variable;
}

Constants TableWriter::gpuTable() {
  Constants table;
  for (const GpuCode &code : gpus) {
    const GpuTarget &chip = *code.target;
    Constants kernels;
    for (const GpuKernelInfo &kernel : code.kernels) {
      Constants maps;
      for (const GpuKernelInfo::TensorMap &map : kernel.maps) {
        Constants box;
        for (size_t d = 0; d < ATTN_MAX_MAP_RANK; ++d)
          box.push_back(build.i32(d < map.box.size() ? map.box[d] : 0));
        maps.push_back(build.structure(
            {build.i32(int64_t(map.box.size())), build.i32(map.swizzle), build.sequence(box)}));
      }
      kernels.push_back(
          build.structure({build.text(kernel.name), build.i32(kernel.threads),
                           build.i32(kernel.blocks), build.i32(kernel.sharedBytes),
                           build.i32(kernel.cost.empty() ? -1 : costIndex.lookup(kernel.cost)),
                           build.i32(kernel.words), build.i32(int64_t(kernel.maps.size())),
                           build.array(maps, "gpu.maps")}));
    }
    auto [functions, sizes] = functionsOf(chip.suffix());
    table.push_back(
        build.structure({build.text(chip.name), build.i32(chip.capability), build.i32(chip.isExact),
                         build.i32(chip.hasWarpGroups), build.i32(int64_t(kernels.size())),
                         build.array(kernels, "gpu.kernels"), build.text(code.ptx),
                         binary(code.cubin, "cubin"), functions, sizes}));
  }
  return table;
}

Constants TableWriter::ignores() {
  Constants table;
  if (auto list = model->getAttrOfType<ArrayAttr>(attributes::ignore))
    for (auto pattern : list.getAsRange<StringAttr>())
      table.push_back(build.text(pattern.getValue()));
  return table;
}

llvm::Constant *TableWriter::description() {
  std::string json = llvm::formatv("{0}", llvm::json::Value(describeModel(model, options)));
  auto *text = llvm::ConstantDataArray::getString(module.getContext(), json);
  llvm::GlobalVariable *variable = build.place(text, "description");
  variable->setSection(".attn.description");
  return variable;
}

void TableWriter::keepExplanation() {
  if (options.explanation.empty())
    return;
  auto *bytes = llvm::ConstantDataArray::getString(module.getContext(), options.explanation,
                                                   /*AddNull=*/false);
  llvm::GlobalVariable *variable = build.place(bytes, "explanation");
  variable->setSection(".attn.explanation");
  llvm::appendToUsed(module, {variable}); // nothing refers to it
}

llvm::Constant *TableWriter::embedded() {
  if (!options.embedWeights)
    return build.null();
  auto *bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), packedBytes);
  llvm::GlobalVariable *block = build.place(llvm::ConstantAggregateZero::get(bytes), "packed");
  block->setSection(".attn.packed");
  block->setAlignment(llvm::Align(64));
  // The zeros are replaced when the weights are embedded: nothing may be concluded from them.
  block->setExternallyInitialized(true);
  return block;
}

LogicalResult TableWriter::write() {
  Constants dimTable = dims(), parameterTable = parameters(), slots;
  for (SlotOp slot : memory.getOps<SlotOp>())
    if (failed(addSlot(slot, slots)))
      return failure();
  Constants levelTable = levels(), cacheTable = caches(), table = entryTable(),
            images = imageTable(build, entries), sounds = soundTable(build, entries),
            ignoreTable = ignores(), kernelTable = kernels(), gpuCodes = gpuTable();
  auto count = [&](const Constants &list) { return build.i32(int64_t(list.size())); };
  llvm::Constant *tables = build.structure({build.i32(ATTN_ABI_VERSION),
                                            build.text(modelName(model)),
                                            build.text(compilerVersion()),
                                            build.text(stringifyPrecision(options.precision)),
                                            description(),
                                            count(dimTable),
                                            count(parameterTable),
                                            count(slots),
                                            count(levelTable),
                                            count(table),
                                            count(images),
                                            count(ignoreTable),
                                            count(cacheTable),
                                            build.i32(countStates(entries)),
                                            count(kernelTable),
                                            count(gpuCodes),
                                            build.array(dimTable, "dims"),
                                            build.array(parameterTable, "parameters"),
                                            build.array(slots, "slots"),
                                            build.array(levelTable, "levels"),
                                            build.array(table, "entries"),
                                            build.array(images, "images"),
                                            build.array(ignoreTable, "ignores"),
                                            build.array(cacheTable, "caches"),
                                            build.array(kernelTable, "kernels"),
                                            build.array(gpuCodes, "gpus"),
                                            build.i64(packedBytes),
                                            embedded(),
                                            build.i64(int64_t(options.tokenizer.size())),
                                            binary(options.tokenizer, "tokenizer"),
                                            build.i64(int64_t(options.chatTemplate.size())),
                                            binary(options.chatTemplate, "chat_template"),
                                            build.i64(int64_t(options.labels.size())),
                                            binary(options.labels, "labels"),
                                            count(sounds),
                                            build.array(sounds, "sounds"),
                                            build.i32(options.labelFunction)});
  new llvm::GlobalVariable(module, tables->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, tables, modelSymbol(model));
  keepExplanation();
  return success();
}

LogicalResult addModelTables(ModuleOp model, ModuleOp memory, const CompileOptions &options,
                             llvm::ArrayRef<GpuCode> gpus, llvm::Module &module) {
  return TableWriter(model, memory, options, gpus, module).write();
}

} // namespace attn

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions, loops and calls; the ops themselves are in the files beside this one.
#include "compiler/reference/Interpreter.h"
#include "compiler/reference/Parameters.h"
#include "compiler/reference/Region.h"
#include "dialect/Caches.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

namespace {
using RuntimeValues = SmallVector<RuntimeValue>;

/// One run of an entry.
class Machine {
public:
  Machine(ModuleOp module, ParameterLoader load, Caches &caches, Observer observe)
      : module(module), parameters(load), caches(caches), observe(observe) {}

  llvm::Error bind(func::FuncOp function, ArrayRef<Tensor> inputs);
  llvm::Expected<RuntimeValues> call(func::FuncOp function, ArrayRef<RuntimeValue> arguments);
  /// What was pushed is part of the cache from now on.
  void finish(func::FuncOp function);

private:
  llvm::Error bindAxis(func::FuncOp function, RankedTensorType type, int64_t axis, int64_t size);
  llvm::Expected<RuntimeValues> runBlock(Block &block, ArrayRef<RuntimeValue> arguments,
                                         Scope &scope);
  llvm::Expected<RuntimeValues> run(Operation *op, Scope &scope);
  llvm::Expected<RuntimeValues> runLoop(scf::ForOp loop, Scope &scope);
  llvm::Expected<RuntimeValues> runRoute(RouteOp route, Scope &scope);
  llvm::Expected<RuntimeValues> runScan(ScanOp scan, Scope &scope);
  llvm::Expected<Tensor> get(GetOp op, const Scope &scope);
  Tensor push(PushOp op, const Scope &scope);
  llvm::Expected<Tensor> kept(KeptOp op, const Scope &scope);
  llvm::Error bindCache(func::FuncOp function, const CacheUse &use);
  /// Forgets what a cache holds.
  void empty(FlatSymbolRefAttr cache);
  void report(Operation *op, const RuntimeValue &value);

  ModuleOp module;
  Parameters parameters;
  Caches &caches;
  Observer observe;
  DimSizes dims;
  SmallVector<int64_t> layers; ///< indices of the loops around, outermost first
};
} // namespace

static RuntimeValues valuesOf(ValueRange operands, const Scope &scope) {
  RuntimeValues values;
  for (Value operand : operands)
    values.push_back(scope[operand]);
  return values;
}

/// Binds the dim of a dynamic axis to what `size` says about it.
llvm::Error Machine::bindAxis(func::FuncOp function, RankedTensorType type, int64_t axis,
                              int64_t size) {
  StringRef name = axesOf(type)[axis].getValue();
  if (type.isDynamicDim(axis))
    if (auto linear = parseLinearSize(name); linear && size >= linear->offset)
      dims.try_emplace(linear->dim, (size - linear->offset) / linear->scale);
  auto expected = sizeOfAxis(function, type, axis, dims);
  if (!expected)
    return expected.takeError();
  if (*expected != size)
    return errorAt(function, "expected size " + Twine(*expected) + " along '" + name +
                                 "', but got " + Twine(size));
  return llvm::Error::success();
}

llvm::Error Machine::bind(func::FuncOp function, ArrayRef<Tensor> inputs) {
  if (function.getNumArguments() != inputs.size())
    return errorAt(function, "expected " + Twine(function.getNumArguments()) + " inputs, but got " +
                                 Twine(inputs.size()));
  for (auto [argument, input] : llvm::zip(function.getArguments(), inputs)) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (type.getRank() != static_cast<int64_t>(input.shape.size()))
      return errorAt(function, "expected an input of rank " + Twine(type.getRank()) + ", but got " +
                                   Twine(input.shape.size()));
    for (auto [axis, size] : llvm::enumerate(input.shape))
      if (llvm::Error error = bindAxis(function, type, axis, size))
        return error;
  }
  for (const CacheUse &use : cachesOf(function))
    if (llvm::Error error = bindCache(function, use))
      return error;
  for (const CacheUse &use : cachesOf(function))
    if (use.kind == CacheUse::Kind::Fill)
      empty(use.cache);
  return llvm::Error::success();
}

/// The positions in a cache: what it holds, and what the call adds.
llvm::Error Machine::bindCache(func::FuncOp function, const CacheUse &use) {
  StringRef cache = use.name(), text = use.rows.getValue();
  int64_t rows = 0;
  if (text.getAsInteger(10, rows))
    if (auto linear = parseLinearSize(text))
      rows = linear->scale * dims.lookup(linear->dim) + linear->offset;
  int64_t held = use.kind == CacheUse::Kind::Fill ? 0 : caches.lengths[cache.str()],
          capacity = module.lookupSymbol<DimOp>(cache).getSize();
  if (use.kind == CacheUse::Kind::Read && held == 0)
    return errorAt(function, "expected positions in cache '" + cache + "', but it is empty");
  if (held + rows > capacity)
    return errorAt(function, "expected at most " + Twine(capacity) + " positions in cache '" +
                                 cache + "', but got " + Twine(held + rows));
  dims[cache] = held + rows;
  return llvm::Error::success();
}

void Machine::empty(FlatSymbolRefAttr cache) {
  for (auto state : module.getOps<StateOp>())
    if (state.getCacheAttr() == cache)
      for (int64_t layer = 0; layer < static_cast<int64_t>(state.getLayers()); ++layer)
        caches.states.erase({state.getSymName().str(), layer});
}

void Machine::finish(func::FuncOp function) {
  for (const CacheUse &use : cachesOf(function))
    caches.lengths[use.name().str()] = dims.lookup(use.name());
}

/// What the state held, and the rows behind it.
Tensor Machine::push(PushOp op, const Scope &scope) {
  const Tensor &rows = scope.tensor(op.getRows());
  auto state = module.lookupSymbol<StateOp>(op.getState());
  int64_t axis = state.axis(), layer = op.getLayer() ? scope[op.getLayer()].scalar : 0;
  Tensor &kept = caches.states[{op.getState().str(), layer}];
  if (kept.shape.empty()) {
    kept.shape = rows.shape;
    kept.shape[axis] = 0;
  }
  SmallVector<int64_t> shape = rows.shape;
  shape[axis] += kept.shape[axis];
  Tensor all = zeros(shape);
  SmallVector<int64_t> to = denseStrides(shape);
  copyStrided(kept.shape, kept.data.data(), denseStrides(kept.shape), all.data.data(), to);
  copyStrided(rows.shape, rows.data.data(), denseStrides(rows.shape),
              all.data.data() + kept.shape[axis] * to[axis], to);
  kept = all;
  return all;
}

/// What another call has filled the state with.
llvm::Expected<Tensor> Machine::kept(KeptOp op, const Scope &scope) {
  int64_t layer = op.getLayer() ? scope[op.getLayer()].scalar : 0;
  auto found = caches.states.find({op.getState().str(), layer});
  if (found == caches.states.end())
    return errorAt(op, "expected a state that has been filled");
  return found->second;
}

llvm::Expected<RuntimeValues> Machine::call(func::FuncOp function,
                                            ArrayRef<RuntimeValue> arguments) {
  Scope scope(dims);
  return runBlock(function.front(), arguments, scope);
}

/// Runs a block; what its terminator takes is the result.
llvm::Expected<RuntimeValues> Machine::runBlock(Block &block, ArrayRef<RuntimeValue> arguments,
                                                Scope &scope) {
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    scope.values[argument] = value;
  for (Operation &op : block.without_terminator()) {
    auto results = run(&op, scope);
    if (!results)
      return results.takeError();
    for (auto [result, value] : llvm::zip(op.getResults(), *results)) {
      report(&op, value);
      scope.values[result] = std::move(value);
    }
  }
  return valuesOf(block.getTerminator()->getOperands(), scope);
}

llvm::Expected<RuntimeValues> Machine::runLoop(scf::ForOp loop, Scope &scope) {
  auto bound = [&](Value value) { return static_cast<int64_t>(scope[value].scalar); };
  int64_t end = bound(loop.getUpperBound()), step = bound(loop.getStep());
  if (step < 1)
    return errorAt(loop, "expected a step of at least 1, but got " + Twine(step));
  RuntimeValues carried = valuesOf(loop.getInitArgs(), scope);
  for (int64_t i = bound(loop.getLowerBound()); i < end; i += step) {
    RuntimeValues arguments = {{nullptr, static_cast<double>(i)}};
    arguments.append(carried);
    layers.push_back(i);
    auto results = runBlock(*loop.getBody(), arguments, scope);
    layers.pop_back();
    if (!results)
      return results.takeError();
    carried = std::move(*results);
  }
  return carried;
}

/// The place of step `step` in a tensor that has the axis of the steps at `axis`, and how the rest
/// of it lies there.
static std::pair<int64_t, SmallVector<int64_t>> stepOf(ArrayRef<int64_t> shape, int64_t axis,
                                                       int64_t step) {
  SmallVector<int64_t> strides = denseStrides(shape);
  int64_t offset = step * strides[axis];
  strides.erase(strides.begin() + axis);
  return {offset, strides};
}

llvm::Expected<RuntimeValues> Machine::runScan(ScanOp scan, Scope &scope) {
  auto axisOf = [&](Value value) { return axisIndex(value.getType(), scan.getAxis()); };
  int64_t steps = scope.tensor(scan.getInputs()[0]).shape[axisOf(scan.getInputs()[0])];
  size_t outputs = scan.outputs().size();
  std::vector<Tensor> stacked(outputs);
  RuntimeValues states = valuesOf(scan.getInitial(), scope);
  for (int64_t i = 0; i < steps; ++i) {
    int64_t step = scan.getReverse() ? steps - 1 - i : i;
    RuntimeValues arguments;
    for (Value input : scan.getInputs()) {
      const Tensor &whole = scope.tensor(input);
      SmallVector<int64_t> shape = whole.shape;
      auto [offset, strides] = stepOf(shape, axisOf(input), step);
      shape.erase(shape.begin() + axisOf(input));
      Tensor part = zeros(shape);
      copyStrided(shape, whole.data.data() + offset, strides, part.data.data(),
                  denseStrides(shape));
      arguments.push_back({std::make_shared<Tensor>(std::move(part))});
    }
    arguments.append(states);
    auto results = runBlock(scan.getBody().front(), arguments, scope);
    if (!results)
      return results.takeError();
    for (size_t o = 0; o < outputs; ++o) {
      const Tensor &part = *(*results)[o].tensor;
      int64_t axis = axisOf(scan.outputs()[o]);
      if (i == 0) {
        SmallVector<int64_t> shape = part.shape;
        shape.insert(shape.begin() + axis, steps);
        stacked[o] = zeros(shape);
      }
      auto [offset, strides] = stepOf(stacked[o].shape, axis, step);
      copyStrided(part.shape, part.data.data(), denseStrides(part.shape),
                  stacked[o].data.data() + offset, strides);
    }
    states.assign(results->begin() + outputs, results->end());
  }
  RuntimeValues values;
  for (Tensor &tensor : stacked)
    values.push_back({std::make_shared<Tensor>(std::move(tensor))});
  values.append(states);
  return values;
}

llvm::Expected<RuntimeValues> Machine::runRoute(RouteOp route, Scope &scope) {
  const Tensor &input = scope.tensor(route.getInput()), &places = scope.tensor(route.getPlaces()),
               &weights = scope.tensor(route.getWeights());
  int64_t width = input.shape.back(), choices = route.choices(), made = 0;
  std::vector<std::vector<double>> given(places.data.size()); // by choice
  for (int64_t expert = 0; expert < static_cast<int64_t>(route.getExperts()); ++expert) {
    Tensor rows;
    SmallVector<size_t> own;
    for (size_t choice = 0; choice < given.size(); ++choice)
      if (places.data[choice] == static_cast<double>(expert)) {
        auto row = input.data.begin() + static_cast<int64_t>(choice) / choices * width;
        rows.data.insert(rows.data.end(), row, row + width);
        own.push_back(choice);
      }
    if (own.empty())
      continue;
    rows.shape = {static_cast<int64_t>(own.size()), width};
    dims[route.rowsName()] = static_cast<int64_t>(own.size());
    layers.push_back(expert);
    RuntimeValues arguments{{nullptr, static_cast<double>(expert)},
                            {std::make_shared<Tensor>(std::move(rows))}};
    auto results = runBlock(route.getBody().front(), arguments, scope);
    layers.pop_back();
    if (!results)
      return results.takeError();
    const Tensor &values = *results->front().tensor;
    made = values.shape.back();
    for (auto [i, choice] : llvm::enumerate(own)) {
      auto row = values.data.begin() + static_cast<int64_t>(i) * made;
      given[choice].assign(row, row + made);
    }
  }
  SmallVector<int64_t> shape(input.shape.begin(), input.shape.end() - 1);
  shape.push_back(made);
  Tensor sum = zeros(shape);
  for (size_t choice = 0; choice < given.size(); ++choice)
    for (size_t column = 0; column < given[choice].size(); ++column)
      sum.data[choice / choices * made + column] += weights.data[choice] * given[choice][column];
  return RuntimeValues{{std::make_shared<Tensor>(std::move(sum))}};
}

llvm::Expected<Tensor> Machine::get(GetOp op, const Scope &scope) {
  auto param = module.lookupSymbol<ParamOp>(op.getParam());
  return parameters.get(param, op.getLayer() ? scope[op.getLayer()].scalar : 0);
}

/// A scalar op outside any region.
static llvm::Expected<RuntimeValues> runScalar(Operation *op, const Scope &scope) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (constant && constant.getType().isIntOrIndexOrFloat())
    return RuntimeValues{{nullptr, constantValue(constant)}};
  if (auto size = dyn_cast<SizeOp>(op))
    return RuntimeValues{{nullptr, static_cast<double>(scope.dims.lookup(size.getDim()))}};
  ScalarFunction function = scalarFunction(op);
  if (!function || !op->getResult(0).getType().isIntOrIndexOrFloat())
    return errorAt(op, "expected an op of the attn stage");
  double operands[3] = {};
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    operands[i] = scope[operand].scalar;
  return RuntimeValues{{nullptr, function(operands[0], operands[1], operands[2])}};
}

/// The one tensor that an op computes, as its results.
static llvm::Expected<RuntimeValues> single(llvm::Expected<Tensor> tensor) {
  if (!tensor)
    return tensor.takeError();
  return RuntimeValues{{std::make_shared<Tensor>(std::move(*tensor))}};
}

/// All the tensors that an op computes.
static llvm::Expected<RuntimeValues> several(llvm::Expected<std::vector<Tensor>> tensors) {
  if (!tensors)
    return tensors.takeError();
  RuntimeValues values;
  for (Tensor &tensor : *tensors)
    values.push_back({std::make_shared<Tensor>(std::move(tensor))});
  return values;
}

llvm::Expected<RuntimeValues> Machine::run(Operation *op, Scope &scope) {
  using Results = llvm::Expected<RuntimeValues>;
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case([&](AttentionOp attention) { return several(evaluate(attention, scope)); })
      .Case<ConcatOp, LinearOp, LookupOp, MapOp, NormOp, PadOp, PickOp, RearrangeOp, ReduceOp,
            RelabelOp, RotaryOp, SliceOp, SoftmaxOp, TableOp, TopkOp, WindowsOp>(
          [&](auto attnOp) { return single(evaluate(attnOp, scope)); })
      .Case([&](GetOp getOp) { return single(get(getOp, scope)); })
      .Case([&](PushOp pushOp) { return single(push(pushOp, scope)); })
      .Case([&](KeptOp keptOp) { return single(kept(keptOp, scope)); })
      .Case([&](scf::ForOp loop) { return runLoop(loop, scope); })
      .Case([&](RouteOp route) { return runRoute(route, scope); })
      .Case([&](ScanOp scan) { return runScan(scan, scope); })
      .Case([&](func::CallOp callOp) -> Results {
        auto callee = module.lookupSymbol<func::FuncOp>(callOp.getCallee());
        return call(callee, valuesOf(callOp.getOperands(), scope));
      })
      .Default([&](Operation *other) { return runScalar(other, scope); });
}

/// Tells the observer of a tensor whose op has a name.
void Machine::report(Operation *op, const RuntimeValue &value) {
  auto name = op->getLoc()->findInstanceOf<NameLoc>();
  if (observe && name && value.tensor)
    observe(name.getName(), layers, *value.tensor);
}

llvm::Expected<std::vector<Tensor>> attn::reference::interpret(ModuleOp module, StringRef entry,
                                                               ArrayRef<Tensor> inputs,
                                                               ParameterLoader load, Caches &caches,
                                                               Observer observe) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function || function.isExternal())
    return errorAt(module, "expected an entry '" + entry + "', but the model has none");
  Machine machine(module, load, caches, observe);
  if (llvm::Error error = machine.bind(function, inputs))
    return std::move(error);
  RuntimeValues arguments;
  for (const Tensor &input : inputs)
    arguments.push_back({std::make_shared<Tensor>(input)});
  auto results = machine.call(function, arguments);
  if (!results)
    return results.takeError();
  machine.finish(function);
  std::vector<Tensor> outputs;
  for (RuntimeValue &result : *results)
    outputs.push_back(*result.tensor);
  return outputs;
}

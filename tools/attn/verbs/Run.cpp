// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn run` and `attn bench`: a spec is compiled in memory, a shared library loaded, an executable
// started. In all three cases the command line of compiled executables (attn_main) does the work.
#include "Verbs.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tools/attn/artifact/Artifact.h"
#include "tools/attn/build/Build.h"
#include "tools/attn/build/LiveShares.h"
#include "tools/attn/running/MapArguments.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <dlfcn.h>

using namespace llvm;

namespace attn::tool {
namespace {

/// The flags of a compiled executable, in the driver's words already.
class Flags {
public:
  Flags(const opt::InputArgList &args, bool isBench) {
    for (const opt::Arg *arg : args.filtered(OPT_programs)) {
      texts.push_back(arg->getOption().getPrefixedName().str());
      append_range(texts, arg->getValues());
    }
    if (isBench)
      texts.push_back("--bench");
    hasWeights = args.hasArg(OPT_weights);
    needsWeights = isBench && !hasWeights;
  }

  void add(StringRef flag, StringRef value) {
    texts.push_back(flag.str());
    texts.push_back(value.str());
  }

  /// Before all others: of several sizes of a dim, the last one counts.
  void addFirst(ArrayRef<std::string> first) {
    texts.insert(texts.begin(), first.begin(), first.end());
  }

  /// Weights that the spec names, for a run that names none.
  void addWeights(const std::string &named) {
    if (!hasWeights && !needsWeights && !named.empty())
      add("--weights", named);
  }

  /// A bench without weights draws some, unless the artifact has its own.
  void completeWeights(bool isEmbedded) {
    if (needsWeights && !isEmbedded)
      add("--weights", "random");
  }

  int call(const attn_abi_model *tables, LiveShares *shares = nullptr) {
    outs().flush();
    std::vector<char *> argv;
    std::string program = "attn run";
    argv.push_back(program.data());
    for (std::string &text : texts)
      argv.push_back(text.data());
    if (observation.isWanted())
      return runObserved(tables, int(argv.size()), argv.data(), observation);
    if (!shares)
      return attn_main(tables, int(argv.size()), argv.data());
    auto share = [](void *context, int32_t kernel, const int64_t *dims, const char *level) {
      return static_cast<LiveShares *>(context)->of(kernel, dims, level);
    };
    return runCounted(tables, int(argv.size()), argv.data(), share, shares);
  }

  ArrayRef<std::string> all() const { return texts; }

  Observation observation;

private:
  std::vector<std::string> texts;
  bool hasWeights = false, needsWeights = false;
};

/// --set of a dynamic dim bounds it in the code, and is the size of random inputs where --set-size
/// gives none.
void addDynamicSizes(Spec &spec, const opt::InputArgList &args, Flags &flags) {
  std::vector<std::string> sizes;
  for (const std::string &set : args.getAllArgValues(OPT_set))
    for (DimOp dim : spec.module().getOps<DimOp>())
      if (dim.getDynamic() && dim.getSymName() == StringRef(set).split('=').first)
        sizes.insert(sizes.end(), {"--set-size", set});
  flags.addFirst(sizes);
}

/// Whether a map shows what is no output.
bool mapsIntermediate(const Observation &observation, mlir::ModuleOp module) {
  StringSet<> outputs;
  for (auto function : module.getOps<mlir::FunctionOpInterface>())
    for (unsigned i = 0; function->hasAttr(attributes::entry) && i < function.getNumResults(); ++i)
      if (auto name = function.getResultAttrOfType<mlir::StringAttr>(i, attributes::name))
        outputs.insert(name);
  if (!module.getOps<UnfoldOp>().empty())
    outputs.insert("tokens");
  return any_of(observation.maps, [&](const Observation::Drawing &drawing) {
    return !outputs.contains(drawing.name);
  });
}

/// The axis of the queries of an attention's weights or scores: of the query's axes that keys have
/// not the first, or the one as long as the keys. Empty where a value is none of these.
std::string queryAxisOf(mlir::ModuleOp module, mlir::Value value) {
  auto result = dyn_cast<mlir::OpResult>(value);
  while (result && !isa<AttentionOp>(result.getOwner())) {
    mlir::Value from;
    if (auto call = dyn_cast<mlir::func::CallOp>(result.getOwner()))
      from = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee())
                 .getBody()
                 .front()
                 .getTerminator()
                 ->getOperand(result.getResultNumber());
    else if (auto heads = dyn_cast<RearrangeOp>(result.getOwner())) // groups that become heads
      from = heads->getOperand(0);
    result = dyn_cast_or_null<mlir::OpResult>(from);
  }
  auto attention = result ? dyn_cast<AttentionOp>(result.getOwner()) : nullptr;
  if (!attention || result.getResultNumber() == 0)
    return "";
  auto keyAxes = attn::axesOf(attention.getKey().getType());
  StringRef keySize = attention.getKeyAxis().split(':').second, found;
  for (mlir::StringAttr axis : attn::axesOf(attention.getQuery().getType()).drop_back()) {
    StringRef name = axis.getValue().split(':').first;
    bool isOwn = !is_contained(keyAxes, axis) && !name.contains('/'); // heads of a group have a `/`
    if (isOwn && (found.empty() || name == keySize))
      found = name;
  }
  return found.str();
}

/// Rows of maps are queries, wherever their axis stands.
void findMapRows(mlir::ModuleOp module, Observation &observation) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    for (unsigned i = 0; function->hasAttr(attributes::entry) && i < function.getNumResults(); ++i)
      for (Observation::Drawing &drawing : observation.maps)
        if (auto name = function.getResultAttrOfType<mlir::StringAttr>(i, attributes::name);
            name && name.getValue() == drawing.name &&
            (observation.entry.empty() || observation.entry == function.getSymName()))
          drawing.rows =
              queryAxisOf(module, function.getBody().front().getTerminator()->getOperand(i));
}

int runSpec(const opt::InputArgList &args, Flags &flags, bool isOnGpu) {
  CompileOptions options;
  Spec spec;
  if (int code = loadForCompiling(args, options, spec))
    return code;
  // Which of them suits is known where the driver is found.
  if (isOnGpu && options.targets.chips.empty())
    for (const GpuTarget &chip : gpuTargets())
      options.targets.chips.push_back(&chip);
  addDynamicSizes(spec, args, flags);
  if (args.hasArg(OPT_map)) {
    if (!mapsIntermediate(flags.observation, spec.module()))
      spec.printWarnings();
    else if (int code = spec.addTaps())
      return code;
  }
  flags.observation.outputs = spec.ownOutputs();
  findMapRows(spec.module(), flags.observation);
  flags.addWeights(spec.weights(args));
  if (args.hasArg(OPT_prompt, OPT_file, OPT_chat, OPT_lines))
    noteTokenizer(args.getLastArgValue(OPT_tokenizer, spec.weights(args)));
  flags.completeWeights(/*isEmbedded=*/false);
  LoadedModel model;
  if (int code = model.compile(spec, args, options))
    return code;
  LiveShares shares(spec, options);
  return flags.call(model.tables(), &shares);
}

int runProgram(StringRef path, const Flags &flags) {
  std::string program = path.contains('/') ? path.str() : "./" + path.str();
  SmallVector<StringRef> command{program};
  for (const std::string &text : flags.all())
    command.push_back(text);
  std::string problem;
  outs().flush();
  int code = sys::ExecuteAndWait(program, command, std::nullopt, {}, 0, 0, &problem);
  if (!problem.empty())
    return fail(Environment, "`" + path + "` could not be run: " + problem);
  return code;
}

int runShared(StringRef path, StringRef symbol, Flags &flags) {
  std::string file = path.contains('/') ? path.str() : "./" + path.str();
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *tables = library ? dlsym(library, symbol.str().c_str()) : nullptr;
  if (!tables) {
    const char *problem = dlerror();
    return fail(Environment, "`" + path + "` could not be loaded: " + (problem ? problem : "?"));
  }
  return flags.call(static_cast<const attn_abi_model *>(tables));
}

int runArtifact(StringRef path, StringRef bytes, const opt::InputArgList &args, Flags &flags) {
  auto artifact = readArtifact(bytes);
  if (!artifact)
    return fail(BadInput,
                "`" + path + "` holds no compiled model: " + toString(artifact.takeError()));
  for (const std::string &set : args.getAllArgValues(OPT_set))
    return fail(Usage, "`--set` is for specs: `" + path + "` is compiled",
                "sizes of random inputs are given by `--set-size " + set + "`");
  for (auto id : {OPT_target, OPT_precision, OPT_O, OPT_config, OPT_tuning})
    if (const opt::Arg *arg = args.getLastArg(id))
      return fail(Usage, "`" + arg->getSpelling() + "` is for specs: `" + path + "` is compiled");
  auto model = parseDescription(*artifact);
  if (!model)
    return fail(BadInput, "`" + path + "`: " + toString(model.takeError()));
  if (!flags.observation.taps.empty())
    return fail(Usage, "`--taps` is for specs: `" + path + "` is compiled, without intermediates");
  if (flags.observation.isWanted() && artifact->form == ArtifactForm::Executable)
    return fail(Usage, "`--map` is for specs and shared libraries: `" + path + "` is a program",
                "draw from the spec, or compile with `--emit=shared`");
  flags.completeWeights(model->getBoolean("embedded").value_or(false));
  switch (artifact->form) {
  case ArtifactForm::Executable:
    return runProgram(path, flags);
  case ArtifactForm::Shared:
    return runShared(path, model->getString("symbol").value_or(""), flags);
  default:
    return fail(BadInput,
                "`" + path + "` is a" + (artifact->form == ArtifactForm::Object ? "n " : " ") +
                    formName(artifact->form) + ", which cannot be run",
                "link it into a program, or compile the spec to an executable");
  }
}

int runVerb(const opt::InputArgList &args, bool isBench) {
  StringRef path = onlyFile(args, "spec or artifact");
  if (path.empty())
    return Usage;
  StringRef device = args.getLastArgValue(OPT_device, "cpu");
  bool isOnGpu = device.consume_front("cuda");
  unsigned number;
  if (isOnGpu ? !device.empty() && (!device.consume_front(":") || device.getAsInteger(10, number))
              : device != "cpu")
    return fail(Usage,
                "`--device " + args.getLastArgValue(OPT_device) + "`: expected cpu or cuda[:N]");
  Flags flags(args, isBench);
  if (int code = readObservation(args, flags.observation))
    return code;
  if (!isArtifact(path))
    return runSpec(args, flags, isOnGpu);
  auto buffer = readInput(path, mostOfMemory());
  if (!buffer)
    return Environment;
  return runArtifact(path, buffer->getBuffer(), args, flags);
}

} // namespace

int runRun(const opt::InputArgList &args) { return runVerb(args, /*isBench=*/false); }
int runBench(const opt::InputArgList &args) { return runVerb(args, /*isBench=*/true); }

} // namespace attn::tool

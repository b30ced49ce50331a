// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options to CompileOptions, MLIR's diagnostics to errors on stderr, and a spec to code in this
// process.
#include "Build.h"
#include "CompileCache.h"
#include "TuningFile.h"
#include "compiler/emit/ModelInfo.h"
#include "dialect/WeightFormat.h"
#include "mlir/IR/Diagnostics.h"
#include "tools/attn/support/Progress.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/Reproducer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

static std::string noLevelOfHost() {
  for (const CpuTarget &level : cpuTargets())
    if (level.architecture->isHost())
      return ("this CPU is below " + level.name + ", the lowest level there is code for").str();
  return "there is no code for CPUs of this architecture";
}

static int addTarget(StringRef name, CompileOptions &options) {
  if (name == "native") {
    const CpuTarget *host = CpuTarget::ofHost();
    if (!host)
      return fail(Environment, noLevelOfHost(),
                  "name the level of the machine the code is for: `--target=" +
                      cpuTargets().front().name + "`");
    name = host->usefulFor(options.precision).name;
  }
  if (options.targets.add(name))
    return Ok;
  return fail(Usage, "`--target " + name + "`: expected native, " + listTargets());
}

static int readPrecision(const opt::InputArgList &args, CompileOptions &options) {
  StringRef name = args.getLastArgValue(OPT_precision, "f32");
  if (auto precision = symbolizePrecision(name)) {
    options.precision = *precision;
    return Ok;
  }
  return fail(Usage, "`--precision " + name + "`: expected " + formatNames(" or "));
}

static int readLowering(const opt::InputArgList &args, CompileOptions &options) {
  StringRef name = args.getLastArgValue(OPT_attention, "auto");
  options.attention = symbolizeAttentionLowering(name);
  if (!options.attention && name != "auto")
    return fail(Usage, "`--attention " + name + "`: expected auto, strip, online or unfused");
  return Ok;
}

static SmallVector<StringRef> chipNames() {
  return map_to_vector(gpuTargets(), [](const GpuTarget &chip) { return chip.name; });
}

/// An artifact holds code for CPUs of one architecture. What people look at is of the targets that
/// it is there for.
static int checkTargets(StringRef targets, StringRef emit, bool onlyLooks,
                        const CompileOptions &options) {
  if (emit == "ptx" && options.targets.chips.empty())
    return fail(Usage, "`--emit=ptx` is the code of GPUs, but the target is " + targets,
                "name one: `--target=" + join(chipNames(), "` or `--target=") + "`");
  if (options.targets.levels.empty() && (emit == "tiled" || emit == "llvm"))
    return fail(Usage, "`--emit=" + emit + "` is a stage of CPUs, but the target is " + targets,
                "the stages of GPUs are memory and kernels; add a CPU: `--target=native," +
                    targets + "`");
  if (options.targets.levels.empty() && (emit == "asm" || emit == "llvm-ir"))
    return fail(Usage, "`--emit=" + emit + "` is the code of CPUs, but the target is " + targets,
                "write `--emit=ptx` for that of a GPU");
  static constexpr StringRef withoutCpu[] = {"ptx", "attn", "fused", "memory", "kernels"};
  if (!onlyLooks && !is_contained(withoutCpu, emit) && options.targets.levels.empty())
    return fail(Usage, "`--target " + targets + "`: a program for a GPU runs on a CPU, too",
                "add one: `--target=native," + targets + "`");
  if (!options.targets.areOfOneArchitecture())
    return fail(Usage,
                "`--target " + targets + "`: " + options.targets.levels.front()->name + " is of " +
                    options.targets.levels.front()->architecture->name + ", " +
                    options.targets.levels.back()->name + " of " +
                    options.targets.levels.back()->architecture->name,
                "compile once for each of them: an artifact is of one architecture");
  return Ok;
}

/// `--target`, `-O` and the like. 0, or an exit code after an error has been printed.
static int readCompileOptions(const opt::InputArgList &args, bool onlyLooks,
                              CompileOptions &options) {
  SmallVector<StringRef> names;
  StringRef targets = args.getLastArgValue(OPT_target, "native");
  targets.split(names, ',');
  for (StringRef name : names)
    if (int code = addTarget(name, options))
      return code;
  StringRef emit = args.getLastArgValue(OPT_emit);
  if (int code = checkTargets(targets, emit, onlyLooks, options))
    return code;
  if (emit == "ptx") // the part of a list that is of GPUs
    options.targets = options.targets.onlyChips();
  if (int code = readLowering(args, options))
    return code;
  StringRef level = args.getLastArgValue(OPT_O, "3");
  auto number = parseNumber(level, 0, 3);
  if (!number)
    return fail(Usage, "`-O" + level + "`: expected -O0 to -O3");
  options.optLevel = unsigned(*number);
  options.debugLines = args.hasArg(OPT_g);
  options.dumpStages = args.getLastArgValue(OPT_dump_stages).str();
  options.kernel = args.getLastArgValue(OPT_kernel).str();
  options.gpuBulkStores = args.hasArg(OPT_gpu_bulk_stores);
  options.gpuOverlap = args.hasArg(OPT_gpu_overlap);
  options.gpuWatchdog = args.hasArg(OPT_gpu_watchdog);
  options.embedWeights = args.hasArg(OPT_embed_weights);
  return takeTuning(args, options);
}

int loadForCompiling(const opt::InputArgList &args, CompileOptions &options, Spec &spec,
                     bool onlyLooks, StringRef path) {
  if (int code = readPrecision(args, options))
    return code;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  spec.context().appendDialectRegistry(registry);
  if (int code = spec.load(args, path))
    return code;
  if (auto said = spec.module()->getAttrOfType<PrecisionAttr>(attributes::precision))
    options.precision = said.getValue();
  return readCompileOptions(args, onlyLooks, options); // levels suit the precision
}

int findAssembler(CompileOptions &options) {
  if (options.targets.chips.empty())
    return Ok;
  auto found = Ptxas::find();
  if (!found)
    return fail(Environment, toString(found.takeError()));
  options.ptxas = std::move(*found);
  return Ok;
}

void DiagnosticPrinter::print(mlir::Diagnostic &diagnostic) {
  bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
  isUsed = true;
  if (isError && !kind)
    kind = errorKindOf(diagnostic);
  // MLIR adds the op to errors about it, which says nothing to a person without the compiler.
  std::vector<std::string> notes;
  if (kind == ErrorKind::Internal)
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      notes.push_back(note.str());
  auto place = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>();
  printFinding(isError, diagnostic.str(), place ? place.getFilename().getValue() : StringRef(),
               place ? place.getLine() : 0, place ? place.getColumn() : 0, notes);
}

DiagnosticPrinter::DiagnosticPrinter(mlir::MLIRContext &context)
    : handler(&context, [this, own = listener()](mlir::Diagnostic &diagnostic) {
        Listener *other = listener(); // of a thread that compiles for this one
        listen(own);
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Remark)
          print(diagnostic);
        listen(other);
        return mlir::success();
      }) {}

int DiagnosticPrinter::failure() const {
  if (kind == ErrorKind::Input)
    return BadInput;
  return kind == ErrorKind::Environment ? int(Environment) : internalError();
}

std::unique_ptr<MemoryBuffer> compileOnce(Spec &spec, const CompileOptions &options, uint64_t bound,
                                          int &code) {
  CompileCache cache(spec.module(), options, bound);
  std::unique_ptr<MemoryBuffer> object = cache.read();
  if (object)
    return object;
  DiagnosticPrinter printer(spec.context());
  object = compileToObject(spec.module(), options, Progress());
  if (!object)
    code = printer.failure();
  else if (!printer.hasPrinted()) // warnings are said at every start
    cache.write(*object);
  return object;
}

LoadedModel::LoadedModel() = default;
LoadedModel::~LoadedModel() = default;

int LoadedModel::compile(Spec &spec, const opt::InputArgList &args, const CompileOptions &options) {
  const CpuArchitecture &architecture = options.targets.architecture();
  if (!architecture.isHost())
    return fail(Environment,
                "code of " + options.targets.levels.front()->name + " is for " + architecture.name +
                    ", and cannot run on this CPU",
                "make a program for a machine that it runs on: `attn compile --target=" +
                    options.targets.levels.front()->name +
                    "`, or pass `attn verify` an emulator: `--emulator=\"qemu-aarch64 -L "
                    "/usr/aarch64-linux-gnu\"`");
  std::optional<uint64_t> bound = args.hasArg(OPT_no_cache) ? 0 : cacheBound();
  if (!bound)
    return Usage;
  int code = Ok;
  std::unique_ptr<MemoryBuffer> object = compileOnce(spec, options, *bound, code);
  if (!object)
    return code;
  return load(std::move(object), modelSymbol(spec.module()));
}

int LoadedModel::load(std::unique_ptr<MemoryBuffer> object, StringRef symbol) {
  initializeTargets();
  auto fails = [](llvm::Error error) {
    return fail(Internal, "the compiled code could not be loaded: " + toString(std::move(error)));
  };
  auto created = orc::LLJITBuilder().create();
  if (!created)
    return fails(created.takeError());
  jit = std::move(*created);
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return fails(process.takeError());
  jit->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error = jit->addObjectFile(std::move(object)))
    return fails(std::move(error));
  auto address = jit->lookup(symbol);
  if (!address)
    return fails(address.takeError());
  modelTables = address->toPtr<const attn_abi_model *>();
  return Ok;
}

} // namespace attn::tool

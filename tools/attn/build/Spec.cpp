// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of a command to a spec's module: reads the file, applies `--set` and `--config`, prints
// what was found.
#include "Spec.h"

#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "compiler/support/InputFile.h"
#include "dialect/AttnDialect.h"
#include "dialect/Unfold.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tools/attn/artifact/Artifact.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/Reproducer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

/// `DIM=N` of `--set`; 0 or a usage error.
static int parseSets(const opt::InputArgList &args, frontend::FrontendOptions &options) {
  for (const std::string &text : args.getAllArgValues(OPT_set)) {
    auto [name, value] = StringRef(text).split('=');
    auto number = parseNumber(value, 1, INT64_MAX);
    if (name.empty() || !number)
      return fail(Usage, "`--set " + text + "`: expected DIM=N with N at least 1");
    options.sets.push_back({name.str(), *number});
  }
  return Ok;
}

/// The dialects of the attn stage (dialect/README.md).
static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  registry.insert<AttnDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect>();
  return registry;
}

// One thread: a spec is small, and the same input shall give the same bytes.
Spec::Spec() : mlirContext(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {}
Spec::~Spec() = default;

std::string Spec::weights(const opt::InputArgList &args) {
  if (args.hasArg(OPT_weights))
    return args.getLastArgValue(OPT_weights).str();
  auto said = module()->getAttrOfType<mlir::StringAttr>(attributes::weights);
  if (!said)
    return "";
  SmallString<256> file(said.getValue());
  if (!sys::path::is_absolute(file)) {
    file = sys::path::parent_path(path());
    sys::path::append(file, said.getValue());
  }
  return file.str().str();
}

int Spec::load(const opt::InputArgList &args, StringRef path) {
  if (path.empty())
    path = onlyFile(args, "spec");
  if (path.empty())
    return Usage;
  if (int code = parseSets(args, options))
    return code;
  options.config = args.getLastArgValue(OPT_config).str();
  if (!options.config.empty() && !readInput(options.config))
    return Environment;
  if (!givenFile(path) && isArtifact(path))
    return fail(Usage, "`" + path + "` is a compiled model, or part of one, and no spec",
                "give the spec that it was compiled from; `attn inspect " + path +
                    "` says what the file holds");
  auto buffer = readInput(path);
  if (!buffer)
    return Environment;
  source = std::make_unique<frontend::SourceFile>(
      path == "-" && !givenFile(path) ? "<stdin>" : path.str(), buffer->getBuffer().str());
  rememberSpec(path, source->text());
  options.taps = args.hasArg(OPT_taps, OPT_each_tap);
  options.leavesOutPrecision = args.hasArg(OPT_precision);
  return build(/*isQuiet=*/args.hasArg(OPT_map));
}

int Spec::loadText(StringRef name, StringRef text) {
  source = std::make_unique<frontend::SourceFile>(name.str(), text.str());
  return build(/*isQuiet=*/false);
}

std::pair<std::string, std::string> Spec::problemOf(StringRef text) {
  source = std::make_unique<frontend::SourceFile>("<import>", text.str());
  diagnostics = std::make_unique<frontend::DiagnosticEngine>(*source);
  built = frontend::buildModel(*source, options, mlirContext, *diagnostics);
  for (const frontend::Diagnostic *diagnostic : diagnostics->sorted())
    if (diagnostic->severity == frontend::Severity::Error) {
      if (!diagnostic->range)
        return {diagnostic->message, ""};
      // A line that goes on is that of the `let` before it.
      unsigned line = source->line(diagnostic->range->begin);
      while (line > 1 && !source->lineText(line).trim().starts_with("let ") &&
             !source->lineText(line).trim().starts_with("return "))
        --line;
      return {diagnostic->message, source->lineText(line).str()};
    }
  return {};
}

int Spec::build(bool isQuiet) {
  diagnostics = std::make_unique<frontend::DiagnosticEngine>(*source);
  built = frontend::buildModel(*source, options, mlirContext, *diagnostics);
  if (!isQuiet || diagnostics->hasErrors())
    printDiagnostics(*diagnostics);
  if (diagnostics->hasErrors())
    return BadInput;
  return built ? Ok : internalError();
}

int Spec::addTaps() {
  options.taps = true;
  return build(/*isQuiet=*/false);
}

void Spec::printWarnings() const { printDiagnostics(*diagnostics); }

std::vector<int32_t> Spec::ownOutputs() {
  mlir::ModuleOp module = *built;
  std::vector<int32_t> counts;
  for (auto function : module.getOps<mlir::FunctionOpInterface>()) {
    if (!function->hasAttr(attributes::entry))
      continue;
    counts.push_back(0);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      counts.back() += !function.getResultAttr(i, attributes::tap);
  }
  for (UnfoldOp unfold : module.getOps<UnfoldOp>()) {
    auto function = [&](StringRef name) {
      return cast<mlir::FunctionOpInterface>(module.lookupSymbol(name));
    };
    auto step = function(unfold.getStep());
    UnfoldWiring wiring(function(unfold.getFirst()), step, unfold.getToken(),
                        unfold.getBegin().has_value());
    counts.push_back(2 + int32_t(count_if(wiring.stacked, [&](int32_t output) {
                       return !step.getResultAttr(unsigned(output), attributes::tap);
                     })));
  }
  return counts;
}

std::vector<StringMap<std::string>> Spec::tapPlaces() {
  mlir::ModuleOp module = *built;
  std::vector<StringMap<std::string>> places;
  for (auto function : module.getOps<mlir::FunctionOpInterface>()) {
    if (!function->hasAttr(attributes::entry))
      continue;
    places.emplace_back();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto place = function.getResultAttrOfType<mlir::StringAttr>(i, attributes::tap))
        places.back()[function.getResultAttrOfType<mlir::StringAttr>(i, attributes::name)] =
            place.str();
  }
  places.resize(places.size() + size_t(range_size(module.getOps<UnfoldOp>())));
  return places;
}

} // namespace attn::tool

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn compile`: a spec to a program, a library, an object, a header, or a stage of the compiler.
#include "Tune.h"
#include "Verbs.h"
#include "attn/text.h"
#include "compiler/emit/Describe.h"
#include "compiler/emit/Link.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "dialect/AttnDialect.h"
#include "io/Gguf.h"
#include "main/Labels.h"
#include "text/Tokenizer.h"
#include "text/jinja/ChatTemplate.h"
#include "tools/attn/build/Build.h"
#include "tools/attn/build/CompileCache.h"
#include "tools/attn/build/Embed.h"
#include "tools/attn/build/LiveShares.h"
#include "tools/attn/checkpoints/Checkpoints.h"
#include "tools/attn/explain/Explanation.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Progress.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/Reproducer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <deque>
#include <fmt/format.h>

using namespace llvm;

namespace attn::tool {
namespace {

/// What `--emit` asks for.
struct Emit {
  enum Kind { Link, Header, Assembly, LlvmIr, Ptx, StageText } kind = Link;
  ArtifactKind artifact = ArtifactKind::Executable;
  Stage stage = Stage::Attn;
  bool hasServer = false; ///< of a program
};

int readEmit(const opt::InputArgList &args, Emit &emit) {
  StringRef name = args.getLastArgValue(OPT_emit, "exe");
  static constexpr std::pair<StringRef, ArtifactKind> artifacts[] = {
      {"exe", ArtifactKind::Executable},
      {"shared", ArtifactKind::Shared},
      {"static", ArtifactKind::Static},
      {"object", ArtifactKind::Object}};
  for (auto [known, kind] : artifacts)
    if (name == known)
      return emit.artifact = kind, Ok;
  if (name == "header")
    return emit.kind = Emit::Header, Ok;
  if (name == "asm")
    return emit.kind = Emit::Assembly, Ok;
  if (name == "llvm-ir")
    return emit.kind = Emit::LlvmIr, Ok;
  if (auto stage = parseStage(name); stage && *stage != Stage::Object) {
    emit.kind = Emit::StageText;
    return emit.stage = *stage, Ok;
  }
  if (name == "ptx")
    return emit.kind = Emit::Ptx, Ok;
  std::vector<std::string> names = valuesOf(OPT_emit);
  SmallVector<StringRef> known(names.begin(), names.end());
  auto nearest = frontend::nearestName(name, known);
  return fail(Usage, "`--emit " + name + "`: expected one of " + join(names, ", "),
              nearest ? "did you mean `" + nearest->str() + "`?" : std::string());
}

/// Text goes to standard output, artifacts to files named after the spec; of a library all goes to
/// whom has called it.
std::string defaultOutput(StringRef spec, const Emit &emit) {
  if (emit.kind != Emit::Link || listener())
    return "-";
  std::string stem = spec == "<stdin>" ? "model" : sys::path::stem(spec).str();
  stem = stem.empty() ? "model" : stem;
  switch (emit.artifact) {
  case ArtifactKind::Executable:
    return stem;
  case ArtifactKind::Shared:
    return "lib" + stem + ".so";
  case ArtifactKind::Static:
    return "lib" + stem + ".a";
  case ArtifactKind::Object:
    return stem + ".o";
  }
  return stem;
}

int emitStage(Spec &spec, const Emit &emit, const CompileOptions &options, StringRef output) {
  DiagnosticPrinter printer(spec.context());
  auto modules = lowerTo(spec.module(), emit.stage, options);
  if (modules.empty())
    return printer.failure();
  std::string text;
  raw_string_ostream stream(text);
  for (Staged &staged : modules) {
    if (&staged != modules.begin())
      stream << "// -----\n";
    if (!staged.target.empty())
      stream << "// " << staged.target << '\n';
    printStage(*staged.module, stream);
  }
  return writeOutput(output, text);
}

/// Bytes of workspace with every dim at its bound, on one thread; none where this CPU cannot run
/// the artifact's code.
std::optional<int64_t> workspaceBytes(std::unique_ptr<MemoryBuffer> object, StringRef symbol,
                                      const CompileOptions &options) {
  LoadedModel model;
  if (!options.targets.levels.front()->runsOnHost() || model.load(std::move(object), symbol))
    return std::nullopt;
  const attn_abi_model &tables = *model.tables();
  SmallVector<int64_t> dims;
  for (int32_t i = 0; i < tables.dimCount; ++i)
    dims.push_back(tables.dims[i].value);
  int64_t most = 0;
  for (int32_t i = 0; i < tables.entryCount; ++i)
    if (!tables.entries[i].unfold)
      most = std::max(most, tables.levels[0].workspaces[i](dims.data(), 1));
  return most;
}

/// The one line that says what was made.
void printSummary(Spec &spec, StringRef output, const CompileOptions &options,
                  std::optional<int64_t> workspace, double seconds) {
  std::string entries;
  for (const EntryInfo &entry : entriesOf(spec.module()))
    entries += (entries.empty() ? "" : ",") + entry.name;
  std::string line = fmt::format("{}: {} for {}, {}, entries {}, {} parameters", output.str(),
                                 modelName(spec.module()).str(), options.targets.names(),
                                 stringifyPrecision(options.precision).str(), entries,
                                 countParameters(spec.module()).elements);
  if (workspace)
    line += ", workspace " + sizeText(uint64_t(*workspace));
  say(line + fmt::format(", {:.1f} s\n", seconds));
}

int emitArtifact(const opt::InputArgList &args, Spec &spec, const Emit &emit,
                 const CompileOptions &options, StringRef output,
                 std::optional<int64_t> &workspace) {
  std::optional<uint64_t> bound = args.hasArg(OPT_cache_code) ? cacheBound() : 0;
  if (!bound)
    return Usage;
  int code = Ok;
  auto object = compileOnce(spec, options, *bound, code);
  if (!object)
    return code;
  std::string symbol = modelSymbol(spec.module());
  if (options.embedWeights)
    if ((code = embedWeights(object, symbol, spec.weights(args))))
      return code;
  workspace = workspaceBytes(MemoryBuffer::getMemBuffer(*object, /*RequiresNullTerminator=*/false),
                             symbol, options);
  LinkOptions linking;
  linking.kind = emit.artifact;
  linking.symbol = symbol;
  linking.takesImage = takesImage(spec.module());
  linking.findsObjects = findsObjects(spec.module());
  linking.takesSound = takesSound(spec.module());
  linking.takesText = takesText(spec.module());
  linking.hasServer = emit.hasServer;
  linking.runtimeDir = defaultRuntimeDir();
  linking.architecture = &options.targets.architecture();
  auto artifact = link(*object, linking);
  if (!artifact)
    return fail(Environment, toString(artifact.takeError()));
  bool isExecutable =
      emit.artifact == ArtifactKind::Executable || emit.artifact == ArtifactKind::Shared;
  return writeOutput(output, (*artifact)->getBuffer(), isExecutable);
}

int emitAssembly(Spec &spec, const CompileOptions &options, StringRef output) {
  DiagnosticPrinter printer(spec.context());
  auto text = compileToAssembly(spec.module(), options);
  return text ? writeOutput(output, text->getBuffer()) : printer.failure();
}

using CompileToText = std::optional<std::string> (*)(mlir::ModuleOp, const CompileOptions &);

int emitText(Spec &spec, CompileToText compile, const CompileOptions &options, StringRef output) {
  DiagnosticPrinter printer(spec.context());
  auto text = compile(spec.module(), options);
  return text ? writeOutput(output, *text) : printer.failure();
}

/// What an output would replace is found before time is spent.
int checkOutput(const opt::InputArgList &args, Spec &spec, const CompileOptions &options,
                const std::string &output) {
  noteInput(spec.weights(args));
  noteInput(args.getLastArgValue(OPT_tokenizer));
  SmallVector<attn::NamedOutput> outputs{{"-o", output.c_str()}};
  std::string tuning = args.getLastArgValue(OPT_tuning).str();
  if (args.hasArg(OPT_tune))
    outputs.push_back({"--tuning", tuning.c_str()});
  std::string depfile = args.getLastArgValue(OPT_depfile).str();
  if (!depfile.empty() && output == "-")
    return fail(Usage, "`--depfile` is of an output in a file, and this one is standard output",
                "name a file by `-o`");
  if (!depfile.empty())
    outputs.push_back({"--depfile", depfile.c_str()});
  std::deque<std::string> stages;
  std::error_code error;
  if (!options.dumpStages.empty())
    for (sys::fs::directory_iterator at(options.dumpStages, error), end; !error && at != end;
         at.increment(error))
      if (StringRef(at->path()).ends_with(".mlir"))
        outputs.push_back({"--dump-stages", stages.emplace_back(at->path()).c_str()});
  return checkOutputs(outputs);
}

/// `--kernel` is of what people look at.
int checkKernel(const opt::InputArgList &args, const Emit &emit) {
  bool isText = emit.kind != Emit::Link && emit.kind != Emit::Header;
  if (!args.hasArg(OPT_kernel) || isText)
    return Ok;
  return fail(Usage, "`--kernel` is for stages, asm, llvm-ir and ptx",
              "say which: `--emit=kernels`, for example");
}

int findKernel(Spec &spec, const CompileOptions &options) {
  if (options.kernel.empty())
    return Ok;
  DiagnosticPrinter printer(spec.context());
  auto names = kernelNames(spec.module(), options);
  if (!names)
    return printer.failure();
  if (is_contained(*names, options.kernel))
    return Ok;
  SmallVector<StringRef> known(names->begin(), names->end());
  return failUnknownKernel("--kernel", options.kernel, known, spec.path());
}

/// Only a program has a command line, and so `--serve`.
int checkServer(const opt::InputArgList &args, Emit &emit) {
  emit.hasServer = args.hasArg(OPT_with_server);
  bool isProgram = emit.kind == Emit::Link && emit.artifact == ArtifactKind::Executable;
  return emit.hasServer && !isProgram ? fail(Usage, "`--with-server` is for programs (--emit=exe)")
                                      : Ok;
}

int checkEmbedding(const opt::InputArgList &args, const Emit &emit) {
  bool hasWeights = args.hasArg(OPT_weights), embeds = args.hasArg(OPT_embed_weights);
  if (embeds && emit.kind != Emit::Link)
    return fail(Usage, "`--embed-weights` is for exe, shared, static and object");
  if (hasWeights && !embeds)
    return fail(Usage, "`--weights` has no effect without `--embed-weights`",
                "artifacts take their weights when they run");
  return Ok;
}

/// The chat template beside a tokenizer goes along with it, where there is one. One that is not
/// read is left out: a program needs none to go on from a text.
int readChatTemplate(const std::string &path, CompileOptions &options) {
  ChatTemplate chat;
  Error error;
  Vector<char> json;
  attn_status status = chat.openPath(path.c_str(), nullptr, error);
  if (status == ATTN_NOT_FOUND)
    return Ok;
  if (status) {
    note(Twine("the chat template is left out: ") + error.text.c_str());
    return Ok;
  }
  if (!chat.appendConfig(json))
    return fail(Environment, "no memory for a chat template");
  options.chatTemplate.assign(json.data(), json.size());
  return Ok;
}

/// The tokenizer that goes along with embedded weights: that of `--tokenizer`, or the one in their
/// folder.
int readTokenizer(const opt::InputArgList &args, Spec &spec, CompileOptions &options) {
  bool isNamed = args.hasArg(OPT_tokenizer), isText = takesText(spec.module());
  std::string path = args.getLastArgValue(OPT_tokenizer, spec.weights(args)).str();
  if (isNamed && !options.embedWeights)
    return fail(Usage, "`--tokenizer` has no effect without `--embed-weights`",
                "a program takes it when it runs");
  if (isNamed && !isText)
    return fail(Usage, "`--tokenizer`: no entry of the model goes on from a text");
  bool isGguf = kindOfCheckpoint(path) == CheckpointKind::Gguf;
  if (!isText || !options.embedWeights || (!isNamed && !isGguf && !sys::fs::is_directory(path)))
    return Ok;
  Error error;
  Vector<char> bytes;
  attn_status packed = isGguf ? readGgufValueBytes(path.c_str(), bytes, error) // without tensors
                              : packTokenizer(path.c_str(), bytes, error);
  if (packed == ATTN_NOT_FOUND && !isNamed)
    return Ok;
  attn_tokenizer *tokenizer = nullptr;
  char *message = nullptr;
  if (attn_status status = attn_tokenizer_open(path.c_str(), &tokenizer, &message)) {
    int code = failWithMessage(status == ATTN_IO ? Environment : BadInput, message ? message : "");
    attn_message_free(message);
    return code;
  }
  attn_tokenizer_destroy(tokenizer);
  noteTokenizer(path);
  if (int code = readChatTemplate(path, options))
    return code;
  if (packed)
    return failWithMessage(packed == ATTN_IO ? Environment : BadInput, error.text.c_str());
  constexpr size_t most = size_t(1) << 27;
  if (bytes.size() > most)
    return fail(BadInput, "`" + Twine(path) + "` is too large for a tokenizer in a program",
                "name a tokenizer.json by `--tokenizer`");
  options.tokenizer.assign(bytes.data(), bytes.size());
  return Ok;
}

/// With `-g`, what became of the spec goes along with its code, so that `attn explain`, `diff` and
/// `explore` take the artifact.
int keepExplanation(const opt::InputArgList &args, Spec &spec, CompileOptions &options) {
  if (!args.hasArg(OPT_g))
    return Ok;
  Remarks remarks;
  if (!remarks.listenTo(spec.context()))
    return internalError();
  if (int code = assumeSizes(spec.module(), args)) // at their bounds
    return code;
  json::Object explanation;
  int code = explainLoaded(spec, options, remarks, explanation);
  spec.module()->removeAttr(attributes::sizes);
  spec.context().setRemarkEngine(nullptr);
  if (code == Ok)
    options.explanation = packExplanation(std::move(explanation));
  return code;
}

} // namespace

/// What the verb makes, as `emit` says. 0, or an exit code after an error.
static int emitOutput(const opt::InputArgList &args, Spec &spec, const Emit &emit,
                      CompileOptions &options, StringRef output,
                      std::chrono::steady_clock::time_point start) {
  std::optional<int64_t> workspace;
  int code = Ok;
  switch (emit.kind) {
  case Emit::Header:
    return writeOutput(output, emitHeader(spec.module()));
  case Emit::StageText:
    return emitStage(spec, emit, options, output);
  case Emit::Assembly:
    code = emitAssembly(spec, options, output);
    break;
  case Emit::LlvmIr:
    return emitText(spec, compileToLlvmIr, options, output);
  case Emit::Ptx:
    return emitText(spec, compileToPtx, options, output);
  case Emit::Link:
    if ((code = findAssembler(options)) || (code = readTokenizer(args, spec, options)) ||
        (code = keepExplanation(args, spec, options)))
      return code;
    code = emitArtifact(args, spec, emit, options, output, workspace);
    break;
  }
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (code == Ok)
    printSummary(spec, output == "-" ? "standard output" : output, options, workspace,
                 taken.count());
  return code;
}

int runCompile(const opt::InputArgList &args) {
  auto start = std::chrono::steady_clock::now();
  Emit emit;
  CompileOptions options;
  if (int code = readEmit(args, emit))
    return code;
  if (int code = checkEmbedding(args, emit))
    return code;
  if (int code = checkServer(args, emit))
    return code;
  if (int code = checkKernel(args, emit))
    return code;
  if (int code = checkTuning(args))
    return code;
  Spec spec;
  if (int code = loadForCompiling(args, options, spec))
    return code;
  if (args.hasArg(OPT_embed_weights) && spec.weights(args).empty())
    return fail(Usage, "`--embed-weights` needs the weights", "pass `--weights FILE`");
  if (args.hasArg(OPT_embed_weights)) {
    Labels labels;
    labels.readFolder(spec.weights(args).c_str());
    options.labels.assign(labels.all().data(), labels.all().size());
    options.labelFunction = labels.function();
  }
  std::string output = args.getLastArgValue(OPT_o, defaultOutput(spec.path(), emit)).str();
  if (int code = checkOutput(args, spec, options, output))
    return code;
  if (args.hasArg(OPT_print_pipeline))
    return writeOutput(args.getLastArgValue(OPT_o, "-"), printPipelines(spec.module(), options));
  if (int code = findKernel(spec, options))
    return code;
  if (args.hasArg(OPT_tune))
    if (int code = tuneKernels(spec, args, options))
      return code;
  if (!options.dumpStages.empty())
    if (auto error = sys::fs::create_directories(options.dumpStages))
      return fail(Environment, "cannot make `" + options.dumpStages + "`: " + error.message());
  if (int code = emitOutput(args, spec, emit, options, output, start))
    return code;
  return args.hasArg(OPT_depfile) ? writeDepfile(args.getLastArgValue(OPT_depfile), output) : Ok;
}

} // namespace attn::tool

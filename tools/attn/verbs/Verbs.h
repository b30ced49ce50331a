// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verbs of `attn`, one file each. Each returns the exit code.
#pragma once

#include "compiler/Compiler.h"
#include "tools/attn/build/Spec.h"
#include "tools/attn/checkpoints/Checkpoints.h"
#include "tools/attn/explain/Remarks.h"
#include "tools/attn/support/Options.h"

namespace attn::tool {

/// A function for each verb, of its name.
int runCheck(const llvm::opt::InputArgList &args);
int runCompile(const llvm::opt::InputArgList &args);
int runRun(const llvm::opt::InputArgList &args);
int runServe(const llvm::opt::InputArgList &args);
int runBench(const llvm::opt::InputArgList &args);
int runVerify(const llvm::opt::InputArgList &args);
int runExplain(const llvm::opt::InputArgList &args);
int runExplore(const llvm::opt::InputArgList &args);
int runDiff(const llvm::opt::InputArgList &args);
int runInspect(const llvm::opt::InputArgList &args);
int runImport(const llvm::opt::InputArgList &args);
int runTokenize(const llvm::opt::InputArgList &args);
int runCache(const llvm::opt::InputArgList &args);
int runFmt(const llvm::opt::InputArgList &args);

/// What `attn explain --json` prints of a spec, with the options in `args` but not their file; with
/// `withCode` all kernels of CPUs have their machine code. 0, or an exit code after an error.
int explainSpec(const llvm::opt::InputArgList &args, llvm::StringRef path, bool withCode,
                llvm::json::Object &explanation);

/// The same of a spec that is loaded, whose context `remarks` listen to.
int explainLoaded(Spec &spec, const CompileOptions &options, const Remarks &remarks,
                  llvm::json::Object &explanation);

/// The explanation of a spec, as explainSpec gives it; what an artifact keeps of its own; or what
/// `attn explain --json` wrote to a file. 0, or an exit code after an error.
int explainFile(const llvm::opt::InputArgList &args, const std::string &path, bool withCode,
                llvm::json::Object &explanation);
/// Whether a file is an artifact or JSON, and no spec.
bool isExplained(llvm::StringRef path);
/// Usage error where all files are explained already, and an option says how to. 0 otherwise.
int checkHaveEffect(const llvm::opt::InputArgList &args);

/// Usage error for a file that is for `count` targets where `wanted` are compared.
int failTargetCount(const std::string &file, size_t count, size_t wanted);

/// Usage error for a kernel, given by `option`, that is none of those `known` of a spec.
int failUnknownKernel(llvm::StringRef option, llvm::StringRef name,
                      llvm::ArrayRef<llvm::StringRef> known, llvm::StringRef spec);

/// Prints what of the settings of a folder's tokenizer is left out, or is not done.
void noteTokenizer(llvm::StringRef path);

/// Whether an imported spec is well formed and fits the tensors of its folder; 0, or an exit code
/// after what does not fit has been printed. `precisions` are what findPrecisions finds.
int checkImported(llvm::StringRef text, llvm::StringRef folder,
                  std::vector<TensorsOfPrecision> &precisions);

/// The same of the spec of an ONNX file, whose message names the node of the graph that does not
/// fit, `nodeOf` the line of the spec; `hasTensors`: the weights are looked for in the file, too.
int checkImported(llvm::StringRef text, llvm::function_ref<std::string(llvm::StringRef)> nodeOf,
                  llvm::StringRef path, bool hasTensors);

} // namespace attn::tool

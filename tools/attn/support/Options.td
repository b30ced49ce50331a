// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of `attn`: verbs and which options each of them takes.
include "llvm/Option/OptParser.td"

def check : SubCommand<"check", "Report all errors of a spec, and of a checkpoint against it",
                       "attn check SPEC [--weights FILE [--values]]">;
def compile : SubCommand<"compile", "Compile a spec to a program, a library, an object, a header or a stage",
                         "attn compile SPEC [--emit KIND] [-o FILE] [--tune] [--tuning FILE] [options]">;
def run : SubCommand<"run", "Run an entry of a spec or of an artifact",
                     "attn run SPEC|ARTIFACT [--entry NAME] [--weights FILE] --input NAME=FILE ...">;
def serve : SubCommand<"serve", "Answer requests over HTTP to the entries of specs and shared libraries",
                       "attn serve SPEC|LIBRARY... [--listen HOST:PORT] [--weights FILE] [--workers N]">;
def bench : SubCommand<"bench", "Time an entry of a spec or of an artifact",
                       "attn bench SPEC|ARTIFACT [--entry NAME] [--threads N] [--repeat N] [--profile] [--trace FILE] [--json]">;
def verify : SubCommand<"verify", "Compare compiled code with the reference interpreter, or with given outputs",
                        "attn verify SPEC [--weights FILE] [--input NAME=FILE ...] [--against FILE]">;
def explain : SubCommand<"explain", "Say what was fused, which lowering was chosen for each op, and why",
                         "attn explain SPEC|ARTIFACT [--target LEVEL] [--set-size DIM=N] [--run FILE] [--json]">;
def explore : SubCommand<"explore", "Write a page for a browser: the attention, kernels, model and memory, or what differs between two",
                         "attn explore SPEC|ARTIFACT [SPEC|ARTIFACT] [--target LEVELS] [--set-size DIM=N] [--run FILE ...] [--export FORM] [-o FILE]">;
def diff : SubCommand<"diff", "Say what became otherwise of the kernels of two specs, or of one for two targets",
                      "attn diff SPEC|ARTIFACT|JSON [SPEC|ARTIFACT|JSON] [--target LEVELS] [--set-size DIM=N] [--json]">;
def inspect : SubCommand<"inspect", "Show what an artifact or a checkpoint holds, without running it",
                         "attn inspect ARTIFACT|CHECKPOINT [--json|--spdx]">;
def import : SubCommand<"import", "Write a spec from a checkpoint (a folder, a GGUF file, one of llama2.c) or from an ONNX file",
                        "attn import FOLDER|FILE [-o SPEC] [--allow KEY] [--set NAME=N]">;
def tokenize : SubCommand<"tokenize", "Show the tokens of a text, or the text of tokens",
                          "attn tokenize TOKENIZER TEXT|--file FILE [--ids] [--no-special] [--decode]">;
def cache : SubCommand<"cache", "Say how much is kept of compiled specs, and where; or remove it",
                       "attn cache [--clear]">;
def fmt : SubCommand<"fmt", "Format specs in place; `-` formats standard input to standard output",
                     "attn fmt SPEC... [--check]">;

defvar specVerbs = [check, compile, run, serve, bench, verify, explain, explore, diff];
defvar setVerbs = [check, compile, run, serve, bench, verify, explain, explore, diff, import];
defvar codeVerbs = [compile, run, serve, bench, verify, explain, explore, diff];

// What the help of a verb puts under one heading. Options.cpp has the order. Those of `programs` are passed on by `attn run` and `attn bench`.
def programs : OptionGroup<"programs">;
def options_Code : OptionGroup<"Code">, HelpText<"The code">;
def options_Spec : OptionGroup<"Spec">, HelpText<"The spec">;
def options_Maps : OptionGroup<"Maps">, HelpText<"Intermediates and maps">;
def options_Comparison : OptionGroup<"Comparison">, HelpText<"Checks and comparisons">;
def options_Tool : OptionGroup<"Tool">, HelpText<"The tool">;
// These have HelpHidden, too: `--help-all` alone prints them.
def options_Developers : OptionGroup<"Developers">, HelpText<"For developers of Attn">;

class Switch<string name, list<SubCommand> verbs, string help, OptionGroup group>
    : Flag<["--"], name, verbs>, HelpText<help>, Group<group>;
// --name VALUE and --name=VALUE. `values`: all that it takes, with commas between, for shells that complete it.
multiclass Valued<string name, list<SubCommand> verbs, string help, string meta, OptionGroup group, string values = ""> {
  def NAME : Separate<["--"], name, verbs>, HelpText<help>, MetaVarName<meta>, Group<group>, Values<values>;
  def NAME#_eq : Joined<["--"], name#"=", verbs>, Alias<!cast<Option>(NAME)>;
}

def g : Flag<["-"], "g", [compile]>, HelpText<"Say in objects, libraries, programs and PTX which lines of the spec their code is of, for perf, gdb, addr2line and NVIDIA's tools; and keep what `attn explain` says">, Group<options_Code>;

// The options of compiled programs that verbs take: the build writes them from runtime/main/ProgramOptions.def.
include "ProgramOptions.td"

def rest : Option<["--"], "", KIND_REMAINING_ARGS>;
def help : Flag<["--"], "help">, HelpText<"Print this">, Group<options_Tool>;
def help_h : Flag<["-"], "h">, Alias<help>;
def help_all : Flag<["--"], "help-all">, HelpText<"Print this, with the options for developers of Attn">, Group<options_Tool>;
def version : Flag<["--"], "version">, HelpText<"Print the version">, Group<options_Tool>;
defm diagnostics : Valued<"diagnostics", [check, compile, run, serve, bench, verify, explain, explore, diff, cache, fmt],
                          "How errors are written: text (default) or json, one object a line", "FORM", options_Tool, "text,json">;

def o : JoinedOrSeparate<["-"], "o", [compile, import, explore]>, HelpText<"Where to write; `-` is standard output">,
        MetaVarName<"FILE">, Group<options_Code>;
defm emit : Valued<"emit", [compile], "exe (default), shared, static, object, header, asm, llvm-ir, ptx, or a stage: attn, fused, "
                   "memory, tiled, kernels, llvm", "KIND", options_Code,
                   "exe,shared,static,object,header,asm,llvm-ir,ptx,attn,fused,memory,tiled,kernels,llvm">;
defm target : Valued<"target", codeVerbs,
                     "native (default), {targets}; several joined by commas, chosen from at load", "LEVELS", options_Code, "native,{targets}">;
defm precision : Valued<"precision", codeVerbs, "What weights of linears are stored in, instead of what the spec says: {precisions} (f32 without it). CPUs have f32 for tf32. "
                        "GPUs multiply in bf16 and f16, too; formats of integers are multiplied in int8", "TYPE", options_Code, "{precisions}">;
def O : Joined<["-"], "O", codeVerbs>, HelpText<"Optimise: 0 to 3 (default 3)">, MetaVarName<"N">, Group<options_Code>;
def with_server : Switch<"with-server", [compile], "Let a program answer requests over HTTP, by its --serve (0.3 MB)", options_Code>;
def embed_weights : Switch<"embed-weights", [compile], "Put the packed weights into the artifact, and the tokenizer where it takes text", options_Code>;
defm depfile : Valued<"depfile", [compile], "Write which files the output depends on, as make and ninja read it", "FILE", options_Code>;
defm tuning : Valued<"tuning", codeVerbs, "Take the measured tiles in FILE where there are some for this CPU", "FILE", options_Code>;
def tune : Switch<"tune", [compile], "Measure kernels with other tiles, and write the fastest to the file of --tuning", options_Code>;
defm turns : Valued<"turns", [compile], "Of each comparison of --tune; without it as many as take a few seconds", "N", options_Code>;

def cache_code : Switch<"cache", [compile], "Take the code of the same spec from a compilation before, and keep it for the next, as `attn run` does (`attn cache`)", options_Code>;
def no_cache : Switch<"no-cache", [run, serve, bench, verify], "Compile the spec even if its code was kept, and keep none (`attn cache`)", options_Code>;

defm set : Valued<"set", setVerbs, "Another size for a dim, or bound of a `dyn`, any number of times", "DIM=N", options_Spec>;
defm allow : Valued<"allow", [import], "A key of a folder's config that is not read, and is passed by; several joined by commas, any number of times", "KEY", options_Spec>;
defm config : Valued<"config", specVerbs, "The config.json that `config.` in the spec refers to", "FILE", options_Spec>;
def check_only : Switch<"check", [fmt], "Change nothing; exit 3 where a file is not formatted", options_Spec>;

defm taps : Valued<"taps", [run], "Write every named intermediate (`let`) of the run, as .safetensors", "FILE", options_Maps>;
defm map : Valued<"map", [run], "Draw an output or a `let`, queries by keys, as .png; `-` prints a table", "NAME=FILE", options_Maps>;
defm map_rows : Valued<"map-rows", [run], "The axis of a map's queries; without it the last but one", "AXIS", options_Maps>;
defm map_average : Valued<"map-average", [run], "Average a map over an axis, heads for example", "AXIS", options_Maps>;
defm map_labels : Valued<"map-labels", [run],
                         "FILE, or AXIS=FILE: a label a line, for keys (and queries, where as many) or another axis", "FILE", options_Maps>;
defm map_row : Valued<"map-row", [run], "Draw one query of a map", "N", options_Maps>;
defm map_grid : Valued<"map-grid", [run], "Draw the last Y * X keys of that query (0) as the patches of a picture", "YxX", options_Maps>;
def map_image : Switch<"map-image", [run], "Draw the pictures that went in before their maps", options_Maps>;

defm kernel_code : Valued<"code", [explain], "Show the loops of one kernel, and its machine code with the lines of the spec that it comes from", "KERNEL", options_Comparison>;
defm line : Valued<"line", [explain], "Of --code what one line of the spec became, `27` or `vit.attn:27`", "LINE", options_Comparison>;
defm export_form : Valued<"export", [explore], "Write the model's graphs for another tool instead of a page: model-explorer, the JSON of Google's Model Explorer", "FORM", options_Comparison, "model-explorer">;
defm run_file : Valued<"run", [explain, explore], "Show what each kernel took in a run that `attn bench --profile --json` wrote to FILE (`-`: standard input), the slowest first, at its sizes; of explore, and the differences that `attn verify --json` did, any number of times", "FILE", options_Comparison>;
def memory : Switch<"memory", [explain], "Show the plan of the workspace instead: buffers, their bytes, when they are needed, and what for", options_Comparison>;
def parameters : Switch<"parameters", [explain], "Show instead where the spec binds each tensor, and how and where it is stored", options_Comparison>;
def spdx : Switch<"spdx", [inspect], "Print what an artifact was linked from, or `attn` itself where none is named: a bill of materials (SPDX 2.3, JSON)", options_Comparison>;
def values : Switch<"values", [check], "Show of each tensor of --weights its least, greatest and mean value, NaN and outliers", options_Comparison>;
defm against : Valued<"against", [verify], "Compare with this .npy file instead of the reference interpreter", "FILE", options_Comparison>;
def each_tap : Switch<"each-tap", [verify], "Compare every named intermediate (`let`), too", options_Comparison>;
defm emulator : Valued<"emulator", [verify], "Run code of another architecture by this command: `qemu-aarch64 -L /usr/aarch64-linux-gnu`", "COMMAND", options_Comparison>;

def ids : Switch<"ids", [tokenize], "Print the ids alone, on one line", options_Text>;
def no_special : Switch<"no-special", [tokenize], "Put no special tokens around the text; of --decode, leave them out", options_Text>;
def decode : Switch<"decode", [tokenize], "The text is ids, with spaces or commas between them: print what they stand for", options_Text>;

defm listen : Valued<"listen", [serve], "Where to listen (default 127.0.0.1:8080); port 0: any that is free", "HOST:PORT", options_Serving>;

def clear : Switch<"clear", [cache], "Remove all compiled specs and packed weights", options_Tool>;

let Flags = [HelpHidden] in {
defm attention : Valued<"attention", codeVerbs, "auto (default), strip, online or unfused, where an attention can be lowered so", "LOWERING", options_Developers, "auto,strip,online,unfused">;
defm dump_stages : Valued<"dump-stages", [compile], "Write the module of every stage to DIR", "DIR", options_Developers>;
def gpu_bulk_stores : Switch<"gpu-bulk-stores", codeVerbs, "Linears of sm_90a store through shared memory, by the copy engine; not measured yet", options_Developers>;
def gpu_overlap : Switch<"gpu-overlap", codeVerbs, "Kernels of sm_90a start while those before them end (programmatic dependent launch); not measured yet", options_Developers>;
def gpu_watchdog : Switch<"gpu-watchdog", codeVerbs, "Kernels of sm_90a whose waits do not end stop after 2 s, and the error says where", options_Developers>;
defm kernel : Valued<"kernel", [compile], "Of a stage, asm, llvm-ir or ptx, print one kernel alone, named as `attn explain` and `attn bench --profile` do", "NAME", options_Developers>;
def print_pipeline : Switch<"print-pipeline", [compile], "Print the passes of every stage, as `attn-opt --pass-pipeline` takes them, and do no more", options_Developers>;
}

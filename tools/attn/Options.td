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
def bench : SubCommand<"bench", "Time an entry of a spec or of an artifact",
                       "attn bench SPEC|ARTIFACT [--entry NAME] [--threads N] [--repeat N] [--profile] [--trace FILE] [--json]">;
def verify : SubCommand<"verify", "Compare compiled code with the reference interpreter, or with given outputs",
                        "attn verify SPEC [--weights FILE] [--input NAME=FILE ...] [--against FILE]">;
def explain : SubCommand<"explain", "Say what was fused, which lowering was chosen for each op, and why",
                         "attn explain SPEC [--target LEVEL] [--set-size DIM=N]">;
def inspect : SubCommand<"inspect", "Show what an artifact or a checkpoint holds, without running it",
                         "attn inspect ARTIFACT|CHECKPOINT [--json]">;
def import : SubCommand<"import", "Write a spec from a checkpoint (a folder, a GGUF file, one of llama2.c) or from an ONNX file",
                        "attn import FOLDER|FILE [-o SPEC] [--allow KEY] [--set NAME=N]">;
def tokenize : SubCommand<"tokenize", "Show the tokens of a text, or the text of tokens",
                          "attn tokenize TOKENIZER TEXT|--file FILE [--ids] [--no-special] [--decode]">;
def fmt : SubCommand<"fmt", "Format specs in place; `-` formats standard input to standard output",
                     "attn fmt SPEC... [--check]">;

defvar specVerbs = [check, compile, run, bench, verify, explain];
defvar setVerbs = [check, compile, run, bench, verify, explain, import];
defvar codeVerbs = [compile, run, bench, verify, explain];
defvar runVerbs = [run, bench];
defvar randomVerbs = [run, bench, verify, explain];

// --name VALUE and --name=VALUE.
multiclass Valued<string name, list<SubCommand> verbs, string help, string meta> {
  def NAME : Separate<["--"], name, verbs>, HelpText<help>, MetaVarName<meta>;
  def NAME#_eq : Joined<["--"], name#"=", verbs>, Alias<!cast<Option>(NAME)>;
}

// What says how an entry generates: a run takes it as it is. The rows are those of attn/settings.def.
def generation : OptionGroup<"generation">;
multiclass Setting<string name, string help, string meta> {
  def NAME : Separate<["--"], name, [run]>, HelpText<help>, MetaVarName<meta>, Group<generation>;
  def NAME#_eq : Joined<["--"], name#"=", [run]>, Alias<!cast<Option>(NAME)>;
}

def help : Flag<["--"], "help">, HelpText<"Print this">;
def help_h : Flag<["-"], "h">, Alias<help>;
def rest : Option<["--"], "", KIND_REMAINING_ARGS>;
def version : Flag<["--"], "version">, HelpText<"Print the version">;
defm diagnostics : Valued<"diagnostics", [check, compile, run, bench, verify, explain, fmt],
                          "How errors are written: text (default) or json, one object a line", "FORM">;

defm weights : Valued<"weights", [check, compile, run, bench, verify],
                      "A .safetensors file, an index of shards, a folder, or a GGUF file; random[:SEED] where something is run", "FILE">;
defm set : Valued<"set", setVerbs, "Another size for a dim, or bound of a `dyn`, any number of times", "DIM=N">;
defm allow : Valued<"allow", [import], "A key of a folder's config that is not read, and is passed by; several joined by commas, any number of times", "KEY">;
defm config : Valued<"config", specVerbs, "The config.json that `config.` in the spec refers to", "FILE">;
defm target : Valued<"target", codeVerbs,
                     "native (default), {targets}; several joined by commas, chosen from at load", "LEVELS">;
defm precision : Valued<"precision", codeVerbs, "Of linears, instead of what the spec says: f32 (default), tf32 (f32 on CPUs), bf16 or f16 (weights; on GPUs what they are multiplied with, too), int8, int8_groups or int4 (weights; what they are multiplied with in int8)", "TYPE">;
def O : Joined<["-"], "O", codeVerbs>, HelpText<"Optimise: 0 to 3 (default 3)">, MetaVarName<"N">;

def o : JoinedOrSeparate<["-"], "o", [compile, import]>, HelpText<"Where to write; `-` is standard output">,
        MetaVarName<"FILE">;
defm emit : Valued<"emit", [compile], "exe (default), shared, static, object, header, asm, llvm-ir, ptx, or a stage: attn, fused, "
                   "memory, tiled, kernels, llvm", "KIND">;
def embed_weights : Flag<["--"], "embed-weights", [compile]>, HelpText<"Put the packed weights into the artifact">;
defm dump_stages : Valued<"dump-stages", [compile], "Write the module of every stage to DIR", "DIR">;
defm kernel : Valued<"kernel", [compile], "Of a stage, asm, llvm-ir or ptx, print one kernel alone, named as `attn explain` and `attn bench --profile` do", "NAME">;
def print_pipeline : Flag<["--"], "print-pipeline", [compile]>,
                     HelpText<"Print the passes of every stage, as `attn-opt --pass-pipeline` takes them, and do no more">;
defm attention : Valued<"attention", codeVerbs, "For developers: auto (default), strip, online or unfused, where an attention can be lowered so", "LOWERING">;
def gpu_bulk_stores : Flag<["--"], "gpu-bulk-stores", codeVerbs>,
                      HelpText<"For developers: linears of sm_90a store through shared memory, by the copy engine; not measured yet">;
def gpu_overlap : Flag<["--"], "gpu-overlap", codeVerbs>,
                  HelpText<"For developers: kernels of sm_90a start while those before them end (programmatic dependent launch); not measured yet">;
def gpu_watchdog : Flag<["--"], "gpu-watchdog", codeVerbs>,
                   HelpText<"For developers: kernels of sm_90a whose waits do not end stop after 2 s, and the error says where">;
defm tuning : Valued<"tuning", codeVerbs, "Take the measured tiles in FILE where there are some for this CPU", "FILE">;
def tune : Flag<["--"], "tune", [compile]>, HelpText<"Measure kernels with other tiles, and write the fastest to the file of --tuning">;
defm turns : Valued<"turns", [compile], "Of each comparison of --tune; without it as many as take a few seconds", "N">;

defm entry : Valued<"entry", [run, bench, verify], "Which entry, where there are several", "NAME">;
defm input : Valued<"input", [run, bench, verify],
                    "A .npy or .safetensors file, a picture or sound where one is taken, or random[:SEED]", "NAME=FILE">;
defm set_size : Valued<"set-size", randomVerbs, "A size that is known only when running: of random inputs, or that `explain` counts with; any number of times", "DIM=N">;
defm pad : Valued<"pad", [run, bench],
                  "Cut or fill the rows of an input to the length that the entry takes: ids=0", "NAME=NUMBER">;
defm output : Valued<"output", [run], "Write an output as .npy; without it outputs are printed short", "NAME=FILE">;
defm draw : Valued<"draw", [run], "Of a detector: the picture with the objects found drawn into it, as .png; once for each picture", "FILE">;
defm taps : Valued<"taps", [run], "Write every named intermediate (`let`) of the run, as .safetensors", "FILE">;
def values : Flag<["--"], "values", [check]>, HelpText<"Show of each tensor of --weights its least, greatest and mean value, NaN and outliers">;
def each_tap : Flag<["--"], "each-tap", [verify]>, HelpText<"Compare every named intermediate (`let`), too">;
defm map : Valued<"map", [run], "Draw an output or a `let`, queries by keys, as .png; `-` prints a table", "NAME=FILE">;
defm map_rows : Valued<"map-rows", [run], "The axis of a map's queries; without it the last but one", "AXIS">;
defm map_average : Valued<"map-average", [run], "Average a map over an axis, heads for example", "AXIS">;
defm map_labels : Valued<"map-labels", [run],
                         "FILE, or AXIS=FILE: a label a line, for keys (and queries, where as many) or another axis", "FILE">;
defm map_row : Valued<"map-row", [run], "Draw one query of a map", "N">;
defm map_grid : Valued<"map-grid", [run], "Draw the last Y * X keys of that query (0) as the patches of a picture", "YxX">;
def map_image : Flag<["--"], "map-image", [run]>, HelpText<"Draw the pictures that went in before their maps">;
defm prompt : Valued<"prompt", [run], "Go on from a text", "TEXT">;
defm tokenizer : Valued<"tokenizer", [compile, run], "Of a prompt: tokenizer.json, vocab.txt, .model or .gguf; without it what lies in the folder of --weights. --embed-weights puts it into a program, too", "FILE">;
defm max_tokens : Setting<"max-tokens", "Of an entry that generates: tokens at most", "N">;
defm stop_tokens : Setting<"stop-tokens", "A row of tokens ends before one of these, or `none`", "N,N">;
defm stop : Valued<"stop", [run], "The text ends before this one, any number of times", "TEXT">;
def embed : Flag<["--"], "embed", [run]>, HelpText<"Of a sentence encoder: the vector of --prompt, or of each line of --file, which may be .jsonl">;
def skip_errors : Flag<["--"], "skip-errors", [run]>, HelpText<"Of --embed and --pairs: a row of NaN and a note for each line that is an error">;
def resume : Flag<["--"], "resume", [run]>, HelpText<"Of --embed: go on behind the rows that a run before has left in FILE.part">;
def pairs : Flag<["--"], "pairs", [run]>, HelpText<"Of a sentence encoder: how near each line of --file is to the one behind it, from -1 to 1">;
def chat : Flag<["--"], "chat", [run]>, HelpText<"Answer each line of standard input, by the chat template beside the tokenizer">;
defm system : Valued<"system", [run], "Of a chat: what comes before the first turn", "TEXT">;
defm language : Valued<"language", [run], "Of a sound that is written down: its language, as in the token <|de|>", "XX">;
defm task : Valued<"task", [run], "Of such a sound: transcribe (default) or translate, into English", "TASK">;
def timestamps : Flag<["--"], "timestamps", [run]>, HelpText<"Of such a sound: print when each segment is spoken">;
def truncate : Flag<["--"], "truncate", [run]>, HelpText<"Leave out the beginning of a prompt that the context has no room for">;
defm temperature : Setting<"temperature", "Draw tokens from the softmax of scores divided by this; 0: take the largest", "X">;
defm top_k : Setting<"top-k", "Of the N largest alone", "N">;
defm top_p : Setting<"top-p", "Of the fewest that sum up to X", "X">;
defm beams : Setting<"beams", "Of an entry that generates: the likeliest of N hypotheses of each row", "N">;
defm length_penalty : Setting<"length-penalty", "Of beams: what is likelier when longer is divided by its length to the power X", "X">;
defm min_p : Setting<"min-p", "Of those of at least X times the largest", "X">;
defm repetition : Setting<"repetition", "Divide the scores of tokens that the prompt has, or that were chosen before", "X">;
defm no_repeat : Setting<"no-repeat", "No N tokens of a row come in the same order again", "N">;
defm min_tokens : Setting<"min-tokens", "A row ends behind N tokens at the earliest", "N">;
defm early_stopping : Setting<"early-stopping", "Of beams: when a row is done that has as many finished hypotheses: false (the best one that goes on cannot be better), true (at once) or never (not even when it is longest)", "WORD">;
defm threads : Valued<"threads", [compile, run, bench, verify], "Default: ATTN_NUM_THREADS, else the CPUs this process may use", "N">;
defm device : Valued<"device", runVerbs, "cpu (default) or cuda[:N]; a spec is compiled for both", "DEVICE">;
defm cached : Valued<"cached", [bench], "Positions in the entry's cache before each run (default 0)", "N">;
defm repeat : Valued<"repeat", [bench], "How often to run", "N">;
def profile : Flag<["--"], "profile", [bench]>, HelpText<"The time of each kernel of the fastest run">;
defm trace : Valued<"trace", [bench], "Write that run as a Chrome trace", "FILE">;
def json : Flag<["--"], "json", [bench, inspect]>, HelpText<"Print JSON">;

defm against : Valued<"against", [verify], "Compare with this .npy file instead of the reference interpreter", "FILE">;
defm emulator : Valued<"emulator", [verify], "Run code of another architecture by this command: `qemu-aarch64 -L /usr/aarch64-linux-gnu`", "COMMAND">;
defm seed : Valued<"seed", [run, verify], "Of drawn tokens; of random weights, inputs, and cuts of what goes to a cache (default 0)", "N">;

defm file : Valued<"file", [run, tokenize], "Take the text from FILE; `-` is standard input", "FILE">;
def ids : Flag<["--"], "ids", [tokenize]>, HelpText<"Print the ids alone, on one line">;
def no_special : Flag<["--"], "no-special", [tokenize]>,
                 HelpText<"Put no special tokens around the text; of --decode, leave them out">;
def decode : Flag<["--"], "decode", [tokenize]>, HelpText<"The text is ids, with spaces or commas between them: print what they stand for">;

def check_only : Flag<["--"], "check", [fmt]>, HelpText<"Change nothing; exit 3 where a file is not formatted">;

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C API of compiled models: create a model from the tables in its artifact, bind weights,
 * create a context, run entries on buffers of the caller, destroy.
 *
 *   attn_model *model = NULL;
 *   attn_context *context = NULL;
 *   char *message = NULL;
 *   if (attn_model_create(vit_model(), NULL, &model, &message) ||
 *       attn_model_bind_file(model, "vit.safetensors", &message) ||
 *       attn_context_create(model, 0, &context, &message) ||
 *       attn_run(context, 0, inputs, outputs, &message))
 *     fprintf(stderr, "%s\n", message);
 *
 * Ownership. Handles are freed by their destroy function, messages by attn_message_free. Strings
 * and infos of getters live as long as their model. Buffers of inputs and outputs stay the caller's
 * and are not looked at after a call has returned, but for runs on a stream of the caller's.
 *
 * Threads. A model may be shared by threads once its weights are bound: getters,
 * attn_context_create and attn_run need no lock. attn_model_bind_* must not run beside any other
 * call on the same model. A context serves one thread at a time; it owns a team of worker threads
 * that sleep between runs. There is no global state. In a child of fork, a context on the CPU
 * starts its threads anew with its first run; one on a GPU cannot be run there (R0101).
 *
 * Errors. Functions return an attn_status; ATTN_OK is 0. On failure, where `message` is not NULL,
 * *message becomes a text that says what was found, what was expected and the mend, as
 * "error[W0105]: ..." without a newline at the end (NULL where even that memory was lacking); on
 * success it becomes NULL. Results are written on success only. Nothing prints, exits or throws.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ATTN_API __attribute__((visibility("default")))
#else
#define ATTN_API
#endif

/* Element types of inputs, outputs and parameters. ATTN_BOOL is one byte, 0 or 1. */
enum {
  ATTN_F32 = 0,
  ATTN_F16 = 1,
  ATTN_BF16 = 2,
  ATTN_I32 = 3,
  ATTN_I64 = 4,
  ATTN_U8 = 5,
  ATTN_BOOL = 6,
  ATTN_F64 = 7
};

/* The most axes a tensor has. */
#define ATTN_MAX_RANK 8

/* What became of a call. */
typedef enum {
  ATTN_OK = 0,
  ATTN_INVALID_ARGUMENT =
      1,                /* a null or misaligned pointer, an option or index that does not exist */
  ATTN_BAD_WEIGHTS = 2, /* a malformed checkpoint, or one that does not fit the model */
  ATTN_BAD_INPUT = 3,   /* a tensor's type, rank or size is not what the entry takes */
  ATTN_IO = 4,          /* a file could not be read or written */
  ATTN_UNSUPPORTED_CPU = 5, /* this CPU is below the lowest level the artifact has code for */
  ATTN_OUT_OF_MEMORY = 6,   /* memory or threads */
  ATTN_NOT_FOUND = 7,       /* no entry or tensor of that name */
  ATTN_NO_DEVICE = 8,       /* no GPU, no driver for it, no code for it, or it failed */
  ATTN_INTERNAL = 9         /* a mistake of the compiler's (attn/compiler.h) */
} attn_status;

/* The tables of a compiled model (attn/abi.h); a typed header declares the function that returns
 * them. */
typedef struct attn_abi_model attn_abi_model;
typedef struct attn_model attn_model;
typedef struct attn_context attn_context;

/* Kinds of devices, numbered as in DLPack. ATTN_DEVICE_CUDA_HOST is pinned memory of the host. */
enum { ATTN_DEVICE_CPU = 1, ATTN_DEVICE_CUDA = 2, ATTN_DEVICE_CUDA_HOST = 3 };

/* A tensor in memory of the caller. Inputs are only read. Outputs may overlap neither inputs nor
 * each other.
 *
 * What follows `shape` may be left 0: a dense, row-major tensor of the host. The fields are those
 * of DLTensor: a context on the CPU takes tensors of the host, one on a GPU takes these, which are
 * copied, and tensors in that GPU's memory. Of those, dense ones at a multiple of 16 bytes are used
 * in place, others are copied to dense memory on the GPU and back. `data` (DLTensor's data plus
 * byte_offset) is aligned to the element size. */
typedef struct {
  void *data;
  int32_t dtype;
  int32_t rank;
  int64_t shape[ATTN_MAX_RANK];
  /* NULL, or the distances of neighbours in elements, `rank` of them; any where an axis has one
   * element. Of the host: those of a dense, row-major tensor. In a GPU's memory: any for an input,
   * negative ones and 0 included; for an output such that no two elements are in one place, each
   * axis stepping over all of the shorter ones. Others are an error. */
  const int64_t *strides;
  int32_t deviceKind;  /* 0: as ATTN_DEVICE_CPU */
  int32_t deviceIndex; /* of ATTN_DEVICE_CUDA */
} attn_tensor;

/* A tensor of a checkpoint held in memory. */
typedef struct {
  const char *name;
  attn_tensor tensor;
} attn_named_tensor;

/* An input or output of an entry. Axis `a` has between 1 and `shape[a]` elements where
 * isDynamic[a], else exactly `shape[a]`. Names are as in the spec ("B", "Y*P"). Where `below` is
 * not 0, the elements are indices from 0 to below - 1. */
typedef struct {
  const char *name;
  int32_t dtype;
  int32_t rank;
  int64_t shape[ATTN_MAX_RANK];
  int32_t isDynamic[ATTN_MAX_RANK];
  const char *axisNames[ATTN_MAX_RANK];
  int64_t below;
  int32_t isState; /* an input that may be left out, or an output that is kept */
} attn_tensor_info;

/* A dim of the spec: its size, or the largest size where it is dynamic. */
typedef struct {
  const char *name;
  int64_t size;
  int32_t isDynamic;
} attn_dim_info;

/* A cache of the spec: the positions it holds at most. */
typedef struct {
  const char *name;
  int64_t capacity;
} attn_cache_info;

/* A parameter: `name` holds "{n}" for each of `layers` layers (0: none), of stacks in stacks
 * "{n/K}" and "{n%K}"; "{n@0-2,4}" for each of these layers, `layers` of them. */
typedef struct {
  const char *name;
  int32_t dtype;
  int32_t layers;
  int32_t rank;
  int64_t shape[ATTN_MAX_RANK];
  const char *location; /* in the spec: "vit.attn:16:5" */
} attn_parameter_info;

/* Frees a message; NULL is allowed. */
ATTN_API void attn_message_free(char *message);

/* A short name of a status ("bad weights"), a constant. Never NULL. */
ATTN_API const char *attn_status_name(attn_status status);

/* Bytes per element, 0 for what is no dtype. */
ATTN_API size_t attn_dtype_size(int32_t dtype);

/* "f32", "bf16", ...; "?" for what is no dtype. */
ATTN_API const char *attn_dtype_name(int32_t dtype);

/* Makes a model from an artifact's tables, which must stay mapped as long as the model lives. Picks
 * the highest CPU level that both the artifact and this CPU have. `options` (may be NULL) adds to
 * the environment's ATTN_FLAGS and wins over it, settings with commas between them:
 *   level=NAME: this level or none ("x86-64-v3");
 *   threads=N: threads that pack the weights, and of contexts that do not say;
 *   pin: each thread of a context runs on a CPU of its own, of those that the thread that makes the
 *     context may use; the calling one until a run ends. Not where there are fewer CPUs than
 * threads. Embedded weights are bound at once, in place. ATTN_INVALID_ARGUMENT: null pointers,
 * tables of another ABI version, options nobody knows; ATTN_UNSUPPORTED_CPU; ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_model_create(const attn_abi_model *tables, const char *options,
                                       attn_model **model, char **message);

/* Gives up the caller's hold on a model. Memory goes when its last context is destroyed too. NULL
 * is allowed. */
ATTN_API void attn_model_destroy(attn_model *model);

/* What a model is: the spec's model name, the compiler's version, the precision of its linears
 * (a name that `--precision` of `attn` takes), the CPU level in use, a JSON description (the
 * text of ELF section .attn.description). */
ATTN_API const char *attn_model_name(const attn_model *model);
ATTN_API const char *attn_model_version(const attn_model *model);
ATTN_API const char *attn_model_precision(const attn_model *model);
ATTN_API const char *attn_model_level(const attn_model *model);
ATTN_API const char *attn_model_description(const attn_model *model);

/* Files that an artifact may have besides its weights: that of a tokenizer, for
 * attn_tokenizer_open_memory; a chat template, for attn_chat_template_open_memory; the names of
 * classes, each with a NUL behind it. */
enum { ATTN_FILE_TOKENIZER = 0, ATTN_FILE_CHAT_TEMPLATE = 1, ATTN_FILE_LABELS = 2 };

/* The bytes of such a file, which belong to the artifact, and their number; NULL and 0 where it has
 * none. */
ATTN_API const char *attn_model_embedded_file(const attn_model *model, int32_t file, size_t *size);

/* Counts; indices below run from 0. A getter whose index does not exist returns 0, -1 or NULL and
 * leaves *info alone; attn_*_info getters return ATTN_NOT_FOUND. */
ATTN_API int32_t attn_model_dim_count(const attn_model *model);
ATTN_API int32_t attn_model_parameter_count(const attn_model *model);
ATTN_API int32_t attn_model_entry_count(const attn_model *model);
ATTN_API const char *attn_model_entry_name(const attn_model *model, int32_t entry);
/* The index of an entry, or -1. */
ATTN_API int32_t attn_model_find_entry(const attn_model *model, const char *name);
ATTN_API int32_t attn_model_input_count(const attn_model *model, int32_t entry);
ATTN_API int32_t attn_model_output_count(const attn_model *model, int32_t entry);
ATTN_API attn_status attn_model_dim(const attn_model *model, int32_t dim, attn_dim_info *info);
ATTN_API attn_status attn_model_parameter(const attn_model *model, int32_t parameter,
                                          attn_parameter_info *info);
ATTN_API attn_status attn_model_input(const attn_model *model, int32_t entry, int32_t input,
                                      attn_tensor_info *info);
ATTN_API attn_status attn_model_output(const attn_model *model, int32_t entry, int32_t output,
                                       attn_tensor_info *info);
/* The dim that counts a batch: element b of all outputs depends on element b of the inputs alone,
 * so that a run may compute the inputs of several callers, and gives the bits that each of them
 * would have got. Every input and output has one axis of it. -1 where the compiler has found none,
 * and of entries that generate. */
ATTN_API int32_t attn_model_batch_dim(const attn_model *model, int32_t entry);
ATTN_API int32_t attn_model_cache_count(const attn_model *model);
ATTN_API attn_status attn_model_cache(const attn_model *model, int32_t cache,
                                      attn_cache_info *info);
/* Bytes of the packed weights, and whether weights are bound. */
ATTN_API int64_t attn_model_packed_bytes(const attn_model *model);
ATTN_API int32_t attn_model_has_weights(const attn_model *model);

/* Binds weights from a file: a .safetensors file, an index of shards (*.safetensors.index.json), a
 * directory that holds either, a GGUF file, or one of llama2.c. Tensors and parameters are checked
 * against each other, all differences are listed (W0105); floats of any width, the blocks of GGUF
 * and quantized tensors (GPTQ, AWQ, fp8, MXFP4) become what the model keeps. The weights are copied
 * into one packed block; files are not needed afterwards. One that is truncated or changed while
 * this runs is an error (ATTN_IO). Where the environment's ATTN_CACHE_DIR names a folder, the block
 * is kept there and read instead of packed the next time. Weights bound before are replaced on
 * success. ATTN_IO, ATTN_BAD_WEIGHTS, ATTN_OUT_OF_MEMORY, ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_model_bind_file(attn_model *model, const char *path, char **message);

/* The same from the bytes of a .safetensors or GGUF file, or from tensors one by one. Memory stays
 * the caller's and is not needed afterwards. */
ATTN_API attn_status attn_model_bind_memory(attn_model *model, const void *data, size_t size,
                                            char **message);
ATTN_API attn_status attn_model_bind_tensors(attn_model *model, const attn_named_tensor *tensors,
                                             size_t count, char **message);

/* Binds random weights: for a seed the same on every machine. The values are those of
 * attn_random_tensor. */
ATTN_API attn_status attn_model_bind_random(attn_model *model, uint64_t seed, char **message);

/* Fills `values` (f32, row-major) as attn_model_bind_random fills the tensor of this name and
 * shape: for rank 2 and more N(0, 1 / fan-in), fan-in being the product of all axes but the first;
 * for rank 0 and 1, 1 + 0.1 N(0, 1) where the name ends in "weight", else 0.1 N(0, 1). Depends on
 * nothing but the arguments. ATTN_INVALID_ARGUMENT for null pointers, a rank or a shape that cannot
 * be. */
ATTN_API attn_status attn_random_tensor(uint64_t seed, const char *name, int32_t rank,
                                        const int64_t *shape, float *values);

/* The default number of threads: ATTN_NUM_THREADS where set, else the CPUs in this thread's
 * affinity mask, or as many as the process's control groups allow it the time of, rounded up, where
 * that is less. At least 1, at most 1024. */
ATTN_API int32_t attn_default_threads(void);

/* Makes a context with a team of `threads` threads, the caller of attn_run being one of them (0:
 * the model's default). Holds the model. ATTN_INVALID_ARGUMENT (null pointers, fewer than 0 or more
 * than 1024 threads), ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_context_create(attn_model *model, int32_t threads, attn_context **context,
                                         char **message);

/* Where the context's entries run from now on: on the CPU, as at first, or on GPU number `index`,
 * for which the artifact has to have code. The driver is looked for here; weights are copied with
 * the first run after they were bound, one copy for all contexts of the model on that GPU, which
 * goes with the last of them. Caches keep what they hold, which is copied; between the CPU
 * and a GPU not those of f32 where the precision is bf16 or f16: they have to be empty. Runs are on
 * a stream of the context's, those under way are waited for. After an error the context runs where
 * it did. ATTN_INVALID_ARGUMENT (a null pointer, another kind, a cache that cannot go along),
 * ATTN_NO_DEVICE, ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_context_set_device(attn_context *context, int32_t kind, int32_t index,
                                             char **message);

/* Runs go to `stream`, a CUstream (cudaStream_t) of the device's primary context, behind what is on
 * it; NULL: to the context's own stream again. The legacy default stream, whose handle is 0 in
 * CUDA, is CU_STREAM_LEGACY here: (void *)1. On the caller's stream attn_run does not wait where
 * all inputs and outputs are in the GPU's memory: outputs are there for what comes behind on the
 * stream, a kernel's failure shows in a later call, and indices are not looked at, which the caller
 * must know to be inside of their tables. On the context's own stream, buffers on the GPU must have
 * been written before the call. Waits for runs that are under way.
 *
 * While the stream is captured, runs with all buffers on the GPU become part of the caller's graph,
 * if the same run has been done before: what it allocates and copies is there then. The graph is
 * good until a larger run needs a larger workspace. Caches count a captured run as one; a replay
 * adds nothing to them.
 *
 * ATTN_INVALID_ARGUMENT (a null pointer, a context on the CPU), ATTN_NO_DEVICE. */
ATTN_API attn_status attn_context_set_stream(attn_context *context, void *stream, char **message);

/* Destroys a context; not while it runs. NULL is allowed. */
ATTN_API void attn_context_destroy(attn_context *context);

/* What code the context runs: "x86-64-v4"; on a GPU "sm_90a, machine code" or "sm_90a, PTX", which
 * the driver has compiled. The text belongs to the context, until it moves to another device. */
ATTN_API const char *attn_context_code(const attn_context *context);

/* The number of threads of a context. */
ATTN_API int32_t attn_context_threads(const attn_context *context);

/* The positions that a cache of the context holds; -1 for a cache that does not exist. Each context
 * has caches of its own, empty at first. Entries that take a cache add positions to it, replace
 * what it holds, or read it; what they add is part of it once attn_run has succeeded. Memory is
 * taken when the first are added. */
ATTN_API int64_t attn_cache_length(const attn_context *context, int32_t cache);

/* Drops all positions but the first `length`: 0 begins anew, the length before a call undoes it.
 * States have no positions and stay as they are; attn/caches.h copies and saves both.
 * ATTN_INVALID_ARGUMENT: null pointers, a cache that does not exist, more than it holds. */
ATTN_API attn_status attn_cache_truncate(attn_context *context, int32_t cache, int64_t length,
                                         char **message);

/* Begins anew: all caches of the context are empty, and all states are zeros.
 * ATTN_INVALID_ARGUMENT: a null pointer. */
ATTN_API attn_status attn_context_reset(attn_context *context, char **message);

/* Fills in dtype, rank and shape of all outputs for these inputs, whose data may be NULL; `data` of
 * the outputs stays as it is. Errors as attn_run. */
ATTN_API attn_status attn_infer_shapes(const attn_context *context, int32_t entry,
                                       const attn_tensor *inputs, attn_tensor *outputs,
                                       char **message);

/* *bytes becomes the workspace that attn_run needs for these inputs (data may be NULL) in this
 * context. Errors as attn_run. */
ATTN_API attn_status attn_workspace_bytes(const attn_context *context, int32_t entry,
                                          const attn_tensor *inputs, int64_t *bytes,
                                          char **message);

/* Runs an entry: inputs and outputs in the entry's order, outputs with their full shape. The
 * workspace belongs to the context and grows when dims do; nothing is allocated once dims as large
 * have been run. NaN and infinity in an input are accepted and follow IEEE arithmetic through the
 * model. An input that is a state may be left out, which its null `data` says, whatever the other
 * fields: it is what the context's last call with an output of that name has given, zeros before
 * the first. Such an output is copied on success; in a GPU's memory it may lie where runs do not go
 * to the caller's stream. Indices and room in the cache are checked before anything is computed:
 * outputs and caches are as they were after an error, but for what a GPU that failed has written to
 * outputs. Whatever the error, nothing that the run began is under way when it returns: buffers may
 * be freed. The same inputs give the same bits with any number of threads. ATTN_BAD_INPUT: a wrong
 * dtype, rank or size, an index outside of its table, a size of 0 or above its bound, sizes that
 * contradict each other, a cache that would hold more than its capacity; ATTN_INVALID_ARGUMENT: a
 * null or misaligned pointer, strides that are not allowed, memory of another device, an output
 * that overlaps another buffer, an entry that does not exist; ATTN_BAD_WEIGHTS: no weights are
 * bound; ATTN_NO_DEVICE: the GPU failed; ATTN_OUT_OF_MEMORY. On a GPU an entry's second run with
 * the same kernels makes a CUDA graph, which the following ones update, where dims or addresses are
 * others, and launch. */
ATTN_API attn_status attn_run(attn_context *context, int32_t entry, const attn_tensor *inputs,
                              const attn_tensor *outputs, char **message);

/* How a token is chosen by the scores for all of them. With `temperature` 0 it is the first of the
 * largest score. Else it is drawn: scores are divided by the temperature, and of their softmax the
 * largest are kept whose terms -p log p sum up to at most `topH` of the entropy of the 100 largest,
 * and the largest one at least (0: all; Potraghloo et al. 2025), of these the `topK` largest (0:
 * all), of these the fewest that sum up to `topP` (1: all), those of at least `minP` times the
 * largest (0: all), the fewest nearest to the entropy that sum up to `typicalP` (0 and 1: all;
 * Meister et al. 2022), those of at least `epsilon`, and those of at least the smaller of `eta` and
 * sqrt(eta) * exp(-entropy) (0: all; Hewitt et al. 2022). Each of these counts what the ones before
 * have kept as all. Before, the scores of tokens of the same row are divided by `repetition` where
 * they are positive, and multiplied where they are negative (1: left alone; Keskar et al. 2019).
 * The same seed draws the same tokens, with any number of threads. */
typedef struct {
  float temperature, topP, minP, repetition;
  int32_t topK;
  uint64_t seed;
  float typicalP, epsilon, eta, topH;
} attn_sampling;

/* Chooses a token: its number in `scores`, of which there are `count`, and which the penalty for
 * repetition changes. `previous` are the `previousCount` tokens chosen before (may be NULL); their
 * number is also that of the draw. NaN is
 * the least of scores. -1: a null pointer, no scores, or all of them NaN or -infinity. */
ATTN_API int64_t attn_sample(const attn_sampling *sampling, float *scores, int64_t count,
                             const int32_t *previous, int64_t previousCount);

/* What attn_generate needs besides inputs and outputs. Start from attn_generation_default. */
typedef struct {
  attn_sampling sampling;
  int64_t limit; /* tokens, at most as many as the entry's */
  int32_t stopCount;
  const int64_t *stops; /* a row ends before one of these tokens */
  /* Called after each step, where it is not NULL, with the token of each row, -1 for a row that has
   * ended; returns whether to go on. With several beams no token is settled before the end: it is
   * not called. */
  int32_t (*onTokens)(void *user, const int32_t *tokens, int64_t rows);
  void *user;
  /* Above 1: the likeliest of so many hypotheses of each row, the sum of the logarithms of whose
   * probabilities is divided by (number of tokens, the stop included) ^ lengthPenalty. The step
   * runs on `beams` times as many rows. Of the sampling, `repetition` alone counts then. */
  int32_t beams;
  float lengthPenalty;
  int32_t suppressCount, forceCount;
  const int64_t *suppressed; /* tokens that are never chosen */
  const int64_t *forced;     /* the first tokens, whatever their scores */
  /* Whether caches and states stay: the inputs follow what they hold, of which attn_cache_truncate
   * drops what is to be computed again. Else both are emptied before. Not with beams. */
  int32_t continues;
  int32_t suppressFirstCount;
  const int64_t *suppressedFirst; /* tokens that are not chosen first, behind the forced ones */
  /* Called before each choice, where it is not NULL, with the scores [rows, vocabulary], after the
   * tokens of the choice before were handed to onTokens. It sets those of tokens that must not
   * follow to -INFINITY. Not with beams. */
  void (*onScores)(void *user, float *scores, int64_t rows, int64_t vocabulary);
  /* Rules over the tokens of a row: those of the prompt, or the one that the steps begin with, and
   * those that were chosen. The source is what an entry reads that begins with a token.
   * `sourceRepetition` multiplies positive scores of the source's tokens, and divides negative
   * ones. No `noRepeat` tokens of a row come in the same order again, and no `sourceNoRepeat` of
   * the source. A row has no stop among its first `minTokens` that are chosen, and as long as it
   * has fewer than `minLength` in all; it ends with `maxLength` in all (0: where the limit says).
   * Behind `decayFrom` chosen tokens, |score| * (decay ^ (how many behind) - 1) is added to the
   * scores of stops. */
  float sourceRepetition;
  int32_t noRepeat, sourceNoRepeat, minTokens, minLength, maxLength, decayFrom;
  float decay;
  /* Of beams: whether the probabilities of what the rules leave sum up to 1 again; and when a row
   * is done for which as many hypotheses are finished as there are beams. 0: when the best one that
   * goes on, divided by its length now, is no better than the worst of them; 1: at once; 2: as 0,
   * but where longer ones score more it is divided by the longest length. */
  int32_t renormalizes, earlyStopping;
  int32_t forceLastCount, badWordsCount;
  const int64_t *forcedLast; /* one of these is the last token, where the limit ends a row */
  const int64_t *badWords;   /* sequences that do not come, each with its length in front */
  /* The tokens that the caches hold before, where a call `continues`; may be NULL. */
  int64_t heldCount;
  const int32_t *held;
} attn_generation;

/* The numbers that the spec gives an entry that generates. ATTN_INVALID_ARGUMENT: a null pointer,
 * or an entry that generates nothing. */
ATTN_API attn_status attn_generation_default(const attn_model *model, int32_t entry,
                                             attn_generation *generation, char **message);

/* Runs an entry that generates as attn_run does, with other numbers than those of the spec. Outputs
 * have the entry's full shape whatever the limit. Errors as attn_run, before anything is computed
 * where the tokens do not fit into the cache; ATTN_INVALID_ARGUMENT also for numbers outside of
 * their ranges and scores that are all NaN. */
ATTN_API attn_status attn_generate(attn_context *context, int32_t entry,
                                   const attn_generation *generation, const attn_tensor *inputs,
                                   const attn_tensor *outputs, char **message);

/* A kernel: one op of the spec, or several fused into one. `flop` counts operations of numbers, two
 * for a multiply-add, for all pairs of an attention whether masked or not; `bytes` the operands and
 * results once each. */
typedef struct {
  const char *function; /* the kernel's own: "Block.mlp.fc1" */
  const char *title;    /* "linear 768 -> 3072" */
  const char *location; /* in the spec: "vit.attn:16:5" */
  double flop, bytes;   /* of one call, for the sizes of the last run */
} attn_kernel_info;

/* A call of a kernel on one thread, in nanoseconds since the run began: it began, had done its
 * share, and all threads had done theirs. The next one begins at `end`. On a GPU, which counts as
 * thread 0, since its first kernel began, and `done` is `end`. */
typedef struct {
  int32_t kernel;
  int64_t begin, done, end;
} attn_kernel_event;

/* From now on, runs of this context record when each kernel began and ended (about 0.1 us a kernel
 * and thread), or no longer do. ATTN_INVALID_ARGUMENT for a null pointer, ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_profile_enable(attn_context *context, int32_t isEnabled, char **message);

/* The number of calls that a thread recorded in the last run, and, where `events` is not NULL, the
 * calls in order; they belong to the context and last until its next run. 0 for a thread that does
 * not exist. */
ATTN_API int64_t attn_profile_events(const attn_context *context, int32_t thread,
                                     const attn_kernel_event **events);

/* Fills in what kernel `kernel` of an event is. ATTN_NOT_FOUND where there is none or nothing was
 * recorded yet, ATTN_INVALID_ARGUMENT for null pointers. */
ATTN_API attn_status attn_profile_kernel(const attn_context *context, int32_t kernel,
                                         attn_kernel_info *info);

/* Only in artifacts that take an image. Decodes a PNG or JPEG file and writes it as one element of
 * the batch of input `input`: f32 [C, height, width] at `values`, turned upright as its EXIF data
 * say, resized and normalised as the spec says. ATTN_NOT_FOUND where that input takes no image, or
 * patches of one (attn_picture_read), ATTN_IO, ATTN_BAD_INPUT (not a PNG or JPEG file, damaged,
 * above 100 million pixels), ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_image_load(const attn_model *model, int32_t entry, int32_t input,
                                     const char *path, float *values, char **message);

/* Only in artifacts that take a sound. Decodes a WAV or FLAC file, mixes its channels, resamples it
 * and writes what it begins with as one element of the batch of input `input`: a log-mel
 * spectrogram, f32 [bands, frames] at `values`, as the spec says, silence after the
 * end. ATTN_NOT_FOUND where that input takes no sound, ATTN_INVALID_ARGUMENT for null pointers,
 * ATTN_IO, ATTN_BAD_INPUT (not a WAV or FLAC file, damaged, not of 1 to 384 kHz),
 * ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_sound_load(const attn_model *model, int32_t entry, int32_t input,
                                     const char *path, float *values, char **message);

/* The same of a whole recording of up to 4 hours, of rates above 48 kHz up to 691,200,000 samples:
 * *values becomes f32 [bands, count + frames], freed by free(), in which silence of the input's
 * frames follows the sound's own `count`. Of samples, as many as the input has are read, where that
 * is known when compiling. */
ATTN_API attn_status attn_sound_read(const attn_model *model, int32_t entry, int32_t input,
                                     const char *path, float **values, int64_t *count,
                                     char **message);

#ifdef __cplusplus
}
#endif

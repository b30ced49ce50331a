/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The tables that compiled code carries, and how the runtime calls it. The compiler writes them as
 * constants (compiler/emit/ModelTables.cpp); the runtime only reads them. Users see attn.h; this
 * header is for the two sides of the seam. All pointers are to constants of the artifact, valid
 * while it is mapped. Sizes are in elements unless "bytes" is said.
 */
#pragma once

#include "attn.h" /* dtypes */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many settings of generation there are: the rows of settings.def. */
enum {
  ATTN_SETTING_COUNT = 0
#define ATTN_NUMBER(name, field, least, most, otherwise, expected) +1
#define ATTN_WHOLE(name, field, least, most, otherwise, expected) +1
#define ATTN_CHOICE(name, field, words, otherwise, expected) +1
#define ATTN_TOKENS(name, field, count) +1
#define ATTN_SEQUENCES(name, field, count) +1
#include "settings.def"
};

/* The layout of these tables. An artifact holds a value for each setting, so one more row of
 * settings.def is another version, too. */
#define ATTN_ABI_VERSION (29 * 100 + ATTN_SETTING_COUNT)

/* A named size. `value` is the size of a static dim and the upper bound of a dynamic one (lower
 * bound 1). */
typedef struct {
  const char *name;
  int64_t value;
  int32_t isDynamic;
} attn_abi_dim;

/* One axis of a tensor: size = scale * dims[dim] + offset, or just `offset` where dim is -1. */
typedef struct {
  const char *name; /* as in the spec: "B", "Y*P" */
  int32_t dim;
  int64_t scale, offset;
} attn_abi_axis;

/* What random integers are drawn from so that a run says something: `least` to `most`, both
 * included (numbers, or sizes as of axes), and now and then one of `notable`. */
typedef struct {
  attn_abi_axis least, most;
  int32_t notableCount;
  const int64_t *notable;
} attn_abi_random;

/* An input or output of an entry, or a tensor of a cache: the type and size of its elements. */
typedef struct {
  const char *name;
  int32_t dtype;
  int32_t rank;
  const attn_abi_axis *axes;
  int64_t below; /* of an input of indices: all are from 0 to below - 1; 0: any value will do */
  const attn_abi_random *random; /* of inputs; null: as `below` says, without it 0 and 1 */
  int32_t state; /* of attn_abi_model.stateCount, counted from 1: an input that is this state, an
                  * output that sets it; 0: neither */
} attn_abi_tensor;

/* A tensor of the checkpoint. `pattern` holds "{n}" where it belongs to a stack of `layers` layers
 * (0: no stack), or where stacks of K layers are in it "{n/K}" and "{n%K}", the quotient and the
 * rest of the layer's number, "{n/K%M}" in the middle of three; "*F+C" behind them multiplies by F
 * and adds C. Where not all layers have it, the numbers of those that do stand behind "n",
 * "{n@0-2,4-6,8}", and `layers` is how many they are. Axes of size 1 at the front of the
 * checkpoint's tensor may be missing in `shape`.
 */
typedef struct {
  const char *pattern;
  int32_t dtype;
  int32_t layers;
  int32_t rank;
  int32_t isOptional;
  const int64_t *shape;
  const char *location; /* "vit.attn:16:5" */
} attn_abi_parameter;

/* Columns [column, column + count) of a packed slot. Element (k, n), n counted inside the part, is
 * read from parameter[offset + (k / kInner) * kOuterStride + (k % kInner) * kStride + (n / inner) *
 * outerStride + (n % inner) * innerStride]; where kInner is 0, from ... + k * kStride + .... */
typedef struct {
  int32_t parameter;
  int64_t column, count;
  int64_t offset, kStride, inner, innerStride, outerStride;
  int64_t kInner, kOuterStride;
} attn_abi_part;

enum {
  ATTN_PACK_ROWS = 0,   /* [k][columns], row-major */
  ATTN_PACK_PANELS = 1, /* [padded / width][k][width], columns past the last are zero */
  /* [padded / width][g][width][2], rounded to nearest even; g is ceil(k / 2) rounded up to a
   * multiple of 16 */
  ATTN_PACK_PANELS_BF16 = 2,
  /* [padded / width][g][width][4] of signed bytes, g being ceil(k / 4) rounded up to a
   * multiple of 16; then for each column, those past the last included, its scale in f32, max |w| /
   * 127, and then the sums of its bytes in i32. Bytes are w / scale rounded to nearest even. */
  ATTN_PACK_PANELS_INT8 = 3,
  /* [padded / width][g][width][4] of bytes, g being 4 ceil(k / 32): of 8 neighbours along k,
   * byte i holds number i + 8 in its lower half, number i + 4 in its upper one, plus 8. Then lines
   * of f16, [padded / width][g / 4][2][width]: for each 32 along k the scale d, and 16 times
   * the offset o. Weights are d * (number + o), numbers are from -8 to 7; where k ends within 32,
   * their offset is 0, and so are the numbers behind it. Then for each column, those past the last
   * included, the sum of its weights in f32, and what its weights are in int8: the scale s = max
   * |w| / 127 in f32, and behind all scales the sum of its bytes in i32. Where x = d * (256 / s),
   * f and p are the whole numbers next to x and x * o, all in f32; bytes are
   * (number * f + p + 128) >> 8, in 16 bits. */
  ATTN_PACK_PANELS_INT4 = 4,
  ATTN_PACK_PANELS_F16 = 5, /* as of bf16; beyond 65504, infinite */
  /* [padded / width][g][width][4] of signed bytes, g being 8 ceil(k / 32); those behind k
   * are 0. Then the scales in f16, [padded / width][g / 8][width]: weights are scale * byte.
   * Then the same as of int4, with p = 0. */
  ATTN_PACK_PANELS_INT8_GROUPS = 6,
  ATTN_PACK_ROWS_BF16 = 7, /* as ATTN_PACK_ROWS, of 16 bits, rounded to nearest even */
  ATTN_PACK_ROWS_F16 = 8,  /* the same; beyond 65504, infinite */
  /* [k][columns] of f32: element (i, j) is the cosine, or sine, of i * frequencies[j], to within
   * 2^-24. There are no parts. */
  ATTN_PACK_COSINES = 9,
  ATTN_PACK_SINES = 10,
  /* As ATTN_PACK_PANELS_INT4 without offsets, as if they were 0: lines are [padded / width]
   * [g / 4][width] of f16, the scales. */
  ATTN_PACK_PANELS_INT4_GROUPS = 11
};

#define ATTN_MAX_PANEL 64 /* columns */

/* Where a parameter lies in the packed block: bytes [offset + layer * layerStride, + bytes).
 * `columns` are filled by the parts; what no part fills is zero. */
typedef struct {
  int64_t offset, layerStride, bytes;
  int32_t layers; /* 1 where it belongs to no stack */
  int32_t layout;
  int64_t k, columns, padded; /* `padded`: with those that fill up the last panel of any level */
  int32_t width;              /* of panels; a CPU level may have narrower ones (attn_abi_level) */
  int32_t partCount;
  const attn_abi_part *parts;
  const double *frequencies; /* `columns` of them, of cosines and sines: angles in radians from one
                              * row to the next; else null */
} attn_abi_slot;

/* The work of a kernel is cut into so many pieces for each thread of the team. */
#define ATTN_PIECES 8

/* What generated code gets on every call; each thread of the team calls the same function with its
 * own index. */
typedef struct attn_abi_call {
  void *const *inputs;
  void *const *outputs;
  const int64_t *dims; /* one per attn_abi_model.dims, static ones included */
  const char *packed;  /* the packed block, 64-byte aligned */
  char *workspace;     /* 64-byte aligned, at least workspace(dims, threads) bytes */
  int64_t threads;
  /* Ends kernel `kernel` of attn_abi_model.kernels: returns when all threads of the team have
   * called it. */
  void (*barrier)(void *team, int64_t thread, int64_t kernel);
  /* The next pieces of a kernel, out of `threads` * ATTN_PIECES, that the thread is to compute:
   * [word >> 32, word & 0xffffffff), `least` of them where so many are left in a row; empty where
   * all have been taken. Every thread calls it until then, for one kernel between two barriers. */
  int64_t (*claim)(void *team, int64_t thread, int64_t least);
  void *team;
  char *const *caches; /* one per cache of the model, 64-byte aligned; null where the entry does
                          not take it */
  /* On a GPU, whose pointers all of the above but `dims` are then: launches kernel `kernel` of
   * attn_abi_gpu.kernels, behind what was launched before. Of `count` words, the kernel's own are
   * its arguments, pointers and sizes; then come for each of its tensor maps the pointer, `rank`
   * sizes in elements and `rank` - 1 strides in bytes, innermost first. */
  void (*launch)(void *team, int64_t kernel, const int64_t *arguments, int64_t count);
  /* Of an entry whose rows are by themselves (attn_abi_entry.rows). */
  const struct attn_abi_row *rows;
  int64_t rowCount;
} attn_abi_call;

/* A row of such a call, as a call of its own: with its caches and dims, among which the batch is 1,
 * the positions are those that it adds, and a cache's are those that it holds then. */
typedef struct attn_abi_row {
  attn_abi_call call;
  int64_t begin; /* where its positions begin among those of all rows */
  int64_t place; /* among the rows */
  int64_t owner; /* the thread that computes it alone, its call being that of one thread; -1: all
                  * threads do together. Only rows that add one position have an owner */
} attn_abi_row;

/* Runs an entry's share of thread `thread`; every thread of the team calls it. */
typedef void (*attn_abi_entry_fn)(const attn_abi_call *call, int64_t thread);
/* Bytes of workspace for these dims and this number of threads. */
typedef int64_t (*attn_abi_workspace_fn)(const int64_t *dims, int64_t threads);

/* Code for one CPU level, one function per entry. Levels stand lowest first. */
enum {
  ATTN_LEVEL_ANY = 0, /* of its architecture: what a C compiler makes of a test's model */
  ATTN_LEVEL_X86_64_V3 = 3,
  ATTN_LEVEL_X86_64_V4 = 4,
  ATTN_LEVEL_VNNI = 5,        /* x86-64-v4 with AVX512-VNNI */
  ATTN_LEVEL_AVX512_BF16 = 6, /* and with AVX512-BF16, where it is as fast as f32 */
  ATTN_LEVEL_X86_AMX = 7,
  ATTN_LEVEL_AVX_VNNI = 8,  /* x86-64-v3 with AVX-VNNI; stands below x86-64-v4 */
  ATTN_LEVEL_NEON = 64,     /* AArch64 with dot products of bytes (asimddp) */
  ATTN_LEVEL_NEON_I8MM = 65 /* and with matrix products of bytes and bf16 (i8mm, bf16) */
};
typedef struct {
  const char *name; /* "x86-64-v3" */
  int32_t level;
  int32_t panelWidth; /* of panels in its code, a divisor of the slots'; 0: as slots have it */
  const attn_abi_entry_fn *entries;
  const attn_abi_workspace_fn *workspaces;
} attn_abi_level;

#define ATTN_MAX_MAP_RANK 5
/* A tensor of bf16 that a kernel copies boxes of (cuTensorMapEncodeTiled; PTX ISA 5.5.8), zeros
 * outside of it. Its map is an argument of 128 bytes, behind the words. */
typedef struct {
  int32_t rank;
  int32_t swizzle;                /* bytes: 0, 32, 64 or 128 */
  int32_t box[ATTN_MAX_MAP_RANK]; /* elements, innermost first */
} attn_abi_tensor_map;

/* A kernel of a GPU's code: any number of blocks of `threads` threads computes the same. */
typedef struct {
  const char *name;
  int32_t threads;
  int32_t blocks;      /* that a multiprocessor should be given */
  int32_t sharedBytes; /* of dynamic shared memory */
  int32_t cost;        /* of attn_abi_model.kernels, of which it is one or a part; -1: of none */
  int32_t wordCount;   /* arguments of 8 bytes */
  int32_t mapCount;
  const attn_abi_tensor_map *maps;
} attn_abi_gpu_kernel;

/* Code for one kind of GPU: kernels as PTX, and for each entry a function of the host that launches
 * them. */
typedef struct {
  const char *chip;   /* "sm_80" */
  int32_t capability; /* 80: runs on GPUs from compute capability 8.0 on */
  int32_t isExact;    /* and on no later ones */
  /* Whether slots of ATTN_PACK_PANELS_BF16 and _F16 have each of their panels transposed in the
   * GPU's memory: [padded / width][width][g][2]. */
  int32_t transposesPanels;
  int32_t kernelCount;
  const attn_abi_gpu_kernel *kernels;
  const char *ptx;
  const void *cubin; /* the same as machine code of exactly this chip; null where there is none */
  const attn_abi_entry_fn *entries;
  const attn_abi_workspace_fn *workspaces;
} attn_abi_gpu;

/* How a picture becomes input `input` of entry `entry`: decode, resize to width x height, (x / 255
 * - mean) / std, planar [C, height, width]; C = 1 takes luma as Pillow's convert("L"), C = 3 RGB.
 */
enum {
  ATTN_FILTER_NEAREST = 0,
  ATTN_FILTER_BILINEAR = 1,
  ATTN_FILTER_BICUBIC = 2,
  ATTN_FILTER_LANCZOS = 3,
  ATTN_FILTER_BOX = 4,
  ATTN_FILTER_HAMMING = 5
};
/* What of the resized picture is the tensor: its middle, which begins behind half of what is left
 * over, rounded down (as Hugging Face's processors have it) or to the nearest, halves to even (as
 * torchvision has it); the middle of a picture with a border of black pixels where it is smaller;
 * or a picture that lies within the tensor, in the upper left corner, zeros of the tensor beside
 * it. */
enum {
  ATTN_FIT_MIDDLE = 0,
  ATTN_FIT_ROUND = 1,
  ATTN_FIT_PADDED = 2,
  ATTN_FIT_WITHIN = 3,
  /* The picture keeps about the ratio of its sides, which become multiples of `merged` patches of
   * width x height, and is cut into patches, [patches, C, height, width]: squares of `merged` x
   * `merged` patches from left to right, row by row, and so the patches of each. */
  ATTN_FIT_PATCHES = 4,
  /* The picture is resized to a grid of tiles of width x height, [tiles, C, height, width], line by
   * line, behind which stands the whole picture where there are several: after its longer edge is
   * `edge` long, of as many tiles as it needs; or the grid of `leastTiles` to `mostTiles` whose
   * ratio is nearest. */
  ATTN_FIT_TILES = 5
};
/* An input that may be given as a picture: what it is resized to, and what is taken from its
 * channels. */
typedef struct {
  int32_t entry, input;
  int32_t width, height, channels, filter;
  float mean[4], std[4];
  int32_t resizedWidth, resizedHeight; /* before the middle is taken: of the shorter edge where the
                                        * width is 0; all is taken where the height is 0, too */
  int32_t fit;                         /* ATTN_FIT_* */
  int32_t merged;                      /* of ATTN_FIT_PATCHES, else 0, as the pixels */
  int64_t leastPixels, mostPixels;     /* that a picture has when it is resized; without the least
                                        * it is as large as the most allow */
  int32_t edge, leastTiles, mostTiles; /* of ATTN_FIT_TILES: one or the others, else 0 */
  /* What stands for a picture in a prompt, null where none does; what that becomes, with the token
   * of each row of the picture within braces; what a prompt without a mark begins with. */
  const char *mark, *shown, *alone;
  /* What is put behind the last picture of a prompt, in the place of what the tokenizer puts around
   * texts, and behind the whole; null where nothing is. Not in chats. */
  const char *begin, *end;
  /* Of a picture in several tiles: what each becomes, with `{row}` and `{column}` for its numbers
   * from 1 on, what stands between lines of them, what the whole becomes; null: `shown` is of all.
   */
  const char *tile, *line, *whole;
} attn_abi_image;

/* What a row of scores is printed as beside the names of classes: parts of one that they have in
 * common, each by itself of 1, or as it is. */
enum { ATTN_LABELS_SOFTMAX = 0, ATTN_LABELS_SIGMOID = 1, ATTN_LABELS_NONE = 2 };

/* What a sound becomes: Whisper's spectrogram, Kaldi's filter bank, its samples, or these of mean 0
 * and variance 1. */
enum {
  ATTN_SOUND_WHISPER = 0,
  ATTN_SOUND_KALDI = 1,
  ATTN_SOUND_SAMPLES = 2,
  ATTN_SOUND_UNIT_SAMPLES = 3
};

/* An input that may be given as a sound: its log-mel spectrogram [bands, frames] of the sound at
 * `rate`, of windows of `fft` samples in steps of `hop`; of Kaldi's, less `mean` and divided by
 * `deviation`. Samples are frames of one band, as many as the sound has where `frames` is 0. */
typedef struct {
  int32_t entry, input;
  int32_t bands, frames, rate, fft, hop;
  int32_t form; /* ATTN_SOUND_* */
  double mean, deviation;
} attn_abi_sound;

/* A tensor that is kept from call to call, once for each of `layers`. */
typedef struct {
  attn_abi_tensor tensor;
  int32_t layers;
} attn_abi_state;

/* A cache. Dim `dim` is the number of positions in it, those of the running call included; the
 * dim's value is the capacity. The states lie one after the other in its memory, dense and
 * row-major, each [layers][axes...], with the capacity along the axis of `dim`. */
typedef struct {
  const char *name;
  int32_t dim;
  int32_t stateCount;
  const attn_abi_state *states;
} attn_abi_cache;

/* Where an input of a step comes from: the first time from an input of the unfolding or an output
 * of the first entry, later from an output of the step before, if there is one. -1: from none of
 * these; all -1: it takes the tokens. */
typedef struct {
  int32_t input, first, step;
} attn_abi_source;

/* A list of tokens, or of sequences of such, each with its length in front; null where it is empty.
 */
typedef struct {
  const int64_t *tokens;
  int32_t count;
} attn_abi_tokens;

/* An entry that has no code of its own: it runs entry `first`, then `step` again and again, each
 * time with the tokens that were chosen by the first output of the run before, scores [rows...,
 * vocabulary]. Caches are emptied before. Its inputs are those of `first` and `own` of `step`; its
 * outputs tokens [rows..., limit] in i32, their numbers [rows...] in i32, and `stacked` of `step`,
 * each with an axis of `limit` in front. attn.unfold in dialect/README.md says how a token is
 * chosen. */
typedef struct {
  int32_t first, step;
  int32_t shared; /* the entry whose rows are by themselves that computes what these two compute of
                   * tokens alone: many users share its steps; -1 where there is none */
  int64_t begin;  /* the first token, where `first` gives no scores; else -1 */
  int64_t limit;  /* tokens */
  int32_t sourceCount, ownCount, stackedCount;
  const attn_abi_source *sources; /* of the inputs of `step` */
  const int32_t *own, *stacked;
  /* The settings, in the order of the rows of settings.def: of those that are numbers, and of those
   * that are lists. */
  const double *numbers;
  const attn_abi_tokens *lists;
} attn_abi_unfold;

/* What an entry does with a cache: it adds `rows` positions behind those that the cache holds, or
 * replaces these by `rows`, or reads what another entry has filled it with (`rows` is 0). */
enum { ATTN_CACHE_PUSH = 0, ATTN_CACHE_FILL = 1, ATTN_CACHE_READ = 2 };
typedef struct {
  int32_t cache; /* of attn_abi_model.caches */
  int32_t use;
  attn_abi_axis rows;
} attn_abi_cache_use;

/* An entry, each of its caches once. An unfolding has those that its first entry fills. */
typedef struct {
  const char *name;
  int32_t inputCount, outputCount;
  const attn_abi_tensor *inputs, *outputs;
  int32_t cacheCount;
  int32_t batch; /* the dim that counts a batch (attn_model_batch_dim), or -1 */
  int32_t rows;  /* the dim that counts rows which are by themselves, or -1 */
  const attn_abi_cache_use *caches;
  const attn_abi_unfold *unfold; /* null: levels have code for it, at its index */
} attn_abi_entry;

#define ATTN_MAX_FACTORS (2 * ATTN_MAX_RANK)
/* A term of a sum: a factor times the dims, -1 for none. */
typedef struct {
  int64_t factor;
  int32_t dims[ATTN_MAX_FACTORS];
} attn_abi_term;

/* A kernel: what ends in one barrier. The operations and bytes of a call are sums of terms. */
typedef struct {
  const char *function; /* of the kernel: "Block.mlp.fc1" */
  const char *title;    /* "linear 768 -> 3072" */
  const char *location; /* "vit.attn:16:5" */
  int32_t flopTerms, byteTerms;
  const attn_abi_term *flop, *bytes;
} attn_abi_kernel;

/* All tables of a model, as `attn_model_<name>` of an artifact. */
struct attn_abi_model {
  int32_t abiVersion;
  const char *name;        /* of the model in the spec */
  const char *version;     /* of the compiler */
  const char *precision;   /* "f32", "tf32", "bf16", "f16", "int8" or "int4" */
  const char *description; /* JSON, the same text as in ELF section ".attn.description" */
  int32_t dimCount, parameterCount, slotCount, levelCount, entryCount, imageCount, ignoreCount,
      cacheCount, stateCount, kernelCount, gpuCount;
  const attn_abi_dim *dims;
  const attn_abi_parameter *parameters;
  const attn_abi_slot *slots;
  const attn_abi_level *levels;
  const attn_abi_entry *entries;
  const attn_abi_image *images;
  const char *const
      *ignores; /* patterns of checkpoint tensors that are left out on purpose ("*" wildcards) */
  const attn_abi_cache *caches;
  const attn_abi_kernel *kernels;
  const attn_abi_gpu *gpus;
  int64_t packedBytes;
  const char *embedded;   /* the packed block, where weights are embedded; else null */
  int64_t tokenizerBytes; /* of the file of a tokenizer that is embedded; else 0 */
  const char *tokenizer;
  int64_t chatTemplateBytes; /* of a chat template that is embedded, or a config with one; else 0 */
  const char *chatTemplate;
  int64_t labelBytes; /* of the names of classes that are embedded; else 0 */
  const char *labels; /* a NUL behind each, in their order */
  int32_t soundCount;
  const attn_abi_sound *sounds;
  int32_t labelFunction; /* ATTN_LABELS_* */
};

/* The tables of an executable: the object of an executable defines this symbol, `main` of
 * libattn_main reads it. */
extern const attn_abi_model attn_main_model;

/* For --embed-weights: fills `block`, packedBytes zeros at a multiple of 64 bytes, with the
 * checkpoint at `path` (as attn_model_bind_file takes it), on `threads` threads. No code of the
 * tables is called and no CPU level asked for. Status and message as in attn.h. */
attn_status attn_abi_pack(const attn_abi_model *tables, const char *path, int32_t threads,
                          void *block, char **message);

/* The command line of compiled executables, in libattn_main: argv as main has it. Returns the exit
 * code; never exits. `attn run` and `attn bench` call it too. */
int attn_main(const attn_abi_model *tables, int argc, char **argv);

#ifdef __cplusplus
}
#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Classifies pictures with the shared library of a compiled model, from C:
 *
 *   attn compile examples/fashion-vit/fashion_vit.attn --emit=shared -o libfashion_vit.so
 *   attn compile examples/fashion-vit/fashion_vit.attn --emit=header -o fashion_vit.h
 *   gcc -I. -I<include folder of attn> examples/c-api/classify.c -L. -lfashion_vit -o classify
 *   LD_LIBRARY_PATH=. ./classify examples/fashion-vit/fashion_vit.safetensors boot.png coat.png
 */
#include "fashion_vit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLASSES = 10, PIXELS = 28 * 28, MOST_PICTURES = 256 };

static const char *const labels[CLASSES] = {"T-shirt", "Trouser",   "Pullover", "Dress",
                                            "Coat",    "Sandal",    "Shirt",    "Sneaker",
                                            "Bag",     "Ankle boot"};

/* Prints the message of a failed call and frees it. Returns whether the call went well. */
static int succeeded(attn_status status, char **message) {
  if (status == ATTN_OK)
    return 1;
  fprintf(stderr, "classify: %s\n", *message ? *message : attn_status_name(status));
  attn_message_free(*message);
  return 0;
}

/* Fills images [count, 1, 28, 28] from PNG or JPEG files, resized and normalised as the spec says.
 */
static int loadPictures(const attn_model *model, int32_t entry, char **paths, int count,
                        float *images) {
  char *message = NULL;
  for (int n = 0; n < count; ++n)
    if (!succeeded(attn_image_load(model, entry, 0, paths[n], images + n * PIXELS, &message),
                   &message))
      return 0;
  return 1;
}

/* Prints the likeliest label of each picture with its share of the softmax. */
static void printLabels(char **paths, int count, const float *logits) {
  for (int n = 0; n < count; ++n) {
    const float *row = logits + n * CLASSES;
    int best = 0;
    float sum = 0;
    for (int k = 1; k < CLASSES; ++k)
      if (row[k] > row[best])
        best = k;
    for (int k = 0; k < CLASSES; ++k)
      sum += expf(row[k] - row[best]);
    printf("%s: %s (%.0f%%)\n", paths[n], labels[best], 100 / sum);
  }
}

int main(int argc, char **argv) {
  const int count = argc - 2;
  if (count < 1 || count > MOST_PICTURES) {
    fprintf(stderr, "usage: classify WEIGHTS PICTURE... (at most %d pictures)\n", MOST_PICTURES);
    return 2;
  }

  float *images = malloc(sizeof(float) * PIXELS * (size_t)count);
  float *logits = malloc(sizeof(float) * CLASSES * (size_t)count);
  attn_model *model = NULL;
  attn_context *context = NULL;
  char *message = NULL;

  int done = images && logits &&
             succeeded(attn_model_create(fashion_vit_model(), NULL, &model, &message), &message) &&
             succeeded(attn_model_bind_file(model, argv[1], &message), &message) &&
             succeeded(attn_context_create(model, 0, &context, &message), &message);
  if (done) {
    const int32_t entry = attn_model_find_entry(model, "classify");
    attn_tensor input = {.data = images, .dtype = ATTN_F32, .rank = 4, .shape = {count, 1, 28, 28}};
    attn_tensor output = {.data = logits, .dtype = ATTN_F32, .rank = 2, .shape = {count, CLASSES}};
    done = loadPictures(model, entry, argv + 2, count, images) &&
           succeeded(attn_run(context, entry, &input, &output, &message), &message);
  }
  if (done)
    printLabels(argv + 2, count, logits);

  attn_context_destroy(context);
  attn_model_destroy(model);
  free(logits);
  free(images);
  return done ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The getters of the C API.
#include "run/Model.h"

using namespace attn;

extern "C" {

const char *attn_model_name(const attn_model *model) { return model->tables->name; }
const char *attn_model_version(const attn_model *model) { return model->tables->version; }
const char *attn_model_precision(const attn_model *model) { return model->tables->precision; }
const char *attn_model_level(const attn_model *model) { return model->level->name; }
const char *attn_model_description(const attn_model *model) { return model->tables->description; }
int32_t attn_model_dim_count(const attn_model *model) { return model->tables->dimCount; }
int32_t attn_model_entry_count(const attn_model *model) { return model->tables->entryCount; }
int32_t attn_model_parameter_count(const attn_model *model) {
  return model->tables->parameterCount;
}
int64_t attn_model_packed_bytes(const attn_model *model) { return model->tables->packedBytes; }
int32_t attn_model_has_weights(const attn_model *model) { return model->weights != nullptr; }

const char *attn_model_embedded_file(const attn_model *model, int32_t file, size_t *size) {
  const attn_abi_model &tables = *model->tables;
  const struct {
    const char *bytes;
    int64_t count;
  } files[] = {{tables.tokenizer, tables.tokenizerBytes},
               {tables.chatTemplate, tables.chatTemplateBytes},
               {tables.labels, tables.labelBytes}};
  bool isKnown = file >= 0 && file < int32_t(sizeof files / sizeof *files);
  bool exists = isKnown && files[file].count > 0;
  if (size)
    *size = exists ? size_t(files[file].count) : 0;
  return exists ? files[file].bytes : nullptr;
}

static const attn_abi_entry *entryAt(const attn_model *model, int32_t entry) {
  bool exists = entry >= 0 && entry < model->tables->entryCount;
  return exists ? &model->tables->entries[entry] : nullptr;
}

const char *attn_model_entry_name(const attn_model *model, int32_t entry) {
  const attn_abi_entry *found = entryAt(model, entry);
  return found ? found->name : nullptr;
}

int32_t attn_model_find_entry(const attn_model *model, const char *name) {
  for (int32_t i = 0; name && i < model->tables->entryCount; ++i)
    if (strcmp(model->tables->entries[i].name, name) == 0)
      return i;
  return -1;
}

int32_t attn_model_input_count(const attn_model *model, int32_t entry) {
  const attn_abi_entry *found = entryAt(model, entry);
  return found ? found->inputCount : 0;
}

int32_t attn_model_output_count(const attn_model *model, int32_t entry) {
  const attn_abi_entry *found = entryAt(model, entry);
  return found ? found->outputCount : 0;
}

int32_t attn_model_batch_dim(const attn_model *model, int32_t entry) {
  const attn_abi_entry *found = entryAt(model, entry);
  return found ? found->batch : -1;
}

attn_status attn_model_dim(const attn_model *model, int32_t dim, attn_dim_info *info) {
  if (dim < 0 || dim >= model->tables->dimCount)
    return ATTN_NOT_FOUND;
  const attn_abi_dim &found = model->tables->dims[dim];
  *info = {found.name, found.value, found.isDynamic};
  return ATTN_OK;
}

attn_status attn_model_parameter(const attn_model *model, int32_t parameter,
                                 attn_parameter_info *info) {
  if (parameter < 0 || parameter >= model->tables->parameterCount)
    return ATTN_NOT_FOUND;
  const attn_abi_parameter &found = model->tables->parameters[parameter];
  *info = {found.pattern, found.dtype, found.layers, found.rank, {}, found.location};
  for (int32_t a = 0; a < found.rank && a < ATTN_MAX_RANK; ++a)
    info->shape[a] = found.shape[a];
  return ATTN_OK;
}

static void fillInfo(const attn_model *model, const attn_abi_tensor &tensor,
                     attn_tensor_info *info) {
  memset(info, 0, sizeof *info);
  info->name = tensor.name;
  info->dtype = tensor.dtype;
  info->rank = tensor.rank;
  info->below = tensor.below;
  info->isState = tensor.state != 0;
  for (int32_t a = 0; a < tensor.rank && a < ATTN_MAX_RANK; ++a) {
    const attn_abi_axis &axis = tensor.axes[a];
    info->axisNames[a] = axis.name;
    info->shape[a] = axis.offset;
    if (axis.dim >= 0) {
      const attn_abi_dim &dim = model->tables->dims[axis.dim];
      info->shape[a] = axis.scale * dim.value + axis.offset;
      info->isDynamic[a] = dim.isDynamic;
    }
  }
}

attn_status attn_model_input(const attn_model *model, int32_t entry, int32_t input,
                             attn_tensor_info *info) {
  const attn_abi_entry *found = entryAt(model, entry);
  if (!found || input < 0 || input >= found->inputCount)
    return ATTN_NOT_FOUND;
  fillInfo(model, found->inputs[input], info);
  return ATTN_OK;
}

attn_status attn_model_output(const attn_model *model, int32_t entry, int32_t output,
                              attn_tensor_info *info) {
  const attn_abi_entry *found = entryAt(model, entry);
  if (!found || output < 0 || output >= found->outputCount)
    return ATTN_NOT_FOUND;
  fillInfo(model, found->outputs[output], info);
  return ATTN_OK;
}

} // extern "C"

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the initializers of an ONNX file lie. Numbers of fields are those of ONNX's ModelProto,
// GraphProto, NodeProto and TensorProto. Bytes of tensors are passed over.
#include "io/Onnx.h"
#include "base/Dtype.h"
#include "base/Names.h"
#include "io/Checkpoint.h"
#include "io/File.h"
#include "io/OnnxCodes.h"
#include "io/Protobuf.h"

using namespace attn;
using namespace attn::protobuf;

namespace {

/// What an initializer says of itself.
struct Initializer {
  StoredTensor tensor = {};
  uint64_t type = 0;
  bool isExternal = false, hasBytes = false, hasLength = false, isSpread = false;
  uint64_t begin = 0, end = 0; ///< of its bytes in the file
  uint64_t offset = 0, length = 0;
  const char *location = nullptr;
  Vector<uint32_t> halves; ///< of int32_data: the bits of each element
};

/// The types of elements that are read, by their numbers in the format.
struct ElementType {
  uint64_t number;
  int32_t dtype;
  uint64_t bytes;
  bool isFloat;
};

class OnnxTensorReader {
public:
  OnnxTensorReader(const SourceFile &file, const char *path, OnnxTensors which, Arena &arena,
                   Vector<SourceFile *> &files, Vector<StoredTensor> &tensors, Error &error)
      : window(file), path(path), which(which), arena(arena), files(files), tensors(tensors),
        error(error) {}
  ~OnnxTensorReader() {
    for (OnnxCodes *node : codes)
      dispose(node);
  }
  attn_status run();

private:
  attn_status fail(const char *problem, uint64_t place, const Initializer *tensor = nullptr);
  /// Reads the initializers of a graph.
  attn_status readGraph(const Field &graph);
  /// Reads a node: the tensor of a `Constant` is a weight under the name of the node's output.
  attn_status readNode(const Field &node);
  /// Reads an attribute: the tensor that it is, or a number of a node with codes.
  attn_status readAttribute(const Field &attribute, OnnxCodes &node, Field &tensor);
  /// Reads an initializer; `name` is that of one which has none itself.
  attn_status readInitializer(const Field &field, const char *name = nullptr);
  /// Reads int32_data, whose numbers are the bits of elements of two bytes.
  attn_status readHalves(const Field &field, Initializer &tensor);
  /// Keeps what `readHalves` has read in memory.
  attn_status placeHalves(Initializer &tensor);
  /// Reads one field of an initializer.
  attn_status readField(const Field &field, Initializer &tensor);
  /// Adds axes.
  attn_status readAxes(const Field &field, Initializer &tensor);
  /// Reads a key and its value of external data.
  attn_status readExternal(const Field &field, Initializer &tensor);
  /// Finds the bytes of the elements.
  attn_status place(Initializer &tensor, const ElementType &type);
  attn_status placeExternal(Initializer &tensor);
  /// The error of a tensor whose external data cannot be.
  attn_status failExternal(const Initializer &tensor, const char *problem);
  /// A copy of bytes of the file; null where it cannot be read.
  const char *text(uint64_t begin, uint64_t end);
  /// The file of external data of this name.
  attn_status openExternal(const Initializer &tensor, SourceFile *&file);

  Window window;
  const char *path;
  OnnxTensors which;
  Arena &arena;
  Vector<SourceFile *> &files;
  Vector<StoredTensor> &tensors;
  Error &error;
  NameTable locations;
  Vector<OnnxCodes *> codes;
};

} // namespace

static const ElementType elementTypes[] = {{1, ATTN_F32, 4, true},   {10, ATTN_F16, 2, true},
                                           {16, ATTN_BF16, 2, true}, {11, ATTN_F64, 8, true},
                                           {6, ATTN_I32, 4, false},  {7, ATTN_I64, 8, false},
                                           {9, ATTN_BOOL, 1, false}};
/// Of codes, their scales and zeros.
static const ElementType partTypes[] = {{1, ATTN_F32, 4, true},
                                        {10, ATTN_F16, 2, true},
                                        {16, ATTN_BF16, 2, true},
                                        {2, ATTN_U8, 1, false},
                                        {3, ATTN_U8, 1, false}};
static constexpr uint64_t mostText = 4096; // of a name or a path

bool attn::isOnnxName(const char *path) {
  size_t length = strlen(path);
  return length > 5 && strcmp(path + length - 5, ".onnx") == 0;
}

attn_status OnnxTensorReader::fail(const char *problem, uint64_t place, const Initializer *tensor) {
  error.set(ATTN_BAD_WEIGHTS, "W0207", "`%s` is not a valid ONNX file: %s", path, problem);
  if (tensor && tensor->tensor.name) {
    Text quoted;
    size_t length = tensor->tensor.nameLength;
    quoted.appendQuoted(tensor->tensor.name, length < 200 ? length : 200);
    error.note("in tensor `%s`, at byte %llu", quoted.c_str(),
               static_cast<unsigned long long>(place));
  } else {
    error.note("at byte %llu", static_cast<unsigned long long>(place));
  }
  return error.status;
}

const char *OnnxTensorReader::text(uint64_t begin, uint64_t end) {
  Vector<char> bytes;
  if (end - begin > mostText || !bytes.resize(size_t(end - begin) + 1) ||
      !window.file.read(begin, size_t(end - begin), bytes.data()) ||
      memchr(bytes.data(), 0, size_t(end - begin)))
    return nullptr;
  return arena.copy(bytes.data(), size_t(end - begin));
}

attn_status OnnxTensorReader::run() {
  Message model(window, 0, window.file.size());
  Field field;
  bool hasGraph = false;
  while (model.next(field))
    if (field.number == 7 && field.kind == Bytes) {
      hasGraph = true;
      if (attn_status status = readGraph(field))
        return status;
    }
  if (model.isWrong)
    return fail("it is cut off, or no message of protobuf", model.position());
  return hasGraph ? ATTN_OK : fail("it holds no graph", 0);
}

attn_status OnnxTensorReader::readGraph(const Field &graph) {
  // Nodes first: they say which initializers are codes.
  for (int pass = 0; pass < 2; ++pass) {
    bool areNodes = pass == 0;
    Message message(window, graph.begin, graph.end);
    Field field;
    while (message.next(field))
      if (field.kind == Bytes && field.number == (areNodes ? 1 : 5))
        if (attn_status status = areNodes ? readNode(field) : readInitializer(field))
          return status;
    if (message.isWrong)
      return fail("its graph is damaged", message.position());
  }
  for (OnnxCodes *node : codes) {
    StoredTensor made;
    if (attn_status status = decodeOnnxCodes(*node, arena, made, error))
      return status;
    bool isNew = made.name;
    for (const StoredTensor &other : tensors)
      isNew = isNew && strcmp(other.name, made.name) != 0;
    if (isNew && !tensors.push(made))
      return error.outOfMemory(path);
  }
  return ATTN_OK;
}

attn_status OnnxTensorReader::readAttribute(const Field &attribute, OnnxCodes &node,
                                            Field &tensor) {
  static constexpr struct {
    const char *name;
    int64_t OnnxCodes::*value;
  } numbers[] = {{"K", &OnnxCodes::depth},
                 {"N", &OnnxCodes::columns},
                 {"bits", &OnnxCodes::bits},
                 {"block_size", &OnnxCodes::block},
                 {"axis", &OnnxCodes::axis}};
  Field part;
  const char *name = "";
  int64_t value = 0;
  for (Message message(window, attribute.begin, attribute.end); message.next(part);) {
    if (part.number == 1 && part.kind == Bytes && !(name = text(part.begin, part.end)))
      return fail("an attribute whose name cannot be", part.begin);
    if (part.number == 3 && part.kind == Varint)
      value = int64_t(part.value);
    if (part.number == 5 && part.kind == Bytes)
      tensor = part;
  }
  for (const auto &number : numbers)
    if (strcmp(name, number.name) == 0)
      node.*number.value = value;
  return ATTN_OK;
}

attn_status OnnxTensorReader::readNode(const Field &field) {
  Message message(window, field.begin, field.end);
  Field part, tensor = {};
  const char *type = "";
  OnnxCodes node;
  size_t inputs = 0;
  while (message.next(part)) {
    if (part.kind != Bytes)
      continue;
    bool isName = part.number == 4 || part.number <= 2; // operator, input, output
    const char *name = isName ? text(part.begin, part.end) : nullptr;
    if (isName && !name)
      return fail("a name with a NUL in it, or too long", part.begin);
    if (part.number == 4)
      type = name;
    else if (part.number == 2 && !node.output)
      node.output = name;
    else if (part.number == 1 && inputs < 4)
      node.inputs[inputs++] = name;
    else if (part.number == 5)
      if (attn_status status = readAttribute(part, node, tensor))
        return status;
  }
  if (message.isWrong)
    return fail("its graph is damaged", message.position());
  if (!node.output || !*node.output)
    return ATTN_OK;
  if (strcmp(type, "Constant") == 0 && tensor.end)
    return readInitializer(tensor, node.output);
  node.isProduct = strcmp(type, "MatMulNBits") == 0;
  if (!node.isProduct && strcmp(type, "DequantizeLinear") != 0)
    return ATTN_OK;
  OnnxCodes *kept = create<OnnxCodes>();
  if (!kept || !codes.push(kept)) {
    dispose(kept);
    return error.outOfMemory(path);
  }
  *kept = node;
  return ATTN_OK;
}

attn_status OnnxTensorReader::readAxes(const Field &field, Initializer &tensor) {
  auto add = [&](uint64_t size, uint64_t place) {
    if (size > uint64_t(INT64_MAX))
      return fail("a shape whose size overflows", place, &tensor);
    if (tensor.tensor.rank == ATTN_MAX_RANK)
      return fail("more than 8 axes", place, &tensor);
    tensor.tensor.shape[tensor.tensor.rank++] = int64_t(size);
    return ATTN_OK;
  };
  if (field.kind == Varint)
    return add(field.value, 0);
  uint64_t size;
  for (Message packed(window, field.begin, field.end); !packed.isAtEnd();) {
    if (!packed.takeVarint(size))
      return fail("a damaged shape", packed.position(), &tensor);
    if (attn_status status = add(size, packed.position()))
      return status;
  }
  return ATTN_OK;
}

attn_status OnnxTensorReader::readExternal(const Field &field, Initializer &tensor) {
  Message entry(window, field.begin, field.end);
  const char *key = nullptr, *value = nullptr;
  Field part;
  while (entry.next(part))
    if (part.kind == Bytes && (part.number == 1 || part.number == 2)) {
      const char *copy = text(part.begin, part.end);
      if (!copy)
        return fail("a damaged entry of external data", part.begin, &tensor);
      (part.number == 1 ? key : value) = copy;
    }
  if (entry.isWrong || !key || !value)
    return fail("a damaged entry of external data", entry.position(), &tensor);
  bool isOffset = strcmp(key, "offset") == 0, isLength = strcmp(key, "length") == 0;
  if (strcmp(key, "location") == 0)
    tensor.location = value;
  if (!isOffset && !isLength)
    return ATTN_OK;
  char *end = nullptr;
  unsigned long long number = strtoull(value, &end, 10);
  if (*value < '0' || *value > '9' || *end)
    return fail("an offset or a length of external data that is no number", field.begin, &tensor);
  (isOffset ? tensor.offset : tensor.length) = number;
  tensor.hasLength |= isLength;
  return ATTN_OK;
}

attn_status OnnxTensorReader::readField(const Field &field, Initializer &tensor) {
  switch (field.number) {
  case 1:
    return readAxes(field, tensor);
  case 2:
    tensor.type = field.value;
    return ATTN_OK;
  case 4:  // float_data, whose numbers lie side by side where they are packed
  case 10: // double_data
    tensor.isSpread |= field.kind != Bytes || tensor.hasBytes;
    break;
  case 5: // int32_data
    return readHalves(field, tensor);
  case 9: // raw_data
    break;
  case 13:
    return field.kind == Bytes ? readExternal(field, tensor) : ATTN_OK;
  case 14:
    tensor.isExternal = field.value == 1;
    return ATTN_OK;
  default:
    return ATTN_OK;
  }
  if (field.kind == Bytes) {
    tensor.hasBytes = true;
    tensor.begin = field.begin;
    tensor.end = field.end;
  }
  return ATTN_OK;
}

attn_status OnnxTensorReader::readHalves(const Field &field, Initializer &tensor) {
  auto add = [&](uint64_t bits) {
    return tensor.halves.push(uint32_t(bits)) ? ATTN_OK : error.outOfMemory(path);
  };
  if (field.kind == Varint)
    return add(field.value);
  if (field.kind != Bytes)
    return fail("damaged numbers", field.begin, &tensor);
  uint64_t bits;
  for (Message packed(window, field.begin, field.end); !packed.isAtEnd();) {
    if (!packed.takeVarint(bits))
      return fail("damaged numbers", packed.position(), &tensor);
    if (attn_status status = add(bits))
      return status;
  }
  return ATTN_OK;
}

attn_status OnnxTensorReader::placeHalves(Initializer &tensor) {
  StoredTensor &stored = tensor.tensor;
  if (tensor.halves.size() != stored.bytes / 2)
    return fail("a tensor whose numbers are not as many as its shape says", tensor.begin, &tensor);
  Vector<char> bytes;
  if (!bytes.resize(stored.bytes))
    return error.outOfMemory(path);
  for (size_t i = 0; i < tensor.halves.size(); ++i) {
    auto bits = uint16_t(tensor.halves[i]);
    memcpy(bytes.data() + 2 * i, &bits, 2);
  }
  stored.data = arena.copy(bytes.data(), bytes.size());
  return stored.data ? ATTN_OK : error.outOfMemory(path);
}

attn_status OnnxTensorReader::readInitializer(const Field &field, const char *name) {
  Initializer tensor;
  Field part;
  tensor.tensor.name = name;
  tensor.tensor.nameLength = name ? strlen(name) : 0;
  // The name first, for messages: it may stand behind the numbers.
  for (Message names(window, field.begin, field.end); !name && names.next(part);)
    if (part.number == 8 && part.kind == Bytes) {
      tensor.tensor.name = text(part.begin, part.end);
      tensor.tensor.nameLength = size_t(part.end - part.begin);
      if (!tensor.tensor.name)
        return fail("a name with a NUL in it, or too long", part.begin);
    }
  Message message(window, field.begin, field.end);
  while (message.next(part))
    if (attn_status status = readField(part, tensor))
      return status;
  if (message.isWrong)
    return fail("a damaged initializer", message.position(), &tensor);
  for (OnnxCodes *node : codes)
    if (StoredTensor *kept = tensor.tensor.name ? node->partOf(tensor.tensor.name) : nullptr) {
      for (const ElementType &type : partTypes)
        if (type.number == tensor.type) {
          if (attn_status status = place(tensor, type))
            return status;
          *kept = tensor.tensor;
          if (tensor.type == 3)
            strcpy(kept->dtypeName, "I8");
          if (!kept->file && !kept->data)
            kept->file = &window.file;
        }
    }
  for (const ElementType &type : elementTypes)
    if (type.number == tensor.type &&
        (which == OnnxTensors::All || (type.isFloat && tensor.tensor.rank > 0))) {
      if (!tensor.tensor.nameLength)
        return fail("an initializer without a name", field.begin);
      int64_t elements = 0;
      bool isNumber =
          name && countElements(tensor.tensor.shape, tensor.tensor.rank, elements) && elements == 1;
      if (isNumber && which == OnnxTensors::Weights)
        continue; // a part of the graph
      if (attn_status status = place(tensor, type))
        return status;
      if (!tensors.push(tensor.tensor))
        return error.outOfMemory(path);
    }
  return ATTN_OK;
}

attn_status OnnxTensorReader::place(Initializer &tensor, const ElementType &type) {
  StoredTensor &stored = tensor.tensor;
  int64_t elements, bytes;
  if (!countElements(stored.shape, stored.rank, elements) ||
      __builtin_mul_overflow(elements, int64_t(type.bytes), &bytes))
    return fail("a shape whose size overflows", tensor.begin, &tensor);
  stored.dtype = type.dtype;
  strcpy(stored.dtypeName, attn_dtype_name(type.dtype));
  stored.bytes = size_t(bytes);
  if (tensor.isExternal)
    return placeExternal(tensor);
  if (!tensor.halves.empty() && !tensor.hasBytes && type.bytes == 2)
    return placeHalves(tensor);
  if (tensor.isSpread || !tensor.halves.empty()) {
    Text quoted;
    quoted.appendQuoted(stored.name, stored.nameLength < 200 ? stored.nameLength : 200);
    error.set(ATTN_BAD_WEIGHTS, "W0205",
              "`%s`: tensor `%s` keeps its numbers one by one, which is not read", path,
              quoted.c_str());
    error.help("save it with `raw_data`, as `onnx.numpy_helper.from_array` does");
    return error.status;
  }
  if (tensor.end - tensor.begin != uint64_t(bytes))
    return fail("a tensor whose bytes are not as many as its shape says", tensor.begin, &tensor);
  stored.offset = tensor.begin;
  return ATTN_OK;
}

attn_status OnnxTensorReader::failExternal(const Initializer &tensor, const char *problem) {
  Text quoted, location;
  size_t length = tensor.tensor.nameLength;
  quoted.appendQuoted(tensor.tensor.name, length < 200 ? length : 200);
  if (tensor.location)
    location.appendQuoted(tensor.location, strlen(tensor.location));
  return error.set(ATTN_BAD_WEIGHTS, "W0208", "`%s`: the external data of tensor `%s`%s%s%s %s",
                   path, quoted.c_str(), tensor.location ? ", in `" : "", location.c_str(),
                   tensor.location ? "`," : "", problem);
}

/// Whether a path leads nowhere but to files in its folder and in folders there: a hostile file
/// must not open others.
static bool staysInFolder(const char *location) {
  if (*location == '/' || !*location)
    return false;
  for (const char *at = location; at; at = strchr(at, '/')) {
    at += *at == '/';
    if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == 0))
      return false;
  }
  return true;
}

attn_status OnnxTensorReader::openExternal(const Initializer &tensor, SourceFile *&file) {
  int64_t known = locations.find(tensor.location, strlen(tensor.location));
  if (known >= 0) {
    file = files[size_t(known)];
    return ATTN_OK;
  }
  const char *slash = strrchr(path, '/');
  Text full;
  full.append("%.*s%s", slash ? int(slash - path + 1) : 0, path, tensor.location);
  file = create<SourceFile>();
  if (!file || full.failed() || !files.push(file)) {
    dispose(file);
    return error.outOfMemory(path);
  }
  if (!locations.insert(tensor.location, strlen(tensor.location), int64_t(files.size()) - 1))
    return error.outOfMemory(path);
  if (attn_status status = file->open(full.c_str(), error)) {
    error.note("tensors of `%s` lie in it", path);
    return status;
  }
  return ATTN_OK;
}

attn_status OnnxTensorReader::placeExternal(Initializer &tensor) {
  StoredTensor &stored = tensor.tensor;
  if (!tensor.location)
    return failExternal(tensor, "have no `location`");
  if (!staysInFolder(tensor.location))
    return failExternal(tensor, "lie outside of the folder of the model");
  if (tensor.hasLength && tensor.length != stored.bytes)
    return failExternal(tensor, "are not as many as its shape says");
  SourceFile *file = nullptr;
  if (attn_status status = openExternal(tensor, file))
    return status;
  if (tensor.offset > file->size() || stored.bytes > file->size() - tensor.offset)
    return failExternal(tensor, "end behind the end of the file, which may be truncated");
  stored.file = file;
  stored.offset = tensor.offset;
  return ATTN_OK;
}

attn_status attn::readOnnxTensors(const SourceFile &file, const char *path, OnnxTensors which,
                                  Arena &arena, Vector<SourceFile *> &files,
                                  Vector<StoredTensor> &tensors, Error &error) {
  return OnnxTensorReader(file, path, which, arena, files, tensors, error).run();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --embed-weights. The runtime packs the checkpoint by the tables of the loaded object, as it does
// when a model binds weights, and the bytes go into the section that is reserved for them.
#include "Embed.h"

#include "Build.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/Reproducer.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;

namespace attn::tool {

/// The bytes of section .attn.packed within the object.
static std::optional<StringRef> findPacked(MemoryBufferRef object) {
  auto file = object::ELFObjectFile<object::ELF64LE>::create(object);
  if (!file) {
    consumeError(file.takeError());
    return std::nullopt;
  }
  for (const object::SectionRef &section : file->sections()) {
    auto name = section.getName();
    auto contents = section.getContents();
    bool isWanted = name && *name == ".attn.packed" && contents;
    if (isWanted)
      return *contents;
    if (!name)
      consumeError(name.takeError());
    if (!contents)
      consumeError(contents.takeError());
  }
  return std::nullopt;
}

int embedWeights(std::unique_ptr<MemoryBuffer> &object, StringRef symbol, StringRef weights) {
  LoadedModel model;
  if (int code = model.load(MemoryBuffer::getMemBuffer(*object, false), symbol))
    return code;
  auto patched = WritableMemoryBuffer::getNewUninitMemBuffer(object->getBufferSize(), symbol);
  llvm::copy(object->getBuffer(), patched->getBufferStart());
  auto reserved = findPacked(*object);
  size_t bytes = size_t(model.tables()->packedBytes);
  if (!reserved || reserved->size() < bytes)
    return internalError();
  // Packing needs a block at a multiple of 64 bytes, which a section's place in a file need not be.
  std::unique_ptr<void, decltype(&std::free)> block(std::aligned_alloc(64, (bytes + 63) / 64 * 64),
                                                    &std::free);
  if (!block)
    return fail(Environment, "no memory for " + Twine(bytes) + " bytes of weights");
  std::memset(block.get(), 0, bytes);
  char *message = nullptr;
  attn_status status = attn_abi_pack(model.tables(), weights.str().c_str(), attn_default_threads(),
                                     block.get(), &message);
  if (status != ATTN_OK) {
    bool isInput = status == ATTN_BAD_WEIGHTS || status == ATTN_BAD_INPUT;
    int code = failWithMessage(isInput ? BadInput : Environment, message ? message : "");
    attn_message_free(message);
    return code;
  }
  size_t offset = size_t(reserved->data() - object->getBufferStart());
  std::memcpy(patched->getBufferStart() + offset, block.get(), bytes);
  object = std::move(patched);
  return Ok;
}

} // namespace attn::tool

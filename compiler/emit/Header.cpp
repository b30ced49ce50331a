// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The typed C header of a model: its dims and entries as constants, the function that returns its
// tables, and one function per entry that takes pointers of the right types.
#include "compiler/emit/Describe.h"
#include "compiler/emit/ModelInfo.h"
#include "dialect/AttnDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attn {
namespace {

const char *const keywords[] = {
    "auto",      "bool",     "break",    "case",     "catch",     "char",    "class",    "const",
    "continue",  "default",  "delete",   "do",       "double",    "else",    "enum",     "explicit",
    "export",    "extern",   "false",    "float",    "for",       "friend",  "goto",     "if",
    "inline",    "int",      "long",     "mutable",  "namespace", "new",     "operator", "private",
    "protected", "public",   "register", "restrict", "return",    "short",   "signed",   "sizeof",
    "static",    "struct",   "switch",   "template", "this",      "throw",   "true",     "try",
    "typedef",   "typename", "union",    "unsigned", "using",     "virtual", "void",     "volatile",
    "while"};

/// Names of one C scope: no keyword, and each once.
class Names {
public:
  Names() {
    for (const char *word : keywords)
      taken.insert(word);
    for (const char *word : {"context", "message", "inputs", "outputs"})
      taken.insert(word);
  }
  std::string add(llvm::StringRef name) {
    std::string identifier;
    for (char c : name)
      identifier += llvm::isAlnum(c) ? c : '_';
    if (identifier.empty() || llvm::isDigit(identifier.front()))
      identifier.insert(0, "_");
    while (!taken.insert(identifier).second)
      identifier += '_';
    return identifier;
  }

private:
  llvm::StringSet<> taken;
};

llvm::StringRef cType(Type type) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isF16() || type.isBF16())
    return "uint16_t";
  if (type.isInteger(32))
    return "int32_t";
  return type.isInteger(64) ? "int64_t" : "uint8_t";
}

/// "image: f32[B, C, Y*P, X*Q]"
std::string signatureText(llvm::ArrayRef<TensorInfo> tensors) {
  std::string text;
  llvm::ListSeparator separator;
  for (const TensorInfo &tensor : tensors) {
    llvm::StringRef before = separator;
    text += before.str() + tensor.name + ": " + dtypeName(tensor.elementType).str() + "[";
    llvm::ListSeparator axisSeparator;
    for (const AxisInfo &axis : tensor.axes)
      text += llvm::StringRef(axisSeparator).str() + axis.name;
    text += "]";
  }
  return text;
}

/// Writes the function of one entry.
class EntryWriter {
public:
  EntryWriter(llvm::raw_ostream &os, const EntryInfo &entry, llvm::StringRef prefix)
      : os(os), entry(entry), prefix(prefix) {}

  void write() {
    collectNames();
    os << "/* " << entry.name << '(' << signatureText(entry.inputs) << ") -> "
       << signatureText(entry.outputs) << ". Of the host. Errors as attn_run. */\n"
       << "static inline attn_status " << prefix << '_' << Names().add(entry.name)
       << "(attn_context *context";
    for (auto &[dim, name] : dims)
      os << ", int64_t " << name;
    for (auto [tensor, name] : llvm::zip(entry.inputs, inputNames))
      os << ", const " << cType(tensor.elementType) << " *" << name;
    for (auto [tensor, name] : llvm::zip(entry.outputs, outputNames))
      os << ", " << cType(tensor.elementType) << " *" << name;
    os << ", char **message) {\n";
    writeTensors("inputs", entry.inputs, inputNames);
    writeTensors("outputs", entry.outputs, outputNames);
    os << "  return attn_run(context, " << llvm::StringRef(prefix).upper() << "_ENTRY_"
       << llvm::StringRef(Names().add(entry.name)).upper()
       << (entry.inputs.empty() ? ", NULL" : ", inputs")
       << (entry.outputs.empty() ? ", NULL" : ", outputs") << ", message);\n}\n\n";
  }

private:
  void collectNames() {
    Names names;
    for (const auto *tensors : {&entry.inputs, &entry.outputs})
      for (const TensorInfo &tensor : *tensors)
        for (const AxisInfo &axis : tensor.axes)
          if (axis.isDynamic() && dimName(axis.dim).empty())
            dims.push_back({axis.dim, names.add(axis.dim)});
    for (const TensorInfo &tensor : entry.inputs)
      inputNames.push_back(names.add(tensor.name));
    for (const TensorInfo &tensor : entry.outputs)
      outputNames.push_back(names.add(tensor.name));
  }

  llvm::StringRef dimName(llvm::StringRef dim) const {
    for (auto &[known, name] : dims)
      if (known == dim)
        return name;
    return "";
  }

  std::string sizeText(const AxisInfo &axis) const {
    if (!axis.isDynamic())
      return std::to_string(axis.size);
    std::string text = dimName(axis.dim).str();
    if (axis.scale != 1)
      text = std::to_string(axis.scale) + " * " + text;
    return axis.offset ? text + " + " + std::to_string(axis.offset) : text;
  }

  void writeTensors(llvm::StringRef array, llvm::ArrayRef<TensorInfo> tensors,
                    llvm::ArrayRef<std::string> names) {
    if (tensors.empty())
      return;
    os << "  const attn_tensor " << array << "[] = {";
    llvm::ListSeparator separator(",\n      ");
    for (auto [tensor, name] : llvm::zip(tensors, names)) {
      os << separator << "{(void *)" << name << ", ATTN_" << dtypeName(tensor.elementType).upper()
         << ", " << tensor.axes.size() << ", {";
      llvm::ListSeparator axisSeparator;
      for (const AxisInfo &axis : tensor.axes)
        os << axisSeparator << sizeText(axis);
      os << (tensor.axes.empty() ? "0}" : "}") << ", NULL, ATTN_DEVICE_CPU, 0}";
    }
    os << "};\n";
  }

  llvm::raw_ostream &os;
  const EntryInfo &entry;
  std::string prefix;
  llvm::SmallVector<std::pair<std::string, std::string>> dims; // of the spec, of the C function
  llvm::SmallVector<std::string> inputNames, outputNames;
};

void writeConstants(llvm::raw_ostream &os, ModuleOp model, llvm::StringRef upper,
                    llvm::ArrayRef<EntryInfo> entries) {
  os << "/* The dims; MAX where a dim is dynamic, from 1 to this. */\n";
  for (DimOp dim : model.getOps<DimOp>())
    os << "#define " << upper << (dim.getDynamic() ? "_MAX_" : "_DIM_") << dim.getSymName() << ' '
       << int64_t(dim.getSize()) << '\n';
  os << "\n/* The entries: what attn_run takes. */\nenum {";
  llvm::ListSeparator separator(",");
  for (auto [index, entry] : llvm::enumerate(entries))
    os << separator << "\n  " << upper << "_ENTRY_"
       << llvm::StringRef(Names().add(entry.name)).upper() << " = " << index;
  os << "\n};\n\n";
}

} // namespace

std::string emitHeader(ModuleOp model) {
  std::string text, prefix = snakeCase(modelName(model)), symbol = modelSymbol(model);
  std::string upper = llvm::StringRef(prefix).upper();
  std::vector<EntryInfo> entries = entriesOf(model);
  llvm::raw_string_ostream os(text);
  os << "/* The model " << modelName(model) << ", as attn " << compilerVersion()
     << " compiled it. Made by `attn compile --emit=header`. */\n"
     << llvm::formatv("#ifndef {0}_H\n#define {0}_H\n#include \"attn/attn.h\"\n\n", upper)
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  writeConstants(os, model, upper, entries);
  os << "extern const attn_abi_model " << symbol << ";\n\n"
     << "/* The model's tables, for attn_model_create. */\nstatic inline const attn_abi_model *"
     << prefix << "_model(void) { return &" << symbol << "; }\n\n";
  for (const EntryInfo &entry : entries)
    EntryWriter(os, entry, prefix).write();
  os << "#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return text;
}

} // namespace attn

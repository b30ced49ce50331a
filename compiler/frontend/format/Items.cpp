// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The head of each item: all of it, or what stands before the braces of its body.
#include "compiler/frontend/format/FormatterImpl.h"

#include "llvm/Support/ErrorHandling.h"

namespace attn::frontend {

using namespace ast;

Layout Formatter::names(llvm::ArrayRef<Path> paths) {
  std::vector<Element> elements;
  for (const Path &path : paths)
    elements.push_back({path.str(), path.range});
  return commas(std::move(elements));
}

Layout Formatter::dimNames(llvm::ArrayRef<Name> names) {
  if (names.empty())
    return {};
  std::vector<Element> elements;
  for (const Name &name : names)
    elements.push_back({name.text, name.range});
  return concat({"[", commas(std::move(elements)), "]"});
}

Layout Formatter::strings(llvm::ArrayRef<Name> names) {
  std::vector<Element> elements;
  for (const Name &name : names)
    elements.push_back({source.text(name.range), name.range});
  return commas(std::move(elements));
}

Layout Formatter::shape(const Type &type) {
  Layout layout;
  if (type.word)
    layout.add(type.word->text);
  if (type.hasShape)
    layout.add("[").add(expressions(type.dims, /*tight=*/true)).add("]");
  // A shape stays on its line unless it is long itself: a list breaks between its tensors.
  constexpr unsigned most = 60, unbounded = 1 << 20;
  if (layout.forced)
    return layout;
  std::string line = render(layout, 0, unbounded);
  return line.size() <= most ? Layout(line) : layout;
}

Layout Formatter::statics(llvm::ArrayRef<Static> statics) {
  std::vector<Element> elements;
  for (const Static &fixed : statics) {
    Layout layout(fixed.name.text);
    SourceRange range = fixed.name.range;
    if (fixed.defaultValue) {
      layout = concat({layout, " = ", expr(*fixed.defaultValue)});
      range = range.to(fixed.defaultValue->range);
    }
    elements.push_back({std::move(layout), range});
  }
  return commas(std::move(elements));
}

Layout Formatter::dimArguments(llvm::ArrayRef<DimArgument> arguments) {
  if (arguments.empty())
    return {};
  std::vector<Element> elements;
  for (const DimArgument &argument : arguments)
    elements.push_back({concat({argument.name.text, ": ", expr(*argument.value)}),
                        argument.name.range.to(argument.value->range)});
  return concat({"[", commas(std::move(elements)), "]"});
}

Layout Formatter::signature(const Signature &signature) {
  std::vector<Element> parameters;
  for (const Parameter &parameter : signature.parameters)
    parameters.push_back({concat({parameter.name.text, ": ", shape(parameter.type)}),
                          parameter.name.range.to(parameter.type.range)});
  Layout layout =
      concat({signature.name.text, dimNames(signature.dims), "(", commas(std::move(parameters))});
  if (!signature.statics.empty())
    layout.add(";").add(group(nest(breakOr()))).add(statics(signature.statics));
  std::vector<Element> results;
  for (auto [name, type] : llvm::zip_equal(signature.resultNames, signature.results))
    results.push_back(
        name ? Element{concat({name->text, ": ", shape(type)}), name->range.to(type.range)}
             : Element{shape(type), type.range});
  return layout.add(")").add(group(nest(breakOr()))).add("-> ").add(commas(std::move(results)));
}

Layout Formatter::binding(const Binding &binding) {
  Layout layout;
  auto quoted = [&](const Name &name) { return source.text(name.range).str(); };
  Layout wherever;
  switch (binding.kind) {
  case Binding::Kind::Path:
    break;
  case Binding::Kind::String:
    wherever.add("= " + quoted(binding.pattern));
    break;
  case Binding::Kind::Tied:
    wherever.add("= tied(" + binding.tiedTo.str() + ")");
    break;
  case Binding::Kind::Slice: {
    wherever.add("= slice(" + quoted(binding.pattern) + ", ");
    wherever.add(expr(*binding.from)).add(" to ").add(expr(*binding.to));
    if (binding.of)
      wherever.add(" of ").add(expr(*binding.of));
    wherever.add(")");
    break;
  }
  case Binding::Kind::Split: {
    std::string text = "= split(" + quoted(binding.pattern) + ",";
    for (const Name &component : binding.components)
      text += " " + component.text;
    wherever.add(text + ")");
    break;
  }
  }
  if (!wherever.children.empty())
    layout.add(group(nest(breakOr()))).add(std::move(wherever));
  for (size_t i = 0; i <= binding.layouts.size(); ++i) {
    if (binding.optional && binding.optionalAt == i)
      layout.add(" optional");
    if (i < binding.layouts.size())
      layout.add(" @" + binding.layouts[i].text);
  }
  if (binding.condition)
    layout.add(group(nest(breakOr()))).add("if ").add(nest(expr(*binding.condition)));
  return layout;
}

Layout Formatter::head(const LinearDecl &decl) {
  Layout layout = concat({"linear ", names(decl.names), ": ", expressions(decl.from, true), " -> ",
                          expressions(decl.to, true)});
  if (!decl.along.empty())
    layout.add(" along ").add(expressions(decl.along, true));
  layout.add(decl.bias ? " bias" : "");
  if (decl.biasCondition)
    layout.add(" if ").add(expr(*decl.biasCondition));
  return layout.add(binding(decl.binding));
}

Layout Formatter::head(const ParamDecl &decl) {
  llvm::StringRef word = decl.role == ParamDecl::Role::Param   ? "param "
                         : decl.role == ParamDecl::Role::Input ? "input "
                                                               : "state ";
  std::vector<Element> groups;
  for (const ParamDecl::Group &group : decl.groups)
    groups.push_back({concat({names(group.names), ": ", shape(group.type), binding(group.binding)}),
                      group.names.front().range.to(group.type.range).to(group.binding.range)});
  return concat({word, commas(std::move(groups))});
}

Layout Formatter::head(const NormDecl &decl) {
  Layout layout = concat(
      {NormDecl::wordOf(decl.norm), " ", names(decl.names), ": ", expressions(decl.dims, true)});
  if (decl.eps)
    layout.add(" eps ").add(expr(*decl.eps));
  if (decl.offset)
    layout.add(" offset ").add(expr(*decl.offset));
  for (const Name &part : decl.without)
    layout.add(" no ").add(part.text);
  return layout.add(binding(decl.binding));
}

Layout Formatter::head(const StackDecl &decl) {
  Layout layout =
      concat({"stack ", decl.name.str(), ": ", expr(*decl.count), " of ",
              decl.shared ? "shared " : "", decl.block.text, dimArguments(decl.dimArguments)});
  if (!decl.arguments.empty())
    layout.add(arguments(decl.arguments));
  return layout.add(binding(decl.binding));
}

Layout Formatter::head(const PartDecl &decl) {
  Layout layout =
      concat({"part ", names(decl.names), ": ", decl.block.text, dimArguments(decl.dimArguments)});
  if (!decl.arguments.empty())
    layout.add(arguments(decl.arguments));
  return layout.add(binding(decl.binding));
}

Layout Formatter::head(const HookDecl &decl) {
  llvm::StringRef word = decl.hook == HookDecl::Hook::Score  ? "score "
                         : decl.hook == HookDecl::Hook::Bias ? "bias "
                                                             : "mask ";
  std::vector<Element> parameters;
  for (const Name &name : decl.parameters)
    parameters.push_back({name.text, name.range});
  Layout layout = concat({word, decl.name.text, "(", commas(std::move(parameters))});
  if (!decl.statics.empty())
    layout.add("; ").add(statics(decl.statics));
  layout.add(")");
  if (!decl.with.empty()) {
    std::vector<Element> with;
    for (const ItemPtr &item : decl.with)
      with.push_back({head(*item), item->range});
    layout.add(group(nest(breakOr()))).add("with ").add(commas(std::move(with)));
  }
  return layout.add(group(nest(breakOr()))).add(nest(concat({"= ", expr(*decl.body)})));
}

Layout Formatter::head(const PrecisionDecl &decl) {
  Layout name = concat({"precision ", decl.name.text});
  return decl.patterns.empty() ? name : concat({name, " for ", strings(decl.patterns)});
}

Layout Formatter::head(const ImageDecl &decl) {
  Layout layout = concat({"image input ", expr(*decl.height), " x ", expr(*decl.width)});
  if (decl.fromHeight)
    layout.add(" from ").add(expr(*decl.fromHeight));
  if (decl.fromWidth)
    layout.add(" x ").add(expr(*decl.fromWidth));
  if (decl.fit)
    layout.add(" " + decl.fit->text);
  if (decl.merged && decl.mostPixels) {
    layout.add(" ").add(expr(*decl.merged)).add(" of ");
    if (decl.leastPixels)
      layout.add(expr(*decl.leastPixels)).add(" to ");
    layout.add(expr(*decl.mostPixels)).add(" pixels");
  }
  if (decl.merged && decl.edge)
    layout.add(" ").add(expr(*decl.merged)).add(" within ").add(expr(*decl.edge)).add(" pixels");
  else if (decl.edge)
    layout.add(" of ").add(expr(*decl.edge)).add(" pixels");
  else if (decl.leastTiles && decl.mostTiles)
    layout.add(" ").add(expr(*decl.leastTiles)).add(" to ").add(expr(*decl.mostTiles));
  if (decl.resampling)
    layout.add(" " + decl.resampling->text);
  auto channels = [&](llvm::StringRef word, const std::vector<ExprPtr> &values) {
    if (values.size() == 1)
      layout.add(word).add(expr(*values.front()));
    else if (!values.empty())
      layout.add(word).add("[").add(expressions(values)).add("]");
  };
  channels(" mean ", decl.mean);
  channels(" std ", decl.std);
  auto text = [&](llvm::StringRef word, const std::optional<Name> &written) {
    if (written)
      layout.add(breakOr()).add(word).add(source.text(written->range));
  };
  text("prompt ", decl.mark);
  text("as ", decl.shown);
  text("tile ", decl.tile);
  text("line ", decl.line);
  text("whole ", decl.whole);
  text("alone ", decl.alone);
  text("begin ", decl.begin);
  text("end ", decl.end);
  return group(nest(layout));
}

Layout Formatter::head(const SoundDecl &decl) {
  Layout layout = concat({"sound input samples"});
  if (decl.bands)
    layout = concat({"sound input ", expr(*decl.bands), " x ", expr(*decl.frames)});
  if (decl.form)
    layout.add(" ").add(decl.form->text);
  for (auto [word, value] : {std::pair(" rate ", &decl.rate),
                             {" fft ", &decl.fft},
                             {" hop ", &decl.hop},
                             {" mean ", &decl.mean},
                             {" std ", &decl.std}})
    if (*value)
      layout.add(word).add(expr(**value));
  if (decl.unit)
    layout.add(" unit");
  return layout;
}

Layout Formatter::head(const EntryDecl &decl) {
  Layout layout(decl.isForward ? "" : "entry ");
  layout = concat({layout});
  switch (decl.bodyKind) {
  case EntryDecl::Body::Items:
    return layout.add(signature(decl.signature));
  case EntryDecl::Body::Expression:
    return layout.add(signature(decl.signature))
        .add(" =")
        .add(group(nest(breakOr())))
        .add(nest(expr(*decl.value)));
  case EntryDecl::Body::Unfold:
    return layout.add(decl.signature.name.text).add(" = ").add(expr(*decl.value));
  case EntryDecl::Body::Specialisation:
    layout.add(decl.signature.name.text).add(" = forward").add(dimArguments(decl.specialised));
    if (decl.rows)
      layout.add(" by " + decl.rows->text);
    for (const auto &[word, list] :
         {std::pair(" without ", &decl.without), std::pair(" only ", &decl.only)}) {
      std::vector<Element> names;
      for (const Name &name : *list)
        names.push_back({name.text, name.range});
      if (!names.empty())
        layout.add(word).add(commas(std::move(names)));
    }
    return decl.last ? layout.add(" last " + decl.last->text) : layout;
  }
  llvm_unreachable("covered");
}

Layout Formatter::head(const LetStmt &decl) {
  std::vector<Element> patterns;
  for (const Pattern &pattern : decl.patterns) {
    std::string text = pattern.name.text;
    if (pattern.isTuple()) {
      for (const Pattern &element : pattern.elements)
        text += (text.empty() ? "(" : ", ") + element.name.text;
      text += ")";
    }
    patterns.push_back({text, pattern.range});
  }
  Layout layout = concat({"let ", commas(std::move(patterns)), " = ", expr(*decl.value)});
  return decl.along ? layout.add(" along " + decl.along->str()) : layout;
}

Layout Formatter::head(const Item &item) {
  switch (item.kind) {
  case Item::Kind::Use: {
    auto &use = llvm::cast<UseDecl>(item);
    return "use " + (use.file ? source.text(use.file->range).str() : use.path.str());
  }
  case Item::Kind::Model:
    return "model " + llvm::cast<ModelDecl>(item).name.text;
  case Item::Kind::Dim: {
    std::vector<Element> entries;
    for (const DimDecl::Entry &entry : llvm::cast<DimDecl>(item).entries)
      entries.push_back({concat({entry.name.text, " = ", expr(*entry.value)}),
                         entry.name.range.to(entry.value->range)});
    return concat({"dim ", commas(std::move(entries))});
  }
  case Item::Kind::Dyn: {
    std::vector<Element> entries;
    for (const DynDecl::Entry &entry : llvm::cast<DynDecl>(item).entries)
      entries.push_back({concat({entry.name.text, " <= ", expr(*entry.bound)}),
                         entry.name.range.to(entry.bound->range)});
    return concat({"dyn ", commas(std::move(entries))});
  }
  case Item::Kind::Linear:
    return head(llvm::cast<LinearDecl>(item));
  case Item::Kind::Embedding: {
    auto &decl = llvm::cast<EmbeddingDecl>(item);
    return concat({"embedding ", names(decl.names), ": ", expressions(decl.from, true), " -> ",
                   expressions(decl.to, true), binding(decl.binding)});
  }
  case Item::Kind::Param:
    return head(llvm::cast<ParamDecl>(item));
  case Item::Kind::Norm:
    return head(llvm::cast<NormDecl>(item));
  case Item::Kind::Stack:
    return head(llvm::cast<StackDecl>(item));
  case Item::Kind::Part:
    return head(llvm::cast<PartDecl>(item));
  case Item::Kind::Block: {
    auto &block = llvm::cast<BlockDecl>(item);
    return concat({block.isCell ? "cell " : "block ", signature(block.signature)});
  }
  case Item::Kind::Hook:
    return head(llvm::cast<HookDecl>(item));
  case Item::Kind::Ignore: {
    return concat({"ignore ", strings(llvm::cast<IgnoreDecl>(item).patterns)});
  }
  case Item::Kind::Weights: {
    const Name &file = llvm::cast<WeightsDecl>(item).file;
    return concat({"weights ", source.text(file.range)});
  }
  case Item::Kind::Precision:
    return head(llvm::cast<PrecisionDecl>(item));
  case Item::Kind::Image:
    return head(llvm::cast<ImageDecl>(item));
  case Item::Kind::Sound:
    return head(llvm::cast<SoundDecl>(item));
  case Item::Kind::Entry:
    return head(llvm::cast<EntryDecl>(item));
  case Item::Kind::Cache: {
    std::vector<Element> entries;
    for (const CacheDecl::Entry &entry : llvm::cast<CacheDecl>(item).entries)
      entries.push_back({concat({entry.name.text, entry.dtype ? ": " + entry.dtype->text : "",
                                 " capacity ", expr(*entry.capacity)}),
                         entry.name.range.to(entry.capacity->range)});
    return concat({"cache ", commas(std::move(entries))});
  }
  case Item::Kind::Table: {
    auto &table = llvm::cast<TableDecl>(item);
    return concat({"table ", table.name.text, dimArguments(table.axes), " =",
                   group(nest(breakOr())), nest(expr(*table.value))});
  }
  case Item::Kind::Let:
    return head(llvm::cast<LetStmt>(item));
  case Item::Kind::Return:
    return concat({"return ", expressions(llvm::cast<ReturnStmt>(item).values)});
  }
  llvm_unreachable("covered");
}

} // namespace attn::frontend

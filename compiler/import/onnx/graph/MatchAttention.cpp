// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention: MatMul(Softmax(MatMul(q, k) * scale + mask), v), in the ways in which exporters write
// it, and the operator of the opsets from 23 on.
#include "compiler/import/onnx/graph/ElementFormula.h"
#include "compiler/import/onnx/graph/Matcher.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

bool Matcher::readProduct(const GraphNode &product, double scale, Operation &attend) {
  int sides[] = {product.input(0), product.input(1)};
  for (int &side : sides)
    while (const GraphNode *node = graph.producer(strip(side))) {
      // Half of the scale may be on queries, and half on keys.
      std::optional<double> number;
      size_t other = 0;
      if (node->type() == "Mul")
        for (size_t i : {0, 1})
          if (auto found = graph.number(node->input(i)); found && !number) {
            number = found;
            other = 1 - i;
          }
      if (node->type() == "Div")
        if (auto found = graph.number(node->input(1)); found && *found != 0)
          number = 1 / *found;
      if (!number) {
        side = strip(side);
        break;
      }
      scale *= *number;
      side = node->input(other);
    }
  attend.inputs = {strip(sides[0]), strip(sides[1])};
  attend.scale = scale;
  return true;
}

bool Matcher::readScores(int value, Operation &attend) {
  double scale = 1;
  for (unsigned depth = 0; depth < 32; ++depth) {
    const GraphNode *node = graph.producer(strip(value));
    if (!node)
      return false;
    if (node->type() == "MatMul")
      return readProduct(*node, scale, attend);
    // A cap comes behind the product alone.
    if (attend.cap != 0 && (node->type() == "Where" || node->type() == "Add"))
      return false;
    if (node->type() == "Where") {
      bool keepsWhere = leadsToProduct(node->input(1));
      int other = node->input(keepsWhere ? 2 : 1);
      std::optional<double> fill = graph.number(other);
      if (!fill || *fill * scale > -1e4)
        return false;
      attend.terms.push_back({node->input(0), 1, true, keepsWhere, *fill * scale});
      value = node->input(keepsWhere ? 1 : 2);
    } else if (node->type() == "Add") {
      bool isFirst = leadsToProduct(node->input(0));
      attend.terms.push_back({node->input(isFirst ? 1 : 0), scale, false, true, 0});
      value = node->input(isFirst ? 0 : 1);
    } else if (node->type() == "Div") {
      std::optional<double> number = graph.number(node->input(1));
      if (!number || *number == 0)
        return false;
      scale /= *number;
      value = node->input(0);
    } else if (node->type() == "Mul") {
      std::optional<double> number;
      for (size_t i : {0, 1})
        if (auto found = graph.number(node->input(i)); found && !number) {
          number = found;
          value = node->input(1 - i);
        }
      if (!number)
        return false;
      scale *= *number;
    } else if (node->type() == "Tanh" && attend.cap == 0) {
      // cap * tanh(s / cap): what is behind is divided by the cap.
      attend.cap = scale;
      scale = 1;
      value = node->input(0);
    } else {
      return false;
    }
  }
  return false;
}

void Matcher::wantTerms(Operation &attend) {
  for (ScoreTerm &term : attend.terms) {
    term.isTensor = true;
    if (!graph[term.value].sizes) {
      want(term.value);
      continue;
    }
    Places places;
    for (size_t i = 0; i < graph[term.value].sizes->size(); ++i)
      places.push_back({"i", static_cast<int>(i)});
    auto anything = [](int, ArrayRef<Place>) { return Formula{"x", Formula::Primary}; };
    term.isTensor = !formulaOf(graph, term.value, places, anything);
    if (term.isTensor)
      want(term.value);
  }
}

bool Matcher::findCache(Operation &attend, int keys, int values) {
  const GraphNode *ofKeys = pushBehind(keys), *ofValues = pushBehind(values);
  if (!ofKeys && !ofValues)
    return true;
  if (!ofKeys || !ofValues || ofKeys == ofValues) {
    refuse(*attend.node, "keys of a cache and values that are not of one, or the reverse");
    return false;
  }
  attend.isCached = true;
  for (const GraphNode *push : {ofKeys, ofValues})
    ++pushes[push];
  return true;
}

/// The softmax behind a value, past a Where that puts 0 in the place of a row without a key.
static const GraphNode *softmaxBehind(const Graph &graph, const GraphNode *node,
                                      function_ref<int(int)> strip) {
  if (node && node->type() == "Where" && graph.producer(strip(node->input(0)), "IsNaN") &&
      graph.number(node->input(1)) == 0.0)
    node = graph.producer(strip(node->input(2)));
  return node && node->type() == "Softmax" ? node : nullptr;
}

bool Matcher::matchAttention(const GraphNode &node) {
  if (node.type() != "MatMul")
    return false;
  const GraphNode *softmax = softmaxBehind(graph, graph.producer(strip(node.input(0))),
                                           [&](int value) { return strip(value); });
  if (!softmax || !graph[softmax->input(0)].sizes)
    return false;
  auto rank = static_cast<int64_t>(graph[softmax->input(0)].sizes->size());
  int64_t axis = softmax->integer("axis", graph.opset < 13 ? 1 : -1);
  if (rank < 2 || (axis < 0 ? axis + rank : axis) != rank - 1)
    return false;
  Operation attend;
  attend.kind = OperationKind::Attend;
  attend.node = &node;
  attend.output = node.outputs[0];
  if (!readScores(softmax->input(0), attend)) {
    refuse(*softmax, "scores that are no product of queries and keys, scaled, with masks added");
    return false;
  }
  if (attend.cap != 0) // the scale that was read last is of what the cap divides
    attend.scale *= attend.cap;
  wantTerms(attend);
  attend.inputs.push_back(strip(node.input(1)));
  if (!findCache(attend, attend.inputs[1], attend.inputs[2]))
    return false;
  for (int input : attend.inputs)
    want(input);
  operations.push_back(std::move(attend));
  return true;
}

int Matcher::addView(const GraphNode &node, OperationKind kind, int input, const Sizes &after,
                     ArrayRef<int64_t> order) {
  Operation made;
  made.kind = kind;
  made.node = &node;
  made.inputs = {input};
  made.output = graph.add(graph[input].type, after);
  made.integers.assign(order.begin(), order.end());
  operations.push_back(std::move(made));
  return operations.back().output;
}

/// [B, T, H * E] -> [B, T, H, E] -> [B, H, T, E], of keys [B, H, E, T].
int Matcher::addHeads(const GraphNode &node, int value, double count, bool areKeys) {
  static constexpr int64_t flat[] = {0, 2, 1, 3}, flatKeys[] = {0, 2, 3, 1}, apart[] = {0, 1, 2, 3},
                           apartKeys[] = {0, 1, 3, 2};
  Sizes four = *graph[value].sizes;
  bool isFlat = four.size() == 3;
  // Operations are found from back to front.
  size_t first = operations.size();
  want(value);
  if (isFlat) {
    four = {four[0], four[1], Quantity(count), *quotient(four[2], count)};
    value = addView(node, OperationKind::View, value, four, {});
  }
  ArrayRef<int64_t> order = isFlat ? (areKeys ? ArrayRef(flatKeys) : ArrayRef(flat))
                                   : (areKeys ? ArrayRef(apartKeys) : ArrayRef(apart));
  Sizes after;
  for (int64_t axis : order)
    after.push_back(four[static_cast<size_t>(axis)]);
  value = addView(node, OperationKind::Transpose, value, after, order);
  std::reverse(operations.begin() + static_cast<long>(first), operations.end());
  return value;
}

int Matcher::addJoined(const GraphNode &node, int result, double heads, const Quantity &width) {
  const Sizes sizes = *graph[result].sizes; // [B, T, H * E]
  int apart = graph.add(graph[result].type, {sizes[0], Quantity(heads), sizes[1], width});
  int turned = addView(node, OperationKind::Transpose, apart,
                       {sizes[0], sizes[1], Quantity(heads), width}, {0, 2, 1, 3});
  addView(node, OperationKind::View, turned, sizes, {});
  operations.back().output = result;
  std::swap(operations.back(), operations[operations.size() - 2]);
  return apart;
}

/// Why an Attention operator is not read; empty where it is.
static std::string attentionProblem(const Graph &graph, const GraphNode &node) {
  for (size_t i : {4, 5, 6})
    if (node.input(i) >= 0)
      return "past keys and values, or lengths, in a graph of several operators";
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] >= 0)
      return "more than one output";
  if (node.integer("right_window_size", -1) > 0)
    return "a window that reaches behind the query";
  const Sizes &q = *graph[node.input(0)].sizes, &k = *graph[node.input(1)].sizes;
  auto heads = static_cast<double>(node.integer("q_num_heads", 0)),
       groups = static_cast<double>(node.integer("kv_num_heads", 0));
  if (q.size() == 3 && (!quotient(q[2], heads) || !quotient(k[2], groups)))
    return "numbers of heads that do not fit";
  return "";
}

bool Matcher::matchAttentionNode(const GraphNode &node) {
  if (node.type() != "Attention")
    return false;
  if (std::string problem = attentionProblem(graph, node); !problem.empty()) {
    refuse(node, problem);
    return false;
  }
  const Sizes q = *graph[node.input(0)].sizes, v = *graph[node.input(2)].sizes;
  bool isFlat = q.size() == 3;
  auto heads = static_cast<double>(node.integer("q_num_heads", 0)),
       groups = static_cast<double>(node.integer("kv_num_heads", 0));
  Operation attend;
  attend.kind = OperationKind::Attend;
  attend.node = &node;
  attend.output = node.outputs[0];
  attend.isCausal = node.integer("is_causal", 0) || node.integer("right_window_size", -1) == 0;
  if (auto *cap = node.attribute<float>("softcap"))
    attend.cap = *cap;
  if (node.input(3) >= 0) {
    bool isCondition = graph[node.input(3)].type == OnnxType::Bool;
    attend.terms.push_back({node.input(3), 1, isCondition, true, -INFINITY});
  }
  wantTerms(attend);
  Quantity features = isFlat ? *quotient(q[2], heads) : q[3];
  auto *scale = node.attribute<float>("scale");
  attend.scale = scale ? *scale : 1 / std::sqrt(features.factor);
  attend.window = node.integer("left_window_size", -1);
  if (!findCache(attend, node.input(1), node.input(2)))
    return false;
  const Quantity &queries = q[isFlat ? 1 : 2],
                 &keys = (*graph[node.input(1)].sizes)[isFlat ? 1 : 2];
  bool isOrdered = attend.isCausal || attend.window >= 0;
  if (isOrdered && queries != keys && node.integer("counts_past", 0)) {
    if (!queries.isNumber() || !keys.isNumber()) {
      refuse(node, "queries whose places among the keys are not known");
      return false;
    }
    attend.past = keys.whole() - queries.whole();
  }
  std::vector<Operation> behind;
  behind.swap(operations);
  attend.inputs = {addHeads(node, node.input(0), heads, false),
                   addHeads(node, node.input(1), groups, true),
                   addHeads(node, node.input(2), groups, false)};
  behind.swap(operations); // now `behind` is what comes before the attention
  if (isFlat)
    attend.output = addJoined(node, attend.output, heads, *quotient(v[2], groups));
  operations.push_back(std::move(attend));
  append_range(operations, behind);
  return true;
}

} // namespace attn::importer

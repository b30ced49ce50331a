// RUN: attn-opt %s -split-input-file -verify-diagnostics

!kept = tensor<?x?x8xf32, #attn.axes<"B", "kv", "E">>
func.func @kept_c1() -> !kept {
  // expected-error @+1 {{'attn.kept' op expected a state, but got @nothing}}
  %a = attn.kept @nothing : !kept
  return %a : !kept
}

// -----

!kept = tensor<?x?x8xf32, #attn.axes<"B", "kv", "E">>
!other = tensor<?x?x9xf32, #attn.axes<"B", "kv", "E">>
attn.dim @B dyn 4
attn.dim @kv dyn 50 cache
attn.state @key : !kept in @kv layers 1
func.func @kept_c2() -> !other {
  // expected-error @+1 {{'attn.kept' op expected the state's shape}}
  %a = attn.kept @key : !other
  return %a : !other
}

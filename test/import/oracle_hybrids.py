# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hybrids with other mixers than delta nets, and decoders that are recurrences alone, as the published library has them: as oracle_families.py
has other families."""
from oracle_families import LLAMA, TOKENS, decoder, states

MAMBA = dict(num_hidden_layers=4, mamba_n_heads=4, mamba_n_groups=2, mamba_d_state=6, mamba_d_conv=4, mamba_expand=2, mamba_chunk_size=5)
SHORT = {**LLAMA, "num_hidden_layers": 4, "layer_types": ["conv", "full_attention", "conv", "conv"]}
FAMILIES = {  # Mixers beside delta nets
    "lfm2": ("Lfm2ForCausalLM", {**SHORT, "block_multiple_of": 16}, decoder),
    "lfm2_moe": ("Lfm2MoeForCausalLM", {**SHORT, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "num_dense_layers": 1,
                                        "routed_scaling_factor": 1.7}, decoder),
    "granitemoehybrid": ("GraniteMoeHybridForCausalLM", {
        **LLAMA, **MAMBA, "layer_types": ["mamba", "mamba", "attention", "mamba"], "num_local_experts": 4, "shared_intermediate_size": 40,
        "embedding_multiplier": 1.5, "attention_multiplier": 0.3, "residual_multiplier": 0.7, "logits_scaling": 3.0}, decoder),
    "bamba": ("BambaForCausalLM", {**LLAMA, **MAMBA, "attn_layer_indices": [1], "mamba_n_groups": 1}, decoder),
    "falcon_h1": ("FalconH1ForCausalLM", {
        **LLAMA, **MAMBA, "num_hidden_layers": 2, "mamba_d_ssm": 48, "mamba_d_head": 12, "mamba_rms_norm": True, "lm_head_multiplier": 0.4,
        "embedding_multiplier": 1.5, "mlp_multipliers": [0.8, 0.6], "key_multiplier": 0.5, "attention_out_multiplier": 0.9,
        "attention_in_multiplier": 1.1, "ssm_multipliers": [0.7, 1.2, 0.9, 1.3, 0.8], "ssm_in_multiplier": 1.25, "ssm_out_multiplier": 0.6}, decoder),
}
NEMOTRON = {**{key: value for key, value in LLAMA.items() if key != "num_hidden_layers"}, "head_dim": 8, "ssm_state_size": 6, "mamba_num_heads": 4,
            "mamba_head_dim": 12, "n_groups": 2, "chunk_size": 5, "time_step_min": 0.6}
FAMILIES.update({
    "nemotron_h": ("NemotronHForCausalLM", {
        **NEMOTRON, "layers_block_type": ["mamba", "mlp", "attention", "moe", "mamba"], "n_routed_experts": 4, "moe_intermediate_size": 24,
        "moe_shared_expert_intermediate_size": 40, "routed_scaling_factor": 1.7}, decoder),
})


def kept(model):
    """States of tokens beside those of layers, which have the name `y`."""
    (results, entry, inputs), = states(model)
    return [({"y": results["encode"]}, entry, inputs)]


PURE = dict(vocab_size=TOKENS, hidden_size=32, num_hidden_layers=2, state_size=6, pad_token_id=0, bos_token_id=1, eos_token_id=2)
FAMILIES.update({
    "jamba": ("JambaForCausalLM", {**LLAMA, "num_hidden_layers": 4, "num_experts": 4, "attn_layer_period": 3, "attn_layer_offset": 1,
                                   "mamba_d_state": 6, "mamba_dt_rank": 5, "use_mamba_kernels": False}, decoder),
    "minimax": ("MiniMaxForCausalLM", {
        **LLAMA, "num_hidden_layers": 4, "num_local_experts": 4, "block_size": 5, "full_attn_alpha_factor": 1.1, "full_attn_beta_factor": 0.9,
        "linear_attn_alpha_factor": 1.2, "linear_attn_beta_factor": 0.8, "mlp_alpha_factor": 1.3, "mlp_beta_factor": 0.7}, decoder),
    "mamba2": ("Mamba2ForCausalLM", {**PURE, "num_heads": 4, "head_dim": 16, "n_groups": 2, "chunk_size": 5}, decoder),
    "mamba": ("MambaForCausalLM", PURE, decoder),
    "falcon_mamba": ("FalconMambaForCausalLM", PURE, decoder),
})
HEADS = {
    "jamba, dense": ("JambaForCausalLM", {**LLAMA, "num_hidden_layers": 3, "num_experts": 1, "attn_layer_period": 3, "attn_layer_offset": 1,
                                          "mamba_d_state": 6, "use_mamba_kernels": False}, decoder),
    "mamba2, states": ("Mamba2Model", {**PURE, "num_heads": 4, "head_dim": 16, "n_groups": 2, "chunk_size": 5}, kept),
    "nemotron_h, latent": ("NemotronHForCausalLM", {
        **NEMOTRON, "layers_block_type": ["mamba", "moe", "attention", "moe"], "n_routed_experts": 4, "moe_intermediate_size": 24,
        "moe_shared_expert_intermediate_size": 40, "moe_latent_size": 20}, decoder),
    "nemotron_h, dense": ("NemotronHForCausalLM", {**NEMOTRON, "layers_block_type": ["mamba", "mlp", "attention", "mlp"], "mlp_bias": True}, decoder),
    "granitemoehybrid, dense": ("GraniteMoeHybridForCausalLM", {
        **LLAMA, "num_hidden_layers": 2, "layer_types": ["attention", "attention"], "num_local_experts": 0, "shared_intermediate_size": 40,
        "position_embedding_type": "rope", "mamba_n_heads": 4, "mamba_expand": 1}, decoder),
    "falcon_h1, not normed": ("FalconH1ForCausalLM", {**LLAMA, **MAMBA, "num_hidden_layers": 2, "mamba_d_ssm": 48, "mamba_d_head": 12}, decoder),
    "falcon_h1, gates first": ("FalconH1ForCausalLM", {**LLAMA, **MAMBA, "num_hidden_layers": 2, "mamba_d_ssm": None, "mamba_rms_norm": True,
                                                       "mamba_norm_before_gate": False, "time_step_limit": [0.01, 0.5]}, decoder),
}

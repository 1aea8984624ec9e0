"""Writes variants/NAME: tiny models with uncommon fields, their weights, and what
the model library computes from them (needs torch and transformers).

  python3 make-variants.py

Each has config.json, model.safetensors and reference.safetensors: input_ids and
labels of one step [1, 2, 12], and its logits, loss and gradients, computed in
float64 from the float32 weights.
"""

import json
import os

import torch
import transformers
from safetensors.torch import save_file

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "variants")
VOCABULARY = 31
ROTARY = dict(vocab_size=VOCABULARY, hidden_size=8, intermediate_size=12,
              num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
              max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
              pad_token_id=None)
GPT2 = dict(vocab_size=VOCABULARY, n_embd=8, n_layer=2, n_head=2, n_positions=16,
            attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)

VARIANTS = {
    "llama-yarn": ("llama", dict(rope_parameters=dict(YARN, rope_theta=1e4))),
    "llama-yarn-mscale": ("llama", dict(
        head_dim=16, rope_parameters=dict(
            YARN, rope_theta=1e4, truncate=False, beta_fast=4.0, beta_slow=0.5,
            mscale=0.8, mscale_all_dim=0.4))),
    "llama-linear-rope": ("llama", dict(
        rope_parameters=dict(rope_type="linear", factor=4.0, rope_theta=1e4))),
    "llama-biases-gelu-tied": ("llama", dict(
        attention_bias=True, mlp_bias=True, hidden_act="gelu",
        tie_word_embeddings=True)),
    "llama-padding": ("llama", dict(pad_token_id=5, hidden_act="quick_gelu")),
    "llama-padding-from-the-end-tied": ("llama", dict(
        pad_token_id=-1, tie_word_embeddings=True, hidden_act="relu")),
    "mistral-window-head-dim": ("mistral", dict(sliding_window=3, head_dim=6)),
    "mistral-no-window": ("mistral", dict(
        sliding_window=None, hidden_act="gelu_pytorch_tanh")),
    "qwen2-window-from-a-layer": ("qwen2", dict(
        sliding_window=5, use_sliding_window=True, max_window_layers=1)),
    "qwen2-window-by-layer": ("qwen2", dict(
        sliding_window=5, use_sliding_window=True, tie_word_embeddings=True,
        layer_types=["sliding_attention", "full_attention"])),
    "qwen3-biases": ("qwen3", dict(head_dim=8, attention_bias=True)),
    "gpt2-inner-scales": ("gpt2", dict(
        n_inner=20, scale_attn_by_inverse_layer_idx=True,
        activation_function="gelu")),
    "gpt2-untied-unscaled": ("gpt2", dict(
        tie_word_embeddings=False, scale_attn_weights=False)),
}


def write(name, model_type, fields):
    directory = os.path.join(HERE, name)
    base = GPT2 if model_type == "gpt2" else ROTARY
    config = transformers.AutoConfig.for_model(model_type, **{**base, **fields})
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config,
                                                          dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(directory)
    for extra in ("generation_config.json",):
        if os.path.exists(os.path.join(directory, extra)):
            os.remove(os.path.join(directory, extra))

    model = model.double().train()
    ids = torch.randint(0, VOCABULARY, (2, 12))
    ids[0, 3] = ids[1, 7] = 5
    ids[1, 4] = VOCABULARY - 1
    labels = ids.clone()
    labels[0, :4] = -100
    result = model(input_ids=ids, labels=labels)
    result.loss.backward()
    tensors = {"input_ids": ids[None].int(), "labels": labels[None].int(),
               "logits": result.logits.detach().float()}
    for parameter, value in model.named_parameters():
        tensors["grad." + parameter] = value.grad.float()
    save_file({key: value.contiguous() for key, value in tensors.items()},
              os.path.join(directory, "reference.safetensors"))
    with open(os.path.join(directory, "reference.json"), "w") as file:
        json.dump({"library": f"transformers {transformers.__version__}",
                   "step0": {"loss": result.loss.item()}}, file, indent=1)
        file.write("\n")


def main():
    transformers.logging.set_verbosity_error()
    for i, (name, (model_type, fields)) in enumerate(VARIANTS.items()):
        torch.manual_seed(i)
        write(name, model_type, fields)


if __name__ == "__main__":
    main()

//===- HFFields.cpp - Fields of a config.json that need no code of their own =//

#include "HFFields.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace pipemesh {

bool isHarmlessField(StringRef name) {
  static const llvm::StringSet<> fields = {
      // Provenance and bookkeeping.
      "_name_or_path", "name_or_path", "_model_name_or_path", "_commit_hash",
      "transformers_version", "model_type", "architectures", "dtype",
      "torch_dtype", "use_bfloat16", "finetuning_task", "language",
      "tokenizer_class", "prefix", "torchscript", "unsloth_fixed",
      "unsloth_version", "task_specific_params", "model_max_length",
      "_attn_implementation", "_attn_implementation_autoset",
      "attn_implementation", "_flash_attn_2_enabled", "pad_token",
      // Tokens that only generation and tokenizers read.
      "bos_token_id", "eos_token_id", "unk_token_id", "sep_token_id",
      "cls_token_id", "mask_token_id", "decoder_start_token_id",
      "forced_bos_token_id", "forced_eos_token_id", "image_token_id",
      // Generation.
      "use_cache", "cache_implementation", "output_hidden_states",
      "output_attentions", "output_scores", "return_dict",
      "return_dict_in_generate", "use_return_dict", "max_length", "min_length",
      "do_sample", "early_stopping", "num_beams", "num_beam_groups",
      "diversity_penalty", "temperature", "top_k", "top_p", "typical_p",
      "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
      "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences",
      "remove_invalid_values", "exponential_decay_length_penalty",
      "suppress_tokens", "begin_suppress_tokens", "is_decoder",
      "cross_attention_hidden_size", "tie_encoder_decoder",
      // Classifiers and other heads.
      "num_labels", "id2label", "label2id", "problem_type",
      "classifier_dropout", "summary_activation", "summary_first_dropout",
      "summary_proj_to_labels", "summary_type", "summary_use_proj",
      // Initial values, and ways to compute the same numbers.
      "initializer_range", "pretraining_tp", "chunk_size_feed_forward",
      "reorder_and_upcast_attn", "gradient_checkpointing", "n_ctx",
      "tie_last_hidden_states", "tf_legacy_loss", "tp_size", "ep_size"};
  return fields.contains(name);
}

/// null, false, 0, "" and empty lists ask for nothing.
static bool isEmptyValue(const llvm::json::Value &value) {
  if (value.kind() == llvm::json::Value::Null)
    return true;
  if (auto boolean = value.getAsBoolean())
    return !*boolean;
  if (auto number = value.getAsNumber())
    return *number == 0.0;
  if (auto string = value.getAsString())
    return string->empty();
  if (const llvm::json::Array *array = value.getAsArray())
    return array->empty();
  const llvm::json::Object *object = value.getAsObject();
  return object && object->empty();
}

/// A factor, of which 1 asks for nothing.
static const char *foreignFactor(StringRef name) {
  return llvm::StringSwitch<const char *>(name)
      .Cases({"logit_scale", "logits_scaling", "lm_head_multiplier"},
             "a scale of the logits")
      .Cases({"embedding_multiplier", "scale_emb"}, "a scale of the embeddings")
      .Cases({"residual_multiplier", "scale_depth"},
             "a scale of the residual branches")
      .Cases({"partial_rotary_factor", "rotary_pct"},
             "rotation of a part of each head")
      .Default(nullptr);
}

const char *foreignComputation(StringRef name) {
  if (const char *factor = foreignFactor(name))
    return factor;
  return llvm::StringSwitch<const char *>(name)
      .Case("is_causal", "attention that is not causal")
      .Cases({"quantization_config", "compression_config", "quantization",
              "quantization_configs"},
             "quantized weights")
      .Case("per_layer_config", "settings that differ from layer to layer")
      .Cases({"attn_logit_softcapping", "attn_logit_softcap"},
             "a soft cap of the attention scores")
      .Cases({"final_logit_softcapping", "logit_cap"},
             "a soft cap of the logits")
      .Cases({"query_pre_attn_scalar", "attention_multiplier"},
             "another scale of the attention scores")
      .Case("dim_model_base", "a scale of the logits")
      .Cases({"num_experts", "num_local_experts", "n_routed_experts",
              "moe_intermediate_size", "num_experts_per_tok"},
             "a mixture of experts")
      .Cases({"kv_lora_rank", "q_lora_rank"}, "latent attention")
      .Cases({"use_qk_norm", "qk_layernorm", "qk_norm"},
             "norms of queries and keys")
      .Case("clip_qkv", "clipped queries, keys and values")
      .Cases({"alibi", "use_alibi"}, "linear biases of positions")
      .Cases({"no_rope_layers", "no_rope_layer_interval"},
             "layers without rotation")
      .Cases({"rope_interleave", "rope_interleaved", "use_mrope"},
             "another form of rotation")
      .Cases({"use_parallel_residual", "parallel_attn"},
             "attention and feed-forward in parallel")
      .Cases({"attention_chunk_size", "interleaved_sliding_window"},
             "attention in chunks")
      .Cases({"attention_sinks", "use_attention_sinks"}, "attention sinks")
      .Case("swiglu_limit", "a clamped activation")
      .Cases({"use_bias", "bias", "lm_head_bias", "head_bias"},
             "biases that the class does not have")
      .Case("is_encoder_decoder", "an encoder and a decoder")
      .Case("add_cross_attention", "cross attention")
      .Case("pruned_heads", "pruned heads")
      .Cases({"vision_config", "text_config", "audio_config"},
             "a model of several parts")
      .Default(nullptr);
}

bool asksForComputation(StringRef name, const llvm::json::Value &value) {
  if (name == "is_causal")
    return value.getAsBoolean() != std::optional<bool>(true);
  if (foreignFactor(name))
    return value.kind() != llvm::json::Value::Null &&
           value.getAsNumber() != std::optional<double>(1.0);
  return !isEmptyValue(value);
}

} // namespace pipemesh

//===- ConfigTest.cpp - Fields of config.json, honoured and refused -------===//

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "pipemesh/Import/HFConfig.h"
#include "pipemesh/Import/ModelParameters.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <random>

using namespace pipemesh;

namespace {

/// A change of a field: its new value as JSON text, or "" to remove it.
struct Change {
  const char *field;
  const char *value;
};
using Changes = std::initializer_list<Change>;

const char *const kLlama = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4,
  "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256,
  "max_position_embeddings": 64, "rms_norm_eps": 1e-05, "hidden_act": "silu"
})";

const char *const kGPT2 = R"({
  "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 32,
  "n_layer": 4, "n_head": 4, "n_positions": 32, "vocab_size": 257,
  "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0
})";

std::string change(const char *base, Changes changes) {
  llvm::json::Object object =
      *llvm::cantFail(llvm::json::parse(base)).getAsObject();
  for (const Change &entry : changes) {
    if (*entry.value)
      object[entry.field] = llvm::cantFail(llvm::json::parse(entry.value));
    else
      object.erase(entry.field);
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

/// The base of another model type with llama's fields.
std::string like(const char *modelType, const char *architecture,
                 Changes changes) {
  std::string base = change(
      kLlama, {{"model_type", modelType}, {"architectures", architecture}});
  return change(base.c_str(), changes);
}
std::string qwen2(Changes changes) {
  return like("\"qwen2\"", "[\"Qwen2ForCausalLM\"]", changes);
}
std::string qwen3(Changes changes) {
  return like("\"qwen3\"", "[\"Qwen3ForCausalLM\"]", changes);
}
std::string mistral(Changes changes) {
  return like("\"mistral\"", "[\"MistralForCausalLM\"]", changes);
}
std::string llama(Changes changes) { return change(kLlama, changes); }
std::string gpt2(Changes changes) { return change(kGPT2, changes); }

class ConfigTest : public testing::Test {
protected:
  mlir::FailureOr<ModelConfig> parse(const std::string &text) {
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) {
          messages.push_back(diagnostic.str());
          return mlir::success();
        });
    return parseHFConfig(&context, text, "config.json");
  }

  /// The one error of a configuration.
  std::string refusal(const std::string &text) {
    messages.clear();
    EXPECT_TRUE(failed(parse(text))) << text;
    EXPECT_EQ(messages.size(), 1u);
    return messages.empty() ? "" : messages.front();
  }

  ModelConfig accept(const std::string &text) {
    messages.clear();
    mlir::FailureOr<ModelConfig> config = parse(text);
    EXPECT_TRUE(succeeded(config)) << text;
    for (const std::string &message : messages)
      ADD_FAILURE() << message;
    return succeeded(config) ? *config : ModelConfig();
  }

  /// The one warning of a configuration.
  std::string warning(const std::string &text) {
    ModelConfig config = accept(text);
    EXPECT_EQ(config.warnings.size(), 1u);
    return config.warnings.empty() ? "" : config.warnings.front().message;
  }

  int64_t count(const std::string &text) {
    auto parameters =
        listParameters(accept(text), mlir::UnknownLoc::get(&context));
    return succeeded(parameters) ? countElements(*parameters) : -1;
  }

  mlir::MLIRContext context;
  std::vector<std::string> messages;
};

//===----------------------------------------------------------------------===//
// What the file is
//===----------------------------------------------------------------------===//

TEST_F(ConfigTest, TextThatIsNoObject) {
  EXPECT_EQ(refusal("[1]"), "not a JSON object: expected an object at the top");
  EXPECT_EQ(refusal(std::string(100000, '[')),
            "not a JSON object: nesting beyond 64 levels");
  EXPECT_EQ(refusal("{\"model_type\": ").find("not a JSON object: ["), 0u);
  EXPECT_EQ(refusal("").find("not a JSON object: ["), 0u);
}

TEST_F(ConfigTest, Architecture) {
  EXPECT_EQ(refusal(llama({{"architectures", "[\"BloomForCausalLM\"]"},
                           {"model_type", "\"bloom\""}})),
            "architecture 'BloomForCausalLM' of model type 'bloom' is not "
            "supported; known are the causal language models of the types "
            "llama, qwen2, qwen3, mistral, gpt2");
  EXPECT_EQ(refusal(llama(
                {{"architectures", "[\"LlamaForSequenceClassification\"]"}})),
            "architecture 'LlamaForSequenceClassification' of model type "
            "'llama' is not supported; known are the causal language models "
            "of the types llama, qwen2, qwen3, mistral, gpt2");
  EXPECT_EQ(
      refusal(llama({{"architectures", "null"}, {"model_type", "\"mamba\""}})),
      "model type 'mamba' is not supported; known: llama, qwen2, qwen3, "
      "mistral, gpt2");
  EXPECT_EQ(refusal(llama({{"architectures", ""}, {"model_type", ""}})),
            "neither 'architectures' nor 'model_type' says what the model is; "
            "known model types: llama, qwen2, qwen3, mistral, gpt2");
  EXPECT_EQ(refusal(llama({{"model_type", "\"mistral\""}})),
            "architecture 'LlamaForCausalLM' does not belong to model type "
            "'mistral'; correct one of them");
  EXPECT_EQ(refusal(llama({{"architectures", "\"LlamaForCausalLM\""}})),
            "field 'architectures' is not a list of class names");
  EXPECT_EQ(refusal(llama(
                {{"architectures", "[\"LlamaForCausalLM\", \"LlamaModel\"]"}})),
            "field 'architectures' names 2 classes, expected one");
  EXPECT_EQ(refusal(llama({{"model_type", "7"}})),
            "field 'model_type' is 7, expected a string");
}

TEST_F(ConfigTest, ModelTypeDecidesWithoutArchitectures) {
  EXPECT_EQ(accept(llama({{"architectures", "null"}})).architecture,
            Architecture::Llama);
  EXPECT_EQ(accept(llama({{"architectures", "[]"}})).architecture,
            Architecture::Llama);
  EXPECT_EQ(accept(qwen3({{"model_type", ""}})).architecture,
            Architecture::Qwen3);
}

TEST_F(ConfigTest, TextIsKeptWithoutWhiteSpace) {
  ModelConfig config = accept(llama({}));
  EXPECT_NE(config.text.find("\"rms_norm_eps\":"), std::string::npos);
  EXPECT_EQ(config.text.find('\n'), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Sizes and types
//===----------------------------------------------------------------------===//

TEST_F(ConfigTest, SizesThatCannotBe) {
  EXPECT_EQ(refusal(llama({{"hidden_size", ""}})),
            "field 'hidden_size' is missing; the model library's default for "
            "llama is 4096: write it if it is meant");
  EXPECT_EQ(refusal(llama({{"hidden_size", "null"}})),
            "field 'hidden_size' is null, expected a whole number");
  EXPECT_EQ(refusal(llama({{"num_hidden_layers", "\"four\""}})),
            "field 'num_hidden_layers' is \"four\", expected a whole number");
  EXPECT_EQ(refusal(llama({{"num_hidden_layers", "-1"}})),
            "field 'num_hidden_layers' is -1, expected a number from 1 to "
            "2147483647");
  EXPECT_EQ(refusal(llama({{"num_hidden_layers", "1.5"}})),
            "field 'num_hidden_layers' is 1.5, expected a whole number");
  EXPECT_EQ(refusal(llama({{"num_hidden_layers", "true"}})),
            "field 'num_hidden_layers' is true, expected a whole number");
  EXPECT_EQ(refusal(llama({{"num_hidden_layers", "70000"}})),
            "field 'num_hidden_layers' is 70000, more than 65536");
  EXPECT_EQ(refusal(llama({{"vocab_size", "0"}})),
            "field 'vocab_size' is 0, expected a number from 1 to 2147483647");
  EXPECT_EQ(refusal(llama({{"hidden_size", "4611686018427387904"}})),
            "field 'hidden_size' is 4611686018427387904, expected a number "
            "from 1 to 2147483647");
  EXPECT_EQ(refusal(llama({{"hidden_size", "1e300"}})),
            "field 'hidden_size' is 1e+300, expected a whole number");
  EXPECT_EQ(refusal(gpt2({{"n_layer", "70000"}})),
            "field 'n_layer' is 70000, more than 65536");
  EXPECT_EQ(refusal(gpt2({{"n_embd", ""}})),
            "field 'n_embd' is missing; the model library's default for gpt2 "
            "is 768: write it if it is meant");
}

TEST_F(ConfigTest, ParametersBeyondTheAddressSpace) {
  std::string text = llama({{"hidden_size", "2147483646"},
                            {"intermediate_size", "2147483646"},
                            {"num_attention_heads", "2"},
                            {"head_dim", "2"},
                            {"vocab_size", "2147483646"}});
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          messages.push_back(diagnostic.str());
                                          return mlir::success();
                                        });
  auto config = parseHFConfig(&context, text, "config.json");
  ASSERT_TRUE(succeeded(config));
  EXPECT_TRUE(failed(listParameters(*config, mlir::UnknownLoc::get(&context))));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0],
            "the parameters up to 'model.embed_tokens.weight' need more than "
            "2^63 bytes");
}

TEST_F(ConfigTest, OtherTypes) {
  EXPECT_EQ(refusal(llama({{"rms_norm_eps", "\"1e-5\""}})),
            "field 'rms_norm_eps' is \"1e-5\", expected a number");
  EXPECT_EQ(refusal(llama({{"rms_norm_eps", "-1e-5"}})),
            "field 'rms_norm_eps' is negative");
  EXPECT_EQ(refusal(gpt2({{"layer_norm_epsilon", "-1"}})),
            "field 'layer_norm_epsilon' is negative");
  EXPECT_EQ(refusal(llama({{"tie_word_embeddings", "0"}})),
            "field 'tie_word_embeddings' is 0, expected true or false");
  EXPECT_EQ(refusal(llama({{"hidden_act", "null"}})),
            "field 'hidden_act' is null, expected a string");
  EXPECT_EQ(refusal(llama({{"hidden_act", "[\"silu\"]"}})),
            "field 'hidden_act' is [\"silu\"], expected a string");
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

TEST_F(ConfigTest, KeyValueHeads) {
  EXPECT_EQ(accept(llama({{"num_key_value_heads", ""}})).keyValueHeads, 4);
  EXPECT_EQ(accept(llama({{"num_key_value_heads", "null"}})).keyValueHeads, 4);
  // The classes of qwen and mistral have a number of their own.
  Changes wide = {{"num_attention_heads", "64"},
                  {"hidden_size", "128"},
                  {"num_key_value_heads", ""}};
  EXPECT_EQ(accept(qwen2(wide)).keyValueHeads, 32);
  EXPECT_EQ(accept(qwen3(wide)).keyValueHeads, 32);
  EXPECT_EQ(accept(mistral(wide)).keyValueHeads, 8);
  EXPECT_EQ(accept(mistral({{"num_key_value_heads", "null"}})).keyValueHeads,
            4);
  EXPECT_EQ(accept(qwen2({{"num_key_value_heads", "null"}})).keyValueHeads, 4);
  EXPECT_EQ(refusal(llama({{"num_key_value_heads", "3"}})),
            "field 'num_key_value_heads' is 3, which does not divide the 4 "
            "attention heads");
  EXPECT_EQ(refusal(mistral({{"num_key_value_heads", ""}})),
            "field 'num_key_value_heads' is 8 by default, which does not "
            "divide the 4 attention heads");
}

TEST_F(ConfigTest, HeadDimension) {
  EXPECT_EQ(accept(llama({})).headDimension, 8);
  EXPECT_EQ(accept(llama({{"head_dim", "null"}})).headDimension, 8);
  EXPECT_EQ(accept(llama({{"head_dim", "16"}})).headDimension, 16);
  EXPECT_EQ(accept(qwen2({{"head_dim", "null"}})).headDimension, 8);
  EXPECT_EQ(accept(mistral({{"head_dim", "6"}})).headDimension, 6);
  EXPECT_EQ(accept(qwen3({})).headDimension, 128);
  EXPECT_EQ(
      accept(llama({{"head_dim", "6"}, {"hidden_size", "30"}})).headDimension,
      6);
  EXPECT_EQ(refusal(qwen3({{"head_dim", "null"}})),
            "field 'head_dim' is null, but qwen3 models need a number; without "
            "the field it is 128");
  EXPECT_EQ(refusal(llama({{"hidden_size", "30"}})),
            "4 attention heads do not divide the hidden size 30; give "
            "'head_dim'");
  EXPECT_EQ(refusal(llama({{"head_dim", "7"}})),
            "heads of 7 elements cannot be rotated: 'head_dim' must be even");
  EXPECT_EQ(refusal(llama({{"hidden_size", "36"}})),
            "heads of 9 elements cannot be rotated: 'head_dim' must be even");
  EXPECT_EQ(refusal(gpt2({{"n_head", "5"}})),
            "5 attention heads do not divide the hidden size 32");
}

//===----------------------------------------------------------------------===//
// Biases, ties, norms, activations
//===----------------------------------------------------------------------===//

TEST_F(ConfigTest, Biases) {
  ModelConfig config =
      accept(llama({{"attention_bias", "true"}, {"mlp_bias", "true"}}));
  EXPECT_TRUE(config.queryKeyValueBias && config.attentionOutputBias);
  EXPECT_TRUE(config.mlpBias);
  config = accept(qwen2({{"attention_bias", "true"}}));
  EXPECT_TRUE(config.queryKeyValueBias);
  EXPECT_FALSE(config.attentionOutputBias || config.mlpBias);
  config = accept(qwen3({{"attention_bias", "true"}}));
  EXPECT_TRUE(config.queryKeyValueBias && config.attentionOutputBias);
  EXPECT_TRUE(config.queryKeyNorm);
  config = accept(mistral({{"attention_bias", "false"}}));
  EXPECT_FALSE(config.queryKeyValueBias);
  EXPECT_EQ(refusal(mistral({{"attention_bias", "true"}})),
            "field 'attention_bias' is true, but mistral models of the model "
            "library always have no such biases; remove the field to get "
            "those");
  EXPECT_EQ(refusal(qwen2({{"attention_bias", "false"}})),
            "field 'attention_bias' is false, but qwen2 models of the model "
            "library always have such biases; remove the field to get those");
  for (const std::string &text :
       {qwen2({{"mlp_bias", "true"}}), qwen3({{"mlp_bias", "true"}}),
        mistral({{"mlp_bias", "true"}})})
    EXPECT_NE(refusal(text).find("field 'mlp_bias' is true"),
              std::string::npos);
}

TEST_F(ConfigTest, CountsFollowTheFields) {
  // 32 x 64 elements are those of the embedding and of the head.
  int64_t plain = count(llama({}));
  EXPECT_EQ(plain, 256 * 32 * 2 + 32 +
                       4 * (32 * 32 * 2 + 16 * 32 * 2 + 3 * 32 * 64 + 2 * 32));
  EXPECT_EQ(count(llama({{"tie_word_embeddings", "true"}})), plain - 256 * 32);
  EXPECT_EQ(count(llama({{"attention_bias", "true"}})),
            plain + 4 * (32 + 16 + 16 + 32));
  EXPECT_EQ(count(llama({{"mlp_bias", "true"}})), plain + 4 * (64 + 64 + 32));
  EXPECT_EQ(count(qwen2({})), plain + 4 * (32 + 16 + 16));
  EXPECT_EQ(count(qwen3({{"head_dim", "8"}})), plain + 4 * (8 + 8));
  EXPECT_EQ(count(llama({{"head_dim", "16"}})),
            plain + 4 * (32 * 32 * 2 + 16 * 32 * 2));
}

TEST_F(ConfigTest, TiedEmbeddings) {
  EXPECT_FALSE(accept(llama({})).tiedEmbeddings);
  EXPECT_FALSE(accept(qwen2({})).tiedEmbeddings);
  EXPECT_FALSE(accept(qwen3({})).tiedEmbeddings);
  EXPECT_FALSE(accept(mistral({})).tiedEmbeddings);
  EXPECT_TRUE(accept(gpt2({})).tiedEmbeddings);
  EXPECT_FALSE(accept(gpt2({{"tie_word_embeddings", "false"}})).tiedEmbeddings);
}

TEST_F(ConfigTest, Activations) {
  auto of = [&](const char *name) {
    return accept(llama({{"hidden_act", name}})).activation;
  };
  EXPECT_EQ(accept(llama({{"hidden_act", ""}})).activation, Activation::SiLU);
  EXPECT_EQ(accept(gpt2({})).activation, Activation::GELUTanh);
  EXPECT_EQ(of("\"swish\""), Activation::SiLU);
  EXPECT_EQ(of("\"gelu\""), Activation::GELU);
  EXPECT_EQ(of("\"gelu_new\""), Activation::GELUTanh);
  EXPECT_EQ(of("\"gelu_pytorch_tanh\""), Activation::GELUTanh);
  EXPECT_EQ(of("\"gelu_fast\""), Activation::GELUTanh);
  EXPECT_EQ(of("\"quick_gelu\""), Activation::QuickGELU);
  EXPECT_EQ(of("\"relu\""), Activation::ReLU);
  EXPECT_EQ(of("\"tanh\""), Activation::Tanh);
  EXPECT_EQ(of("\"sigmoid\""), Activation::Sigmoid);
  EXPECT_EQ(refusal(gpt2({{"activation_function", "\"gelu_10\""}})),
            "field 'activation_function' names the activation 'gelu_10', which "
            "is not supported; known: silu, swish, gelu, gelu_new, "
            "gelu_pytorch_tanh, gelu_fast, gelu_accurate, quick_gelu, relu, "
            "sigmoid, tanh");
}

TEST_F(ConfigTest, PaddingIndex) {
  EXPECT_FALSE(accept(llama({{"pad_token_id", "null"}})).paddingIndex);
  EXPECT_EQ(accept(llama({{"pad_token_id", "2"}})).paddingIndex, 2);
  EXPECT_EQ(accept(llama({{"pad_token_id", "-1"}})).paddingIndex, 255);
  EXPECT_FALSE(accept(gpt2({{"pad_token_id", "2"}})).paddingIndex);
  EXPECT_EQ(refusal(llama({{"pad_token_id", "256"}})),
            "field 'pad_token_id' is 256, beyond the vocabulary of 256");
  EXPECT_EQ(refusal(llama({{"pad_token_id", "-257"}})),
            "field 'pad_token_id' is -257, expected a number from -256 to "
            "2147483647");
}

TEST_F(ConfigTest, Dropout) {
  EXPECT_EQ(accept(llama({{"attention_dropout", "null"}})).dropout, "");
  EXPECT_EQ(accept(llama({{"attention_dropout", "0.1"}})).dropout,
            "attention_dropout 0.1");
  EXPECT_EQ(accept(gpt2({{"attn_pdrop", ""}, {"embd_pdrop", "0.25"}})).dropout,
            "attn_pdrop 0.1, embd_pdrop 0.25");
  EXPECT_EQ(refusal(llama({{"attention_dropout", "1.5"}})),
            "field 'attention_dropout' is not a probability");
}

//===----------------------------------------------------------------------===//
// Sliding windows
//===----------------------------------------------------------------------===//

using Windows = std::vector<int64_t>;

TEST_F(ConfigTest, WindowsOfMistral) {
  EXPECT_EQ(accept(mistral({})).windows, Windows({4096, 4096, 4096, 4096}));
  EXPECT_EQ(accept(mistral({{"sliding_window", "null"}})).windows,
            Windows({0, 0, 0, 0}));
  EXPECT_EQ(accept(mistral({{"sliding_window", "6"}})).windows,
            Windows({6, 6, 6, 6}));
  EXPECT_EQ(refusal(mistral({{"sliding_window", "0"}})),
            "field 'sliding_window' is 0, expected a number from 1 to "
            "2147483647");
  EXPECT_EQ(refusal(mistral(
                {{"layer_types", "[\"sliding_attention\", \"full_attention\", "
                                 "\"full_attention\", \"full_attention\"]"}})),
            "field 'layer_types' and 'sliding_window' disagree about layer 1; "
            "mistral models have one window for all layers");
}

TEST_F(ConfigTest, WindowsOfQwen) {
  const char *types = "[\"full_attention\", \"sliding_attention\", "
                      "\"attention\", \"sliding_attention\"]";
  EXPECT_EQ(accept(qwen2({{"sliding_window", "6"}})).windows,
            Windows({0, 0, 0, 0}));
  EXPECT_EQ(
      accept(qwen2({{"sliding_window", "6"}, {"use_sliding_window", "true"}}))
          .windows,
      Windows({0, 0, 0, 0}));
  EXPECT_EQ(accept(qwen2({{"sliding_window", "6"},
                          {"use_sliding_window", "true"},
                          {"max_window_layers", "1"}}))
                .windows,
            Windows({0, 6, 6, 6}));
  EXPECT_EQ(accept(qwen3({{"use_sliding_window", "true"},
                          {"max_window_layers", "0"}}))
                .windows,
            Windows({4096, 4096, 4096, 4096}));
  EXPECT_EQ(accept(qwen3({{"sliding_window", "6"},
                          {"use_sliding_window", "true"},
                          {"layer_types", types}}))
                .windows,
            Windows({0, 6, 0, 6}));
  EXPECT_EQ(refusal(qwen3({{"layer_types", types}})),
            "field 'layer_types' gives layer 1 a sliding window, but "
            "'use_sliding_window' is false or 'sliding_window' null");
  EXPECT_EQ(refusal(qwen2({{"layer_types", "[\"full_attention\"]"}})),
            "field 'layer_types' has 1 entries for 4 layers");
  EXPECT_EQ(refusal(qwen2({{"layer_types", "\"full\""}})),
            "field 'layer_types' is not a list");
  EXPECT_EQ(refusal(qwen2({{"layer_types", "[\"conv\", \"full_attention\", "
                                           "\"conv\", \"conv\"]"}})),
            "field 'layer_types' has a layer of type \"conv\", which is not "
            "supported; known: full_attention, sliding_attention");
}

TEST_F(ConfigTest, NoWindowsInLlamaAndGPT2) {
  EXPECT_EQ(accept(llama({{"sliding_window", "null"}})).windows,
            Windows({0, 0, 0, 0}));
  EXPECT_EQ(refusal(llama({{"sliding_window", "6"}})),
            "field 'sliding_window' is set, but llama models of the model "
            "library have no sliding windows; remove the field to get full "
            "attention");
  EXPECT_EQ(
      refusal(gpt2({{"layer_types", "[\"full_attention\", \"full_attention\", "
                                    "\"full_attention\", "
                                    "\"sliding_attention\"]"}})),
      "field 'layer_types' asks for sliding windows, which gpt2 models do not "
      "have");
}

//===----------------------------------------------------------------------===//
// gpt2
//===----------------------------------------------------------------------===//

TEST_F(ConfigTest, FieldsOfGPT2) {
  EXPECT_EQ(accept(gpt2({})).intermediate, 128);
  EXPECT_EQ(accept(gpt2({{"n_inner", "null"}})).intermediate, 128);
  EXPECT_EQ(accept(gpt2({{"n_inner", "48"}})).intermediate, 48);
  EXPECT_FALSE(accept(gpt2({{"scale_attn_weights", "false"}})).scaleAttention);
  EXPECT_TRUE(accept(gpt2({{"scale_attn_by_inverse_layer_idx", "true"}}))
                  .scaleByInverseLayer);
  EXPECT_EQ(accept(gpt2({{"n_embd", ""}, {"hidden_size", "64"}})).hidden, 64);
  EXPECT_EQ(refusal(gpt2({{"hidden_size", "64"}})),
            "fields 'n_embd' and 'hidden_size' are two names of one size, but "
            "differ");
  EXPECT_EQ(refusal(gpt2({{"head_dim", "8"}})),
            "field 'head_dim' is set, but gpt2 models of the model library "
            "ignore it; remove the field");
}

//===----------------------------------------------------------------------===//
// Rotary settings
//===----------------------------------------------------------------------===//

TEST_F(ConfigTest, RotaryBase) {
  EXPECT_EQ(accept(llama({})).rotary.theta, 10000.0);
  EXPECT_EQ(accept(llama({{"rope_theta", "500000"}})).rotary.theta, 500000.0);
  EXPECT_EQ(accept(llama({{"rope_parameters",
                           "{\"rope_type\": \"default\", \"rope_theta\": 7}"},
                          {"rope_theta", "500000"}}))
                .rotary.theta,
            7.0);
  EXPECT_EQ(accept(llama({{"rope_parameters", "{\"rope_type\": \"default\"}"},
                          {"rope_theta", "500000"}}))
                .rotary.theta,
            500000.0);
  EXPECT_EQ(refusal(llama({{"rope_theta", "null"}})),
            "field 'rope_theta' is null, expected a number");
  EXPECT_EQ(refusal(llama({{"rope_theta", "0"}})),
            "field 'rope_theta' must be above zero");
  EXPECT_EQ(refusal(llama({{"rope_parameters", "{\"rope_theta\": null}"}})),
            "field 'rope_parameters.rope_theta' is null, expected a number");
  EXPECT_EQ(refusal(llama({{"rope_scaling", "4"}})),
            "field 'rope_scaling' is 4, expected an object");
}

TEST_F(ConfigTest, RotaryTypes) {
  const char *llama3 = R"({"factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
    "rope_type": "llama3"})";
  RotaryConfig rotary = accept(llama({{"rope_scaling", llama3}})).rotary;
  EXPECT_EQ(rotary.kind, RotaryConfig::Kind::Llama3);
  EXPECT_EQ(rotary.factor, 8.0);
  EXPECT_EQ(rotary.originalMaxPositions, 16.0);
  rotary = accept(llama({{"rope_scaling", R"({"type": "linear",
    "factor": 4})"}}))
               .rotary;
  EXPECT_EQ(rotary.kind, RotaryConfig::Kind::Linear);
  EXPECT_EQ(rotary.factor, 4.0);
  // What is not given is the length at the top, or else the longest sequence.
  rotary = accept(llama({{"rope_scaling", R"({"rope_type": "yarn",
    "factor": 4, "beta_fast": null, "mscale": 0.7, "truncate": false})"},
                         {"original_max_position_embeddings", "48"}}))
               .rotary;
  EXPECT_EQ(rotary.kind, RotaryConfig::Kind::Yarn);
  EXPECT_EQ(rotary.originalMaxPositions, 48.0);
  EXPECT_EQ(rotary.betaFast, 32.0);
  EXPECT_EQ(rotary.mscale, 0.7);
  EXPECT_FALSE(rotary.truncate);
  rotary = accept(llama({{"rope_scaling", R"({"rope_type": "yarn",
    "factor": null, "original_max_position_embeddings": 16})"}}))
               .rotary;
  EXPECT_EQ(rotary.factor, 4.0);
  rotary = accept(llama({{"rope_scaling", "{}"}})).rotary;
  EXPECT_EQ(rotary.kind, RotaryConfig::Kind::Default);
  // The newer name of the key wins, and the older name of the table.
  rotary = accept(llama({{"rope_parameters", R"({"rope_type": "default",
    "type": "linear", "rope_theta": 7})"}}))
               .rotary;
  EXPECT_EQ(rotary.kind, RotaryConfig::Kind::Default);
  rotary = accept(llama({{"rope_parameters", "{\"rope_type\": \"default\"}"},
                         {"rope_scaling", llama3}}))
               .rotary;
  EXPECT_EQ(rotary.kind, RotaryConfig::Kind::Llama3);
}

TEST_F(ConfigTest, RotaryRefusals) {
  auto of = [&](const char *scaling) {
    return refusal(llama({{"rope_scaling", scaling}}));
  };
  EXPECT_EQ(of(R"({"type": "dynamic", "factor": 2})"),
            "field 'rope_scaling.type' is 'dynamic', which is not supported; "
            "known: default, linear, llama3, yarn");
  EXPECT_EQ(of(R"({"rope_type": "longrope", "factor": 2})"),
            "field 'rope_scaling.rope_type' is 'longrope', which is not "
            "supported; known: default, linear, llama3, yarn");
  EXPECT_EQ(of(R"({"rope_type": null})"),
            "field 'rope_scaling.rope_type' is null, expected a string");
  EXPECT_EQ(of(R"({"type": "linear"})"),
            "field 'rope_scaling.factor' is needed for this type of rotary "
            "scaling");
  EXPECT_EQ(of(R"({"type": "linear", "factor": 0})"),
            "field 'rope_scaling.factor' must be above zero");
  EXPECT_EQ(of(R"({"type": "linear", "factor": "2"})"),
            "field 'rope_scaling.factor' is \"2\", expected a number");
  EXPECT_EQ(of(R"({"type": "llama3", "factor": 2, "low_freq_factor": 4,
                   "high_freq_factor": 1})"),
            "field 'rope_scaling.high_freq_factor' must be above "
            "'low_freq_factor'");
  EXPECT_EQ(of(R"({"type": "yarn", "factor": 2, "beta_slow": 40})"),
            "field 'rope_scaling.beta_fast' is below 'beta_slow'");
  EXPECT_EQ(of(R"({"type": "yarn", "factor": 2, "beta_fast": -1})"),
            "field 'rope_scaling.beta_fast' is negative");
  EXPECT_EQ(of(R"({"type": "yarn", "factor": 2, "rope_theta": 1})"),
            "yarn scaling needs a 'rope_theta' other than 1");
  EXPECT_EQ(of(R"({"type": "default", "partial_rotary_factor": 0.5})"),
            "field 'rope_scaling.partial_rotary_factor' is not 1: rotation of "
            "a part of each head is not supported");
  EXPECT_EQ(
      refusal(qwen3({{"rope_parameters", R"({"full_attention":
        {"rope_type": "default"}})"}})),
      "field 'rope_parameters.full_attention' is an object: rotary settings "
      "for each type of layer are not supported");
}

TEST_F(ConfigTest, RotaryFieldsWithoutUse) {
  EXPECT_EQ(warning(llama({{"rope_scaling",
                            R"({"type": "linear", "factor": 2,
                                "low_freq_factor": 1})"}})),
            "field 'rope_scaling.low_freq_factor' is not used by rotary type "
            "'linear'");
}

//===----------------------------------------------------------------------===//
// Other fields
//===----------------------------------------------------------------------===//

TEST_F(ConfigTest, ForeignComputations) {
  auto of = [&](const char *field, const char *value) {
    return refusal(llama({{field, value}}));
  };
  EXPECT_EQ(of("quantization_config", R"({"quant_method": "fp8"})"),
            "field 'quantization_config' is not supported for llama: it asks "
            "for quantized weights; use a checkpoint in float32, bfloat16 or "
            "float16");
  EXPECT_EQ(of("attn_logit_softcapping", "50.0"),
            "field 'attn_logit_softcapping' (50) is not supported for llama: "
            "it asks for a soft cap of the attention scores; use a model "
            "without it");
  for (auto [field, value] : std::initializer_list<Change>{
           {"final_logit_softcapping", "30"},
           {"query_pre_attn_scalar", "256"},
           {"logits_scaling", "2"},
           {"embedding_multiplier", "0"},
           {"residual_multiplier", "0.5"},
           {"partial_rotary_factor", "0.5"},
           {"dim_model_base", "256"},
           {"num_local_experts", "8"},
           {"kv_lora_rank", "512"},
           {"use_qk_norm", "true"},
           {"clip_qkv", "8"},
           {"alibi", "true"},
           {"no_rope_layers", "[1, 0]"},
           {"rope_interleave", "true"},
           {"parallel_attn", "true"},
           {"attention_chunk_size", "8192"},
           {"attention_sinks", "4"},
           {"swiglu_limit", "7"},
           {"bias", "true"},
           {"is_encoder_decoder", "true"},
           {"is_causal", "false"},
           {"add_cross_attention", "true"},
           {"pruned_heads", "{\"0\": [1]}"},
           {"per_layer_config", "{\"0\": {\"hidden_size\": 1}}"},
           {"vision_config", "{\"depth\": 1}"}})
    EXPECT_EQ(of(field, value).find("field '" + std::string(field) + "'"), 0u);
  accept(llama({{"attn_logit_softcapping", "null"},
                {"partial_rotary_factor", "1.0"},
                {"is_encoder_decoder", "false"},
                {"is_causal", "true"},
                {"pruned_heads", "{}"},
                {"quantization_config", "null"}}));
}

TEST_F(ConfigTest, HarmlessAndUnknownFields) {
  EXPECT_TRUE(accept(llama({{"pretraining_tp", "2"},
                            {"bos_token_id", "1"},
                            {"eos_token_id", "[1, 2]"},
                            {"use_cache", "true"},
                            {"torch_dtype", "\"bfloat16\""},
                            {"dtype", "\"float32\""},
                            {"some_new_field", "null"},
                            {"transformers_version", "\"4.31.0\""}}))
                  .warnings.empty());
  EXPECT_TRUE(accept(gpt2({{"reorder_and_upcast_attn", "true"},
                           {"n_ctx", "32"},
                           {"add_cross_attention", "false"}}))
                  .warnings.empty());
  EXPECT_EQ(warning(llama({{"max_sequence_length", "2048"}})),
            "field 'max_sequence_length' is not known for llama and has no "
            "effect");
}

TEST_F(ConfigTest, ManyUnknownFieldsAreCounted) {
  std::string text = kLlama;
  text.resize(text.rfind('}'));
  for (int i = 0; i < 1000; ++i)
    text += ", \"field_" + std::to_string(i) + "\": 1";
  ModelConfig config = accept(text + "}");
  ASSERT_EQ(config.warnings.size(), 21u);
  EXPECT_EQ(config.warnings.back().message,
            "980 more fields are not known for llama");
}

/// Whatever is done to the text, the result is a model or one error.
TEST_F(ConfigTest, MutatedTexts) {
  std::mt19937 random(7);
  const std::string bytes = "{}[]\",:0123456789.-eE tfn\\\n\x80";
  unsigned accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = i % 3 == 0   ? std::string(kGPT2)
                       : i % 3 == 1 ? std::string(kLlama)
                                    : qwen3({{"rope_scaling", R"({"type":
                                        "yarn", "factor": 4})"}});
    for (int changes = 1 + random() % 3; changes; --changes) {
      size_t place = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[place] = bytes[random() % bytes.size()];
        break;
      case 1:
        text.insert(place, 1, bytes[random() % bytes.size()]);
        break;
      case 2:
        text.erase(place, 1 + random() % 20);
        break;
      }
    }
    messages.clear();
    mlir::FailureOr<ModelConfig> config = parse(text);
    ASSERT_EQ(messages.size(), failed(config) ? 1u : 0u) << text;
    accepted += succeeded(config);
  }
  EXPECT_GT(accepted, 50u);
  EXPECT_LT(accepted, 2950u);
}

TEST_F(ConfigTest, ErrorsAreAtTheLineOfTheField) {
  std::string place;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        llvm::raw_string_ostream(place) << diagnostic.getLocation();
        return mlir::success();
      });
  std::string text = "{\n  \"model_type\": \"llama\",\n  \"rope_scaling\": {\n"
                     "    \"factor\": 2, \"type\": \"ntk\"\n  },\n"
                     "  \"hidden_size\": 32, \"intermediate_size\": 64,\n"
                     "  \"num_hidden_layers\": 1, \"num_attention_heads\": 4,\n"
                     "  \"vocab_size\": 8\n}";
  EXPECT_TRUE(failed(parseHFConfig(&context, text, "config.json")));
  EXPECT_EQ(place, "loc(\"config.json\":4:18)");
}

} // namespace

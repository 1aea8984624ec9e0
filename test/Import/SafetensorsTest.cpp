//===- SafetensorsTest.cpp - Weight files, whole and damaged --------------===//

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "pipemesh/Import/HFConfig.h"
#include "pipemesh/Import/SafetensorsIndex.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <random>

using namespace pipemesh;

namespace {

struct Tensor {
  std::string name, type;
  std::vector<int64_t> shape;
};

/// One layer, tied: small enough to list.
const char *const kTied = R"({"model_type": "llama", "hidden_size": 4,
  "intermediate_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2,
  "vocab_size": 8, "tie_word_embeddings": true})";
const char *const kGPT2 = R"({"model_type": "gpt2", "n_embd": 4, "n_layer": 1,
  "n_head": 2, "n_positions": 8, "vocab_size": 8})";

class SafetensorsTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("safetensors", path));
    directory = std::string(path);
    use(kTied);
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  void use(const char *text) {
    auto parsed = parseHFConfig(&context, text, "config.json");
    ASSERT_TRUE(succeeded(parsed));
    config = *parsed;
    auto list = listParameters(config, mlir::UnknownLoc::get(&context));
    ASSERT_TRUE(succeeded(list));
    parameters = *list;
    tensors.clear();
    for (const ModelParameter &parameter : parameters)
      tensors.push_back({parameter.name, "F32",
                         std::vector<int64_t>(parameter.shape.begin(),
                                              parameter.shape.end())});
  }

  std::string path(const std::string &name) { return directory + "/" + name; }

  void writeText(const std::string &name, llvm::StringRef text) {
    std::error_code error;
    llvm::raw_fd_ostream os(path(name), error);
    ASSERT_FALSE(error);
    os << text;
  }

  /// A file of its header and zeros for data.
  void writeRaw(const std::string &name, const std::string &header,
                uint64_t dataSize, uint64_t headerSize) {
    char size[8];
    llvm::support::endian::write64le(size, headerSize);
    writeText(name,
              std::string(size, 8) + header + std::string(dataSize, '\0'));
  }
  void writeRaw(const std::string &name, const std::string &header,
                uint64_t dataSize) {
    writeRaw(name, header, dataSize, header.size());
  }

  void write(const std::string &name, const std::vector<Tensor> &list) {
    std::string header = "{\"__metadata__\": {\"format\": \"pt\"}";
    uint64_t offset = 0;
    for (const Tensor &tensor : list) {
      uint64_t size = tensor.type == "F32" || tensor.type == "I32" ? 4
                      : tensor.type == "I64"                       ? 8
                                                                   : 2;
      std::string shape;
      for (int64_t dim : tensor.shape) {
        size *= dim;
        shape += (shape.empty() ? "" : ", ") + std::to_string(dim);
      }
      header += ", \"" + tensor.name + "\": {\"dtype\": \"" + tensor.type +
                "\", \"shape\": [" + shape + "], \"data_offsets\": [" +
                std::to_string(offset) + ", " + std::to_string(offset + size) +
                "]}";
      offset += size;
    }
    writeRaw(name, header + "}", offset);
  }

  /// The messages of reading and checking, without the directory.
  std::string check() {
    std::string messages;
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) {
          auto location =
              llvm::cast<mlir::FileLineColLoc>(diagnostic.getLocation());
          messages +=
              llvm::sys::path::filename(location.getFilename().getValue())
                  .str() +
              ": " + diagnostic.str();
          return mlir::success();
        });
    auto index = SafetensorsIndex::read(&context, directory);
    bool good =
        succeeded(index) && succeeded(checkWeights(&context, directory, config,
                                                   parameters, *index));
    EXPECT_EQ(good, messages.empty());
    return messages;
  }

  Tensor *find(const std::string &name) {
    for (Tensor &tensor : tensors)
      if (tensor.name == name)
        return &tensor;
    return nullptr;
  }

  mlir::MLIRContext context;
  std::string directory;
  ModelConfig config;
  std::vector<ModelParameter> parameters;
  std::vector<Tensor> tensors;
};

const std::string kFile = "model.safetensors";
const std::string kIndex = "model.safetensors.index.json";

TEST_F(SafetensorsTest, WholeFile) {
  write(kFile, tensors);
  EXPECT_EQ(check(), "");
  find("model.norm.weight")->type = "BF16";
  find("model.embed_tokens.weight")->type = "F16";
  write(kFile, tensors);
  EXPECT_EQ(check(), "");
}

TEST_F(SafetensorsTest, OffsetsAreFromTheFile) {
  write(kFile, tensors);
  auto index = SafetensorsIndex::read(&context, directory);
  ASSERT_TRUE(succeeded(index));
  const SafetensorsTensor &tensor = index->tensors["model.norm.weight"];
  EXPECT_EQ(tensor.end - tensor.begin, 16u);
  uint64_t size = 0;
  ASSERT_FALSE(llvm::sys::fs::file_size(path(kFile), size));
  EXPECT_EQ(tensor.dataOffset + tensor.end, size);
}

TEST_F(SafetensorsTest, NoFile) {
  std::string name = llvm::sys::path::filename(directory).str();
  EXPECT_EQ(check(), name + ": has no model.safetensors and no "
                            "model.safetensors.index.json; without weights, "
                            "pass --no-weights");
  writeText("pytorch_model.bin", "");
  EXPECT_EQ(check(), name + ": has no model.safetensors and no "
                            "model.safetensors.index.json; convert "
                            "'pytorch_model.bin' with the model library's "
                            "save_pretrained");
}

TEST_F(SafetensorsTest, Truncated) {
  writeText(kFile, "");
  EXPECT_EQ(check(), kFile + ": not a safetensors file, or truncated: it has 0 "
                             "bytes");
  writeRaw(kFile, "{}", 0, 100);
  EXPECT_EQ(check(),
            kFile + ": truncated: the header has 100 bytes, but the file only "
                    "10");
  writeRaw(kFile, "{}", 0, 1ull << 63);
  EXPECT_EQ(check(), kFile + ": not a safetensors file: its header would have "
                             "9223372036854775808 bytes");
  writeRaw(kFile,
           R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})",
           7);
  EXPECT_EQ(check(), kFile + ": tensor 'a' ends at byte 8 of the data, but the "
                             "file has only 7: it is truncated");
}

TEST_F(SafetensorsTest, HeadersThatAreWrong) {
  writeRaw(kFile, "{{{{", 0);
  EXPECT_EQ(check().find(kFile + ": not a safetensors file: its header is not "
                                 "JSON: "),
            0u);
  writeRaw(kFile, "[]", 0);
  EXPECT_EQ(check(), kFile + ": not a safetensors file: its header is not "
                             "JSON: expected an object at the top");
  auto entry = [&](const std::string &text) {
    writeRaw(kFile, "{\"a\": " + text + "}", 8);
    return check();
  };
  std::string lacks =
      kFile + ": tensor 'a' lacks 'dtype', 'shape' or 'data_offsets'";
  EXPECT_EQ(entry("1"), lacks);
  EXPECT_EQ(entry(R"({"dtype": "F32", "shape": [2]})"), lacks);
  EXPECT_EQ(entry(R"({"dtype": "F7", "shape": [2], "data_offsets": [0, 8]})"),
            kFile + ": tensor 'a' has the unknown type 'F7'");
  std::string shape =
      kFile + ": tensor 'a' has a shape that is not a list of sizes";
  EXPECT_EQ(entry(R"({"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]})"),
            shape);
  EXPECT_EQ(entry(R"({"dtype": "F32", "shape": ["2"],
                      "data_offsets": [0, 8]})"),
            shape);
  EXPECT_EQ(entry(R"({"dtype": "F32", "shape": [4294967296, 4294967296],
                      "data_offsets": [0, 8]})"),
            shape);
  EXPECT_EQ(entry(R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]})"),
            kFile + ": tensor 'a' has 'data_offsets' that are not a range");
  EXPECT_EQ(entry(R"({"dtype": "F32", "shape": [1], "data_offsets": [0, 8]})"),
            kFile + ": tensor 'a' has 8 bytes, but F32 [1] needs 4");
}

/// Whatever is done to a header, the result is an index or one error.
TEST_F(SafetensorsTest, MutatedHeaders) {
  write(kFile, tensors);
  auto whole = llvm::cantFail(
      llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path(kFile))));
  std::string original = whole->getBuffer().str();
  std::mt19937 random(7);
  const std::string bytes = "{}[]\",:0123456789.-eE tfn\\\n\x80";
  for (int i = 0; i < 200; ++i) {
    std::string text = original;
    for (int changes = 1 + random() % 3; changes; --changes)
      text[random() % (i % 4 ? 900 : 12)] = bytes[random() % bytes.size()];
    if (i % 5 == 0)
      text.resize(random() % text.size());
    writeText(kFile, text);
    check();
  }
}

TEST_F(SafetensorsTest, WrongShapeOrType) {
  find("model.layers.0.mlp.up_proj.weight")->shape = {4, 6};
  write(kFile, tensors);
  EXPECT_EQ(check(), kFile + ": tensor 'model.layers.0.mlp.up_proj.weight' has "
                             "shape [4, 6], but config.json makes it [6, 4]");
  find("model.layers.0.mlp.up_proj.weight")->shape = {6, 4};
  find("model.norm.weight")->type = "I32";
  write(kFile, tensors);
  EXPECT_EQ(check(), kFile + ": tensor 'model.norm.weight' has type I32, "
                             "expected F32, F16 or BF16");
}

TEST_F(SafetensorsTest, MissingTensors) {
  find("model.norm.weight")->name = "lm_head.weight";
  write(kFile, tensors);
  EXPECT_EQ(check(), kFile + ": tensor 'model.norm.weight' is missing");
  tensors.resize(4);
  write(kFile, tensors);
  EXPECT_EQ(check(), kFile +
                         ": tensor 'model.layers.0.self_attn.v_proj.weight' "
                         "is missing, and 6 more");
  config.tiedEmbeddings = false;
  parameters.push_back({"lm_head.weight", {8, 4}});
  parameters.erase(parameters.begin() + 4, parameters.end() - 1);
  write(kFile, tensors);
  EXPECT_EQ(check(), kFile + ": tensor 'lm_head.weight' is missing; if it is "
                             "the embedding, set 'tie_word_embeddings' to true "
                             "in config.json");
}

TEST_F(SafetensorsTest, LeftoverTensors) {
  tensors.push_back(
      {"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {1}});
  tensors.push_back({"lm_head.weight", "F32", {8, 4}});
  write(kFile, tensors);
  EXPECT_EQ(check(), "");
  tensors.push_back({"model.layers.0.self_attn.q_proj.bias", "F32", {4}});
  write(kFile, tensors);
  EXPECT_EQ(check(), kFile + ": tensor 'model.layers.0.self_attn.q_proj.bias' "
                             "belongs to no parameter of llama as config.json "
                             "describes it");
  tensors.push_back({"model.layers.0.attn.bias", "F32", {4}});
  write(kFile, tensors);
  EXPECT_EQ(check(), kFile +
                         ": tensor 'model.layers.0.attn.bias' belongs to no "
                         "parameter of llama as config.json describes it, "
                         "and 1 more");
}

TEST_F(SafetensorsTest, GPT2WithAndWithoutPrefix) {
  use(kGPT2);
  write(kFile, tensors);
  EXPECT_EQ(check(), "");
  for (Tensor &tensor : tensors)
    tensor.name = tensor.name.substr(std::string("transformer.").size());
  tensors.push_back({"h.0.attn.bias", "F32", {1, 1, 8, 8}});
  tensors.push_back({"h.0.attn.masked_bias", "F32", {}});
  write(kFile, tensors);
  EXPECT_EQ(check(), "");
}

TEST_F(SafetensorsTest, ShardsWithAnIndex) {
  std::vector<Tensor> halves[2];
  std::string map;
  for (size_t i = 0; i < tensors.size(); ++i) {
    halves[i % 2].push_back(tensors[i]);
    map += (i ? ", \"" : "\"") + tensors[i].name + "\": \"part-" +
           std::to_string(i % 2) + ".safetensors\"";
  }
  write("part-0.safetensors", halves[0]);
  write("part-1.safetensors", halves[1]);
  writeText(kIndex, "{\"metadata\": {}, \"weight_map\": {" + map + "}}");
  EXPECT_EQ(check(), "");

  // Both files have the same tensors.
  write("part-1.safetensors", tensors);
  EXPECT_EQ(check(), "part-1.safetensors: tensor 'model.embed_tokens.weight' "
                     "is in an earlier file too");
  // A tensor in the other file.
  std::swap(halves[0][0], halves[1][0]);
  write("part-0.safetensors", halves[0]);
  write("part-1.safetensors", halves[1]);
  EXPECT_EQ(check(), kIndex + ": tensor 'model.embed_tokens.weight' is not in "
                              "'part-0.safetensors', where the index has it");
  llvm::sys::fs::remove(path("part-1.safetensors"));
  EXPECT_EQ(check(), "part-1.safetensors: cannot read the weights: No such "
                     "file or directory");
}

TEST_F(SafetensorsTest, IndexesThatAreWrong) {
  writeText(kIndex, "{}");
  EXPECT_EQ(check(), kIndex + ": has no 'weight_map' from tensors to files");
  writeText(kIndex, "{");
  EXPECT_EQ(check().find(kIndex + ": not a JSON object: "), 0u);
  for (const char *file : {"\"../other/model.safetensors\"", "7", "\"\""}) {
    writeText(kIndex, std::string("{\"weight_map\": {\"a\": ") + file + "}}");
    EXPECT_EQ(check(), kIndex + ": the file of tensor 'a' is not a file name");
  }
}

} // namespace

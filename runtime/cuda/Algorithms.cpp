//===- Algorithms.cpp - Which algorithm a product takes -------------------===//

#include "cuda/Algorithms.h"

#include "core/File.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace pipemesh::cuda {

using json = nlohmann::ordered_json;

static std::string versionOf(const Libraries &libraries) {
  int numbers[3] = {};
  for (int i = 0; i < 3; ++i)
    libraries.checkBlas(libraries.cublasLtGetProperty(i, &numbers[i]),
                        "cublasLtGetProperty");
  return runtime::cat(numbers[0], ".", numbers[1], ".", numbers[2]);
}

/// Sixteen hexadecimal digits for each of the library's words.
static std::string textOf(const cublasLtMatmulAlgo_t &algorithm) {
  std::string text;
  char word[17];
  for (uint64_t data : algorithm.data) {
    std::snprintf(word, sizeof(word), "%016llx",
                  static_cast<unsigned long long>(data));
    text += word;
  }
  return text;
}

static bool parse(const std::string &text, cublasLtMatmulAlgo_t &algorithm) {
  constexpr size_t words = std::size(cublasLtMatmulAlgo_t{}.data);
  if (text.size() != 16 * words ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  for (size_t i = 0; i < words; ++i)
    algorithm.data[i] = std::stoull(text.substr(16 * i, 16), nullptr, 16);
  return true;
}

Algorithms::Algorithms(const Libraries &libraries, std::string path,
                       std::string gpu)
    : path(std::move(path)), gpu(std::move(gpu)),
      version(versionOf(libraries)) {
  if (this->path.empty() || !std::filesystem::exists(this->path))
    return;
  auto damaged = [&](const auto &...what) {
    runtime::fail("algorithms '", this->path, "': ", runtime::cat(what...),
                  "; remove the file, and they are chosen again");
  };
  json root =
      json::parse(runtime::readTextFile(this->path, "algorithms"), nullptr,
                  /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("products") ||
      !root["products"].is_object())
    damaged("is no JSON object with 'products'");
  auto expect = [&](const char *key, const std::string &own) {
    std::string theirs = root.contains(key) && root[key].is_string()
                             ? root[key].get<std::string>()
                             : std::string();
    if (theirs != own)
      damaged("were chosen for ", key, " '", theirs, "', but this is '", own,
              "'");
  };
  expect("gpu", this->gpu);
  expect("cublasLt", version);
  for (const auto &[product, value] : root["products"].items()) {
    Choice choice;
    bool isWhole =
        value.is_object() && value.contains("algorithm") &&
        value["algorithm"].is_string() && value.contains("workspace") &&
        value["workspace"].is_number_unsigned() &&
        parse(value["algorithm"].get<std::string>(), choice.algorithm);
    if (!isWhole)
      damaged("'", product, "' has no algorithm and workspace");
    choice.workspaceBytes = value["workspace"].get<uint64_t>();
    choices[product] = choice;
  }
}

const Algorithms::Choice *Algorithms::find(const std::string &product) const {
  auto known = choices.find(product);
  return known == choices.end() ? nullptr : &known->second;
}

void Algorithms::add(const std::string &product, const Choice &choice) {
  choices[product] = choice;
  hasChanged = true;
}

void Algorithms::save() const {
  if (path.empty() || !hasChanged)
    return;
  json products = json::object();
  for (const auto &[product, choice] : choices)
    products[product] = {{"algorithm", textOf(choice.algorithm)},
                         {"workspace", choice.workspaceBytes}};
  json root = {{"gpu", gpu}, {"cublasLt", version}, {"products", products}};
  runtime::writeTextFile(path, root.dump(2) + "\n");
}

} // namespace pipemesh::cuda

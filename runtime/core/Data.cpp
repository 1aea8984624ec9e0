//===- Data.cpp - Token files, cut into batches ---------------------------===//

#include "core/Data.h"

#include "core/File.h"
#include "core/Safetensors.h"

#include <cstring>
#include <filesystem>

namespace pipemesh::runtime {

static void countTargets(Batch &batch, const BatchShape &shape) {
  // The first label of a row is nobody's target.
  for (int64_t row = 0; row < shape.batch; ++row)
    for (int64_t s = 1; s < shape.labelColumns; ++s)
      batch.countedTokens +=
          batch.labels[row * shape.labelColumns + s] != uncountedLabel;
}

namespace {

/// Windows over a flat sequence of tokens of 1, 2 or 4 bytes.
class WindowData : public TokenData {
public:
  WindowData(const std::string &path, const BatchShape &shape, int64_t width)
      : file(path, "data"), shape(shape), width(width) {
    if (file.size() % width)
      fail("data '", path, "' has ", file.size(),
           " bytes, which is not a multiple of ", width,
           "; it is truncated, or its suffix is wrong");
  }

  int64_t steps() const override {
    return file.size() / width / (shape.sequence + 1) / shape.batch;
  }

  Batch read(int64_t step) const override {
    Batch batch;
    int64_t window = shape.sequence + 1;
    for (int64_t row = 0; row < shape.batch; ++row) {
      int64_t first = (step * shape.batch + row) * window;
      for (int64_t s = 0; s < window; ++s) {
        int32_t id = token(first + s);
        if (s < shape.sequence)
          batch.inputIds.push_back(id);
        if (s < shape.labelColumns)
          batch.labels.push_back(id);
      }
    }
    countTargets(batch, shape);
    return batch;
  }

private:
  int32_t token(int64_t position) const {
    uint32_t id = 0;
    std::memcpy(&id, file.data() + position * width, width);
    if (id >= static_cast<uint64_t>(shape.vocabulary))
      fail("data '", file.path(), "': token ", position, " is ", id,
           ", but the model's vocabulary has ", shape.vocabulary,
           " ids; tokenize the text for this model");
    return static_cast<int32_t>(id);
  }

  MappedFile file;
  BatchShape shape;
  int64_t width;
};

class TensorData : public TokenData {
public:
  TensorData(const std::string &path, const BatchShape &shape)
      : file(path, "data"), shape(shape), inputs(tensor("input_ids")),
        labels(file.find("labels") ? tensor("labels") : inputs) {
    if (inputs.shape[0] != labels.shape[0])
      fail("data '", path, "': 'input_ids' has ", inputs.shape[0],
           " steps, but 'labels' ", labels.shape[0]);
  }

  int64_t steps() const override { return inputs.shape[0]; }

  Batch read(int64_t step) const override {
    Batch batch;
    for (int64_t row = 0; row < shape.batch; ++row) {
      for (int64_t s = 0; s < shape.sequence; ++s) {
        batch.inputIds.push_back(id(inputs, "input_ids", step, row, s, false));
        batch.labels.push_back(id(labels, "labels", step, row, s, true));
      }
      for (int64_t s = shape.sequence; s < shape.labelColumns; ++s)
        batch.labels.push_back(uncountedLabel);
    }
    countTargets(batch, shape);
    return batch;
  }

private:
  const StoredTensor &tensor(const char *name) const {
    const StoredTensor *found = file.find(name);
    if (!found)
      fail("data '", file.path(), "' has no tensor '", name, "'");
    if (found->dtype != "I32" && found->dtype != "I64")
      fail("data '", file.path(), "': '", name, "' has type ", found->dtype,
           ", but I32 is needed");
    if (found->shape.size() != 3 || found->shape[1] != shape.batch ||
        found->shape[2] != shape.sequence)
      fail("data '", file.path(), "': '", name, "' has shape ",
           shapeText(found->shape), ", but the bundle needs [steps, ",
           shape.batch, ", ", shape.sequence,
           "]; compile it with --batch and --sequence of the data");
    return *found;
  }

  int32_t id(const StoredTensor &from, const char *name, int64_t step,
             int64_t row, int64_t s, bool label) const {
    int64_t position = (step * shape.batch + row) * shape.sequence + s;
    int64_t value = 0;
    if (from.dtype == "I32") {
      int32_t narrow;
      std::memcpy(&narrow, from.data + position * 4, 4);
      value = narrow;
    } else {
      std::memcpy(&value, from.data + position * 8, 8);
    }
    if ((value < 0 || value >= shape.vocabulary) &&
        !(label && value == uncountedLabel))
      fail("data '", file.path(), "': ", name, "[", step, ", ", row, ", ", s,
           "] is ", value, ", but the model's vocabulary has ",
           shape.vocabulary, " ids",
           label ? " (and -100 for labels that do not count)" : "");
    return static_cast<int32_t>(value);
  }

  SafetensorsFile file;
  BatchShape shape;
  const StoredTensor &inputs, &labels;
};

} // namespace

std::unique_ptr<TokenData> openTokenData(const std::string &path,
                                         const BatchShape &shape) {
  std::string suffix = std::filesystem::path(path).extension().string();
  std::unique_ptr<TokenData> data;
  if (suffix == ".txt")
    data = std::make_unique<WindowData>(path, shape, 1);
  else if (suffix == ".u16")
    data = std::make_unique<WindowData>(path, shape, 2);
  else if (suffix == ".u32")
    data = std::make_unique<WindowData>(path, shape, 4);
  else if (suffix == ".safetensors")
    data = std::make_unique<TensorData>(path, shape);
  else
    fail("--data: '", path, "' has the unknown suffix '", suffix,
         "'; known ones are .txt, .u16, .u32 and .safetensors");
  if (data->steps() == 0)
    fail("data '", path, "' is too short: a step needs ", shape.batch,
         " sequences of ", shape.sequence, suffix == ".safetensors" ? "" : "+1",
         " tokens");
  return data;
}

} // namespace pipemesh::runtime

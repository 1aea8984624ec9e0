//===- Recipe.cpp ---------------------------------------------------------===//

#include "Recipe.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace pipemesh;

static json::Object defaultRecipe() {
  return json::Object{{"optimizer", "adamw"},
                      {"betas", json::Array{0.9, 0.95}},
                      {"epsilon", 1e-8},
                      {"weight_decay", 0.1},
                      {"decay", "all"},
                      {"clip_norm", nullptr},
                      {"learning_rate", 1e-3},
                      {"trainable", json::Array{}}};
}

namespace {
/// Checks one recipe; every error names the file, the key and the value.
struct Checker {
  std::string path;

  template <typename... Args> Error wrong(const char *format, Args &&...args) {
    return createStringError("recipe '" + path + "': " +
                             formatv(format, std::forward<Args>(args)...).str());
  }

  Error number(const json::Object &object, StringRef key, double low, bool open) {
    const json::Value *value = object.get(key);
    auto number = value->getAsNumber();
    if (!number || *number < low || (open && *number == low))
      return wrong("'{0}' is {1}, but must be a number {2} {3}", key, *value,
                   open ? "above" : "of at least", low);
    return Error::success();
  }

  Error known(const json::Object &object, StringRef where,
              ArrayRef<StringRef> keys) {
    for (auto &entry : object)
      if (!is_contained(keys, StringRef(entry.first)))
        return wrong("unknown key '{0}'{1}; the keys are {2}",
                     StringRef(entry.first), where, join(keys, ", "));
    return Error::success();
  }

  Error learningRate(const json::Value &value);
};
} // namespace

Error Checker::learningRate(const json::Value &value) {
  if (auto rate = value.getAsNumber())
    return *rate >= 0 ? Error::success()
                      : wrong("'learning_rate' is {0}, but must not be negative",
                              value);
  if (auto *list = value.getAsArray()) {
    for (const json::Value &rate : *list)
      if (!rate.getAsNumber() || *rate.getAsNumber() < 0)
        return wrong("'learning_rate' has the entry {0}, which is no rate", rate);
    return list->empty() ? wrong("'learning_rate' is an empty list")
                         : Error::success();
  }
  auto *object = value.getAsObject();
  if (!object)
    return wrong("'learning_rate' is {0}, but must be a number, a list of one "
                 "for each step, or a schedule",
                 value);
  if (Error error = known(*object, " in 'learning_rate'",
                          {"schedule", "peak", "minimum", "warmup", "steps"}))
    return error;
  const json::Value *schedule = object->get("schedule");
  if (!schedule || schedule->getAsString() != StringRef("cosine"))
    return wrong("'learning_rate' has the schedule {0}; the one known is "
                 "\"cosine\"",
                 schedule ? *schedule : json::Value(nullptr));
  for (StringRef key : {"peak", "minimum", "warmup", "steps"}) {
    if (!object->get(key))
      return wrong("'learning_rate' lacks '{0}'", key);
    if (Error error = number(*object, key, 0, /*open=*/false))
      return error;
  }
  return Error::success();
}

Expected<Recipe> pipemesh::readRecipe(StringRef path) {
  Recipe recipe;
  recipe.json = defaultRecipe();
  if (path.empty())
    return std::move(recipe);
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return createStringError("cannot read recipe '" + path.str() +
                             "': " + buffer.getError().message());
  Checker check{path.str()};
  auto parsed = json::parse((*buffer)->getBuffer());
  if (!parsed)
    return check.wrong("no JSON: {0}", toString(parsed.takeError()));
  json::Object *object = parsed->getAsObject();
  if (!object)
    return check.wrong("the file holds no JSON object");
  if (Error error = check.known(
          *object, "",
          {"optimizer", "betas", "epsilon", "weight_decay", "decay", "clip_norm",
           "learning_rate", "trainable"}))
    return std::move(error);
  for (auto &entry : *object)
    recipe.json[entry.first] = entry.second;

  const json::Object &all = recipe.json;
  if (all.getString("optimizer") != StringRef("adamw"))
    return check.wrong("'optimizer' is {0}; the one known is \"adamw\"",
                       *all.get("optimizer"));
  auto decay = all.getString("decay");
  if (decay != StringRef("all") && decay != StringRef("matrices"))
    return check.wrong("'decay' is {0}, but must be \"all\" or \"matrices\"",
                       *all.get("decay"));
  recipe.decay = decay->str();
  const json::Array *betas = all.getArray("betas");
  bool betasRight = betas && betas->size() == 2;
  for (size_t i = 0; betasRight && i < 2; ++i) {
    auto beta = (*betas)[i].getAsNumber();
    betasRight = beta && *beta >= 0 && *beta < 1;
  }
  if (!betasRight)
    return check.wrong("'betas' is {0}, but must be two numbers from 0 to below 1",
                       *all.get("betas"));
  if (Error error = check.number(all, "epsilon", 0, /*open=*/false))
    return std::move(error);
  if (Error error = check.number(all, "weight_decay", 0, /*open=*/false))
    return std::move(error);
  if (!all.get("clip_norm")->getAsNull()) {
    if (Error error = check.number(all, "clip_norm", 0, /*open=*/true))
      return std::move(error);
    recipe.clips = true;
  }
  if (Error error = check.learningRate(*all.get("learning_rate")))
    return std::move(error);
  const json::Array *trainable = all.getArray("trainable");
  if (!trainable)
    return check.wrong("'trainable' is {0}, but must be a list of patterns",
                       *all.get("trainable"));
  for (const json::Value &pattern : *trainable) {
    auto text = pattern.getAsString();
    if (!text || text->empty())
      return check.wrong("'trainable' has the entry {0}, which is no pattern",
                         pattern);
    recipe.trainable.push_back(text->str());
  }
  return std::move(recipe);
}

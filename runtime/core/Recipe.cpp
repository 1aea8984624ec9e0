//===- Recipe.cpp - Optimizer settings and the learning rate --------------===//

#include "core/Recipe.h"

#include "core/File.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

using nlohmann::json;

namespace pipemesh::runtime {

double CosineSchedule::at(int64_t step) const {
  if (step < warmup)
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (step >= steps)
    return minimum;
  double progress =
      static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
  return minimum +
         (peak - minimum) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

double Recipe::rate(int64_t step) const {
  if (const auto *constant = std::get_if<double>(&learningRate))
    return *constant;
  if (const auto *schedule = std::get_if<CosineSchedule>(&learningRate))
    return schedule->at(step);
  const auto &list = std::get<std::vector<double>>(learningRate);
  if (step >= static_cast<int64_t>(list.size()))
    fail("the recipe's learning_rate lists ", list.size(), " rates, but step ",
         step, " needs one; add rates");
  return list[step];
}

void Recipe::checkSteps(int64_t steps) const {
  if (steps > 0)
    rate(steps - 1);
}

static double number(const json &value, const std::string &where,
                     const std::string &key, double least) {
  if (!value.is_number())
    fail(where, ": '", key, "' is ", value.dump(), ", but a number is needed");
  double result = value.get<double>();
  if (!std::isfinite(result) || result < least)
    fail(where, ": '", key, "' is ", value.dump(),
         ", but a number of at least ", least, " is needed");
  return result;
}

static int64_t whole(const json &value, const std::string &where,
                     const std::string &key) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0)
    fail(where, ": '", key, "' is ", value.dump(),
         ", but a whole number of steps is needed");
  return value.get<int64_t>();
}

static void checkKeys(const json &value, const std::string &where,
                      const std::vector<std::string> &known) {
  for (auto &[key, unused] : value.items())
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      std::string list;
      for (const std::string &name : known)
        list += (list.empty() ? "" : ", ") + name;
      fail(where, ": unknown key '", key, "'; known keys are ", list);
    }
}

static CosineSchedule parseSchedule(const json &value,
                                    const std::string &where) {
  checkKeys(value, where + ": learning_rate",
            {"schedule", "peak", "minimum", "warmup", "steps"});
  if (!value.contains("schedule") || value["schedule"] != "cosine")
    fail(where, ": the learning_rate's 'schedule' is ",
         value.contains("schedule") ? value["schedule"].dump() : "missing",
         ", but only \"cosine\" is known");
  for (const char *key : {"peak", "minimum", "warmup", "steps"})
    if (!value.contains(key))
      fail(where, ": the cosine learning_rate lacks '", key, "'");
  CosineSchedule schedule;
  schedule.peak = number(value["peak"], where, "peak", 0);
  schedule.minimum = number(value["minimum"], where, "minimum", 0);
  schedule.warmup = whole(value["warmup"], where, "warmup");
  schedule.steps = whole(value["steps"], where, "steps");
  if (schedule.steps < schedule.warmup)
    fail(where, ": the learning_rate's 'steps' (", schedule.steps,
         ") are fewer than its 'warmup' (", schedule.warmup, ")");
  return schedule;
}

Recipe parseRecipe(const json &value, const std::string &where,
                   const Recipe &base) {
  if (!value.is_object())
    fail(where, ": a recipe is a JSON object");
  checkKeys(value, where,
            {"optimizer", "betas", "epsilon", "weight_decay", "decay",
             "clip_norm", "learning_rate", "trainable"});
  Recipe recipe = base;
  if (value.contains("optimizer")) {
    if (value["optimizer"] != "adamw")
      fail(where, ": 'optimizer' is ", value["optimizer"].dump(),
           ", but only \"adamw\" is known");
    recipe.optimizer = "adamw";
  }
  if (value.contains("betas")) {
    const json &betas = value["betas"];
    if (!betas.is_array() || betas.size() != 2)
      fail(where, ": 'betas' is ", betas.dump(),
           ", but a list of two numbers is needed");
    recipe.beta1 = number(betas[0], where, "betas", 0);
    recipe.beta2 = number(betas[1], where, "betas", 0);
    if (recipe.beta1 >= 1 || recipe.beta2 >= 1)
      fail(where, ": 'betas' is ", betas.dump(), ", but both are below 1");
  }
  if (value.contains("epsilon"))
    recipe.epsilon = number(value["epsilon"], where, "epsilon", 0);
  if (value.contains("weight_decay"))
    recipe.weightDecay =
        number(value["weight_decay"], where, "weight_decay", 0);
  if (value.contains("decay")) {
    if (value["decay"] != "all" && value["decay"] != "matrices")
      fail(where, ": 'decay' is ", value["decay"].dump(),
           ", but \"all\" or \"matrices\" is needed");
    recipe.decay = value["decay"].get<std::string>();
  }
  if (value.contains("clip_norm")) {
    recipe.clipNorm.reset();
    if (!value["clip_norm"].is_null())
      recipe.clipNorm = number(value["clip_norm"], where, "clip_norm", 0);
    if (recipe.clipNorm && *recipe.clipNorm == 0)
      fail(where, ": 'clip_norm' is 0, which would stop the training; null "
                  "means that nothing is clipped");
  }
  if (value.contains("learning_rate")) {
    const json &rate = value["learning_rate"];
    if (rate.is_object()) {
      recipe.learningRate = parseSchedule(rate, where);
    } else if (rate.is_array()) {
      std::vector<double> list;
      for (const json &entry : rate)
        list.push_back(number(entry, where, "learning_rate", 0));
      recipe.learningRate = std::move(list);
    } else {
      recipe.learningRate = number(rate, where, "learning_rate", 0);
    }
  }
  if (value.contains("trainable")) {
    const json &patterns = value["trainable"];
    recipe.trainable.clear();
    bool valid = patterns.is_array();
    if (valid)
      for (const json &pattern : patterns) {
        valid &= pattern.is_string();
        if (pattern.is_string())
          recipe.trainable.push_back(pattern.get<std::string>());
      }
    if (!valid)
      fail(where, ": 'trainable' is ", patterns.dump(),
           ", but a list of patterns is needed");
  }
  return recipe;
}

Recipe readReplacementRecipe(const std::string &path, const Recipe &compiled) {
  json value = json::parse(readTextFile(path, "recipe"), nullptr, false);
  std::string where = "recipe '" + path + "'";
  if (value.is_discarded())
    fail(where, " is not valid JSON");
  Recipe recipe = parseRecipe(value, where, compiled);
  auto differs = [&](const std::string &key, const std::string &given,
                     const std::string &built) {
    fail(where, ": '", key, "' is ", given,
         ", but the bundle was compiled with ", built,
         "; compile it again with this recipe");
  };
  if (recipe.optimizer != compiled.optimizer)
    differs("optimizer", recipe.optimizer, compiled.optimizer);
  if (recipe.decay != compiled.decay)
    differs("decay", '"' + recipe.decay + '"', '"' + compiled.decay + '"');
  if (recipe.trainable != compiled.trainable)
    differs("trainable", json(recipe.trainable).dump(),
            json(compiled.trainable).dump());
  if (recipe.clipNorm.has_value() != compiled.clipNorm.has_value())
    differs("clip_norm",
            recipe.clipNorm ? cat(*recipe.clipNorm) : std::string("null"),
            compiled.clipNorm ? cat(*compiled.clipNorm)
                              : std::string("null (no clipping)"));
  return recipe;
}

} // namespace pipemesh::runtime

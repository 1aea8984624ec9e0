//===- RecipeTest.cpp - Optimizer settings and the learning rate ----------===//

#include "Fixture.h"

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

Recipe parse(const std::string &text) {
  return parseRecipe(nlohmann::json::parse(text), "recipe 'r.json'");
}

TEST(Recipe, CosineRatesAreThoseOfTheReference) {
  Recipe recipe = parse(R"({"learning_rate": {"schedule": "cosine",
      "peak": 0.01, "minimum": 0.001, "warmup": 2, "steps": 4}})");
  const double expected[] = {0.005, 0.01, 0.01, 0.0055, 0.001, 0.001};
  for (int64_t step = 0; step < 6; ++step)
    EXPECT_NEAR(recipe.rate(step), expected[step], 1e-15) << step;
}

TEST(Recipe, RatesAreOneNumberOrAList) {
  EXPECT_EQ(parse(R"({"learning_rate": 0.25})").rate(1000), 0.25);
  Recipe recipe = parse(R"({"learning_rate": [0.5, 0.125]})");
  EXPECT_EQ(recipe.rate(1), 0.125);
  recipe.checkSteps(2);
  EXPECT_ERROR(recipe.checkSteps(3), "learning_rate lists 2 rates", "step 2");
}

TEST(Recipe, WrongKeysAndValuesAreNamed) {
  EXPECT_ERROR(parse(R"({"momentum": 0.9})"), "r.json",
               "unknown key 'momentum'", "weight_decay");
  EXPECT_ERROR(parse(R"({"optimizer": "sgd"})"), "\"sgd\"", "adamw");
  EXPECT_ERROR(parse(R"({"betas": [0.9]})"), "'betas' is [0.9]");
  EXPECT_ERROR(parse(R"({"betas": [0.9, 1.0]})"), "below 1");
  EXPECT_ERROR(parse(R"({"epsilon": -1})"), "'epsilon' is -1");
  EXPECT_ERROR(parse(R"({"clip_norm": "big"})"), "'clip_norm' is \"big\"");
  EXPECT_ERROR(parse(R"({"clip_norm": 0})"), "'clip_norm' is 0", "null");
  EXPECT_ERROR(parse(R"({"decay": "some"})"), "\"some\"", "matrices");
  EXPECT_ERROR(parse(R"({"trainable": "a"})"), "list of patterns");
  EXPECT_ERROR(parse(R"({"learning_rate": "fast"})"), "\"fast\"");
  EXPECT_ERROR(parse(R"({"learning_rate": {"schedule": "linear"}})"),
               "\"linear\"", "cosine");
  EXPECT_ERROR(parse(R"({"learning_rate": {"schedule": "cosine", "peak": 1,
      "minimum": 0, "warmup": 5, "steps": 3}})"),
               "'steps' (3)", "'warmup' (5)");
  EXPECT_ERROR(parse("[]"), "JSON object");
}

TEST(Recipe, AReplacementKeepsWhatItLeavesOut) {
  TemporaryFolder folder;
  Recipe compiled =
      parse(R"({"weight_decay": 0.3, "clip_norm": 0.5, "decay": "matrices"})");
  writeFile(folder / "r.json", R"({"clip_norm": 2, "learning_rate": 0.5})");
  Recipe recipe = readReplacementRecipe(folder / "r.json", compiled);
  EXPECT_EQ(recipe.weightDecay, 0.3);
  EXPECT_EQ(*recipe.clipNorm, 2);
  EXPECT_EQ(recipe.rate(0), 0.5);
  auto replace = [&](const char *text) {
    writeFile(folder / "r.json", text);
    readReplacementRecipe(folder / "r.json", compiled);
  };
  EXPECT_ERROR(replace(R"({"decay": "all"})"), "'decay'", "\"all\"",
               "\"matrices\"", "compile it again");
  EXPECT_ERROR(replace(R"({"clip_norm": null})"), "'clip_norm' is null", "0.5");
  EXPECT_ERROR(replace(R"({"trainable": ["a.*"]})"), "'trainable'", "a.*");
  EXPECT_ERROR(replace("{"), "not valid JSON");
  EXPECT_ERROR(replace(R"({"beta": 1})"), "unknown key 'beta'");
  EXPECT_ERROR(readReplacementRecipe(folder / "none.json", compiled),
               "none.json");
}

} // namespace

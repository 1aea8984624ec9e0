//===- Recipe.h - Optimizer settings and the learning rate ----------------===//

#ifndef PIPEMESH_RUNTIME_CORE_RECIPE_H
#define PIPEMESH_RUNTIME_CORE_RECIPE_H

#include "core/Error.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <variant>

namespace pipemesh::runtime {

/// Warm-up in equal steps to the peak, then half a cosine to the minimum.
struct CosineSchedule {
  double peak = 0, minimum = 0;
  int64_t warmup = 0, steps = 0;

  /// The rate of step i, counted from 0: peak (i+1)/warmup while i < warmup,
  /// then minimum + (peak - minimum)(1 + cos(pi (i - warmup)/(steps -
  /// warmup)))/2, and the minimum from `steps` on.
  double at(int64_t step) const;
};

struct Recipe {
  std::string optimizer = "adamw";
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0.01;
  std::string decay = "all"; ///< or "matrices"
  std::optional<double> clipNorm;
  std::variant<double, std::vector<double>, CosineSchedule> learningRate = 1e-3;
  std::vector<std::string> trainable = {"*"};

  /// The learning rate of step i, counted from 0.
  double rate(int64_t step) const;

  /// Throws when the rates are a list that ends before step `steps` - 1.
  void checkSteps(int64_t steps) const;
};

/// Reads a recipe; what `value` leaves out is taken from `base`. `where` names
/// the file in messages. Unknown keys are refused.
Recipe parseRecipe(const nlohmann::json &value, const std::string &where,
                   const Recipe &base = {});

/// Reads the file given to --recipe, over the bundle's own recipe. Refuses one
/// that differs in what is compiled in: optimizer, decay, trainable, and
/// whether gradients are clipped.
Recipe readReplacementRecipe(const std::string &path, const Recipe &compiled);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_CORE_RECIPE_H

//===- Recipe.h - recipe.json as pmc reads it -------------------*- C++ -*-===//

#ifndef PIPEMESH_TOOLS_PMC_RECIPE_H
#define PIPEMESH_TOOLS_PMC_RECIPE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace pipemesh {

/// What of a recipe is compiled in, and the whole of it for the manifest.
struct Recipe {
  std::string optimizer = "adamw";
  std::string decay = "all";
  bool clips = false;
  std::vector<std::string> trainable;
  llvm::json::Object json;
};

/// Reads and checks a recipe; an empty path gives the default one.
llvm::Expected<Recipe> readRecipe(llvm::StringRef path);

} // namespace pipemesh

#endif // PIPEMESH_TOOLS_PMC_RECIPE_H

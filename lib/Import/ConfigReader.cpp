//===- ConfigReader.cpp - Typed access to the fields of a config.json -----===//

#include "ConfigReader.h"
#include "pipemesh/Import/JSONText.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;

namespace pipemesh {

static constexpr int64_t kLargestSize = 2147483647;

std::string quoteValue(const llvm::json::Value &value) {
  std::string result;
  llvm::raw_string_ostream os(result);
  if (auto integer = value.getAsInteger())
    os << *integer;
  else if (auto number = value.getAsNumber())
    os << llvm::format("%g", *number);
  else
    os << value;
  if (result.size() > 60) {
    result.resize(57);
    result += "...";
  }
  return result;
}

const llvm::json::Value *ConfigReader::get(StringRef name) {
  wasRead.insert(name);
  return anyError ? nullptr : object.get(name);
}

bool ConfigReader::has(StringRef name) {
  const llvm::json::Value *value = get(name);
  return value && value->kind() != llvm::json::Value::Null;
}

bool ConfigReader::isNull(StringRef name) {
  const llvm::json::Value *value = get(name);
  return value && value->kind() == llvm::json::Value::Null;
}

std::string ConfigReader::fullName(StringRef name) const {
  return prefix.empty() ? name.str() : (prefix + "." + name).str();
}

std::pair<unsigned, unsigned> ConfigReader::locate(StringRef name) {
  SmallVector<StringRef, 2> keys;
  if (!prefix.empty())
    keys.push_back(prefix);
  keys.push_back(name);
  auto place = findJSONKey(text, keys);
  if (!place.first && !prefix.empty())
    place = findJSONKey(text, {prefix});
  return {std::max(place.first, 1u), std::max(place.second, 1u)};
}

void ConfigReader::error(StringRef name, const Twine &message) {
  if (!anyError) {
    auto [line, column] = locate(name);
    emitError(FileLineColLoc::get(context, path, line, column)) << message;
  }
  anyError = true;
}

void ConfigReader::warning(StringRef name, const Twine &message) {
  auto [line, column] = locate(name);
  collected.push_back({line, column, message.str()});
}

void ConfigReader::warnings(std::vector<ConfigWarning> more) {
  for (ConfigWarning &warning : more)
    collected.push_back(std::move(warning));
}

int64_t ConfigReader::integer(StringRef name, int64_t missing, int64_t least) {
  const llvm::json::Value *value = get(name);
  if (!value)
    return missing;
  auto number = value->getAsInteger();
  if (!number) {
    error(name, "field '" + fullName(name) + "' is " + quoteValue(*value) +
                    ", expected a whole number");
    return missing;
  }
  if (*number < least || *number > kLargestSize) {
    error(name, "field '" + fullName(name) + "' is " + Twine(*number) +
                    ", expected a number from " + Twine(least) + " to " +
                    Twine(kLargestSize));
    return missing;
  }
  return *number;
}

int64_t ConfigReader::integerOrNull(StringRef name, int64_t missing,
                                    int64_t null, int64_t least) {
  return isNull(name) ? null : integer(name, missing, least);
}

double ConfigReader::number(StringRef name, double missing) {
  const llvm::json::Value *value = get(name);
  if (!value)
    return missing;
  auto number = value->getAsNumber();
  if (!number || !std::isfinite(*number)) {
    error(name, "field '" + fullName(name) + "' is " + quoteValue(*value) +
                    ", expected a number");
    return missing;
  }
  return *number;
}

std::optional<double> ConfigReader::optionalNumber(StringRef name) {
  if (!has(name))
    return std::nullopt;
  return number(name, 0.0);
}

bool ConfigReader::boolean(StringRef name, bool missing) {
  const llvm::json::Value *value = get(name);
  if (!value)
    return missing;
  auto boolean = value->getAsBoolean();
  if (!boolean) {
    error(name, "field '" + fullName(name) + "' is " + quoteValue(*value) +
                    ", expected true or false");
    return missing;
  }
  return *boolean;
}

std::string ConfigReader::string(StringRef name, StringRef missing) {
  const llvm::json::Value *value = get(name);
  if (!value)
    return missing.str();
  auto string = value->getAsString();
  if (!string) {
    error(name, "field '" + fullName(name) + "' is " + quoteValue(*value) +
                    ", expected a string");
    return missing.str();
  }
  return string->str();
}

} // namespace pipemesh

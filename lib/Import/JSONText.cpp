//===- JSONText.cpp - Positions and limits that llvm::json does not have --===//

#include "pipemesh/Import/JSONText.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace pipemesh {

static constexpr unsigned kMaxNesting = 64;

/// The index just behind the string that starts at `begin` (a quote).
static size_t skipString(StringRef text, size_t begin) {
  size_t i = begin + 1;
  while (i < text.size() && text[i] != '"')
    i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

std::pair<unsigned, unsigned> findJSONKey(StringRef text,
                                          ArrayRef<StringRef> path) {
  // matched[d]: how many components of the path the open objects lead to.
  SmallVector<unsigned> matched;
  unsigned pending = 0;
  unsigned line = 1;
  size_t lineStart = 0;
  std::pair<unsigned, unsigned> found = {0, 0};
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    if (c == '\n') {
      ++line;
      lineStart = i + 1;
    }
    if (c == '{' || c == '[') {
      matched.push_back(c == '{' ? pending : ~0u);
      pending = ~0u;
    } else if ((c == '}' || c == ']') && !matched.empty()) {
      matched.pop_back();
      pending = ~0u;
    } else if (c == ',') {
      pending = ~0u;
    }
    if (c != '"') {
      ++i;
      continue;
    }
    size_t end = skipString(text, i);
    StringRef key = text.slice(i + 1, end - 1);
    bool isKey = text.drop_front(end).ltrim(" \t\r\n").starts_with(":");
    if (isKey && !matched.empty() && matched.back() < path.size() &&
        key == path[matched.back()]) {
      pending = matched.back() + 1;
      // The last of equal keys counts, as it does for the parser.
      if (pending == path.size())
        found = {line, static_cast<unsigned>(i - lineStart) + 1};
    } else if (isKey) {
      pending = ~0u;
    }
    i = end;
  }
  return found;
}

std::string compactJSON(StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      size_t end = skipString(text, i);
      result += text.slice(i, end);
      i = end;
      continue;
    }
    if (!llvm::isSpace(text[i]))
      result += text[i];
    ++i;
  }
  return result;
}

FailureOr<llvm::json::Object> parseJSONObject(StringRef text,
                                              std::string &error) {
  unsigned depth = 0;
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    if (c == '"') {
      i = skipString(text, i);
      continue;
    }
    if ((c == '{' || c == '[') && ++depth > kMaxNesting) {
      error = "nesting beyond " + std::to_string(kMaxNesting) + " levels";
      return failure();
    }
    if ((c == '}' || c == ']') && depth)
      --depth;
    ++i;
  }
  auto value = llvm::json::parse(text);
  if (!value) {
    error = llvm::toString(value.takeError());
    for (char &c : error)
      if (c == '\n')
        c = ' ';
    return failure();
  }
  llvm::json::Object *object = value->getAsObject();
  if (!object) {
    error = "expected an object at the top";
    return failure();
  }
  return std::move(*object);
}

} // namespace pipemesh

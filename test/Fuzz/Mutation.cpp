// Damaged copies of IR text.
#include "Mutation.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using llvm::StringRef;

namespace pipemesh::fuzz {

uint64_t Random::next() {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545F4914F6CDD1DULL;
}

std::vector<StringRef> splitModules(StringRef text) {
  std::vector<StringRef> modules;
  while (!text.empty()) {
    size_t end = text.find("// -----");
    StringRef module = text.slice(0, end);
    if (!module.trim().empty())
      modules.push_back(module);
    if (end == StringRef::npos)
      break;
    size_t line = text.find('\n', end);
    text = line == StringRef::npos ? StringRef() : text.drop_front(line + 1);
  }
  return modules;
}

namespace {
struct Token {
  size_t begin, size;
};
} // namespace

/// Words, numbers, strings and single other characters.
static std::vector<Token> tokenize(StringRef text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at++;
    char c = text[begin];
    if (llvm::isSpace(c))
      continue;
    if (c == '"') {
      while (at < text.size() && text[at] != '"' && text[at] != '\n')
        ++at;
      at += at < text.size();
    } else if (llvm::isAlnum(c) || StringRef("%#!@^_").contains(c)) {
      while (at < text.size() &&
             (llvm::isAlnum(text[at]) || StringRef("_.$").contains(text[at])))
        ++at;
    }
    tokens.push_back({begin, at - begin});
  }
  return tokens;
}

static StringRef slice(StringRef text, Token token) {
  return text.substr(token.begin, token.size);
}

static void replace(std::string &text, Token token, StringRef by) {
  text.replace(token.begin, token.size, by.data(), by.size());
}

static const char *interestingNumber(Random &random) {
  static const char *const numbers[] = {"0",
                                        "1",
                                        "-1",
                                        "2",
                                        "7",
                                        "64",
                                        "4096",
                                        "2147483647",
                                        "2147483648",
                                        "4294967296",
                                        "-2147483649",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "9223372036854775808",
                                        "18446744073709551616",
                                        "99999999999999999999999999",
                                        "1.0e400",
                                        "0x7FC00000",
                                        "?",
                                        "*",
                                        "3",
                                        "5"};
  return numbers[random.below(std::size(numbers))];
}

/// A number in the text, changed.
static void changeNumber(std::string &text, Random &random) {
  std::vector<Token> numbers;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    while (at < text.size() && llvm::isDigit(text[at]))
      ++at;
    if (at != begin)
      numbers.push_back({begin, at - begin});
    else
      ++at;
  }
  if (!numbers.empty())
    replace(text, numbers[random.below(numbers.size())],
            interestingNumber(random));
}

/// Something that belongs into a sharding, put between two tokens.
static void insertSharding(std::string &text, Random &random) {
  static const char *const words[] = {
      "{}", "{?}", "{\"x\"}", "{\"x\", ?}", "{\"x\", \"y\"}", "{\"x\"}p0",
      "{\"x\"}b3", "{\"x:(1)2\"}", "{\"x:(2)4\"}", ", partial = sum{\"x\"}",
      ", replicated = {\"y\"}", "#pm.sharding<@mesh, [{\"x\"}]>",
      "{pm.sharding = #pm.sharding<@mesh, [{\"x\"}, {}]>}",
      "{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {?}]>}",
      "{\"x\":(2)2}", "unreduced={\"x\"}", "p-1", "b0", "b9999999999"};
  std::vector<Token> tokens = tokenize(text);
  if (tokens.empty())
    return;
  Token at = tokens[random.below(tokens.size())];
  const char *word = words[random.below(std::size(words))];
  if (random.below(2))
    replace(text, at, word);
  else
    text.insert(at.begin, word);
}

static void flipByte(std::string &text, Random &random) {
  size_t at = random.below(text.size());
  if (random.below(2))
    text[at] = static_cast<char>(random.below(256));
  else
    text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
}

static void insertBracket(std::string &text, Random &random) {
  static const StringRef brackets = "()[]{}<>\"";
  size_t count = random.below(8) == 0 ? 1 + random.below(2000) : 1;
  text.insert(random.below(text.size() + 1), count,
              brackets[random.below(brackets.size())]);
}

/// One damage that works on tokens.
static void changeTokens(std::string &text, Random &random) {
  std::vector<Token> tokens = tokenize(text);
  if (tokens.empty())
    return;
  size_t first = random.below(tokens.size());
  size_t second = random.below(tokens.size());
  if (first > second)
    std::swap(first, second);
  size_t last = std::min(first + random.below(12), tokens.size() - 1);
  size_t length = tokens[last].begin + tokens[last].size - tokens[first].begin;
  switch (random.below(5)) {
  case 0: { // Swap two.
    std::string early = slice(text, tokens[first]).str();
    std::string late = slice(text, tokens[second]).str();
    replace(text, tokens[second], early);
    replace(text, tokens[first], late);
    break;
  }
  case 1: // Delete one.
    replace(text, tokens[first], "");
    break;
  case 2: // Delete a few in a row.
    text.erase(tokens[first].begin, length);
    break;
  case 3: { // One in the place of another.
    std::string other = slice(text, tokens[second]).str();
    replace(text, tokens[first], other);
    break;
  }
  case 4: { // Repeat a few in a row.
    std::string copy = text.substr(tokens[first].begin, length) + " ";
    size_t times = random.below(16) == 0 ? 100 : 1;
    for (size_t i = 0; i < times; ++i)
      text.insert(tokens[first].begin, copy);
    break;
  }
  }
}

/// A line deleted, repeated or moved.
static void changeLines(std::string &text, Random &random) {
  size_t at = random.below(text.size());
  size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  size_t begin = newline == std::string::npos ? 0 : newline + 1;
  size_t end = std::min(text.find('\n', at), text.size());
  std::string line = text.substr(begin, end - begin) + "\n";
  uint64_t kind = random.below(3);
  if (kind != 0)
    text.erase(begin, end - begin);
  if (kind != 1) {
    size_t to = random.below(text.size() + 1);
    size_t start = text.rfind('\n', to);
    text.insert(start == std::string::npos ? 0 : start + 1, line);
  }
}

std::string mutate(StringRef original, Random &random) {
  std::string text = original.str();
  uint64_t damages = 1 + random.below(4);
  for (uint64_t i = 0; i < damages && !text.empty(); ++i) {
    switch (random.below(11)) {
    case 0:
    case 1:
      flipByte(text, random);
      break;
    case 2:
    case 3:
      changeNumber(text, random);
      break;
    case 4:
      insertBracket(text, random);
      break;
    case 5:
      changeLines(text, random);
      break;
    case 7:
      insertSharding(text, random);
      break;
    case 6:
      if (random.below(4) == 0)
        text.resize(random.below(text.size()));
      break;
    default:
      changeTokens(text, random);
      break;
    }
  }
  return text;
}

} // namespace pipemesh::fuzz

// Checks of IR text before MLIR parses it.
#include "pipemesh/Support/ParseGuard.h"
#include "BooleanHex.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include <array>

using llvm::StringRef;
using llvm::Twine;

// The most results that an op may have.
static constexpr unsigned maxResults = 1 << 16;

/// Which bytes are in `set`; most of a text is in none that matters.
static std::array<bool, 256> makeTable(StringRef set, bool alphanumeric) {
  std::array<bool, 256> table{};
  for (unsigned c = 0; c < table.size(); ++c)
    table[c] = set.contains(char(c)) || (alphanumeric && llvm::isAlnum(char(c)));
  return table;
}

/// What the scanner stops at.
static const std::array<bool, 256> special =
    makeTable(StringRef("\0\"/([{<)]}>%#!-+*\n,=", 20), false);
/// The same, and at what may be an integer type of no bits.
static const std::array<bool, 256> specialOrType =
    makeTable(StringRef("\0\"/([{<)]}>%#!-+*\n,=i", 21), false);
/// What a name is made of.
static const std::array<bool, 256> inName = makeTable("_$.-", true);

static bool isIn(const std::array<bool, 256> &table, char c) {
  return table[static_cast<unsigned char>(c)];
}

namespace {

/// One walk over the text that follows its brackets.
class Scanner {
public:
  Scanner(StringRef text, const pipemesh::ParseLimits &limits)
      : text(text), limits(limits),
        special(text.contains("i0") ? specialOrType : ::special) {}

  /// Whether the text is refused; `position` and `reason` then say where and
  /// why.
  bool refuses();

  size_t position = 0;
  std::string reason;

private:
  bool refuse(size_t where, const Twine &why) {
    position = where;
    reason = why.str();
    return true;
  }
  bool tooDeep(size_t where, unsigned depth);
  bool enter(size_t where);
  void skipString();
  void skipComment();
  bool scanAlias();
  bool scanResult();
  bool isEmptyType() const;

  StringRef text;
  const pipemesh::ParseLimits &limits;
  const std::array<bool, 256> &special;
  size_t at = 0;
  unsigned depth = 0;
  // Operators since the last token of another kind: `- - - 1` recurses too.
  unsigned operators = 0;
  // How deep the value of each alias is, and the alias being defined.
  llvm::StringMap<unsigned> aliases;
  StringRef defined;
};

} // namespace

bool Scanner::tooDeep(size_t where, unsigned reached) {
  if (reached <= limits.depth)
    return false;
  return refuse(where, "nesting deeper than " + Twine(limits.depth) +
                           ", which no program of ours has");
}

bool Scanner::enter(size_t where) {
  ++depth;
  if (!defined.empty()) {
    unsigned &deepest = aliases[defined];
    deepest = std::max(deepest, depth);
  }
  return tooDeep(where, depth);
}

void Scanner::skipString() {
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    if (text[at] == '\\')
      ++at;
}

void Scanner::skipComment() {
  size_t end = text.find('\n', at);
  StringRef line = text.slice(at, end);
  if (line.starts_with("// -----")) {
    depth = operators = 0;
    aliases.clear();
    defined = {};
  }
  at = end == StringRef::npos ? text.size() : end;
}

/// `#name` or `!name`: a definition at the start of a line, else a use, which
/// is as deep as the alias itself.
bool Scanner::scanAlias() {
  size_t start = at++;
  while (at < text.size() && isIn(inName, text[at]))
    ++at;
  StringRef name = text.slice(start, at);
  --at;
  if (name.size() == 1)
    return false;
  bool startsLine = start == 0 || text[start - 1] == '\n';
  if (startsLine && text.substr(at + 1).ltrim(" \t").starts_with("=")) {
    depth = 0;
    defined = name;
    aliases[defined] = 0;
    return false;
  }
  auto found = aliases.find(name);
  if (found == aliases.end())
    return false;
  unsigned reached = depth + found->second;
  if (!defined.empty()) {
    unsigned &deepest = aliases[defined];
    deepest = std::max(deepest, reached);
  }
  return tooDeep(start, reached);
}

/// `%name#NUMBER` or `%name:NUMBER`: the parser makes room for as many results.
bool Scanner::scanResult() {
  size_t start = at++;
  while (at < text.size() && isIn(inName, text[at]))
    ++at;
  unsigned long long number = 0;
  if (at < text.size() && (text[at] == '#' || text[at] == ':')) {
    StringRef digits = text.substr(at + 1).take_while(llvm::isDigit);
    if (!digits.empty() &&
        (digits.getAsInteger(10, number) || number > maxResults))
      return refuse(start,
                    "result number " + digits + " above " + Twine(maxResults));
  }
  --at;
  return false;
}

/// Whether `i0`, `si0` or `ui0` stands here, as a type or as an element type.
bool Scanner::isEmptyType() const {
  auto at = [&](size_t place) { return place < text.size() ? text[place] : ' '; };
  if (this->at == 0 || at(this->at + 1) != '0' ||
      isIn(inName, at(this->at + 2)) ||
      text.substr(this->at + 2).ltrim().starts_with("="))
    return false;
  size_t before = this->at - 1;
  if (before > 0 && (at(before) == 's' || at(before) == 'u'))
    --before;
  if (at(before) == 'x')
    return before > 0 && (llvm::isDigit(at(before - 1)) || at(before - 1) == '?');
  return !isIn(inName, at(before)) && !StringRef("%@#!^").contains(at(before));
}

bool Scanner::refuses() {
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (!isIn(special, c))
      continue;
    switch (c) {
    case '\0':
      return refuse(at, "a byte 0, which is not text");
    case '"':
      skipString();
      break;
    case '/':
      if (text.substr(at).starts_with("//")) {
        skipComment();
        if (at >= text.size())
          return false;
      }
      break;
    case '(':
    case '[':
    case '{':
    case '<':
      if (enter(at))
        return true;
      break;
    case ')':
    case ']':
    case '}':
    case '>':
      // `->` and `>=` close nothing.
      if (c == '>' && ((at > 0 && text[at - 1] == '-') ||
                       text.substr(at + 1).starts_with("=")))
        break;
      depth -= depth != 0;
      break;
    case '%':
      if (scanResult())
        return true;
      break;
    case '#':
    case '!':
      if (scanAlias())
        return true;
      break;
    case '-':
    case '+':
    case '*':
      // A sum of affine terms recurses once for each of its operators.
      if (++operators > 16 * limits.depth)
        return refuse(at, "more than " + Twine(16 * limits.depth) +
                              " operators in one expression");
      continue;
    case 'i':
      if (isEmptyType())
        return refuse(at, "an integer type of no bits, whose constants MLIR "
                          "cannot print");
      continue;
    case '\n':
      if (depth == 0)
        defined = {};
      break;
    default:
      break;
    }
    // A comma, a quote, an equal sign or a brace ends an expression.
    if (c == ',' || c == '=' || c == '"' || c == '{' || c == '}' || c == '\n')
      operators = 0;
  }
  return false;
}

std::string pipemesh::refuseText(StringRef text, StringRef name,
                                 const ParseLimits &limits) {
  if (text.starts_with("ML\xef\x52"))
    return (name +
            ": error: is MLIR bytecode, not text; JAX prints the text with "
            "jax.jit(f).lower(...).as_text(), and mlir-opt or "
            "stablehlo-translate turn bytecode into text")
        .str();
  if (text.size() > limits.bytes)
    return (name + ": error: has " + Twine(text.size()) +
            " bytes, and at most " + Twine(limits.bytes) + " are read")
        .str();
  Scanner scanner(text, limits);
  if (!scanner.refuses())
    return {};
  StringRef before = text.take_front(scanner.position);
  size_t line = before.count('\n') + 1;
  size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return (name + ":" + Twine(line) + ":" + Twine(column) +
          ": error: " + scanner.reason)
      .str();
}

std::unique_ptr<llvm::MemoryBuffer>
pipemesh::openText(StringRef path, std::string &error,
                   const ParseLimits &limits) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer) {
    error = (path + ": error: cannot be read: " + buffer.getError().message())
                .str();
    return nullptr;
  }
  error = refuseText((*buffer)->getBuffer(),
                     path == "-" ? StringRef("<stdin>") : path, limits);
  return error.empty() ? packBooleans(std::move(*buffer)) : nullptr;
}

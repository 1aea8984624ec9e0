//===- Ptx.cpp - text for NVIDIA's processors, read -----------------------===//

#include "cuda/emulate/Ptx.h"
#include <cctype>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace pmrt::ptx {

namespace {

class Parser {
public:
  explicit Parser(const std::string &text) : text(text) {}

  Module run() {
    while (true) {
      skip();
      if (place >= text.size())
        return std::move(module);
      statement();
    }
  }

private:
  const std::string &text;
  size_t place = 0;
  int line = 1;
  Module module;
  /// Of the kernel that is read.
  Kernel *kernel = nullptr;
  std::map<std::string, int> registers, labels, parameters;
  std::map<std::string, uint64_t> shared, tables;
  /// Branches by the label that they wait for.
  std::vector<std::pair<int, std::string>> branches;

  [[noreturn]] void fail(const std::string &what) {
    throw std::runtime_error("PTX, line " + std::to_string(line) + ": " + what);
  }
  void skip() {
    while (place < text.size()) {
      if (text.compare(place, 2, "//") == 0) {
        while (place < text.size() && text[place] != '\n')
          ++place;
      } else if (std::isspace(static_cast<unsigned char>(text[place]))) {
        line += text[place++] == '\n';
      } else {
        return;
      }
    }
  }
  bool take(char c) {
    skip();
    if (place >= text.size() || text[place] != c)
      return false;
    ++place;
    return true;
  }
  void expect(char c) {
    if (!take(c))
      fail(std::string("expected '") + c + "'");
  }
  /// A name, a number or a directive.
  std::string word() {
    skip();
    size_t start = place;
    while (place < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[place])) ||
            strchr("_$%.-", text[place])))
      ++place;
    if (start == place)
      fail(std::string("unexpected '") + text[place] + "'");
    return text.substr(start, place - start);
  }
  void skipTo(char end) {
    while (place < text.size() && text[place] != end)
      line += text[place++] == '\n';
    ++place;
  }

  uint64_t number(const std::string &value) {
    if (value.compare(0, 2, "0f") == 0 || value.compare(0, 2, "0d") == 0)
      return std::stoull(value.substr(2), nullptr, 16);
    try {
      return value[0] == '-' ? static_cast<uint64_t>(std::stoll(value))
                             : std::stoull(value, nullptr, 0);
    } catch (const std::exception &) {
      fail("unknown name '" + value + "'");
    }
  }

  int registerOf(const std::string &name) {
    if (!kernel)
      fail("a register outside of a kernel");
    auto [entry, isNew] =
        registers.try_emplace(name, static_cast<int>(registers.size()));
    if (isNew && name.find('.') != std::string::npos)
      kernel->specials[entry->second] = name;
    return entry->second;
  }

  Operand operand() {
    Operand result;
    if (take('{')) {
      result.kind = Operand::Vector;
      do
        result.elements.push_back(operand());
      while (take(','));
      expect('}');
      return result;
    }
    if (take('[')) {
      result = operand();
      result.kind = Operand::Address;
      if (take('+'))
        result.value += number(word());
      expect(']');
      return result;
    }
    std::string name = word();
    if (name[0] == '%') {
      result.kind = Operand::Register;
      result.index = registerOf(name);
      return result;
    }
    if (auto it = shared.find(name); it != shared.end())
      result.value = it->second;
    else if (auto it = parameters.find(name); it != parameters.end())
      result.value = it->second;
    else if (auto it = tables.find(name); it != tables.end())
      result.value = it->second;
    else
      result.value = number(name);
    return result;
  }

  void statement();
  void global();
  void entry();
  void body();
  void instruction(const std::string &name);
};

/// `.visible .entry NAME(PARAMETERS) DIRECTIVES { ... }` or a constant table.
void Parser::statement() {
  std::string name = word();
  if (name == ".version" || name == ".target" || name == ".address_size") {
    word();
    while (take(','))
      word();
  } else if (name == ".visible" || name == ".extern" || name == ".weak") {
    // Says only who sees what follows.
  } else if (name == ".entry") {
    entry();
  } else if (name == ".global" || name == ".const") {
    global();
  } else if (name == ".shared") {
    fail("shared memory outside of a kernel");
  } else {
    fail("unknown directive '" + name + "'");
  }
}

/// `.align N .b8 NAME[BYTES] = {1, 2, ...};`
void Parser::global() {
  std::string name = word();
  unsigned width = 1;
  for (; name[0] == '.'; name = word()) {
    if (name == ".align")
      word();
    else if (name == ".b8")
      width = 1;
    else if (name == ".b32" || name == ".u32" || name == ".f32")
      width = 4;
    else if (name == ".b64" || name == ".u64" || name == ".f64")
      width = 8;
    else
      fail("unknown directive '" + name + "' of a table");
  }
  uint64_t count = 1;
  if (take('[')) {
    count = number(word());
    expect(']');
  }
  std::vector<unsigned char> bytes(count * width);
  if (take('=')) {
    bool isList = take('{');
    uint64_t i = 0;
    do {
      uint64_t value = number(word());
      if (i >= count)
        fail("more elements than the table has");
      memcpy(&bytes[i++ * width], &value, width);
    } while (isList && take(','));
    if (isList)
      expect('}');
  }
  expect(';');
  module.tables.push_back(std::move(bytes));
  tables[name] = reinterpret_cast<uint64_t>(module.tables.back().data());
}

void Parser::entry() {
  std::string name = word();
  kernel = &module.kernels[name];
  kernel->name = name;
  registers.clear();
  labels.clear();
  parameters.clear();
  shared.clear();
  branches.clear();
  expect('(');
  while (!take(')')) {
    std::string part = word();
    if (part[0] != '.') {
      parameters[part] = 8 * kernel->numParameters++;
      take(',');
    } else if (part == ".align") {
      word();
    }
  }
  while (!take('{')) {
    // How many threads there are at most, and the like.
    word();
    while (take(','))
      word();
  }
  body();
  for (const auto &[index, label] : branches) {
    auto it = labels.find(label);
    if (it == labels.end())
      fail("no label '" + label + "'");
    kernel->instructions[index].target = it->second;
  }
  kernel->numRegisters = static_cast<int>(registers.size());
  kernel = nullptr;
}

void Parser::body() {
  while (!take('}')) {
    skip();
    Instruction made;
    if (take('@')) {
      made.isNegated = take('!');
      made.predicate = registerOf(word());
    }
    made.line = line;
    std::string name = word();
    if (name == ".reg" || name == ".loc" || name == ".pragma") {
      skipTo(';');
      continue;
    }
    if (name == ".shared") {
      uint64_t bytes = 1, align = 1;
      for (name = word(); name[0] == '.'; name = word()) {
        if (name == ".align")
          align = number(word());
        else if (name != ".b8")
          fail("shared memory of type '" + name + "'");
      }
      if (take('[')) {
        bytes = number(word());
        expect(']');
      }
      expect(';');
      uint64_t start = (kernel->sharedBytes + align - 1) / align * align;
      shared[name] = start;
      kernel->sharedBytes = start + bytes;
      continue;
    }
    if (take(':')) {
      labels[name] = static_cast<int>(kernel->instructions.size());
      continue;
    }
    std::istringstream parts(name);
    for (std::string part; std::getline(parts, part, '.');)
      made.parts.push_back(part);
    if (made.parts[0] == "bra") {
      branches.emplace_back(static_cast<int>(kernel->instructions.size()),
                            word());
      expect(';');
    } else if (!take(';')) {
      do {
        made.operands.push_back(operand());
        // The second result of an exchange says whether there was a thread.
        if (take('|'))
          operand();
      } while (take(','));
      expect(';');
    }
    kernel->instructions.push_back(std::move(made));
  }
}

} // namespace

Module parse(const std::string &text) { return Parser(text).run(); }

} // namespace pmrt::ptx

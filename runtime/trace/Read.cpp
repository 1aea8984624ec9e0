//===- Read.cpp - Reads a file of calls -----------------------------------===//

#include "trace/Forms.h"

#include "core/Error.h"
#include "core/File.h"

#include <array>
#include <filesystem>
#include <unordered_map>

namespace pipemesh::trace {

using runtime::cat;
using runtime::fail;

uint64_t bytesOf(Type type) {
  constexpr uint64_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return sizes[static_cast<int>(type)];
}

static constexpr const char *typeNames[] = {"i8",  "u8",  "i32", "u32", "i64",
                                            "u64", "f16", "f32", "f64", "bf16"};
/// As NCCL's header has them.
static constexpr const char *longNames[] = {
    "ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
    "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};

const char *textOf(Type type) { return typeNames[static_cast<int>(type)]; }

namespace {

/// Reads one line of JSON.
class Reader {
public:
  explicit Reader(const std::string &path)
      : path(path), file(path, "trace"),
        text(reinterpret_cast<const char *>(file.data()), file.size()) {
    for (uint8_t i = 0; i < numFields; ++i)
      fieldOf[fieldNames[i]] = static_cast<Field>(i);
    trace.file = std::filesystem::path(path).filename().string();
    nameOf("");
  }
  Trace read();

private:
  template <typename... Args>
  [[noreturn]] void wrong(const Args &...args) const {
    fail("'", path, "' line ", line + 1, ": ", args...);
  }

  void skipSpace() {
    while (at < end &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
      ++at;
  }
  bool take(char character) {
    skipSpace();
    if (at >= end || text[at] != character)
      return false;
    ++at;
    return true;
  }
  void expect(char character) {
    if (!take(character))
      wrong("character ", at - begin + 1, " is ",
            at < end ? cat("'", text[at], "'") : std::string("the end"),
            ", not '", character, "'");
  }
  std::string_view readString();
  /// The bits of an integer; negative ones as two's complement.
  uint64_t readNumber();
  void skipValue(int depth = 0);
  void readObject();
  void readField(Field field);
  Slice readRanges();
  Slice readNumbers();
  uint32_t nameOf(std::string_view name);
  void readType();
  void readReduction();

  Call toCall(const Form &form);
  uint64_t get(Field field) const {
    return present & bit(field) ? number[field] : 0;
  }

  std::string path;
  runtime::MappedFile file;
  std::string_view text;
  Trace trace;
  std::unordered_map<std::string_view, Field> fieldOf;
  std::unordered_map<std::string, uint32_t> nameIndex;
  uint32_t line = 0;
  size_t begin = 0, at = 0, end = 0;

  // Of the line.
  uint64_t present = 0;
  std::array<uint64_t, numFields> number{};
  std::string_view callName, mode;
  std::string unescaped;
  uint32_t nameText = 0;
  bool truth = false;
  Slice reads, writes, parameters;
  Type type = Type::Float32;
  uint8_t reduction = 0;
};

} // namespace

std::string_view Reader::readString() {
  expect('"');
  size_t first = at;
  while (at < end && text[at] != '"' && text[at] != '\\')
    ++at;
  if (at < end && text[at] == '"')
    return text.substr(first, at++ - first);
  unescaped.assign(text.substr(first, at - first));
  while (at < end && text[at] != '"') {
    char character = text[at++];
    if (character == '\\') {
      if (at >= end)
        break;
      character = text[at++];
      if (character == 'u') // No name has these: kept as they are written.
        unescaped += '\\';
    }
    unescaped += character;
  }
  if (at >= end)
    wrong("a string has no end");
  ++at;
  return unescaped;
}

uint64_t Reader::readNumber() {
  skipSpace();
  bool negative = at < end && text[at] == '-';
  at += negative;
  size_t first = at;
  uint64_t value = 0;
  for (; at < end && text[at] >= '0' && text[at] <= '9'; ++at)
    if (__builtin_mul_overflow(value, uint64_t(10), &value) ||
        __builtin_add_overflow(value, uint64_t(text[at] - '0'), &value))
      wrong("the number at character ", first - begin + 1, " is too large");
  if (at == first || (at < end && (text[at] == '.' || text[at] == 'e')))
    wrong("character ", first - begin + 1, " begins no whole number");
  return negative ? -value : value;
}

void Reader::skipValue(int depth) {
  if (depth > 8)
    wrong("values are nested deeper than 8");
  skipSpace();
  char character = at < end ? text[at] : 0;
  if (character == '"') {
    readString();
  } else if (character == '[' || character == '{') {
    char close = character == '[' ? ']' : '}';
    ++at;
    if (take(close))
      return;
    do {
      if (close == '}') {
        readString();
        expect(':');
      }
      skipValue(depth + 1);
    } while (take(','));
    expect(close);
  } else {
    size_t first = at;
    while (at < end && text[at] != ',' && text[at] != '}' && text[at] != ']')
      ++at;
    if (at == first)
      wrong("character ", at - begin + 1, " begins no value");
  }
}

Slice Reader::readNumbers() {
  Slice slice{static_cast<uint32_t>(trace.numbers.size()), 0};
  expect('[');
  if (take(']'))
    return slice;
  do {
    trace.numbers.push_back(readNumber());
    ++slice.count;
  } while (take(','));
  expect(']');
  return slice;
}

Slice Reader::readRanges() {
  Slice slice{static_cast<uint32_t>(trace.ranges.size()), 0};
  expect('[');
  if (take(']'))
    return slice;
  do {
    expect('[');
    uint64_t address = readNumber();
    expect(',');
    uint64_t bytes = readNumber();
    expect(']');
    if (bytes > ~address)
      wrong("a range of ", bytes, " bytes at ", address, " has no end");
    if (bytes) {
      trace.ranges.push_back({address, address + bytes});
      ++slice.count;
    }
  } while (take(','));
  expect(']');
  return slice;
}

uint32_t Reader::nameOf(std::string_view name) {
  auto [found, isNew] = nameIndex.try_emplace(
      std::string(name), static_cast<uint32_t>(trace.names.size()));
  if (isNew)
    trace.names.emplace_back(name);
  return found->second;
}

void Reader::readType() {
  skipSpace();
  if (at < end && text[at] != '"') {
    // A product's is a cudaDataType, which nothing here reads.
    number[TypeField] = readNumber();
    type = number[TypeField] < 10 ? static_cast<Type>(number[TypeField])
                                  : Type::Float32;
    return;
  }
  std::string_view name = readString();
  number[TypeField] = 99;
  for (int i = 0; i < 10; ++i)
    if (name == typeNames[i] || name == longNames[i]) {
      type = static_cast<Type>(i);
      number[TypeField] = static_cast<uint64_t>(i);
    }
}

void Reader::readReduction() {
  skipSpace();
  if (at < end && text[at] != '"') {
    uint64_t value = readNumber();
    if (value > 4)
      wrong("reduction ", value, " is none of NCCL");
    reduction = static_cast<uint8_t>(value);
    return;
  }
  std::string_view name = readString();
  if (name == "sum" || name == "ncclSum")
    reduction = 0;
  else if (name == "max" || name == "ncclMax")
    reduction = 2;
  else if (name == "min" || name == "ncclMin")
    reduction = 3;
  else
    wrong("reduction '", name, "' is none of sum, max and min");
}

void Reader::readField(Field field) {
  switch (field) {
  case CallName: {
    std::string_view name = readString();
    if (name.data() == unescaped.data())
      wrong("a call's name has escaped characters");
    callName = name;
    break;
  }
  case Mode:
    mode = readString();
    break;
  case Id:
  case Kernel:
  case Name:
    nameText = nameOf(readString());
    break;
  case Parameters:
    parameters = readNumbers();
    break;
  case Reads:
    reads = readRanges();
    break;
  case Writes:
    writes = readRanges();
    break;
  case TypeField:
    readType();
    break;
  case Reduction:
    readReduction();
    break;
  case Captured:
    skipSpace();
    truth = text.substr(at, 4) == "true";
    skipValue();
    break;
  case Workspace: {
    Slice pair = readNumbers();
    if (pair.count != 2)
      wrong("'workspace' has ", pair.count,
            " numbers, not an address and bytes");
    break;
  }
  case KindField:
    skipValue();
    break;
  default:
    number[field] = readNumber();
    break;
  }
}

void Reader::readObject() {
  present = 0;
  nameText = 0;
  truth = false;
  reads = writes = parameters = {};
  reduction = 0;
  expect('{');
  if (!take('}')) {
    do {
      std::string_view key = readString();
      auto field = fieldOf.find(key);
      expect(':');
      if (field == fieldOf.end()) {
        skipValue();
        continue;
      }
      if (present & bit(field->second))
        wrong("'", field->first, "' comes twice");
      present |= bit(field->second);
      readField(field->second);
    } while (take(','));
    expect('}');
  }
  skipSpace();
  if (at != end)
    wrong("more text stands behind the object");
}

Call Reader::toCall(const Form &form) {
  uint64_t missing = form.needs & ~present;
  if (form.kind == Kind::ModuleLoad && get(Result) != 0)
    missing &= ~bit(Module);
  if (missing)
    wrong(callName, " has no '", fieldNames[__builtin_ctzll(missing)], "'");
  Call call;
  call.kind = form.kind;
  call.captured = truth;
  call.line = line;
  call.symbol = nameOf(callName);
  call.text = nameText;
  call.result = static_cast<int64_t>(get(Result));
  call.stream = get(Stream);
  call.hasStream = (present & bit(Stream)) != 0;
  call.address = get(Address);
  call.reads = reads;
  call.writes = writes;
  call.parameters = parameters;
  call.group = get(Group);
  call.reduction = reduction;
  if (isExchange(form.kind)) {
    if (number[TypeField] > 9)
      wrong(callName, " has an unknown type");
    call.type = type;
    call.handle = get(Comm);
    call.count = get(Count);
    call.peer = static_cast<int64_t>(get(Peer));
  }
  switch (form.kind) {
  case Kind::MemAlloc:
    call.count = get(Bytes);
    break;
  case Kind::HostAlloc:
    call.count = get(Bytes);
    call.address = get(Device);
    call.other = get(Host);
    break;
  case Kind::HostFree:
    call.other = get(Host);
    break;
  case Kind::StreamWait:
  case Kind::EventCreate:
  case Kind::EventDestroy:
  case Kind::EventRecord:
  case Kind::EventQuery:
    call.handle = get(Event);
    break;
  case Kind::WriteValue:
    call.count = get(Value);
    break;
  case Kind::Product: {
    uint64_t batch = present & bit(Batch) ? get(Batch) : 1;
    if (__builtin_mul_overflow(get(M), get(N), &call.work) ||
        __builtin_mul_overflow(call.work, get(K), &call.work) ||
        __builtin_mul_overflow(call.work, batch, &call.work))
      wrong("a product of ", get(M), " x ", get(N), " x ", get(K), " x ", batch,
            " is too large");
    if (present & bit(Workspace)) {
      // readNumbers has put it last.
      uint64_t bytes = trace.numbers.back();
      uint64_t address = trace.numbers[trace.numbers.size() - 2];
      if (bytes > ~address)
        wrong("a workspace of ", bytes, " bytes at ", address, " has no end");
      call.parameters = {static_cast<uint32_t>(trace.numbers.size() - 2), 2};
    }
    break;
  }
  case Kind::CommInit:
    call.handle = get(Comm);
    call.peer = static_cast<int64_t>(get(Rank));
    call.key = static_cast<int64_t>(get(Ranks));
    break;
  case Kind::CommSplit:
    call.handle = get(Comm);
    call.other = get(Parent);
    call.peer = static_cast<int64_t>(get(Color));
    call.key = static_cast<int64_t>(get(Key));
    break;
  case Kind::CommEnd:
  case Kind::CommError:
    call.handle = get(Comm);
    call.count = get(Error);
    break;
  case Kind::ModuleFunction:
    call.handle = get(Module);
    call.other = get(Function);
    break;
  case Kind::CaptureEnd:
    call.handle = get(Graph);
    break;
  case Kind::GraphInstantiate:
    call.handle = get(Graph);
    call.other = get(Executable);
    break;
  case Kind::GraphLaunch:
    call.other = get(Executable);
    break;
  default:
    break;
  }
  return call;
}

Trace Reader::read() {
  bool hasHeader = false;
  for (size_t next = 0; next < text.size(); next = end + 1, ++line) {
    begin = at = next;
    end = std::min(text.find('\n', next), text.size());
    skipSpace();
    if (at == end)
      wrong("is empty");
    readObject();
    if (!hasHeader) {
      if (!(present & bit(TraceVersion)))
        wrong("is no header; a trace begins with {\"trace\":1,\"mode\":...}");
      if (number[TraceVersion] != 1)
        wrong("is a trace of version ", number[TraceVersion],
              ", but this release reads 1");
      if (mode != "record" && mode != "compute")
        wrong("mode '", mode, "' is neither record nor compute");
      trace.computes = mode == "compute";
      hasHeader = true;
      continue;
    }
    if (present & bit(TouchedField)) {
      Call call;
      call.kind = Kind::Touched;
      call.line = line;
      call.group = number[TouchedField];
      call.reads = reads;
      call.writes = writes;
      call.symbol = nameOf("touched");
      trace.calls.push_back(call);
      continue;
    }
    if (!(present & bit(CallName)))
      wrong("has neither 'call' nor 'touched'");
    const Form *form = formOf(callName);
    if (!form && !isHarmless(callName))
      wrong("'", callName,
            "' is not known, so nothing can be said of what it does");
    trace.calls.push_back(toCall(form ? *form : Form{Kind::Other, 0}));
  }
  if (!hasHeader)
    fail("'", path,
         "' is empty; a trace begins with {\"trace\":1,\"mode\":...}");
  return std::move(trace);
}

Trace readTrace(const std::string &path) { return Reader(path).read(); }

} // namespace pipemesh::trace

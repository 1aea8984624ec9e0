// Hexadecimal constants of booleans.
#include "BooleanHex.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

static constexpr StringLiteral opening = "dense<\"0x";

/// The number of elements of `> : tensor<4x6xi1>`, at which `text` starts; none
/// where it is anything else.
static std::optional<uint64_t> countBooleans(StringRef text) {
  if (!text.consume_front(">"))
    return std::nullopt;
  text = text.ltrim();
  if (!text.consume_front(":"))
    return std::nullopt;
  text = text.ltrim();
  if (!text.consume_front("tensor<"))
    return std::nullopt;
  uint64_t count = 1;
  while (!text.empty() && isDigit(text.front())) {
    uint64_t size;
    if (text.consumeInteger(10, size) || !text.consume_front("x") ||
        (size != 0 && count > UINT32_MAX / size))
      return std::nullopt;
    count *= size;
  }
  if (!text.starts_with("i1>"))
    return std::nullopt;
  return count;
}

/// The bits of the bytes `digits`, eight a byte, the first one lowest; none where
/// a byte is neither 0 nor 1.
static std::optional<SmallVector<uint8_t>> packBytes(StringRef digits) {
  uint64_t count = digits.size() / 2;
  SmallVector<uint8_t> bits((count + 7) / 8, 0);
  for (uint64_t i = 0; i < count; ++i) {
    char low = digits[2 * i + 1];
    if (digits[2 * i] != '0' || (low != '0' && low != '1'))
      return std::nullopt;
    if (low == '1')
      bits[i / 8] |= 1 << (i % 8);
  }
  return bits;
}

std::unique_ptr<MemoryBuffer>
pipemesh::packBooleans(std::unique_ptr<MemoryBuffer> buffer) {
  StringRef text = buffer->getBuffer();
  std::unique_ptr<WritableMemoryBuffer> changed;
  for (size_t at = text.find(opening); at != StringRef::npos;
       at = text.find(opening, at)) {
    at += opening.size();
    size_t end = text.find('"', at);
    if (end == StringRef::npos)
      break;
    StringRef digits = text.slice(at, end);
    std::optional<uint64_t> count = countBooleans(text.substr(end + 1));
    // A bit for each element needs an eighth of the digits.
    if (count && *count > 1 && digits.size() == 2 * *count) {
      if (auto bits = packBytes(digits)) {
        if (!changed) {
          changed = WritableMemoryBuffer::getNewUninitMemBuffer(
              text.size(), buffer->getBufferIdentifier());
          std::copy(text.begin(), text.end(), changed->getBufferStart());
        }
        std::string packed = toHex(*bits) + "\"";
        char *target = changed->getBufferStart() + at;
        std::copy(packed.begin(), packed.end(), target);
        std::fill(target + packed.size(), target + (end + 1 - at), ' ');
      }
    }
    at = end;
  }
  if (changed)
    return changed;
  return buffer;
}

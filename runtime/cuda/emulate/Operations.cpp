//===- Operations.cpp - what instructions compute -------------------------===//

#include "cuda/emulate/Operations.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>

namespace pmrt::ptx {

namespace {

using Bits = uint64_t;

/// A number in the low bits of a register, and back.
template <typename T> T get(Bits bits) {
  T value;
  memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T> Bits put(T value) {
  Bits bits = 0;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <typename T> Bits add(Bits a, Bits b, Bits, Bits) {
  if constexpr (std::is_integral_v<T>)
    return put<T>(static_cast<T>(get<std::make_unsigned_t<T>>(a) +
                                 get<std::make_unsigned_t<T>>(b)));
  else
    return put<T>(get<T>(a) + get<T>(b));
}
template <typename T> Bits sub(Bits a, Bits b, Bits, Bits) {
  if constexpr (std::is_integral_v<T>)
    return put<T>(static_cast<T>(get<std::make_unsigned_t<T>>(a) -
                                 get<std::make_unsigned_t<T>>(b)));
  else
    return put<T>(get<T>(a) - get<T>(b));
}
/// Of integers the low half.
template <typename T> Bits mul(Bits a, Bits b, Bits, Bits) {
  if constexpr (std::is_integral_v<T>)
    return put<T>(static_cast<T>(a * b));
  else
    return put<T>(get<T>(a) * get<T>(b));
}
template <typename T, typename Wide>
Bits mulWide(Bits a, Bits b, Bits, Bits) {
  return put<Wide>(static_cast<Wide>(static_cast<Wide>(get<T>(a)) *
                                     static_cast<Wide>(get<T>(b))));
}
template <typename T, typename Wide>
Bits madWide(Bits a, Bits b, Bits c, Bits) {
  return put<Wide>(static_cast<Wide>(mulWide<T, Wide>(a, b, 0, 0) + c));
}
template <typename T, typename Wide> Bits mulHigh(Bits a, Bits b, Bits, Bits) {
  Wide product = static_cast<Wide>(get<T>(a)) * static_cast<Wide>(get<T>(b));
  return put<T>(static_cast<T>(product >> (8 * sizeof(T))));
}
template <typename T> Bits mad(Bits a, Bits b, Bits c, Bits) {
  return put<T>(static_cast<T>(a * b + c));
}
template <typename T> Bits fma(Bits a, Bits b, Bits c, Bits) {
  return put<T>(std::fma(get<T>(a), get<T>(b), get<T>(c)));
}
template <typename T> Bits div(Bits a, Bits b, Bits, Bits) {
  if constexpr (std::is_integral_v<T>) {
    if (get<T>(b) == 0)
      return put<T>(static_cast<T>(-1));
    if constexpr (std::is_signed_v<T>)
      if (get<T>(b) == -1)
        return sub<T>(0, a, 0, 0);
  }
  return put<T>(static_cast<T>(get<T>(a) / get<T>(b)));
}
template <typename T> Bits rem(Bits a, Bits b, Bits, Bits) {
  if (get<T>(b) == 0)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (get<T>(b) == -1)
      return 0;
  return put<T>(static_cast<T>(get<T>(a) % get<T>(b)));
}
template <typename T> Bits neg(Bits a, Bits, Bits, Bits) {
  if constexpr (std::is_integral_v<T>)
    return sub<T>(0, a, 0, 0);
  else
    return put<T>(-get<T>(a));
}
template <typename T> Bits absolute(Bits a, Bits, Bits, Bits) {
  if constexpr (std::is_integral_v<T>)
    return get<T>(a) < 0 ? sub<T>(0, a, 0, 0) : put<T>(get<T>(a));
  else
    return put<T>(std::fabs(get<T>(a)));
}
/// Of a number and NaN the number.
template <typename T> Bits minimum(Bits a, Bits b, Bits, Bits) {
  if constexpr (std::is_integral_v<T>)
    return put<T>(std::min(get<T>(a), get<T>(b)));
  else
    return put<T>(std::fmin(get<T>(a), get<T>(b)));
}
template <typename T> Bits maximum(Bits a, Bits b, Bits, Bits) {
  if constexpr (std::is_integral_v<T>)
    return put<T>(std::max(get<T>(a), get<T>(b)));
  else
    return put<T>(std::fmax(get<T>(a), get<T>(b)));
}
template <typename T, Function f> Bits orNan(Bits a, Bits b, Bits, Bits) {
  if (std::isnan(get<T>(a)) || std::isnan(get<T>(b)))
    return put<T>(std::numeric_limits<T>::quiet_NaN());
  return f(a, b, 0, 0);
}
template <typename T> Bits squareRoot(Bits a, Bits, Bits, Bits) {
  return put<T>(std::sqrt(get<T>(a)));
}
template <typename T> Bits reciprocal(Bits a, Bits, Bits, Bits) {
  return put<T>(T(1) / get<T>(a));
}
template <typename T> Bits copySign(Bits a, Bits b, Bits, Bits) {
  return put<T>(std::copysign(get<T>(b), get<T>(a)));
}

template <typename T> Bits bitAnd(Bits a, Bits b, Bits, Bits) {
  return put<T>(get<T>(a & b));
}
template <typename T> Bits bitOr(Bits a, Bits b, Bits, Bits) {
  return put<T>(get<T>(a | b));
}
template <typename T> Bits bitXor(Bits a, Bits b, Bits, Bits) {
  return put<T>(get<T>(a ^ b));
}
template <typename T> Bits bitNot(Bits a, Bits, Bits, Bits) {
  return put<T>(get<T>(~a));
}
/// Shifts by the width or more move all bits out.
template <typename T> Bits shiftLeft(Bits a, Bits b, Bits, Bits) {
  uint32_t by = get<uint32_t>(b);
  return by >= 8 * sizeof(T) ? 0 : put<T>(static_cast<T>(get<T>(a) << by));
}
template <typename T> Bits shiftRight(Bits a, Bits b, Bits, Bits) {
  uint32_t by = get<uint32_t>(b), width = 8 * sizeof(T);
  if (by >= width) {
    if (std::is_unsigned_v<T>)
      return 0;
    by = width - 1;
  }
  return put<T>(static_cast<T>(get<T>(a) >> by));
}
/// The upper (left) or lower (right) word of two, shifted round.
Bits funnelLeft(Bits a, Bits b, Bits c, Bits) {
  uint64_t both = get<uint32_t>(b) * (uint64_t(1) << 32) + get<uint32_t>(a);
  return get<uint32_t>((both << (c & 31)) >> 32);
}
Bits funnelRight(Bits a, Bits b, Bits c, Bits) {
  uint64_t both = get<uint32_t>(b) * (uint64_t(1) << 32) + get<uint32_t>(a);
  return get<uint32_t>(both >> (c & 31));
}
template <typename T> Bits extract(Bits a, Bits b, Bits c, Bits) {
  uint64_t position = b & 0xff, length = c & 0xff;
  uint64_t value = position >= 64 ? 0 : uint64_t(get<T>(a)) >> position;
  return length >= 64 ? value : value & ((uint64_t(1) << length) - 1);
}
/// Behind the last bit the sign goes on.
template <typename T> Bits extractSigned(Bits a, Bits b, Bits c, Bits) {
  constexpr uint64_t last = sizeof(T) * 8 - 1;
  uint64_t position = b & 0xff, length = c & 0xff;
  if (length == 0)
    return 0;
  T value = get<T>(a);
  uint64_t top = std::min(position + length - 1, last);
  T sign = (value >> top) & 1 ? T(-1) : T(0);
  if (position > last)
    return Bits(std::make_unsigned_t<T>(sign));
  uint64_t kept = top - position + 1;
  uint64_t mask = kept >= 64 ? ~uint64_t(0) : (uint64_t(1) << kept) - 1;
  uint64_t bits = (uint64_t(value) >> position) & mask;
  return Bits(std::make_unsigned_t<T>(bits | (uint64_t(sign) & ~mask)));
}
template <typename T> Bits countBits(Bits a, Bits, Bits, Bits) {
  return std::popcount(get<T>(a));
}
template <typename T> Bits leadingZeros(Bits a, Bits, Bits, Bits) {
  return std::countl_zero(get<T>(a));
}
Bits permuteBytes(Bits a, Bits b, Bits c, Bits) {
  uint64_t both = get<uint32_t>(b) * (uint64_t(1) << 32) + get<uint32_t>(a);
  uint64_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint64_t selector = c >> (4 * i) & 15;
    uint64_t byte = both >> (8 * (selector & 7)) & 0xff;
    if (selector & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

template <typename T> Bits selectBits(Bits a, Bits b, Bits c, Bits) {
  return put<T>(get<T>(c & 1 ? a : b));
}
template <typename T> Bits move(Bits a, Bits, Bits, Bits) {
  return put<T>(get<T>(a));
}

enum Comparison { EQ, NE, LT, LE, GT, GE };
/// `unordered`: what a comparison with NaN says.
template <typename T, Comparison how, bool unordered>
Bits compare(Bits x, Bits y, Bits, Bits) {
  T a = get<T>(x), b = get<T>(y);
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b))
      return unordered;
  switch (how) {
  case EQ:
    return a == b;
  case NE:
    return a != b;
  case LT:
    return a < b;
  case LE:
    return a <= b;
  case GT:
    return a > b;
  case GE:
    return a >= b;
  }
  return 0;
}
template <typename T, bool wanted> Bits isNan(Bits a, Bits b, Bits, Bits) {
  return (std::isnan(get<T>(a)) || std::isnan(get<T>(b))) == wanted;
}

/// A register that is wider than the type holds the number all the same (PTX, "Data
/// Movement and Conversion Instructions: cvt").
template <typename From, typename To> Bits convert(Bits a, Bits, Bits, Bits) {
  auto value = static_cast<To>(get<From>(a));
  if constexpr (std::is_integral_v<To> && std::is_signed_v<To>)
    return put<int64_t>(value);
  else
    return put<To>(value);
}
/// Towards zero; what does not fit becomes the nearest that does, NaN zero.
template <typename From, typename To> Bits toInteger(Bits a, Bits, Bits, Bits) {
  From value = std::trunc(get<From>(a));
  if (std::isnan(value))
    return 0;
  if (value <= static_cast<From>(std::numeric_limits<To>::min()))
    return put<To>(std::numeric_limits<To>::min());
  if (value >= static_cast<From>(std::numeric_limits<To>::max()))
    return put<To>(std::numeric_limits<To>::max());
  return put<To>(static_cast<To>(value));
}
template <typename T, T (*f)(T)> Bits round(Bits a, Bits, Bits, Bits) {
  return put<T>(f(get<T>(a)));
}
Bits fromBrain(Bits a, Bits, Bits, Bits) { return (a & 0xffff) << 16; }
uint16_t roundToBrain(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
Bits toBrain(Bits a, Bits, Bits, Bits) { return roundToBrain(get<float>(a)); }
/// Two at once, the first in the upper half.
Bits toBrains(Bits a, Bits b, Bits, Bits) {
  return uint32_t(roundToBrain(get<float>(a))) << 16 |
         roundToBrain(get<float>(b));
}
Bits fromHalf(Bits a, Bits, Bits, Bits) {
  return put<float>(static_cast<float>(get<_Float16>(a)));
}
Bits toHalf(Bits a, Bits, Bits, Bits) {
  return put<_Float16>(static_cast<_Float16>(get<float>(a)));
}

Bits toHalves(Bits a, Bits b, Bits, Bits) {
  return toHalf(a, 0, 0, 0) << 16 | toHalf(b, 0, 0, 0);
}

std::map<std::string, Function> makeTable() {
  std::map<std::string, Function> table;
#define INTEGERS(name, f)                                                      \
  table[#name ".s16"] = f<int16_t>, table[#name ".u16"] = f<uint16_t>,         \
  table[#name ".s32"] = f<int32_t>, table[#name ".u32"] = f<uint32_t>,         \
  table[#name ".s64"] = f<int64_t>, table[#name ".u64"] = f<uint64_t>
#define FLOATS(name, f)                                                        \
  table[#name ".f32"] = f<float>, table[#name ".f64"] = f<double>
#define BITS(name, f)                                                          \
  table[#name ".b16"] = f<uint16_t>, table[#name ".b32"] = f<uint32_t>,        \
  table[#name ".b64"] = f<uint64_t>
  INTEGERS(add, add);
  FLOATS(add, add);
  INTEGERS(sub, sub);
  FLOATS(sub, sub);
  INTEGERS(mul.lo, mul);
  FLOATS(mul, mul);
  INTEGERS(mad.lo, mad);
  FLOATS(fma, fma);
  INTEGERS(div, div);
  FLOATS(div, div);
  INTEGERS(rem, rem);
  INTEGERS(min, minimum);
  FLOATS(min, minimum);
  INTEGERS(max, maximum);
  FLOATS(max, maximum);
  table["min.NaN.f32"] = orNan<float, minimum<float>>;
  table["max.NaN.f32"] = orNan<float, maximum<float>>;
  table["neg.s16"] = neg<int16_t>;
  table["neg.s32"] = neg<int32_t>;
  table["neg.s64"] = neg<int64_t>;
  FLOATS(neg, neg);
  table["abs.s16"] = absolute<int16_t>;
  table["abs.s32"] = absolute<int32_t>;
  table["abs.s64"] = absolute<int64_t>;
  FLOATS(abs, absolute);
  FLOATS(sqrt, squareRoot);
  FLOATS(rcp, reciprocal);
  FLOATS(copysign, copySign);
  table["mul.wide.s32"] = mulWide<int32_t, int64_t>;
  table["mul.wide.u32"] = mulWide<uint32_t, uint64_t>;
  table["mul.wide.s16"] = mulWide<int16_t, int32_t>;
  table["mul.wide.u16"] = mulWide<uint16_t, uint32_t>;
  table["mad.wide.s32"] = madWide<int32_t, int64_t>;
  table["mad.wide.u32"] = madWide<uint32_t, uint64_t>;
  table["mul.hi.s16"] = mulHigh<int16_t, int32_t>;
  table["mul.hi.u16"] = mulHigh<uint16_t, uint32_t>;
  table["mul.hi.s32"] = mulHigh<int32_t, int64_t>;
  table["mul.hi.u32"] = mulHigh<uint32_t, uint64_t>;
  table["mul.hi.s64"] = mulHigh<int64_t, __int128>;
  table["mul.hi.u64"] = mulHigh<uint64_t, unsigned __int128>;
  BITS(and, bitAnd);
  BITS(or, bitOr);
  BITS(xor, bitXor);
  BITS(not, bitNot);
  BITS(shl, shiftLeft);
  INTEGERS(shr, shiftRight);
  BITS(shr, shiftRight);
  table["and.pred"] = [](Bits a, Bits b, Bits, Bits) { return a & b & 1; };
  table["or.pred"] = [](Bits a, Bits b, Bits, Bits) { return (a | b) & 1; };
  table["xor.pred"] = [](Bits a, Bits b, Bits, Bits) { return (a ^ b) & 1; };
  table["not.pred"] = [](Bits a, Bits, Bits, Bits) { return ~a & 1; };
  table["mov.pred"] = [](Bits a, Bits, Bits, Bits) { return a & 1; };
  table["shf.l.wrap.b32"] = funnelLeft;
  table["shf.r.wrap.b32"] = funnelRight;
  table["bfe.u32"] = extract<uint32_t>;
  table["bfe.u64"] = extract<uint64_t>;
  table["bfe.s32"] = extractSigned<int32_t>;
  table["bfe.s64"] = extractSigned<int64_t>;
  table["popc.b32"] = countBits<uint32_t>;
  table["popc.b64"] = countBits<uint64_t>;
  table["clz.b32"] = leadingZeros<uint32_t>;
  table["clz.b64"] = leadingZeros<uint64_t>;
  table["prmt.b32"] = permuteBytes;
  BITS(selp, selectBits);
  INTEGERS(selp, selectBits);
  FLOATS(selp, selectBits);
  BITS(mov, move);
  INTEGERS(mov, move);
  FLOATS(mov, move);
  table["cvta.to.global.u64"] = move<uint64_t>;
  table["cvta.global.u64"] = move<uint64_t>;
#define COMPARE(type, T)                                                       \
  table["setp.eq." type] = compare<T, EQ, false>;                              \
  table["setp.ne." type] = compare<T, NE, false>;                              \
  table["setp.lt." type] = compare<T, LT, false>;                              \
  table["setp.le." type] = compare<T, LE, false>;                              \
  table["setp.gt." type] = compare<T, GT, false>;                              \
  table["setp.ge." type] = compare<T, GE, false>
  COMPARE("b16", uint16_t);
  COMPARE("b32", uint32_t);
  COMPARE("b64", uint64_t);
  COMPARE("u16", uint16_t);
  COMPARE("u32", uint32_t);
  COMPARE("u64", uint64_t);
  COMPARE("s16", int16_t);
  COMPARE("s32", int32_t);
  COMPARE("s64", int64_t);
#define COMPARE_FLOATS(type, T)                                                \
  COMPARE(type, T);                                                            \
  table["setp.equ." type] = compare<T, EQ, true>;                              \
  table["setp.neu." type] = compare<T, NE, true>;                              \
  table["setp.ltu." type] = compare<T, LT, true>;                              \
  table["setp.leu." type] = compare<T, LE, true>;                              \
  table["setp.gtu." type] = compare<T, GT, true>;                              \
  table["setp.geu." type] = compare<T, GE, true>;                              \
  table["setp.num." type] = isNan<T, false>;                                   \
  table["setp.nan." type] = isNan<T, true>
  COMPARE_FLOATS("f32", float);
  COMPARE_FLOATS("f64", double);
#define COMPARE_HALVES(name, op, unordered)                                    \
  table["setp." #name ".f16"] = [](Bits x, Bits y, Bits, Bits) -> Bits {       \
    float a = static_cast<float>(get<_Float16>(x));                            \
    float b = static_cast<float>(get<_Float16>(y));                            \
    return std::isnan(a) || std::isnan(b) ? unordered : a op b;                \
  }
#define CONVERT(to, To, from, From)                                            \
  table["cvt." to "." from] = convert<From, To>
#define CONVERT_FROM_ALL(to, To)                                               \
  CONVERT(to, To, "s8", int8_t);                                               \
  CONVERT(to, To, "u8", uint8_t);                                              \
  CONVERT(to, To, "s16", int16_t);                                             \
  CONVERT(to, To, "u16", uint16_t);                                            \
  CONVERT(to, To, "s32", int32_t);                                             \
  CONVERT(to, To, "u32", uint32_t);                                            \
  CONVERT(to, To, "s64", int64_t);                                             \
  CONVERT(to, To, "u64", uint64_t)
  CONVERT_FROM_ALL("s8", int8_t);
  CONVERT_FROM_ALL("u8", uint8_t);
  CONVERT_FROM_ALL("s16", int16_t);
  CONVERT_FROM_ALL("u16", uint16_t);
  CONVERT_FROM_ALL("s32", int32_t);
  CONVERT_FROM_ALL("u32", uint32_t);
  CONVERT_FROM_ALL("s64", int64_t);
  CONVERT_FROM_ALL("u64", uint64_t);
  CONVERT_FROM_ALL("f32", float);
  CONVERT_FROM_ALL("f64", double);
  CONVERT("f64", double, "f32", float);
  CONVERT("f32", float, "f64", double);
#define CONVERT_FLOAT(from, From)                                              \
  table["cvt.rzi.s16." from] = toInteger<From, int16_t>;                       \
  table["cvt.rzi.u16." from] = toInteger<From, uint16_t>;                      \
  table["cvt.rzi.s32." from] = toInteger<From, int32_t>;                       \
  table["cvt.rzi.u32." from] = toInteger<From, uint32_t>;                      \
  table["cvt.rzi.s64." from] = toInteger<From, int64_t>;                       \
  table["cvt.rzi.u64." from] = toInteger<From, uint64_t>;                      \
  table["cvt.rmi." from "." from] = round<From, std::floor>;                   \
  table["cvt.rpi." from "." from] = round<From, std::ceil>;                    \
  table["cvt.rzi." from "." from] = round<From, std::trunc>;                   \
  table["cvt.rni." from "." from] = round<From, std::nearbyint>
  CONVERT_FLOAT("f32", float);
  CONVERT_FLOAT("f64", double);
  table["cvt.f32.bf16"] = fromBrain;
  table["cvt.bf16.f32"] = toBrain;
  table["cvt.bf16x2.f32"] = toBrains;
  table["cvt.f32.f16"] = fromHalf;
  table["cvt.f16.f32"] = toHalf;
  table["cvt.f16x2.f32"] = toHalves;
  CONVERT_FROM_ALL("f16", _Float16);
  CONVERT("f16", _Float16, "f64", double);
  CONVERT("f64", double, "f16", _Float16);
  COMPARE_HALVES(eq, ==, false);
  COMPARE_HALVES(neu, !=, true);
  COMPARE_HALVES(lt, <, false);
  COMPARE_HALVES(le, <=, false);
  COMPARE_HALVES(gt, >, false);
  COMPARE_HALVES(ge, >=, false);
  table["abs.f16"] = table["abs.bf16"] = [](Bits a, Bits, Bits, Bits) {
    return a & 0x7fff;
  };
  table["neg.f16"] = table["neg.bf16"] = [](Bits a, Bits, Bits, Bits) {
    return (a ^ 0x8000) & 0xffff;
  };
  table["abs.f16x2"] = table["abs.bf16x2"] = [](Bits a, Bits, Bits, Bits) {
    return a & 0x7fff7fff;
  };
  table["neg.f16x2"] = table["neg.bf16x2"] = [](Bits a, Bits, Bits, Bits) {
    return (a ^ 0x80008000) & 0xffffffff;
  };
  table["rsqrt.f32"] = [](Bits a, Bits, Bits, Bits) {
    return put<float>(1 / std::sqrt(get<float>(a)));
  };
  return table;
}

} // namespace

Function findFunction(const std::vector<std::string> &parts) {
  static const std::map<std::string, Function> table = makeTable();
  std::string key;
  for (const std::string &part : parts) {
    // How an inexact result is rounded is to the nearest here, in any case.
    if (part == "rn" || part == "ftz" || part == "approx")
      continue;
    key += (key.empty() ? "" : ".") + part;
  }
  auto it = table.find(key);
  return it == table.end() ? nullptr : it->second;
}

} // namespace pmrt::ptx

//===- Names.cpp - Words and lines of generated C++ -----------------------===//

#include "source/Names.h"

#include "cuda/Api.h"

#include <cctype>
#include <iterator>

namespace pipemesh::source {

/// Columns of a line.
static constexpr size_t width = 96;

std::string Names::unique(const std::string &text) {
  static const std::set<std::string> words = {
      "and",      "asm",     "auto",      "bool",      "break",    "case",
      "catch",    "char",    "class",     "const",     "continue", "default",
      "delete",   "do",      "double",    "else",      "enum",     "explicit",
      "export",   "extern",  "false",     "float",     "for",      "friend",
      "goto",     "if",      "inline",    "int",       "linux",    "long",
      "main",     "mutable", "namespace", "new",       "not",      "nullptr",
      "operator", "or",      "private",   "protected", "public",   "register",
      "requires", "return",  "short",     "signed",    "sizeof",   "static",
      "struct",   "switch",  "template",  "this",      "throw",    "true",
      "try",      "typedef", "typeid",    "typename",  "union",    "unix",
      "unsigned", "using",   "virtual",   "void",      "volatile", "while",
      "xor"};
  std::string name;
  for (char c : text) {
    bool isLetter = std::isalnum(static_cast<unsigned char>(c));
    // Two underscores are the language's.
    if (isLetter)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])))
    name.insert(0, "v");
  while (name.size() > 1 && name.back() == '_')
    name.pop_back();
  if (words.count(name))
    name += "_";
  std::string made = name;
  for (int i = 2; !taken.insert(made).second; ++i)
    made = cat(name, name.back() == '_' ? "" : "_", i);
  return made;
}

std::string call(const std::string &head,
                 const std::vector<std::string> &arguments,
                 const std::string &tail) {
  std::string text = head;
  size_t column = head.size();
  size_t indent = head.find_first_not_of(' ');
  std::string begin(indent == std::string::npos ? 4 : indent + 4, ' ');
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool isLast = i + 1 == arguments.size();
    size_t size = arguments[i].size() + (isLast ? tail.size() : 1);
    if (i && column + 1 + size > width) {
      text += "\n" + begin;
      column = begin.size();
    } else if (i) {
      text += ' ';
      ++column;
    }
    text += arguments[i];
    if (!isLast)
      text += ',';
    column += size;
  }
  return text + tail + "\n";
}

std::string comment(const std::string &indent, const std::string &text) {
  std::string result, line = indent + "//";
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find_first_of(" \n", at);
    std::string word =
        text.substr(at, end == std::string::npos ? end : end - at);
    if (line.size() + 1 + word.size() > width &&
        line.size() > indent.size() + 2) {
      result += line + "\n";
      line = indent + "//";
    }
    // A backslash at the end of a line would go on with the comment.
    line += ' ' + (word == "\\" ? "/" : word);
    if (end == std::string::npos)
      break;
    if (text[end] == '\n') {
      result += line + "\n";
      line = indent + "//";
    }
    at = end + 1;
  }
  return result + line + "\n";
}

std::string rangesText(const std::vector<int64_t> &numbers) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    if (last < i + 2)
      last = i;
    parts.push_back(last == i ? cat(numbers[i])
                              : cat(numbers[i], " to ", numbers[last]));
    i = last + 1;
  }
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '"';
}

namespace {
struct Constant {
  int value;
  const char *name;
};
} // namespace

/// The name of a constant, or its number as one of the type.
template <size_t size>
static std::string nameIn(const Constant (&table)[size], int value,
                          const char *type) {
  for (const Constant &constant : table)
    if (constant.value == value)
      return constant.name;
  return cat("static_cast<", type, ">(", value, ")");
}

std::string dataTypeName(int type) {
  static const Constant table[] = {{cuda::CUDA_R_32F, "CUDA_R_32F"},
                                   {cuda::CUDA_R_64F, "CUDA_R_64F"},
                                   {cuda::CUDA_R_16F, "CUDA_R_16F"},
                                   {cuda::CUDA_R_16BF, "CUDA_R_16BF"}};
  return nameIn(table, type, "cudaDataType_t");
}

std::string computeTypeName(int type) {
  static const Constant table[] = {
      {cuda::CUBLAS_COMPUTE_32F, "CUBLAS_COMPUTE_32F"},
      {cuda::CUBLAS_COMPUTE_32F_FAST_TF32, "CUBLAS_COMPUTE_32F_FAST_TF32"},
      {cuda::CUBLAS_COMPUTE_64F, "CUBLAS_COMPUTE_64F"}};
  return nameIn(table, type, "cublasComputeType_t");
}

std::string attributeName(int attribute) {
  static const Constant table[] = {
      {cuda::CUBLASLT_MATMUL_DESC_TRANSA, "CUBLASLT_MATMUL_DESC_TRANSA"},
      {cuda::CUBLASLT_MATMUL_DESC_TRANSB, "CUBLASLT_MATMUL_DESC_TRANSB"},
      {cuda::CUBLASLT_MATMUL_DESC_EPILOGUE, "CUBLASLT_MATMUL_DESC_EPILOGUE"},
      {cuda::CUBLASLT_MATMUL_DESC_BIAS_POINTER, "CUBLASLT_MATMUL_DESC_BIAS_POINTER"},
      {cuda::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
       "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER"},
      {cuda::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
       "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD"}};
  return nameIn(table, attribute, "cublasLtMatmulDescAttributes_t");
}

std::string attributeValue(int attribute, int64_t value) {
  static const Constant operations[] = {{cuda::CUBLAS_OP_N, "CUBLAS_OP_N"},
                                        {cuda::CUBLAS_OP_T, "CUBLAS_OP_T"}};
  static const Constant epilogues[] = {
      {cuda::CUBLASLT_EPILOGUE_BIAS, "CUBLASLT_EPILOGUE_BIAS"},
      {cuda::CUBLASLT_EPILOGUE_GELU, "CUBLASLT_EPILOGUE_GELU"},
      {cuda::CUBLASLT_EPILOGUE_GELU_BIAS, "CUBLASLT_EPILOGUE_GELU_BIAS"},
      {cuda::CUBLASLT_EPILOGUE_GELU_AUX, "CUBLASLT_EPILOGUE_GELU_AUX"},
      {cuda::CUBLASLT_EPILOGUE_GELU_AUX_BIAS, "CUBLASLT_EPILOGUE_GELU_AUX_BIAS"}};
  switch (attribute) {
  case cuda::CUBLASLT_MATMUL_DESC_TRANSA:
  case cuda::CUBLASLT_MATMUL_DESC_TRANSB:
    return nameIn(operations, static_cast<int>(value), "int32_t");
  case cuda::CUBLASLT_MATMUL_DESC_EPILOGUE:
    return nameIn(epilogues, static_cast<int>(value), "int32_t");
  default:
    return cat(value);
  }
}

std::string ncclTypeName(int type) {
  static const Constant table[] = {
      {cuda::ncclInt8, "ncclInt8"},       {cuda::ncclUint8, "ncclUint8"},
      {cuda::ncclInt32, "ncclInt32"},     {cuda::ncclUint32, "ncclUint32"},
      {cuda::ncclInt64, "ncclInt64"},     {cuda::ncclUint64, "ncclUint64"},
      {cuda::ncclFloat16, "ncclFloat16"}, {cuda::ncclFloat32, "ncclFloat32"},
      {cuda::ncclFloat64, "ncclFloat64"}, {cuda::ncclBfloat16, "ncclBfloat16"}};
  return nameIn(table, type, "ncclDataType_t");
}

std::string ncclReductionName(int reduction) {
  static const Constant table[] = {{cuda::ncclSum, "ncclSum"},
                                   {cuda::ncclMax, "ncclMax"},
                                   {cuda::ncclMin, "ncclMin"}};
  return nameIn(table, reduction, "ncclRedOp_t");
}

} // namespace pipemesh::source

//===- Image.cpp - a module's machine code or text ------------------------===//

#include "cuda/standin/Image.h"
#include "cuda/standin/Options.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <elf.h>

namespace pipemesh::cuda::standin {

namespace {

constexpr uint16_t kMachineCuda = 190;
/// An entry of a kernel's .nv.info section: how many bytes its parameters have.
constexpr unsigned char kHalfValue = 3, kLongValue = 4, kParameterBytes = 0x19;

const Elf64_Shdr *sectionsOf(const char *image, const Elf64_Ehdr &header) {
  return reinterpret_cast<const Elf64_Shdr *>(image + header.e_shoff);
}

uint64_t sizeOf(const char *image, const Elf64_Ehdr &header) {
  uint64_t size = header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize;
  size = std::max<uint64_t>(size, header.e_phoff +
                                      uint64_t(header.e_phnum) * header.e_phentsize);
  const Elf64_Shdr *sections = sectionsOf(image, header);
  for (int i = 0; i < header.e_shnum; ++i)
    if (sections[i].sh_type != SHT_NOBITS)
      size = std::max<uint64_t>(size, sections[i].sh_offset + sections[i].sh_size);
  return size;
}

int parametersOf(const char *info, uint64_t bytes) {
  int found = 0;
  for (uint64_t at = 0; at + 4 <= bytes;) {
    unsigned char format = info[at], attribute = info[at + 1];
    uint16_t value = 0;
    std::memcpy(&value, info + at + 2, 2);
    if (format == kHalfValue && attribute == kParameterBytes)
      found = value / 8;
    at += 4 + (format == kLongValue ? value : 0);
  }
  return found;
}

/// Kernels are the global functions of the symbol table.
CUresult readCubin(const char *image, Image &made, std::string &problem) {
  const auto &header = *reinterpret_cast<const Elf64_Ehdr *>(image);
  if (header.e_machine != kMachineCuda || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum) {
    problem = "the image is an ELF file, but no cubin";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  made.bytes = sizeOf(image, header);
  const Elf64_Shdr *sections = sectionsOf(image, header);
  const char *names = image + sections[header.e_shstrndx].sh_offset;
  std::map<std::string, int> parameters;
  for (int i = 0; i < header.e_shnum; ++i) {
    std::string name = names + sections[i].sh_name;
    if (name.rfind(".nv.info.", 0) == 0)
      parameters[name.substr(9)] =
          parametersOf(image + sections[i].sh_offset, sections[i].sh_size);
  }
  for (int i = 0; i < header.e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header.e_shnum)
      continue;
    const auto *symbols =
        reinterpret_cast<const Elf64_Sym *>(image + sections[i].sh_offset);
    const char *texts = image + sections[sections[i].sh_link].sh_offset;
    for (uint64_t j = 0; j < sections[i].sh_size / sizeof(Elf64_Sym); ++j) {
      const Elf64_Sym &symbol = symbols[j];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
          ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
        continue;
      std::string name = texts + symbol.st_name;
      made.kernels[name] = parameters.count(name) ? parameters[name] : 0;
    }
  }
  return CUDA_SUCCESS;
}

/// The names behind .entry, each with the .param of its list.
CUresult readText(const char *image, Image &made, std::string &problem) {
  std::string text = image;
  made.isText = true;
  made.bytes = text.size() + 1;
  if (text.find(".version") == std::string::npos) {
    problem = "the image is neither a cubin nor PTX";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  for (size_t at = text.find(".entry"); at != std::string::npos;
       at = text.find(".entry", at)) {
    at += 6;
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
    size_t end = text.find_first_of(" \t\n(", at), close = text.find(')', at);
    if (end == std::string::npos || close == std::string::npos)
      break;
    int count = 0;
    for (size_t i = text.find(".param", end); i < close; i = text.find(".param", i + 1))
      ++count;
    made.kernels[text.substr(at, end - at)] = count;
    at = end;
  }
  if (options().isComputing) {
    made.emulator = std::make_unique<pmrt::ptx::Emulator>(text, problem);
    for (const auto &[name, count] : made.kernels)
      if (!made.emulator->has(name))
        return CUDA_ERROR_INVALID_IMAGE;
    problem.clear();
  }
  return CUDA_SUCCESS;
}

} // namespace

CUresult readImage(const void *image, Image &made, std::string &problem) {
  const char *bytes = static_cast<const char *>(image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0)
    return readText(bytes, made, problem);
  CUresult result = readCubin(bytes, made, problem);
  // There is nothing here that runs machine code.
  if (result == CUDA_SUCCESS && options().isComputing)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  return result;
}

} // namespace pipemesh::cuda::standin

//===- Cpu.cpp - What the processor of this machine can do ----------------===//

#include "core/Cpu.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/utsname.h>

namespace pipemesh::runtime {

std::set<std::string> hostCpuFlags() {
  std::set<std::string> flags;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0)
      continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;)
      flags.insert(word);
    break;
  }
  return flags;
}

std::vector<std::string>
missingCpuFeatures(const std::vector<std::string> &features,
                   const std::set<std::string> &flags) {
  // LLVM's name of a feature where the kernel spells its flag in another way
  // than with '_' for '.' and '-'.
  static const std::map<std::string, std::string> spellings = {
      {"64bit", "lm"},
      {"sahf", "lahf_lm"},
      {"sse3", "pni"},
      {"crc32", "sse4_2"},
      {"pclmul", "pclmulqdq"},
      {"rdrnd", "rdrand"},
      {"sha", "sha_ni"},
      {"prfchw", "3dnowprefetch"},
      {"bmi", "bmi1"},
      {"lzcnt", "abm"},
      {"avxvnni", "avx_vnni"},
      {"avxifma", "avx_ifma"},
      {"avxvnniint8", "avx_vnni_int8"},
      {"avxneconvert", "avx_ne_convert"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avx512vp2intersect", "avx512_vp2intersect"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512fp16", "avx512_fp16"},
      {"neon", "asimd"},
      {"fp-armv8", "fp"},
      {"fullfp16", "asimdhp"},
      {"dotprod", "asimddp"},
      {"lse", "atomics"}};
  // Features of the system rather than of arithmetic: no kernel uses them, and
  // some kernels of the operating system do not list them.
  static const std::set<std::string> ignored = {
      "cldemote",  "clwb",      "clzero",   "cmov",     "enqcmd",
      "fsgsbase",  "fxsr",      "hreset",   "invpcid",  "kl",
      "mmx",       "movdir64b", "movdiri",  "mwaitx",   "pku",
      "prefetchi", "ptwrite",   "rdpid",    "rdpru",    "rtm",
      "serialize", "sgx",       "shstk",    "tsxldtrk", "uintr",
      "usermsr",   "waitpkg",   "wbnoinvd", "widekl",   "x87",
      "xsave",     "xsavec",    "xsaveopt", "xsaves",   "outline-atomics",
      "v8a",       "perfmon",   "crypto"};
  std::vector<std::string> missing;
  for (std::string feature : features) {
    if (feature.empty() || feature[0] == '-')
      continue;
    if (feature[0] == '+')
      feature.erase(0, 1);
    if (ignored.count(feature))
      continue;
    auto spelling = spellings.find(feature);
    std::string flag = feature;
    if (spelling != spellings.end())
      flag = spelling->second;
    else
      std::replace_if(
          flag.begin(), flag.end(), [](char c) { return c == '.' || c == '-'; },
          '_');
    if (!flags.count(flag))
      missing.push_back(feature);
  }
  return missing;
}

std::string hostArchitecture() {
  struct utsname name;
  return uname(&name) == 0 ? name.machine : "";
}

} // namespace pipemesh::runtime

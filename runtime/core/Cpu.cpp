//===- Cpu.cpp - What the processor of this machine can do ----------------===//

#include "core/Cpu.h"

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
  // LLVM's name of an instruction set, and the kernel's name of its flag.
  static const std::map<std::string, std::string> names = {
      {"sse3", "pni"},
      {"ssse3", "ssse3"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"popcnt", "popcnt"},
      {"movbe", "movbe"},
      {"avx", "avx"},
      {"f16c", "f16c"},
      {"fma", "fma"},
      {"avx2", "avx2"},
      {"bmi", "bmi1"},
      {"bmi2", "bmi2"},
      {"lzcnt", "abm"},
      {"gfni", "gfni"},
      {"vaes", "vaes"},
      {"vpclmulqdq", "vpclmulqdq"},
      {"avxvnni", "avx_vnni"},
      {"avx512f", "avx512f"},
      {"avx512bw", "avx512bw"},
      {"avx512cd", "avx512cd"},
      {"avx512dq", "avx512dq"},
      {"avx512vl", "avx512vl"},
      {"avx512ifma", "avx512ifma"},
      {"avx512vbmi", "avx512vbmi"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avx512vp2intersect", "avx512_vp2intersect"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512fp16", "avx512_fp16"},
      {"amx-tile", "amx_tile"},
      {"amx-bf16", "amx_bf16"},
      {"amx-int8", "amx_int8"},
      {"neon", "asimd"},
      {"sve", "sve"},
      {"sve2", "sve2"},
      {"bf16", "bf16"},
      {"fullfp16", "asimdhp"}};
  std::vector<std::string> missing;
  for (std::string feature : features) {
    if (feature.empty() || feature[0] == '-')
      continue;
    if (feature[0] == '+')
      feature.erase(0, 1);
    auto name = names.find(feature);
    if (name != names.end() && !flags.count(name->second))
      missing.push_back(feature);
  }
  return missing;
}

std::string hostArchitecture() {
  struct utsname name;
  return uname(&name) == 0 ? name.machine : "";
}

} // namespace pipemesh::runtime

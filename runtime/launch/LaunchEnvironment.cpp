//===- LaunchEnvironment.cpp - What a launcher has told this process ------===//

#include "launch/LaunchEnvironment.h"

#include "core/Error.h"

#include <charconv>
#include <cstdlib>
#include <optional>

namespace pipemesh::runtime {

const char *LaunchEnvironment::name() const {
  constexpr const char *names[] = {"no launcher", "mpirun", "torchrun", "srun"};
  return names[launcher];
}

namespace {

class Reader {
public:
  explicit Reader(const Variable &variable) : variable(variable) {}

  bool has(const char *name) const { return variable(name) != nullptr; }
  std::string text(const char *name) const {
    const char *value = variable(name);
    return value ? value : "";
  }
  /// A whole number in [least, most].
  int64_t number(const char *name, int64_t least, int64_t most) const {
    std::string value = text(name);
    int64_t number = 0;
    const char *end = value.data() + value.size();
    auto [at, error] = std::from_chars(value.data(), end, number);
    if (value.empty() || error != std::errc() || at != end)
      fail("the environment has ", name, "='", value,
           "', which is no whole number; start pmrun by mpirun, srun or "
           "torchrun, "
           "or unset it");
    if (number < least || number > most)
      fail("the environment has ", name, "=", number, ", but it must be ",
           least, " to ", most);
    return number;
  }
  int64_t number(const char *name, int64_t least, int64_t most,
                 int64_t otherwise) const {
    return has(name) ? number(name, least, most) : otherwise;
  }

private:
  const Variable &variable;
};

constexpr int64_t mostRanks = 1 << 24, mostPort = 65535;

/// All launchers say these three.
LaunchEnvironment ranks(const Reader &read,
                        LaunchEnvironment::Launcher launcher, const char *rank,
                        const char *size, const char *local) {
  LaunchEnvironment result;
  result.launcher = launcher;
  for (auto [one, other] : {std::pair(rank, size), std::pair(size, rank)})
    if (!read.has(one))
      fail("the environment has ", other, "=", read.text(other), ", but no ",
           one, "; start pmrun by ", result.name(), ", or unset it");
  result.size = read.number(size, 1, mostRanks);
  result.rank = read.number(rank, 0, mostRanks);
  if (result.rank >= result.size)
    fail("the environment has ", rank, "=", result.rank, ", but ", size, "=",
         result.size, ": ranks count from 0");
  result.localRank = read.number(local, 0, mostRanks, -1);
  if (result.localRank > result.rank)
    fail("the environment has ", local, "=", result.localRank, ", but ", rank,
         "=", result.rank, ", which counts the ranks of all machines");
  return result;
}

/// HOST:PORT, or [ADDRESS]:PORT of IPv6.
void setPlace(LaunchEnvironment &environment, const std::string &place) {
  size_t colon = place.rfind(':');
  std::string host = place.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  std::string digits =
      colon == std::string::npos ? "" : place.substr(colon + 1);
  int port = 0;
  auto [at, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (host.empty() || digits.empty() || error != std::errc() ||
      at != digits.data() + digits.size() || port < 1 || port > mostPort)
    fail("--rendezvous is '", place,
         "', but must be HOST:PORT, such as node1:29501");
  environment.host = host;
  environment.port = port;
}

LaunchEnvironment torchrun(const Reader &read, const std::string &rendezvous) {
  LaunchEnvironment result = ranks(read, LaunchEnvironment::Torchrun, "RANK",
                                   "WORLD_SIZE", "LOCAL_RANK");
  result.job = cat("torchrun ", read.text("TORCHELASTIC_RUN_ID"), " ",
                   read.text("MASTER_ADDR"), " ", read.text("MASTER_PORT"));
  if (!rendezvous.empty()) {
    setPlace(result, rendezvous);
    return result;
  }
  if (result.size == 1) {
    result.host = "127.0.0.1";
    return result;
  }
  for (const char *name : {"MASTER_ADDR", "MASTER_PORT"})
    if (read.text(name).empty())
      fail("the environment has RANK=", result.rank,
           " and WORLD_SIZE=", result.size, ", but no ", name,
           "; set it, or give --rendezvous=HOST:PORT");
  result.host = read.text("MASTER_ADDR");
  // The port itself is that of the launcher's own store.
  result.port =
      static_cast<int>(read.number("MASTER_PORT", 1, mostPort - 1)) + 1;
  return result;
}

LaunchEnvironment srun(const Reader &read, const std::string &rendezvous) {
  const char *size = read.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS"
                                                      : "SLURM_NTASKS";
  LaunchEnvironment result = ranks(read, LaunchEnvironment::Srun,
                                   "SLURM_PROCID", size, "SLURM_LOCALID");
  int64_t most = int64_t(1) << 32;
  int64_t job = read.number("SLURM_JOB_ID", 0, most, 0);
  int64_t step = read.number("SLURM_STEP_ID", 0, most, 0);
  result.job = cat("srun ", job, ".", step);
  if (!rendezvous.empty()) {
    setPlace(result, rendezvous);
    return result;
  }
  if (result.size == 1) {
    result.host = "127.0.0.1";
    return result;
  }
  std::string machines = read.text("SLURM_STEP_NODELIST");
  if (!machines.empty()) {
    result.host = firstMachine(machines);
    if (result.host.empty())
      fail("the environment has SLURM_STEP_NODELIST='", machines,
           "', which names no machine; give --rendezvous=HOST:PORT");
  } else {
    result.host = read.text("SLURM_LAUNCH_NODE_IPADDR");
  }
  if (result.host.empty())
    fail("the environment has SLURM_PROCID=", result.rank, " and ", size, "=",
         result.size,
         ", but neither SLURM_STEP_NODELIST nor "
         "SLURM_LAUNCH_NODE_IPADDR; give --rendezvous=HOST:PORT");
  result.port = static_cast<int>(15000 + (job * 31 + step) % 15000);
  return result;
}

} // namespace

std::string firstMachine(const std::string &list) {
  size_t end = list.find_first_of(",[");
  std::string name = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',')
    return name;
  size_t close = list.find(']', end);
  if (close == std::string::npos)
    return "";
  std::string numbers = list.substr(end + 1, close - end - 1);
  std::string first = numbers.substr(0, numbers.find_first_of(",-"));
  if (first.empty() ||
      first.find_first_not_of("0123456789") != std::string::npos)
    return "";
  // What stands behind the bracket, which may have another one.
  std::string rest = list.substr(close + 1);
  return rest.empty() || rest.front() == ','
             ? name + first
             : name + first + firstMachine(rest);
}

LaunchEnvironment launchEnvironment(const Variable &variable,
                                    const std::string &rendezvous) {
  Reader read(variable);
  LaunchEnvironment result;
  if (read.has("OMPI_COMM_WORLD_RANK") || read.has("OMPI_COMM_WORLD_SIZE"))
    result = ranks(read, LaunchEnvironment::Mpirun, "OMPI_COMM_WORLD_RANK",
                   "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK");
  else if (read.has("RANK") || read.has("WORLD_SIZE"))
    return torchrun(read, rendezvous);
  // The script of a batch job has these too; its steps have a number.
  else if (read.has("SLURM_PROCID") &&
           (read.has("SLURM_STEP_ID") || !read.has("SLURM_JOB_ID")))
    return srun(read, rendezvous);
  if (!rendezvous.empty())
    fail("--rendezvous=", rendezvous,
         " is for processes of srun or torchrun, but ",
         result.launcher == LaunchEnvironment::None
             ? "the environment has neither SLURM_PROCID nor RANK"
             : "mpirun has started this one",
         "; leave it out");
  return result;
}

LaunchEnvironment launchEnvironment(const std::string &rendezvous) {
  return launchEnvironment([](const char *name) { return std::getenv(name); },
                           rendezvous);
}

} // namespace pipemesh::runtime

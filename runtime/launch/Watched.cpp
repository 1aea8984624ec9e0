//===- Watched.cpp - A rank's side of the watch over a job ----------------===//

#include "launch/Watched.h"

#include "launch/Collector.h"

#include <algorithm>
#include <arpa/inet.h>
#include <bit>
#include <cstdio>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

namespace pipemesh::runtime {

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

std::string machineAddresses() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  std::string text = name;
  ifaddrs *first = nullptr;
  if (getifaddrs(&first) != 0)
    return text;
  for (ifaddrs *one = first; one; one = one->ifa_next) {
    if (!one->ifa_addr || !one->ifa_netmask || !(one->ifa_flags & IFF_UP) ||
        (one->ifa_flags & IFF_LOOPBACK))
      continue;
    int family = one->ifa_addr->sa_family;
    const void *address = nullptr, *mask = nullptr;
    size_t bytes = 0;
    if (family == AF_INET) {
      address = &reinterpret_cast<sockaddr_in *>(one->ifa_addr)->sin_addr;
      mask = &reinterpret_cast<sockaddr_in *>(one->ifa_netmask)->sin_addr;
      bytes = 4;
    } else if (family == AF_INET6) {
      auto *six = &reinterpret_cast<sockaddr_in6 *>(one->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(six))
        continue;
      address = six;
      mask = &reinterpret_cast<sockaddr_in6 *>(one->ifa_netmask)->sin6_addr;
      bytes = 16;
    } else {
      continue;
    }
    int prefix = 0;
    for (size_t i = 0; i < bytes; ++i)
      prefix += std::popcount(static_cast<const unsigned char *>(mask)[i]);
    char digits[INET6_ADDRSTRLEN];
    if (inet_ntop(family, address, digits, sizeof(digits)))
      text += cat(" ", digits, "/", prefix);
  }
  freeifaddrs(first);
  return text;
}

namespace {
struct Address {
  std::string text;
  std::string bits; ///< of 4 or 16 bytes
  int prefix = 0;

  bool sharesNetwork(const Address &other) const {
    if (bits.size() != other.bits.size() || prefix != other.prefix)
      return false;
    for (int i = 0; i < prefix; ++i)
      if ((bits[i / 8] ^ other.bits[i / 8]) >> (7 - i % 8) & 1)
        return false;
    return true;
  }
};
} // namespace

/// Cuts the name off.
static std::vector<Address> parseMachine(const std::string &text,
                                         std::string &name) {
  std::istringstream words(text);
  words >> name;
  std::vector<Address> addresses;
  for (std::string word; words >> word;) {
    size_t slash = word.find('/');
    Address address{word.substr(0, slash), std::string(16, '\0'),
                    std::atoi(word.c_str() + slash + 1)};
    bool four = inet_pton(AF_INET, address.text.c_str(), address.bits.data());
    if (!four && !inet_pton(AF_INET6, address.text.c_str(), address.bits.data()))
      continue;
    address.bits.resize(four ? 4 : 16);
    addresses.push_back(std::move(address));
  }
  return addresses;
}

std::vector<std::string>
addressesToListen(const std::vector<std::string> &machines) {
  std::string name;
  std::vector<Address> own = parseMachine(machines[0], name);
  std::vector<bool> needed(own.size());
  bool alone = true;
  for (const std::string &machine : machines) {
    std::string otherName;
    std::vector<Address> others = parseMachine(machine, otherName);
    if (otherName == name)
      continue;
    alone = false;
    std::vector<bool> shared(own.size());
    for (size_t i = 0; i < own.size(); ++i)
      shared[i] = std::any_of(
          others.begin(), others.end(), [&](const Address &other) {
            // The same address on both is one that each has for itself.
            return own[i].bits != other.bits && own[i].sharesNetwork(other);
          });
    // Behind a router it may be any of them.
    if (std::find(shared.begin(), shared.end(), true) == shared.end())
      shared.assign(own.size(), true);
    for (size_t i = 0; i < own.size(); ++i)
      needed[i] = needed[i] || shared[i];
  }
  std::vector<std::string> addresses;
  for (size_t i = 0; i < own.size(); ++i)
    if (needed[i])
      addresses.push_back(own[i].text);
  if (alone || addresses.empty())
    addresses = {"127.0.0.1"};
  return addresses;
}

//===----------------------------------------------------------------------===//
// The watch
//===----------------------------------------------------------------------===//

Watched::Watched(int supervisor, const std::string &where, Transport &transport)
    : wire(supervisor), transport(transport) {
  if (where == "off" || supervisor < 0)
    return;
  std::vector<std::string> machines = transport.exchange(machineAddresses());
  std::string told;
  if (transport.isFirst()) {
    std::string addresses = where;
    if (where.empty())
      for (const std::string &address : addressesToListen(machines))
        addresses += address + " ";
    wire.send(Word::Listen, addresses);
    std::optional<WireMessage> answer = wire.wait(5000);
    told = answer ? answer->body : "\nits supervisor does not answer";
  }
  told = transport.exchange(told).front();
  std::string endpoints = told, token = takeField(endpoints), problem;
  bool listens = !token.empty();
  if (listens && !transport.isFirst()) {
    wire.send(Word::Connect,
              cat(transport.localRanks().front(), "\n", told));
    std::optional<WireMessage> answer = wire.wait(60000);
    problem = answer ? answer->body : "its supervisor does not answer";
  }
  std::vector<std::string> problems = transport.exchange(problem);
  if (transport.isFirst()) {
    size_t count = problems.size() -
                   std::count(problems.begin(), problems.end(), "");
    auto first = std::find_if(problems.begin(), problems.end(),
                              [](auto &text) { return !text.empty(); });
    if (!listens)
      std::fprintf(stderr,
                   "pmrun: warning: the records of the ranks are not collected: "
                   "rank 0 %s; --watch=ADDRESS names another address\n",
                   endpoints.c_str());
    else if (count)
      std::fprintf(
          stderr,
          "pmrun: warning: the records of %zu of %zu ranks are not collected: "
          "rank %ld cannot reach that of rank 0 (%s); --watch=ADDRESS names "
          "another address\n",
          count, problems.size(), long(first - problems.begin()),
          first->c_str());
  }
  if (listens && problem.empty())
    transport.tellAll = [this](const JobEnd &end) { return tellAll(end); };
}

bool Watched::tellAll(const JobEnd &end) {
  // The collector waits a second and a half for records.
  constexpr int patience = 3000, untilTheEnd = 5000; // milliseconds
  wire.send(Word::Report,
            Report{transport.localRanks().front(), false, end}.pack());
  std::optional<WireMessage> answer = wire.wait(patience);
  if (answer && answer->word == Word::Hold) {
    // Whoever is told Printed ends the job.
    usleep(untilTheEnd * 1000);
    return true;
  }
  return answer && answer->word == Word::Printed;
}

} // namespace pipemesh::runtime

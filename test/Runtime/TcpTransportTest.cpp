//===- TcpTransportTest.cpp - Processes that meet over TCP ----------------===//

#include "launch/TcpTransport.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace pipemesh::runtime;

namespace {

/// A port that is free now.
int freePort() {
  int one = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  bind(one, reinterpret_cast<sockaddr *>(&address), sizeof(address));
  getsockname(one, reinterpret_cast<sockaddr *>(&address), &length);
  close(one);
  return ntohs(address.sin_port);
}

struct Ended {
  int status = -1; ///< 256 and the signal of what was killed
  std::string output, errors;
};

using Run = std::function<std::string(int64_t rank, Transport &transport)>;

/// Runs a process for each rank; what `run` returns is its output.
class Processes {
public:
  explicit Processes(int64_t size) : size(size), port(freePort()) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "pipemesh-tcp-XXXXXX")
            .string();
    folder = mkdtemp(pattern.data());
  }
  ~Processes() { std::filesystem::remove_all(folder); }

  TcpPlace place(int64_t rank) const {
    return {rank, size, "127.0.0.1", port, "token", "b0b", 20};
  }
  void start(const TcpPlace &place, const Run &run) {
    pid_t child = fork();
    if (child == 0) {
      std::string name = folder + "/" + std::to_string(children.size());
      if (!std::freopen((name + ".err").c_str(), "w", stderr))
        _exit(9);
      int status = 0;
      std::string output;
      try {
        std::shared_ptr<Transport> transport = meetOverTcp(place);
        output = run(place.rank, *transport);
        finishTcp(*transport);
      } catch (const Error &error) {
        output = error.what();
        status = error.status();
      }
      std::ofstream(name + ".out") << output;
      std::fflush(stderr);
      _exit(status);
    }
    children.push_back(child);
  }
  void startAll(const Run &run) {
    for (int64_t rank = 0; rank < size; ++rank)
      start(place(rank), run);
  }
  pid_t child(size_t index) const { return children[index]; }
  std::vector<Ended> wait() {
    std::vector<Ended> ended;
    for (size_t i = 0; i < children.size(); ++i) {
      int status = 0;
      waitpid(children[i], &status, 0);
      Ended one;
      one.status =
          WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
      for (bool errors : {false, true}) {
        std::ifstream file(folder + "/" + std::to_string(i) +
                           (errors ? ".err" : ".out"));
        std::stringstream text;
        text << file.rdbuf();
        (errors ? one.errors : one.output) = text.str();
      }
      ended.push_back(one);
    }
    return ended;
  }

  const int64_t size;
  const int port;

private:
  std::string folder;
  std::vector<pid_t> children;
};

} // namespace

TEST(TcpTransports, ExchangeTextsInTheOrderOfRanks) {
  Processes processes(5);
  processes.startAll([](int64_t rank, Transport &transport) {
    std::string all;
    for (int round = 0; round < 50; ++round) {
      std::string own =
          cat(rank, ".", round, std::string(rank * 1000, 'x'), '\0');
      std::vector<std::string> texts = transport.exchange(own);
      if (static_cast<int64_t>(texts.size()) != 5 || texts[rank] != own)
        return std::string("wrong");
      all.clear();
      for (const std::string &text : texts)
        all += text.substr(0, text.find('x')).substr(0, 4) + " ";
    }
    return all + (transport.isFirst() ? "first" : "") + transport.leftOver();
  });
  std::vector<Ended> ended = processes.wait();
  EXPECT_EQ(ended[0].status, 0) << ended[0].errors;
  EXPECT_NE(ended[0].output.find("1.49 2.49 3.49 4.49 first"),
            std::string::npos)
      << ended[0].output;
  for (int rank = 1; rank < 5; ++rank)
    EXPECT_NE(ended[rank].output.find("1.49 2.49 3.49 4.49 "),
              std::string::npos);
}

TEST(TcpTransports, MoveTensorsToTheFirst) {
  Processes processes(3);
  processes.startAll([](int64_t rank, Transport &transport) {
    constexpr size_t bytes = (9 << 20) + 7;
    std::string data(bytes, rank == 0 ? '\0' : static_cast<char>('a' + rank));
    std::string result;
    for (int64_t from = 0; from < 3; ++from) {
      transport.moveToFirst(from, data.data(), bytes);
      if (rank == 0)
        result += cat(data.front(), data.back(), ' ');
    }
    return result;
  });
  std::vector<Ended> ended = processes.wait();
  EXPECT_EQ(ended[0].output.substr(3), "bb cc ");
  for (const Ended &one : ended)
    EXPECT_EQ(one.status, 0) << one.output << one.errors;
}

TEST(TcpTransports, VoteAndAgree) {
  Processes processes(3);
  processes.startAll([](int64_t rank, Transport &transport) {
    uint64_t waited = 0;
    std::optional<Objection> own;
    if (rank)
      own = Objection{rank, 2.0f + static_cast<float>(rank), rank == 1, "loss"};
    std::optional<Objection> first =
        transport.vote(rank, own, transport.patience, waited);
    std::string text =
        cat(first->rank, " ", first->value, " ", first->buffer, " ");
    try {
      agree(transport, [&] {
        if (rank == 1)
          fail("is not well");
      });
    } catch (const AgreedError &error) {
      text += error.what();
    }
    return text;
  });
  for (const Ended &one : processes.wait())
    EXPECT_EQ(one.output, "2 4 loss rank 1: is not well");
}

TEST(TcpTransports, CarryNoDataOfRanks) {
  Processes processes(2);
  processes.startAll([](int64_t rank, Transport &transport) {
    Parcel parcel;
    try {
      transport.send({rank, 1 - rank, 0}, parcel, nullptr);
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string("sent");
  });
  for (const Ended &one : processes.wait())
    EXPECT_EQ(one.output,
              "the connection between processes of srun or torchrun "
              "carries no transfers: ranks on GPUs exchange them by NCCL "
              "(--meet=nccl); run host ranks under mpirun");
}

TEST(TcpTransports, OneThatEndsTellsOnce) {
  Processes processes(3);
  processes.startAll([](int64_t rank, Transport &transport) -> std::string {
    transport.exchange("");
    if (rank == 2)
      transport.end({"the disk is full", 4, -1, {}, ""});
    // Others wait, or compute.
    if (rank == 1)
      std::this_thread::sleep_for(std::chrono::seconds(30));
    transport.exchange("");
    return "went on";
  });
  std::vector<Ended> ended = processes.wait();
  for (const Ended &one : ended)
    EXPECT_EQ(one.status, 4);
  EXPECT_EQ(ended[0].errors, "pmrun: error: the disk is full\n");
  EXPECT_EQ(ended[1].errors + ended[2].errors, "");
}

TEST(TcpTransports, OneThatDiesEndsTheOthers) {
  Processes processes(3);
  processes.startAll([](int64_t rank, Transport &transport) -> std::string {
    transport.exchange("");
    if (rank == 1)
      raise(SIGKILL);
    transport.exchange("");
    return "went on";
  });
  std::vector<Ended> ended = processes.wait();
  EXPECT_EQ(ended[1].status, 256 + SIGKILL);
  EXPECT_EQ(ended[0].status, 1);
  EXPECT_EQ(ended[2].status, 1);
  EXPECT_EQ(
      ended[0].errors,
      "pmrun: error: the process of rank 1 is gone, or the connection to it\n");
}

TEST(TcpTransports, FirstThatDiesEndsTheOthers) {
  Processes processes(2);
  processes.startAll([](int64_t rank, Transport &transport) -> std::string {
    transport.exchange("");
    if (rank == 0)
      raise(SIGKILL);
    transport.exchange("");
    return "went on";
  });
  std::vector<Ended> ended = processes.wait();
  EXPECT_EQ(ended[1].status, 1);
  EXPECT_EQ(ended[1].errors,
            "pmrun: error: rank 1: the process of rank 0 is gone, or "
            "the connection to it\n");
}

TEST(TcpTransports, LateOneIsWaitedFor) {
  Processes processes(3);
  auto run = [](int64_t, Transport &transport) {
    return transport.exchange("x")[2];
  };
  processes.start(processes.place(1), run);
  processes.start(processes.place(2), run);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  processes.start(processes.place(0), run);
  for (const Ended &one : processes.wait())
    EXPECT_EQ(one.output, "x") << one.errors;
}

TEST(TcpTransports, ThoseThatDoNotComeAreNamed) {
  Processes processes(4);
  auto run = [](int64_t, Transport &) { return std::string("met"); };
  for (int64_t rank : {0, 2}) {
    TcpPlace place = processes.place(rank);
    place.seconds = rank == 0 ? 1 : 20;
    processes.start(place, run);
  }
  std::vector<Ended> ended = processes.wait();
  EXPECT_EQ(ended[0].status, lateStatus);
  EXPECT_EQ(
      ended[0].output,
      cat("ranks 1, 3 have not come to 127.0.0.1:", processes.port,
          " within 1 s; were all processes started, and can they reach this "
          "machine?"));
  EXPECT_EQ(ended[1].status, 1);
  EXPECT_NE(ended[1].output.find("rank 2 was sent away by 127.0.0.1:"),
            std::string::npos)
      << ended[1].output;
}

TEST(TcpTransports, RankZeroThatIsNotThereIsNamed) {
  Processes processes(2);
  TcpPlace place = processes.place(1);
  place.seconds = 1;
  processes.start(place,
                  [](int64_t, Transport &) { return std::string("met"); });
  Ended ended = processes.wait()[0];
  EXPECT_EQ(ended.status, lateStatus);
  EXPECT_EQ(ended.output,
            cat("rank 1 has not met rank 0 at 127.0.0.1:", processes.port,
                " within 1 s: Connection refused"));
  place.host = "no.such.machine.invalid";
  Processes others(2);
  others.start(place, [](int64_t, Transport &) { return std::string("met"); });
  ended = others.wait()[0];
  EXPECT_NE(
      ended.output.find("'no.such.machine.invalid' is no address and no name "
                        "that this machine knows"),
      std::string::npos)
      << ended.output;
}

TEST(TcpTransports, OthersAreSentAway) {
  struct Case {
    std::function<void(TcpPlace &)> change;
    const char *text;
  };
  for (const Case &one : std::vector<Case>{
           {[](TcpPlace &place) { place.bundle = "c0de"; },
            "rank 1 runs the bundle c0de, but rank 0 b0b; give all processes "
            "the same "
            "one"},
           {[](TcpPlace &place) { place.size = 4; },
            "rank 1 was started as one of 4 ranks, but rank 0 as one of 2"}}) {
    Processes processes(2);
    auto run = [](int64_t, Transport &) { return std::string("met"); };
    processes.start(processes.place(0), run);
    TcpPlace place = processes.place(1);
    one.change(place);
    processes.start(place, run);
    std::vector<Ended> ended = processes.wait();
    EXPECT_EQ(ended[0].output, one.text);
    EXPECT_NE(ended[1].output.find(one.text), std::string::npos)
        << ended[1].output;
  }
}

TEST(TcpTransports, ProcessOfAnotherJobDoesNotDisturb) {
  Processes processes(2);
  auto run = [](int64_t, Transport &transport) {
    return transport.exchange("x")[1];
  };
  processes.start(processes.place(0), run);
  TcpPlace stranger = processes.place(1);
  stranger.token = "other";
  processes.start(stranger, run);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  processes.start(processes.place(1), run);
  std::vector<Ended> ended = processes.wait();
  EXPECT_EQ(ended[0].output, "x");
  EXPECT_EQ(ended[2].output, "x");
  EXPECT_NE(ended[1].output.find("is not of the job that listens here"),
            std::string::npos)
      << ended[1].output;
}

TEST(TcpTransports, LateExchangeIsTold) {
  Processes processes(3);
  processes.startAll([](int64_t rank, Transport &transport) -> std::string {
    transport.exchange("");
    if (rank == 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
    std::string late;
    if (rank == 0) {
      transport.patience.limit = 300'000'000;
      transport.patience.late = [&](const std::vector<int64_t> &absent) {
        for (int64_t other : absent)
          late += cat(other, " ");
      };
    }
    transport.exchange("");
    return late;
  });
  std::vector<Ended> ended = processes.wait();
  EXPECT_EQ(ended[0].output, "2 ");
}

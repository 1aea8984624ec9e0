//===- WatchTest.cpp - Records are collected over sockets -----------------===//

#include "Fixture.h"

#include "host/FlightRecorder.h"
#include "launch/Collector.h"
#include "launch/Watched.h"

#include <sys/socket.h>

using namespace pipemesh::runtime;
using namespace pipemesh::runtime::test;

namespace {

using Texts = std::vector<std::string>;

TEST(Watch, RanksOfOneMachineUseItsOwnAddress) {
  EXPECT_EQ(addressesToListen({"a 10.0.0.1/24", "a 10.0.0.1/24"}),
            Texts{"127.0.0.1"});
}

TEST(Watch, ListensWhereOtherMachinesAre) {
  EXPECT_EQ(addressesToListen({"a 10.0.0.1/24 192.168.7.1/16 172.17.0.1/16",
                               "b 192.168.9.2/16 172.17.0.1/16"}),
            Texts{"192.168.7.1"});
  EXPECT_EQ(addressesToListen({"a 10.0.0.1/24 fd00::1/64", "b fd00::2/64",
                               "c 10.0.0.9/24"}),
            (Texts{"10.0.0.1", "fd00::1"}));
}

TEST(Watch, ListensEverywhereForMachinesBehindARouter) {
  EXPECT_EQ(addressesToListen({"a 10.0.0.1/24 10.1.0.1/24", "b 10.2.0.1/24"}),
            (Texts{"10.0.0.1", "10.1.0.1"}));
  EXPECT_EQ(addressesToListen({"a", "b"}), Texts{"127.0.0.1"});
}

TEST(Watch, ReportsKeepTheirFields) {
  Report report{3, true, {"first\nsecond", 4, 2, {0, 5}, "/tmp/x y"}};
  std::optional<Report> read = Report::unpack(report.pack());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->rank, 3);
  EXPECT_TRUE(read->killed);
  EXPECT_EQ(read->end.message, "first\nsecond");
  EXPECT_EQ(read->end.status, 4);
  EXPECT_EQ(read->end.late, 2);
  EXPECT_EQ(read->end.absent, (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(read->end.flight, "/tmp/x y");
  EXPECT_FALSE(Report::unpack("x\n1\n3\n-1\n\n\ntext"));
}

/// A collector that serves on a thread of its own.
struct Served {
  Served() : collector({"127.0.0.1"}) {
    collector.folder = folder / "";
  }
  ~Served() { stop(); }

  void serve() {
    thread = std::thread([this] {
      while (!stopping) {
        collector.turn();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  void stop() {
    stopping = true;
    if (thread.joinable())
      thread.join();
  }

  TemporaryFolder folder;
  Collector collector;
  std::atomic<bool> stopping{false};
  std::thread thread;
};

TEST(Watch, AStrangerIsSentAway) {
  Served served;
  served.serve();
  std::string problem;
  std::string other(served.collector.secret().size(), '0');
  EXPECT_FALSE(
      connectTo(served.collector.endpoints(), other, 1, problem));
  EXPECT_NE(problem.find("nothing answers there"), std::string::npos)
      << problem;
  problem.clear();
  EXPECT_TRUE(connectTo(served.collector.endpoints(),
                        served.collector.secret(), 1, problem));
  EXPECT_EQ(problem, "");
}

TEST(Watch, WhoSpeaksAnotherLanguageIsSentAway) {
  Served served;
  served.serve();
  std::string problem;
  std::unique_ptr<Wire> wire = connectTo(
      served.collector.endpoints(), served.collector.secret(), 1, problem);
  ASSERT_TRUE(wire);
  std::string text = "GET / HTTP/1.1\r\n\r\n";
  send(wire->descriptor(), text.data(), text.size(), 0);
  EXPECT_FALSE(wire->wait(200));
  // The others are served all the same.
  EXPECT_TRUE(connectTo(served.collector.endpoints(),
                        served.collector.secret(), 2, problem));
}

TEST(Watch, ARefusedConnectionIsTold) {
  std::vector<Endpoint> endpoints;
  {
    Served gone;
    endpoints = gone.collector.endpoints();
  }
  std::string problem;
  EXPECT_FALSE(connectTo(endpoints, "token", 1, problem));
  EXPECT_NE(problem.find("Connection refused"), std::string::npos) << problem;
  EXPECT_ERROR(Collector({"192.0.2.1"}), "cannot listen on 192.0.2.1");
  EXPECT_ERROR(Collector({"nowhere"}), "it is no address of this machine");
}

TEST(Watch, RecordsOfOtherFoldersCome) {
  Served served;
  TemporaryFolder other;
  FlightRecorder recorder(flightPath(other / "", 1), 1, "rank 1", "hash");
  FlightEntry entry;
  entry.kind = FlightEntry::Send;
  entry.number = 7;
  entry.peer = 0;
  recorder.begin(entry);
  recorder.activity().set(5, Record::none, Record::Waiting, nanoseconds());
  served.serve();
  std::string problem;
  std::unique_ptr<Wire> wire = connectTo(
      served.collector.endpoints(), served.collector.secret(), 1, problem);
  ASSERT_TRUE(wire) << problem;

  testing::internal::CaptureStderr();
  JobEnd end{"it went wrong", 4, -1, {}, other / ""};
  wire->send(Word::Report, Report{1, false, end}.pack());
  std::optional<WireMessage> request = wire->wait(2000);
  ASSERT_TRUE(request);
  ASSERT_EQ(request->word, Word::Collect);
  sendLog(*wire, request->body, other / "", 1);
  std::optional<WireMessage> answer = wire->wait(2000);
  served.stop();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            cat("pmrun: error: it went wrong; pmrun --read-flight=",
                served.folder / "", " shows what all did last\n"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->word, Word::Printed);

  FlightLog log = readFlight(flightPath(served.folder / "", 1));
  EXPECT_TRUE(log.fromElsewhere);
  EXPECT_EQ(log.who, "rank 1");
  EXPECT_EQ(log.activity.action, 5u);
  EXPECT_EQ(log.activity.state, uint32_t(Record::Waiting));
  ASSERT_EQ(log.entries.size(), 1u);
  EXPECT_EQ(log.entries[0].number, 7u);
  EXPECT_EQ(processText(log), "");
}

TEST(Watch, ASecondReportIsHeldAndOneOfAKilledProcessComesFirst) {
  Served served;
  std::vector<std::string> told;
  auto teller = [&](const char *who) {
    return [&told, who](Word word) {
      told.push_back(cat(who, word == Word::Printed ? " prints" : " holds"));
    };
  };
  testing::internal::CaptureStderr();
  served.collector.take({2, false, {"late", 3, -1, {}, ""}}, teller("late"));
  served.collector.take({3, false, {"later", 3, -1, {}, ""}}, teller("later"));
  served.collector.take({0, true, {"killed", 1, -1, {}, ""}}, teller("killed"));
  served.collector.turn();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "pmrun: error: killed\n");
  served.collector.take({1, true, {"more", 1, -1, {}, ""}}, teller("more"));
  EXPECT_EQ(told, (Texts{"later holds", "late holds", "killed prints",
                         "more holds"}));
}

TEST(Watch, WhatIsNoRecordIsRefused) {
  TemporaryFolder folder;
  EXPECT_ERROR(unpackFlight("text", folder / "", 3), "what came of rank 3");
}

} // namespace

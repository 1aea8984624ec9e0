//===- BrokenTraceTest.cpp - Traces that are refused, each for its reason -===//

#include "TraceMaker.h"

using namespace pipemesh;
using namespace pipemesh::trace::test;
using pipemesh::proof::test::sampleOf;

namespace {

/// Two stages of two ranks over dp and tp, with all kinds of instructions.
SampleOptions sample() {
  SampleOptions options = sampleOf("1f1b", 2, 0, 4);
  options.dp = options.tp = 2;
  options.operations = 16;
  options.seed = 3;
  return options;
}

std::string call(const json &line) { return line.value("call", ""); }

/// Breaks the trace of a program and expects a line of the refusals that has
/// the texts; the first one is its rule.
void expectRefused(const std::function<void(MadeTrace &)> &breakIt,
                   const std::vector<std::string> &texts,
                   const MakeOptions &make = {},
                   const SampleOptions &options = sample()) {
  SampleProgram program(options);
  MadeTrace made(program, make);
  breakIt(made);
  std::string refusals = made.refusals();
  bool found = false;
  for (size_t begin = 0; begin < refusals.size() && !found;) {
    size_t end = refusals.find('\n', begin);
    std::string line = refusals.substr(begin, end - begin);
    begin = end + 1;
    found = line.rfind(texts[0] + ": ", 0) == 0;
    for (size_t i = 1; i < texts.size(); ++i)
      found = found && line.find(texts[i]) != std::string::npos;
  }
  std::string wanted;
  for (const std::string &text : texts)
    wanted += "\n  '" + text + "'";
  EXPECT_TRUE(found) << "got\n" << refusals << "wanted a line with" << wanted;
}

/// "rank 1, line 57: "
std::string at(uint32_t rank, size_t line) {
  return "rank " + std::to_string(rank) + ", line " + std::to_string(line + 1) +
         ": ";
}

size_t beginOfStep(const MadeTrace &made, uint32_t rank) {
  return made.find(rank, "cuStreamWriteValue32_v2");
}

/// The first wait of a stream such as `fits` for an event behind the begin of
/// the step.
size_t waitOf(const MadeTrace &made, uint32_t rank,
              const std::function<bool(uint64_t)> &fits, size_t which = 0) {
  return made.find(
      rank,
      [&](const json &line) {
        return call(line) == "cuStreamWaitEvent" && fits(line["stream"]);
      },
      which);
}

/// The first line behind another one that fits.
size_t next(const MadeTrace &made, uint32_t rank, size_t from,
            const MadeTrace::Fits &fits) {
  for (size_t i = from + 1; i < made.ranks[rank].size(); ++i)
    if (fits(made.ranks[rank][i]))
      return i;
  throw std::runtime_error("no such line");
}

bool isTransfer(const json &line) {
  return (call(line) == "ncclSend" || call(line) == "ncclRecv") &&
         line["group"] == 0;
}

} // namespace

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

TEST(BrokenTraces, SendWithoutItsWait) {
  expectRefused(
      [](MadeTrace &made) {
        made.erase(0,
                   waitOf(made, 0, [](uint64_t stream) { return stream > 3; }));
      },
      {"race", "rank 0, line ",
       "ncclSend (send of 'h0' of micro-batch 0 to role 1", "reads bytes [",
       "has to have written before, but nothing orders streams 1 "
       "and 4 there"});
}

TEST(BrokenTraces, ReceiveIntoASliceThatIsStillRead) {
  expectRefused(
      [](MadeTrace &made) {
        size_t receive = made.find(
            2,
            [](const json &line) {
              return call(line) == "ncclRecv" && line["group"] == 0;
            },
            3);
        uint64_t stream = made.ranks[2][receive]["stream"];
        size_t wait = receive;
        while (call(made.ranks[2][wait]) != "cuStreamWaitEvent" ||
               made.ranks[2][wait]["stream"] != stream)
          --wait;
        made.erase(2, wait);
      },
      {"race", "rank 2, line ", "ncclRecv (receive of 'h0' of micro-batch ",
       "writes bytes [", "of 'h0'", "has to have read before"});
}

TEST(BrokenTraces, KernelThatDoesNotWaitForItsReceive) {
  expectRefused(
      [](MadeTrace &made) {
        size_t receive = made.find(2, [](const json &line) {
          return call(line) == "ncclRecv" && line["group"] == 0;
        });
        json stream = made.ranks[2][receive]["stream"];
        made.erase(2, 1 + next(made, 2, receive, [&](const json &line) {
                        return call(line) == "cuEventRecord" &&
                               line["stream"] == stream;
                      }));
      },
      {"race", "rank 2, line ", "reads bytes [", "of 'h0'",
       "ncclRecv (receive of 'h0' of micro-batch 0 from role 0",
       "has to have written before"});
}

TEST(BrokenTraces, SliceOverwrittenWhileItIsSent) {
  // The send is under way when its slot is written again.
  expectRefused(
      [](MadeTrace &made) {
        size_t send = made.find(0, [](const json &line) {
          return call(line) == "ncclSend" && line["group"] == 0;
        });
        uint64_t stream = made.ranks[0][send]["stream"];
        for (size_t i = send; i < made.ranks[0].size();) {
          // Events that are recorded behind the send.
          bool records = call(made.ranks[0][i]) == "cuEventRecord" &&
                         made.ranks[0][i]["stream"] == stream;
          if (records && made.ranks[0][i + 1]["stream"] == 1) {
            made.erase(0, i);
            made.erase(0, i);
          } else {
            ++i;
          }
        }
      },
      {"race", "rank 0, line ", "writes bytes [", "of 'h0'",
       "ncclSend (send of 'h0'", "has to have read before"});
}

TEST(BrokenTraces, EventThatIsNotRecorded) {
  SampleProgram program(sample());
  size_t line = MadeTrace(program).find(1, "cuEventRecord");
  expectRefused([&](MadeTrace &made) { made.erase(1, line); },
                {"trace", at(1, line),
                 "cuStreamWaitEvent waits for event 1, which "
                 "was not recorded before, so that it waits for nothing"});
}

TEST(BrokenTraces, EventRecordedTooEarly) {
  expectRefused(
      [](MadeTrace &made) {
        size_t wait =
            waitOf(made, 0, [](uint64_t stream) { return stream > 3; });
        made.move(0, wait - 1, beginOfStep(made, 0) + 1);
      },
      {"race", "ncclSend (send of 'h0'", "has to have written before"});
}

TEST(BrokenTraces, EventRecordedInAGroupBeforeItsEnd) {
  // What is in a group is launched at its end.
  expectRefused(
      [](MadeTrace &made) {
        size_t end = 0, record = 0;
        for (size_t which = 0; !record; ++which) {
          end = made.find(3, "ncclGroupEnd", which);
          uint64_t stream = made.ranks[3][end - 1]["stream"];
          for (size_t i = end + 1; i < end + 4 && !record; ++i)
            if (call(made.ranks[3][i]) == "cuEventRecord" &&
                made.ranks[3][i]["stream"] == stream &&
                call(made.ranks[3][i + 2]) == "cuLaunchKernel")
              record = i;
        }
        made.move(3, record, end);
      },
      {"race", "rank 3, line ", "has to have"});
}

TEST(BrokenTraces, KernelOnAnotherStream) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[0][made.find(0, "cuLaunchKernel", 2)]["stream"] = 3;
      },
      {"program",
       "cuLaunchKernel of 'kernel' runs on stream 3, but the step began on "
       "1"});
}

TEST(BrokenTraces, StreamThatIsNotThere) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[0][made.find(0, "cuLaunchKernel", 2)]["stream"] = 33;
      },
      {"trace",
       "cuLaunchKernel names stream 33, which this rank has not created"});
}

TEST(BrokenTraces, RedundantWaits) {
  expectRefused(
      [](MadeTrace &made) {
        for (size_t i = 0; i < 60; ++i) {
          size_t wait = made.find(1, "cuStreamWaitEvent", 3 * i);
          made.insert(1, wait, made.ranks[1][wait]);
          made.insert(1, wait, made.ranks[1][wait]);
        }
      },
      {"redundant", "rank 1: ", " waits for events (",
       " %) are implied by the "
       "others, but at most 10 % may be; the first are on lines "});
}

TEST(BrokenTraces, WaitsThatALaterOneImplies) {
  // Both waits stand in front of one kernel; the second event lies behind the
  // first.
  expectRefused(
      [](MadeTrace &made) {
        for (uint32_t i = 0; i < 40; ++i) {
          size_t wait = made.find(0, "cuStreamWaitEvent", 2 * i);
          json record = made.ranks[0][wait - 1], early = made.ranks[0][wait];
          record["event"] = early["event"] = 1000 + i;
          json created = {{"call", "cuEventCreate"}, {"event", 1000 + i}};
          made.insert(0, wait - 1, early);
          made.insert(0, wait - 1, record);
          made.insert(0, made.find(0, "cuEventCreate"), created);
        }
      },
      {"redundant", "rank 0: "});
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

TEST(BrokenTraces, CollectivesSwappedOnOneRank) {
  expectRefused(
      [](MadeTrace &made) {
        size_t first = made.find(1, "ncclAllReduce", 1);
        json comm = made.ranks[1][first]["comm"];
        size_t other = next(made, 1, first, [&](const json &line) {
          return line.contains("count") && line["comm"] == comm &&
                 call(line) != "ncclAllReduce" && line["group"] == 0;
        });
        std::swap(made.ranks[1][first], made.ranks[1][other]);
      },
      {"collective", "rank 1, line ", "is number ",
       "of the communicator of ranks ", "is that of rank "});
}

TEST(BrokenTraces, CountThatDiffers) {
  expectRefused(
      [](MadeTrace &made) {
        json &line = made.ranks[1][made.find(1, "ncclAllReduce", 1)];
        line["count"] = line["count"].get<int>() - 1;
      },
      {"collective", "rank 1, line ", "ncclAllReduce", "31 of f32, sum",
       "32 of f32, sum"});
}

TEST(BrokenTraces, TypeThatDiffers) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[3][made.find(3, "ncclAllReduce", 1)]["type"] = "i32";
      },
      {"collective", "rank 3, line ", "32 of i32, sum", "32 of f32, sum"});
}

TEST(BrokenTraces, ReductionThatDiffers) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[3][made.find(3, "ncclAllReduce", 1)]["reduction"] = "max";
      },
      {"collective", "rank 3, line ", "32 of f32, max", "32 of f32, sum"});
}

TEST(BrokenTraces, CollectiveThatOneRankLeavesOut) {
  expectRefused(
      [](MadeTrace &made) {
        size_t last = made.find(0, "ncclAllReduce");
        while (true) {
          try {
            last = next(made, 0, last, [](const json &line) {
              return call(line) == "ncclAllReduce";
            });
          } catch (const std::runtime_error &) {
            break;
          }
        }
        made.erase(0, last);
      },
      {"collective", "of the communicator of ranks 0 and 4",
       "but rank 0 calls only "});
}

TEST(BrokenTraces, SendThatIsMissing) {
  expectRefused(
      [](MadeTrace &made) {
        made.erase(0, made.find(
                          0,
                          [](const json &line) {
                            return isTransfer(line) && call(line) == "ncclSend";
                          },
                          2));
      },
      {"transfer", "ncclRecv",
       " is number 3 from rank 0 to rank 2 on the communicator "
       "of ranks 0 and 2, but rank 0 sends only 3"});
}

TEST(BrokenTraces, ReceiveThatIsMissing) {
  expectRefused(
      [](MadeTrace &made) {
        made.erase(2, made.find(
                          2,
                          [](const json &line) {
                            return isTransfer(line) && call(line) == "ncclRecv";
                          },
                          2));
      },
      {"transfer", "ncclSend",
       " is number 3 from rank 0 to rank 2 on the communicator "
       "of ranks 0 and 2, but rank 2 receives only 3"});
}

TEST(BrokenTraces, TransferOfAnotherCount) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[2][made.find(2, isTransfer)]["count"] = 31;
      },
      {"transfer", "rank 2, line ",
       "takes 31 of f32 from rank 0, but rank 0, line ", "sends 32 of f32"});
}

TEST(BrokenTraces, TransferOfAnotherType) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[2][made.find(2, isTransfer)]["type"] = "ncclInt32";
      },
      {"transfer", "rank 2, line ",
       "takes 32 of i32 from rank 0, but rank 0, line ", "sends 32 of f32"});
}

TEST(BrokenTraces, OrderCrossedOverTwoCommunicators) {
  // Rank 0 sends h of the second micro-batch behind the receive of the first d.
  expectRefused(
      [](MadeTrace &made) {
        size_t receive = made.find(0, [](const json &line) {
          return isTransfer(line) && call(line) == "ncclRecv";
        });
        size_t send = receive;
        while (!isTransfer(made.ranks[0][send]) ||
               call(made.ranks[0][send]) != "ncclSend")
          --send;
        made.move(0, send, receive + 1);
      },
      {"order", "ranks launch communication in orders that do not agree: ",
       "ncclSend (send of 'h0'", "is launched behind", "; rank 2, line ",
       "ncclSend (send of 'd0'"});
}

TEST(BrokenTraces, OrderCrossedOnOneStreamHangs) {
  SampleOptions options = sample();
  options.spanning = true;
  expectRefused(
      [](MadeTrace &made) {
        // The reduction over all ranks comes before that over the stages, on
        // one rank.
        size_t all = 0, stages = 0;
        for (size_t i = 0; i < made.ranks[0].size(); ++i) {
          if (call(made.ranks[0][i]) != "ncclAllReduce")
            continue;
          stages = all;
          all = i;
        }
        made.move(0, all, stages);
      },
      {"hang", "ranks wait for each other: ", "waits on its device for"}, {},
      options);
}

TEST(BrokenTraces, WrongCommunicator) {
  expectRefused(
      [](MadeTrace &made) {
        for (uint32_t rank = 0; rank < 8; ++rank)
          for (json &line : made.ranks[rank])
            if (call(line) == "ncclReduceScatter")
              // The other one of the same size.
              line["comm"] = line["comm"] == 2 ? 3 : 2;
      },
      {"program", "ncclReduceScatter of 16 elements does not fit: the "});
}

TEST(BrokenTraces, CommunicatorOfOthers) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[5][made.find(5, "ncclAllGather")]["comm"] = 5;
      },
      {"collective", "of the communicator of ranks 0, 1, 2, 3, 4, 5, 6 and 7"});
}

TEST(BrokenTraces, GroupTornApart) {
  SampleOptions options = sampleOf("interleaved-1f1b", 2, 2, 4);
  options.dp = 2;
  expectRefused(
      [](MadeTrace &made) {
        size_t start = 0;
        for (size_t which = 0;; ++which) {
          start = made.find(1, "ncclGroupStart", which);
          if (call(made.ranks[1][start + 1]) == "ncclAllReduce")
            break;
        }
        made.erase(1, start);
        made.erase(1, next(made, 1, start - 1, [](const json &line) {
                     return call(line) == "ncclGroupEnd";
                   }));
      },
      {"collective", "rank 1, line ", "begins a group, but rank ",
       "is in one group with the one before"},
      {}, options);
}

TEST(BrokenTraces, ExchangeTornApart) {
  // Sends of one group and receives of another one would wait for each other.
  expectRefused(
      [](MadeTrace &made) {
        size_t start = 0;
        for (size_t which = 0;; ++which) {
          start = made.find(1, "ncclGroupStart", which);
          if (call(made.ranks[1][start + 1]) == "ncclSend")
            break;
        }
        json open = made.ranks[1][start], close = open;
        close["call"] = "ncclGroupEnd";
        made.insert(1, start + 2, open);
        made.insert(1, start + 2, close);
      },
      {"order", "rank 1, line ", "is launched behind rank 1, line ",
       "but other ranks launch the two as one group"});
}

TEST(BrokenTraces, IdThatIsNotThatOfOthers) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[6][made.find(6, "ncclCommInitRankConfig")]["id"] = "other";
      },
      {"collective", "rank 6, line ",
       "is rank 6 of a communicator of 8 ranks, in which "
       "no one is rank 0"});
}

TEST(BrokenTraces, SplitThatOneRankLeavesOut) {
  expectRefused(
      [](MadeTrace &made) {
        for (json &line : made.ranks[6])
          if (call(line) == "ncclCommSplit" && line["comm"] == 0)
            line["call"] = "cuInit";
        size_t split = made.find(6, "ncclCommSplit", 4);
        made.erase(6, split);
      },
      {"collective",
       "is split 6 of the communicator of ranks 0, 1, 2, 3, 4, 5, 6 and "
       "7, which rank 6 does not split then"});
}

TEST(BrokenTraces, ExchangeOutsideOfAStep) {
  expectRefused(
      [](MadeTrace &made) {
        for (uint32_t rank = 0; rank < 8; ++rank) {
          json line = made.ranks[rank][made.find(rank, "ncclAllReduce")];
          made.insert(rank, beginOfStep(made, rank), line);
        }
      },
      {"program", "ncclAllReduce stands outside of a step"});
}

//===----------------------------------------------------------------------===//
// Memory, and the host
//===----------------------------------------------------------------------===//

TEST(BrokenTraces, AllocationOverTheLimit) {
  expectRefused([](MadeTrace &made) { made.manifest.memoryLimit = 100000; },
                {"memory", "rank 0, line 3: cuMemAlloc_v2 of ", " makes ",
                 "but the bundle gives a rank 100000"});
}

TEST(BrokenTraces, AccessOutsideOfAnAllocation) {
  expectRefused(
      [](MadeTrace &made) {
        json &line = made.ranks[4][made.find(4, "ncclAllReduce", 2)];
        line["reads"][0][0] = 4096;
        line["reads"][0][1] = 1 << 20;
      },
      {"memory", "rank 4, line ",
       "ncclAllReduce reads bytes [4096, 1052672), which lie "
       "in nothing that the rank has allocated"});
}

TEST(BrokenTraces, ScratchOutsideOfAnAllocation) {
  expectRefused(
      [](MadeTrace &made) {
        // Nothing lies where the workspace of the compute stream is.
        size_t line = made.find(4, "cuMemAlloc_v2");
        json second = made.ranks[4][line];
        uint64_t bytes = second["bytes"], address = second["address"];
        uint64_t arena = bytes - 64 * 65536;
        made.ranks[4][line]["bytes"] = arena;
        second["bytes"] = bytes - arena - 65536;
        second["address"] = address + arena + 65536;
        made.insert(4, line + 1, second);
      },
      {"memory", "rank 4, line ", "cuLaunchKernel of 'kernel' (kernel ",
       "may touch bytes [",
       "), which lie in nothing that the rank has allocated"});
}

TEST(BrokenTraces, AccessBehindTheFree) {
  expectRefused(
      [](MadeTrace &made) {
        size_t free = made.find(4, "cuMemFree_v2");
        json line = made.ranks[4][made.find(4, "cuMemcpyHtoDAsync_v2")];
        line["stream"] = 1;
        made.insert(4, free + 1, line);
      },
      {"memory", "rank 4, line ", "cuMemcpyHtoDAsync_v2 writes bytes ["});
}

TEST(BrokenTraces, HostThatWaitsInsideAStep) {
  struct Case {
    json line;
    const char *text;
  };
  for (const Case &one : std::vector<Case>{
           {{{"call", "cuStreamSynchronize"}, {"stream", 1}},
            "cuStreamSynchronize"},
           {{{"call", "cuEventQuery"}, {"event", 1}, {"result", 600}},
            "cuEventQuery"},
           {{{"call", "cuStreamQuery"}, {"stream", 1}}, "cuStreamQuery"},
           {{{"call", "cuMemAlloc_v2"}, {"bytes", 64}, {"address", 64}},
            "cuMemAlloc_v2"},
           {{{"call", "cuModuleLoadData"}, {"module", 9}}, "cuModuleLoadData"},
           {{{"call", "cuMemFreeHost"}, {"host", 80}}, "cuMemFreeHost"}})
    for (bool captures : {false, true}) {
      MakeOptions make;
      make.captures = captures;
      expectRefused(
          [&](MadeTrace &made) {
            made.insert(3, beginOfStep(made, 3) + 1, one.line);
          },
          {"synchronous", "rank 3, line ", one.text,
           "stands inside step 1, between "
           "the writes of progress words 0 and 1"},
          make);
    }
}

TEST(BrokenTraces, FreeInsideAStep) {
  expectRefused(
      [](MadeTrace &made) {
        made.move(2, made.find(2, "cuMemFree_v2"),
                  made.find(2, "ncclAllGather"));
      },
      {"synchronous", "rank 2, line ", "cuMemFree_v2 stands inside step 1"});
}

TEST(BrokenTraces, SynchronousCopyInsideAStep) {
  expectRefused(
      [](MadeTrace &made) {
        json line = made.ranks[2][made.find(2, "cuMemcpyHtoD_v2")];
        made.insert(2, beginOfStep(made, 2) + 1, line);
      },
      {"synchronous", "rank 2, line ",
       "cuMemcpyHtoD_v2 waits for the copy inside step "
       "1"});
}

TEST(BrokenTraces, CallThatFailed) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[2][made.find(2, "cuLaunchKernel", 4)]["result"] = 719;
      },
      {"call", "rank 2, line ", "cuLaunchKernel failed with 719"});
  expectRefused(
      [](MadeTrace &made) {
        json line = {
            {"call", "ncclCommGetAsyncError"}, {"comm", 1}, {"error", 6}};
        made.insert(2, made.find(2, "cuEventQuery"), line);
      },
      {"call", "rank 2, line ", "tells of the asynchronous error 6"});
}

//===----------------------------------------------------------------------===//
// The bundle's program
//===----------------------------------------------------------------------===//

TEST(BrokenTraces, LaunchLeftOut) {
  expectRefused(
      [](MadeTrace &made) {
        size_t launch = made.find(0, "cublasLtMatmul");
        made.erase(0, launch);
      },
      {"program", "rank 0, line ",
       "stands where the matrix product at model.layers.0", " has to run"});
}

TEST(BrokenTraces, LastLaunchLeftOut) {
  expectRefused(
      [](MadeTrace &made) {
        size_t end = made.find(0, "cuStreamWriteValue32_v2", 1);
        while (call(made.ranks[0][end]) != "cuLaunchKernel")
          --end;
        made.erase(0, end);
      },
      {"program", "rank 0, line ",
       "cuStreamWriteValue32_v2 ends step 1 without the "
       "kernel 'kernel' at update."});
}

TEST(BrokenTraces, LaunchedTwice) {
  expectRefused(
      [](MadeTrace &made) {
        size_t launch = made.find(7, "cublasLtMatmul");
        made.insert(7, launch, made.ranks[7][launch]);
      },
      {"program", "rank 7, line ", "cublasLtMatmul stands where the ",
       "has to run; it "
       "has just run"});
}

TEST(BrokenTraces, LaunchAddedAtTheEnd) {
  expectRefused(
      [](MadeTrace &made) {
        json line = made.ranks[7][made.find(7, "cuLaunchKernel")];
        made.insert(7, made.find(7, "cuStreamWriteValue32_v2", 1), line);
      },
      {"program", "rank 7, line ",
       "cuLaunchKernel of 'kernel' is added: all of the "
       "role's kernels and products have run in step 1"});
}

TEST(BrokenTraces, LaunchOutsideOfAStep) {
  expectRefused(
      [](MadeTrace &made) {
        json line = made.ranks[7][made.find(7, "cuLaunchKernel")];
        made.insert(7, beginOfStep(made, 7), line);
      },
      {"program", "rank 7, line ", "cuLaunchKernel stands outside of a step"});
}

TEST(BrokenTraces, KernelOfAnotherName) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[1][made.find(1, "cuLaunchKernel", 3)]["kernel"] = "other";
      },
      {"program", "rank 1, line ",
       "cuLaunchKernel of 'other' stands where the kernel "
       "'kernel' at "});
}

TEST(BrokenTraces, OperandAtAnotherAddress) {
  expectRefused(
      [](MadeTrace &made) {
        json &line = made.ranks[1][made.find(1, "cuLaunchKernel", 3)];
        line["parameters"][0] = line["parameters"][0].get<uint64_t>() + 64;
      },
      {"program", "rank 1, line ", "cuLaunchKernel is handed ",
       "as operand 0, but that "
       "of the kernel 'kernel' at "});
}

TEST(BrokenTraces, ScratchThatIsAValue) {
  expectRefused(
      [](MadeTrace &made) {
        json &line = made.ranks[1][made.find(1, "cuLaunchKernel", 3)];
        size_t last = line["parameters"].size() - 1;
        line["parameters"][last] = line["parameters"][0];
      },
      {"program", "rank 1, line ", "as scratch of 256 bytes, which is in "});
}

TEST(BrokenTraces, ParameterLeftOut) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[1][made.find(1, "cuLaunchKernel", 3)]["parameters"].erase(0);
      },
      {"program", "rank 1, line ", "operands, coordinates and scratch"});
}

TEST(BrokenTraces, ProductOfAnotherSize) {
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[1][made.find(1, "cublasLtMatmul")]["k"] = 9;
      },
      {"program", "rank 1, line ",
       "cublasLtMatmul makes 144 multiplications, but the "
       "matrix product at ",
       "has 128"});
}

TEST(BrokenTraces, ProductOfOtherOperands) {
  expectRefused(
      [](MadeTrace &made) {
        json &line = made.ranks[1][made.find(1, "cublasLtMatmul")];
        line["reads"][1][0] = line["reads"][1][0].get<uint64_t>() + 1;
      },
      {"program", "rank 1, line ", "cublasLtMatmul reads bytes [",
       "which is no operand "
       "of the matrix product at "});
}

TEST(BrokenTraces, CopyLeftOut) {
  expectRefused(
      [](MadeTrace &made) { made.erase(1, made.find(1, "cuMemsetD8Async")); },
      {"program", "rank 1, line ", "has to run"});
}

TEST(BrokenTraces, CopyAdded) {
  expectRefused(
      [](MadeTrace &made) {
        json line = made.ranks[1][made.find(1, "cuMemcpyDtoDAsync_v2")];
        line["reads"][0][1] = line["writes"][0][1] = 8;
        made.insert(1, made.find(1, "cuStreamWriteValue32_v2", 1), line);
      },
      {"program", "rank 1, line ", "cuMemcpyDtoDAsync_v2",
       "is added: it is no "
       "instruction of the bundle"});
}

TEST(BrokenTraces, WeightsWrittenInsideAStep) {
  expectRefused(
      [](MadeTrace &made) {
        json line = made.ranks[1][made.find(1, "cuMemcpyHtoDAsync_v2", 1)];
        made.insert(1, made.find(1, "cuStreamWriteValue32_v2", 1), line);
      },
      {"program", "rank 1, line ", "cuMemcpyHtoDAsync_v2 writes bytes [",
       "which is no input, inside a step"});
}

TEST(BrokenTraces, CollectivesSwappedOnAllRanks) {
  // The ranks agree with each other, and not with the bundle.
  expectRefused(
      [](MadeTrace &made) {
        for (uint32_t rank = 0; rank < 8; ++rank)
          for (json &line : made.ranks[rank])
            if (call(line) == "ncclAllReduce")
              line["reduction"] = "max";
      },
      {"program", "rank 0, line ", "ncclAllReduce of ",
       "has the reduction 0, not NCCL's "
       "2"});
}

TEST(BrokenTraces, TransferOfAnotherSlice) {
  expectRefused(
      [](MadeTrace &made) {
        json &line = made.ranks[0][made.find(0, isTransfer)];
        line["reads"][0][0] = line["reads"][0][0].get<uint64_t>() + 128;
      },
      {"program", "rank 0, line ", "ncclSend of bytes [",
       "is no transfer that comes "
       "next on its channel"});
}

TEST(BrokenTraces, StepLeftOutByOneRank) {
  MakeOptions make;
  make.steps = 2;
  expectRefused(
      [](MadeTrace &made) {
        size_t begin = made.find(3, "cuStreamWriteValue32_v2", 2);
        size_t end = made.find(3, "cuStreamWriteValue32_v2", 3);
        auto &lines = made.ranks[3];
        lines.erase(lines.begin() + static_cast<long>(begin),
                    lines.begin() + static_cast<long>(end) + 1);
      },
      {"program", "rank 3 runs 1 steps, but rank 0 2"}, make);
}

TEST(BrokenTraces, StepThatDoesNotEnd) {
  expectRefused(
      [](MadeTrace &made) {
        made.erase(3, made.find(3, "cuStreamWriteValue32_v2", 1));
      },
      {"trace", "rank 3: step 1 has not ended where the trace does"});
}

TEST(BrokenTraces, StepOfAnotherNumber) {
  MakeOptions make;
  make.steps = 2;
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[3][made.find(3, "cuStreamWriteValue32_v2", 2)]["value"] = 5;
      },
      {"trace", "begins step number 5, but the last one was 1"}, make);
}

TEST(BrokenTraces, KernelThatTouchesMoreThanItSays) {
  MakeOptions make;
  make.touches = true;
  auto touched = [](const json &line) { return line.contains("touched"); };
  expectRefused(
      [&](MadeTrace &made) {
        json &line = made.ranks[1][made.find(1, touched, 5)];
        line["writes"][0][0] = line["reads"][0][0];
      },
      {"program", "rank 1, line ",
       "cuLaunchKernel of 'kernel' has written bytes [",
       "but the bundle does not say that the kernel 'kernel' at "},
      make);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST(BrokenTraces, WaitLeftOutOfAGraph) {
  MakeOptions make;
  make.captures = true;
  make.steps = 2;
  expectRefused(
      [](MadeTrace &made) {
        // Behind those by which the streams join the graph.
        size_t send = made.find(0, isTransfer);
        while (call(made.ranks[0][send]) != "cuStreamWaitEvent")
          --send;
        made.erase(0, send);
      },
      {"race", "ncclSend (send of 'h0'", "has to have written before"}, make);
}

TEST(BrokenTraces, GraphLaunchedTwiceInAStep) {
  MakeOptions make;
  make.captures = true;
  expectRefused(
      [](MadeTrace &made) {
        size_t launch = made.find(0, "cuGraphLaunch");
        made.insert(0, launch, made.ranks[0][launch]);
      },
      {"program", "rank 0, line ",
       "is added: all of the role's kernels and products "
       "have run"},
      make);
}

TEST(BrokenTraces, GraphThatIsNotThere) {
  MakeOptions make;
  make.captures = true;
  expectRefused(
      [](MadeTrace &made) {
        made.ranks[0][made.find(0, "cuGraphLaunch")]["executable"] = 7;
      },
      {"trace", "cuGraphLaunch launches executable 7, which this rank has not "
                "instantiated"},
      make);
}

TEST(BrokenTraces, GraphLaunchLeftOut) {
  MakeOptions make;
  make.captures = true;
  make.steps = 2;
  expectRefused(
      [](MadeTrace &made) { made.erase(5, made.find(5, "cuGraphLaunch", 1)); },
      {"program", "rank 5, line ", "ends step 2 without the "}, make);
}

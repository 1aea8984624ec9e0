//===- MalformedTraceTest.cpp - Files that are no traces ------------------===//

#include "TraceMaker.h"
#include "trace/Calls.h"

#include <fstream>

using namespace pipemesh;
using namespace pipemesh::trace::test;
using pipemesh::proof::test::sampleOf;
using pipemesh::trace::Refusals;
using pipemesh::trace::Trace;

namespace {

const std::string header = R"({"trace":1,"mode":"record"})"
                           "\n";

/// What reading a file with this text says; empty where it is read.
std::string problemOf(const std::string &text) {
  Folder folder;
  std::string path = folder.path() + "/rank-0.jsonl";
  std::ofstream(path) << text;
  try {
    trace::readTrace(path);
  } catch (const runtime::Error &error) {
    std::string what = error.what();
    size_t at = what.find("rank-0.jsonl' ");
    return at == std::string::npos ? what : what.substr(at + 14);
  }
  return "";
}

SampleOptions sample() {
  SampleOptions options = sampleOf("gpipe", 2, 0, 2);
  options.tp = 2;
  return options;
}

} // namespace

TEST(MalformedTraces, AreNamedByLine) {
  EXPECT_EQ(problemOf(header), "");
  EXPECT_EQ(problemOf(header + R"({"call":"cuInit"})"), "");
  EXPECT_NE(problemOf("").find("is empty; a trace begins with"),
            std::string::npos);
  EXPECT_EQ(
      problemOf(R"({"call":"cuInit"})"),
      "line 1: is no header; a trace begins with {\"trace\":1,\"mode\":...}");
  EXPECT_EQ(problemOf(R"({"trace":2,"mode":"record"})"),
            "line 1: is a trace of version 2, but this release reads 1");
  EXPECT_EQ(problemOf(R"({"trace":1,"mode":"dream"})"),
            "line 1: mode 'dream' is neither record nor compute");
  EXPECT_EQ(problemOf(header + "{"),
            "line 2: character 2 is the end, not '\"'");
  EXPECT_EQ(problemOf(header + "\n"), "line 2: is empty");
  EXPECT_EQ(problemOf(header + "[]"), "line 2: character 1 is '[', not '{'");
  EXPECT_EQ(problemOf(header + R"({"call":"cuInit"}x)"),
            "line 2: more text stands behind the object");
  EXPECT_EQ(problemOf(header + R"({"call":"cuInit","call":"cuInit"})"),
            "line 2: 'call' comes twice");
  EXPECT_EQ(problemOf(header + R"({"call":"cuInit)"),
            "line 2: a string has no end");
  EXPECT_EQ(problemOf(header + R"({"stream":1})"),
            "line 2: has neither 'call' nor 'touched'");
  EXPECT_EQ(
      problemOf(header + R"({"call":"cuLaunchHostFunc"})"),
      "line 2: 'cuLaunchHostFunc' is not known, so nothing can be said of what "
      "it does");
  EXPECT_EQ(problemOf(header + R"({"call":"cuStreamWaitEvent","stream":1})"),
            "line 2: cuStreamWaitEvent has no 'event'");
  EXPECT_EQ(problemOf(header + R"({"call":"cuMemFree_v2","address":1.5})"),
            "line 2: character 34 begins no whole number");
  EXPECT_EQ(
      problemOf(header +
                R"({"call":"cuMemFree_v2","address":99999999999999999999})"),
      "line 2: the number at character 34 is too large");
  EXPECT_EQ(
      problemOf(header +
                R"({"call":"cuMemsetD8Async","stream":1,"writes":[[1]]})"),
      "line 2: character 50 is ']', not ','");
  EXPECT_EQ(problemOf(header +
                      R"({"call":"cuMemsetD8Async","stream":1,"writes":[[9,)"
                      R"(18446744073709551615]]})"),
            "line 2: a range of 18446744073709551615 bytes at 9 has no end");
  EXPECT_EQ(
      problemOf(header +
                R"({"call":"cublasLtMatmul","stream":1,"m":9999999999,)"
                R"("n":9999999999,"k":1,"reads":[],"writes":[]})"),
      "line 2: a product of 9999999999 x 9999999999 x 1 x 1 is too large");
  EXPECT_EQ(problemOf(header +
                      R"({"call":"ncclAllGather","comm":1,"stream":1,)"
                      R"("count":1,"type":"f8","reads":[],"writes":[]})"),
            "line 2: ncclAllGather has an unknown type");
  EXPECT_EQ(
      problemOf(header + R"({"call":"ncclAllReduce","reduction":"mean"})"),
      "line 2: reduction 'mean' is none of sum, max and min");
  EXPECT_EQ(problemOf(header + std::string(40, '[')),
            "line 2: character 1 is '[', not '{'");
  EXPECT_EQ(problemOf(header + R"({"x":)" + std::string(40, '[')),
            "line 2: values are nested deeper than 8");
}

TEST(MalformedTraces, CutAtAnyPlaceAreRefusedOrRead) {
  std::string text =
      header +
      R"({"call":"cuLaunchKernel","stream":1,"kernel":"k","blocks":1,)"
      R"("threads":2,"shared":0,"parameters":[1,-2,3]})"
      "\n" +
      R"({"touched":1,"reads":[[1,2],[3,4]],"writes":[]})"
      "\n" +
      R"({"call":"ncclSend","comm":1,"stream":1,"count":1,"type":7,)"
      R"("peer":1,"reads":[[1,4]],"group":0,"captured":true})"
      "\n";
  ASSERT_EQ(problemOf(text), "");
  for (size_t length = 0; length < text.size(); ++length) {
    problemOf(text.substr(0, length));
    for (char character : {'{', '"', '9', ',', '\\', '\0', '\n'}) {
      std::string changed = text;
      changed[length] = character;
      problemOf(changed);
    }
  }
}

TEST(MalformedTraces, FieldsThatAreNotKnownAreSkipped) {
  EXPECT_EQ(
      problemOf(header +
                R"({"call":"cuInit","note":{"a":[1,{"b":null}],"c":-1.5e3},)"
                R"("text":"a\"b\\c"})"),
      "");
}

TEST(MalformedTraces, RanksAreAllThere) {
  SampleProgram program(sample());
  MadeTrace made(program);
  made.ranks.pop_back();
  EXPECT_NE(
      made.refusals().find("has no rank-3.jsonl, but the bundle has 4 ranks"),
      std::string::npos);
  MadeTrace more(program);
  more.ranks.push_back(more.ranks.front());
  EXPECT_NE(
      more.refusals().find("trace: 'rank-4.jsonl' is of no rank of the bundle, "
                           "which has 4 ranks"),
      std::string::npos);
}

TEST(MalformedTraces, OtherThreadsMayNotLaunch) {
  SampleProgram program(sample());
  MadeTrace made(program);
  std::vector<const pmrt_role *> roles;
  for (const pmrt_role &role : program.tables)
    roles.push_back(&role);
  auto prove = [&](const std::string &line) {
    Folder folder;
    made.write(folder.path());
    std::ofstream(folder.path() + "/thread-77.jsonl") << header << line << "\n";
    Refusals refusals;
    trace::proveTrace(folder.path(), made.manifest, roles, refusals);
    return refusals.empty() ? "" : refusals.refusals().front().text;
  };
  EXPECT_EQ(prove(R"({"call":"ncclCommGetAsyncError","comm":1,"error":0})"),
            "");
  EXPECT_EQ(
      prove(R"({"call":"cuStreamWaitEvent","stream":1,"event":1})"),
      "thread-77.jsonl line 2: cuStreamWaitEvent is called by a thread that is "
      "no rank");
}

TEST(MalformedTraces, FolderThatIsNotThere) {
  SampleProgram program(sample());
  Refusals refusals;
  std::vector<const pmrt_role *> roles;
  for (const pmrt_role &role : program.tables)
    roles.push_back(&role);
  try {
    trace::proveTrace("/nowhere/at/all", program.manifest, roles, refusals);
    FAIL() << "is proved";
  } catch (const runtime::Error &error) {
    EXPECT_STREQ(error.what(),
                 "'/nowhere/at/all' is no folder of traces; run with "
                 "PMRT_STANDIN_TRACE=DIR to get one");
  }
}

/// A bundle whose loops end where the data says has no list of calls.
TEST(MalformedTraces, LoopsAreNamed) {
  SampleOptions options = sample();
  options.loops = true;
  options.operations = 12;
  SampleProgram program(options);
  std::vector<const pmrt_role *> roles;
  for (const pmrt_role &role : program.tables)
    roles.push_back(&role);
  Refusals refusals;
  try {
    trace::proveTrace("/tmp", program.manifest, roles, refusals);
    FAIL() << "is proved";
  } catch (const runtime::Error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("which calls follow it is not in the tables"),
              std::string::npos)
        << error.what();
  }
}

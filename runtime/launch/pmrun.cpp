//===- pmrun.cpp - Runs a bundle ------------------------------------------===//

#include "core/Safetensors.h"
#include "host/Crash.h"
#include "launch/Compare.h"
#include "launch/Counts.h"
#include "launch/Launcher.h"
#include "launch/Report.h"
#include "launch/RunFunction.h"
#include "launch/Session.h"
#include "launch/Supervisor.h"
#include "launch/TcpTransport.h"
#include "launch/Watched.h"

#ifdef PIPEMESH_HAVE_MPI
#include "mpi/MpiTransport.h"
#endif

#include <atomic>
#include <csignal>
#include <cstdio>
#include <malloc.h>
#include <nlohmann/json.hpp>

using namespace pipemesh::runtime;

/// Number of interrupts (Ctrl-C) so far: one stops after the step in progress,
/// two stop the step, three end the process.
static std::atomic<int> interrupts{0};

static void onInterrupt(int number) {
  // A terminal sends it to this process and to the one that supervises it,
  // which passes it on.
  static std::atomic<uint64_t> last{0};
  uint64_t now = nanoseconds();
  if (now - last.exchange(now) < 200'000'000u)
    return;
  if (interrupts.fetch_add(1) == 1)
    std::signal(number, SIG_DFL);
}

/// The number of interrupts that any process has seen. Collective.
static int interruptsOfAll(Job &job) {
  int most = 0;
  for (const std::string &text :
       job.getTransport().exchange(std::to_string(interrupts.load())))
    most = std::max(most, std::stoi(text));
  return most;
}

/// "ranks 0 to 7", or the rank of this process.
static std::string ranksText(const Job &job) {
  if (job.localSize() == 1)
    return job.manifest().mesh.describe(job.local(0).number());
  return cat("ranks 0 to ", job.size() - 1);
}

static int run(const Options &options, std::shared_ptr<Transport> transport,
               Supervised &supervised, StartMemory start) {
  if (options.report)
    (transport ? start.withMpi : start.program) = anonymousBytes();
  auto checkFiles = [&] {
    for (auto &[path, flag] :
         {std::pair(&options.metrics, "--metrics"),
          std::pair(&options.trace, "--trace"),
          std::pair(&options.reportFile, "--report"),
          std::pair(&options.outputs, "--outputs"),
          std::pair(&options.saveGradients, "--save-gradients"),
          std::pair(&options.saveLogits, "--save-logits")})
      if (!path->empty())
        checkWritable(*path, flag);
  };
  if (transport)
    agree(*transport, [&] {
      if (transport->isFirst())
        checkFiles();
    });
  else
    checkFiles();

  if (!options.outputs.empty()) {
    std::string("all ranks").copy(supervised.who, sizeof(supervised.who) - 1);
    if (transport)
      cat("rank ", transport->localRanks().front())
          .copy(supervised.who, sizeof(supervised.who) - 1);
    return runFunction(options, &interrupts, transport, supervised);
  }
  Session session(options, &interrupts, transport);
  const Manifest &manifest = session.manifest();
  Job &job = session.getJob();
  ranksText(job).copy(supervised.who, sizeof(supervised.who) - 1);
  session.flightFolder().copy(supervised.flight, sizeof(supervised.flight) - 1);
  bool first = job.isFirst();

  BatchShape shape = session.batchShape();
  std::unique_ptr<TokenData> data;
  int64_t begin = session.step(), last = begin;
  bool dataEnds = false;
  std::optional<MetricsWriter> metrics;
  job.agree([&] {
    if (!manifest.train && !options.saveGradients.empty())
      fail("--save-gradients: the bundle was compiled with --task=eval and "
           "makes no gradients");
    if (!options.data.empty()) {
      data = openTokenData(options.data, shape);
      last = data->steps();
      if (options.steps) {
        dataEnds = begin + *options.steps > last;
        last = std::min(last, begin + *options.steps);
      }
      if (begin >= last && !(options.steps && *options.steps == 0))
        fail("data '", options.data, "' has ", data->steps(),
             " steps, and the resumed run has made ", begin);
    }
    if (manifest.train)
      session.recipe().checkSteps(last);
    if (first && !options.metrics.empty())
      metrics.emplace(options.metrics);
  });

  if (!options.compare.empty()) {
    if (transport)
      throw AgreedError("--compare runs with --transport=threads, which gives "
                        "the bits of mpi");
    std::printf("%s\n",
                compareStep(session, options, data->read(begin)).c_str());
    return 0;
  }

  Progress progress(last - begin);
  std::vector<StepResult> results;
  std::vector<float> logits;
  int stopped = 0;
  try {
    for (int64_t step = begin; step < last; ++step) {
      stopped = interruptsOfAll(job);
      if (stopped)
        break;
      Batch batch;
      job.agree([&] { batch = data->read(step); });
      if (step == begin && !options.saveLogits.empty())
        session.captureLogits();
      supervised.step = step;
      StepResult result = session.run(batch);
      results.push_back(result);
      if (metrics)
        metrics->write(result);
      if (first && !options.quiet)
        progress.show(result);
      if (step == begin) {
        if (!options.saveGradients.empty())
          session.saveGradients(options.saveGradients);
        if (!options.saveLogits.empty()) {
          session.takeLogits(logits);
          job.agree([&] {
            if (first)
              writeSafetensors(
                  options.saveLogits,
                  {{"logits",
                    "F32",
                    {shape.batch, shape.sequence, shape.vocabulary}}},
                  {}, [&](size_t) { return logits.data(); });
          });
          logits = {};
        }
      }
      if (options.saveEvery && session.step() % options.saveEvery == 0)
        session.save(options.save);
    }
  } catch (...) {
    progress.finish();
    throw;
  }
  progress.finish();
  if (!stopped)
    stopped = interruptsOfAll(job);
  supervised.step = -1;
  job.checkReceived();
  bool wantsSave = !options.save.empty() && !(stopped && results.empty());
  if (wantsSave && session.lastSaved() != session.step())
    session.save(options.save);
  session.saveState();
  if (!options.trace.empty())
    writeTrace(job, options.trace);
  if (options.report) {
    nlohmann::ordered_json counts = countsOfAll(job, start);
    job.agree([&] {
      if (first && !options.reportFile.empty())
        writeTextFile(options.reportFile, counts.dump(1) + "\n");
    });
    if (first && options.reportFile.empty())
      std::fputs(countsTable(counts).c_str(), stdout);
  }
  if (!options.quiet) {
    std::string text = summary(job, results);
    if (first) {
      std::fputs(text.c_str(), stdout);
      if (wantsSave)
        std::printf("saved       '%s' after step %ld\n", options.save.c_str(),
                    long(session.step()));
      if (!options.trace.empty())
        std::printf("trace       '%s'%s; open it at https://ui.perfetto.dev\n",
                    options.trace.c_str(),
                    job.local(0).traceFull ? " (the first steps)" : "");
    }
  }
  if (stopped) {
    if (first)
      std::fprintf(stderr, "pmrun: interrupted after %zu steps\n",
                   results.size());
    return 130;
  }
  if (dataEnds && first)
    std::fprintf(
        stderr,
        "pmrun: the data ends after %ld steps, before the %ld of --steps\n",
        long(last - begin), long(*options.steps));
  return 0;
}

static int failed(const std::string &message, int status = failedStatus) {
  std::fprintf(stderr, "pmrun: error: %s\n", message.c_str());
  return interrupts ? 130 : status;
}

/// Runs all ranks in this process.
static int runThreads(const Options &options, Supervised &supervised) {
  try {
    return run(options, nullptr, supervised, {});
  } catch (const std::bad_alloc &) {
    return failed("out of memory; use more micro-batches or fewer ranks");
  } catch (const Error &error) {
    return failed(error.what(), error.status());
  } catch (const std::exception &error) {
    return failed(error.what());
  }
}

/// Ends the job where the processes wait too long for each other outside of
/// steps.
static void limitWaits(Transport &transport, const Options &options) {
  int64_t rank = transport.localRanks().front();
  transport.patience.limit = static_cast<uint64_t>(options.deadline * 1e9);
  transport.patience.late = [&transport, rank,
                             limit = options.deadline](auto &absent) {
    std::string ranks;
    for (int64_t other : absent)
      ranks += cat(ranks.empty() ? "" : ", ", "rank ", other);
    transport.end({cat("rank ", rank, " waits for ", limit,
                       " s outside of a step, longer than --deadline; absent: ",
                       ranks),
                   lateStatus, rank, absent, ""});
  };
}

/// How ranks that are processes meet and part.
struct Processes {
  std::function<std::shared_ptr<Transport>()> start;
  std::function<void(Transport &)> finish;
};

/// Runs the rank of this process. `problem` is what is wrong with its arguments.
static int runProcess(const Options &options, const std::string &problem,
                      const Processes &processes, Supervised &supervised,
                      int supervisor) {
  std::shared_ptr<Transport> transport;
  std::optional<Watched> watched;
  StartMemory start;
  try {
    if (options.report)
      start.program = anonymousBytes();
    transport = processes.start();
    limitWaits(*transport, options);
    watched.emplace(supervisor, options.watch, *transport);
  } catch (const std::exception &error) {
    return failed(error.what());
  }
  int status = 1;
  try {
    agree(*transport, [&] {
      if (!problem.empty())
        fail(problem);
    });
    status = run(options, transport, supervised, start);
  } catch (const AgreedError &error) {
    if (transport->isFirst())
      failed(error.what(), error.status());
    status = interrupts ? 130 : error.status();
  } catch (const std::bad_alloc &) {
    transport->end({"out of memory; use more micro-batches or fewer ranks",
                    failedStatus, -1, {}, ""});
  } catch (const Error &error) {
    transport->end({error.what(), error.status(), -1, {}, ""});
  } catch (const std::exception &error) {
    transport->end({error.what(), failedStatus, -1, {}, ""});
  }
  std::fflush(nullptr);
  watched->sayGoodbye();
  processes.finish(*transport);
  return status;
}

static Processes tcpProcesses(const Options &options,
                              const LaunchEnvironment &environment) {
  auto start = [options, environment] {
    TcpPlace place;
    place.rank = environment.rank;
    place.size = environment.size;
    place.host = environment.host;
    place.port = environment.port;
    place.token = environment.job;
    place.bundle = options.bundle;
    place.seconds = options.deadline;
    return meetOverTcp(place);
  };
  return {start, finishTcp};
}

/// `processes` is null where all ranks are threads of this process, which has the
/// number `rank` else.
static int superviseRanks(const Options &options, const std::string &problem,
                          const Processes *processes, int64_t rank) {
  return supervise(processes, [&](Supervised &supervised, int supervisor) {
    options.bundle.copy(supervised.bundle, sizeof(supervised.bundle) - 1);
    // oneDNN allocates space for packed operands in every call; the allocator
    // keeps it instead of returning it to the system each time.
    // The largest threshold that it takes is 32 MiB.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    installCrashHandler(&supervised.reported);
    for (int number : {SIGINT, SIGTERM, SIGUSR1})
      if (number != SIGUSR1 || processes)
        std::signal(number, onInterrupt);
    if (processes) {
      cat("rank ", rank).copy(supervised.who, sizeof(supervised.who) - 1);
      supervised.rank = rank;
      return runProcess(options, problem, *processes, supervised, supervisor);
    }
    return problem.empty() ? runThreads(options, supervised) : failed(problem);
  });
}

int main(int argc, char **argv) {
  keepHeapsWhole(argv);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Options options;
  std::string problem;
  try {
    options = parseOptions(arguments);
  } catch (const Error &error) {
    problem = error.what();
  }
  MpiEnvironment environment = mpiEnvironment();
  if (options.help) {
    if (environment.rank == 0)
      std::fputs(helpText, stdout);
    return 0;
  }
  try {
    if (problem.empty() && !options.readFlight.empty()) {
      std::fputs(flightTable(options.readFlight).c_str(), stdout);
      return 0;
    }
    if (problem.empty()) {
      LaunchEnvironment launched = launchEnvironment(options.rendezvous);
      if (usesTcp(options, launched)) {
        Processes tcp = tcpProcesses(options, launched);
        return superviseRanks(options, problem, &tcp, launched.rank);
      }
    }
    bool mpi = usesMpi(options, environment);
    if (problem.empty() && mpi && !environment.present)
      return startMpirun(arguments, options.bundle);
#ifdef PIPEMESH_HAVE_MPI
    Processes processes{startMpi, finishMpi};
    return superviseRanks(options, problem, mpi ? &processes : nullptr,
                          environment.rank);
#else
    return superviseRanks(options, problem, nullptr, 0);
#endif
  } catch (const std::exception &error) {
    // Every process of mpirun comes here for the same reason.
    return environment.rank == 0 ? failed(error.what()) : 1;
  }
}

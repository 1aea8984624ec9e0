//===- pmrun.cpp - Runs a bundle ------------------------------------------===//

#include "core/Safetensors.h"
#include "host/Crash.h"
#include "launch/Report.h"
#include "launch/Session.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <malloc.h>

using namespace pipemesh::runtime;

/// Number of interrupts (Ctrl-C) so far: one stops after the step in progress,
/// two stop the step, three end the process.
static std::atomic<int> interrupts{0};

static void onInterrupt(int number) {
  if (interrupts.fetch_add(1) == 1)
    std::signal(number, SIG_DFL);
}

static int run(const Options &options) {
  if (!options.metrics.empty())
    checkWritable(options.metrics, "--metrics");
  if (!options.trace.empty())
    checkWritable(options.trace, "--trace");
  if (!options.saveGradients.empty())
    checkWritable(options.saveGradients, "--save-gradients");
  if (!options.saveLogits.empty())
    checkWritable(options.saveLogits, "--save-logits");

  Session session(options, &interrupts);
  const Manifest &manifest = session.manifest();
  if (!manifest.train && !options.saveGradients.empty())
    fail("--save-gradients: the bundle was compiled with --task=eval and "
         "makes no gradients");

  BatchShape shape = session.batchShape();
  std::unique_ptr<TokenData> data;
  int64_t first = session.step(), last = first;
  bool dataEnds = false;
  if (!options.data.empty()) {
    data = openTokenData(options.data, shape);
    last = data->steps();
    if (options.steps) {
      dataEnds = first + *options.steps > last;
      last = std::min(last, first + *options.steps);
    }
    if (first >= last && !(options.steps && *options.steps == 0))
      fail("data '", options.data, "' has ", data->steps(),
           " steps, and the resumed run has made ", first);
  }
  if (manifest.train)
    session.recipe().checkSteps(last);

  std::optional<MetricsWriter> metrics;
  if (!options.metrics.empty())
    metrics.emplace(options.metrics);
  Progress progress(last - first);
  std::vector<StepResult> results;
  std::vector<float> logits;
  try {
    for (int64_t step = first; step < last && interrupts == 0; ++step) {
      Batch batch = data->read(step);
      if (step == first && !options.saveLogits.empty())
        session.captureLogits();
      StepResult result = session.run(batch);
      results.push_back(result);
      if (metrics)
        metrics->write(result);
      if (!options.quiet)
        progress.show(result);
      if (step == first) {
        if (!options.saveGradients.empty())
          session.saveGradients(options.saveGradients);
        if (!options.saveLogits.empty()) {
          session.takeLogits(logits);
          writeSafetensors(options.saveLogits,
                           {{"logits",
                             "F32",
                             {shape.batch, shape.sequence, shape.vocabulary}}},
                           {}, [&](size_t) { return logits.data(); });
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
  bool wantsSave = !options.save.empty() && !(interrupts && results.empty());
  if (wantsSave && session.lastSaved() != session.step())
    session.save(options.save);
  if (!options.trace.empty())
    writeTrace(session.getJob(), options.trace);
  if (!options.quiet) {
    std::fputs(summary(session.getJob(), results).c_str(), stdout);
    if (wantsSave)
      std::printf("saved       '%s' after step %ld\n", options.save.c_str(),
                  long(session.step()));
    if (!options.trace.empty())
      std::printf("trace       '%s'%s; open it at https://ui.perfetto.dev\n",
                  options.trace.c_str(),
                  session.getJob().local(0).traceFull ? " (the first steps)"
                                                      : "");
  }
  if (interrupts) {
    std::fprintf(stderr, "pmrun: interrupted after %zu steps\n",
                 results.size());
    return 130;
  }
  if (dataEnds)
    std::fprintf(
        stderr,
        "pmrun: the data ends after %ld steps, before the %ld of --steps\n",
        long(last - first), long(*options.steps));
  return 0;
}

int main(int argc, char **argv) {
  // oneDNN allocates space for packed operands in every call; the allocator
  // keeps it instead of returning it to the system each time.
  // The largest threshold that it takes is 32 MiB.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  try {
    Options options = parseOptions({argv + 1, argv + argc});
    if (options.help) {
      std::fputs(helpText, stdout);
      return 0;
    }
    installCrashHandler();
    std::signal(SIGINT, onInterrupt);
    std::signal(SIGTERM, onInterrupt);
    return run(options);
  } catch (const std::bad_alloc &) {
    std::fputs("pmrun: error: out of memory; use more micro-batches or fewer "
               "ranks\n",
               stderr);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "pmrun: error: %s\n", error.what());
  }
  return interrupts ? 130 : 1;
}

//===- Session.h - A run: load, step, report, save ------------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_SESSION_H
#define PIPEMESH_RUNTIME_LAUNCH_SESSION_H

#include "core/Data.h"
#include "host/Capture.h"
#include "launch/FlightFolder.h"
#include "launch/SaveState.h"

namespace pipemesh::runtime {

/// What the ranks of a bundle take from the command line. Collective.
HostOptions hostOptions(const Options &options, const Bundle &bundle,
                        Transport *transport, const FlightFolder &flight,
                        const std::atomic<int> *interrupts);

/// What one step gave.
struct StepResult {
  int64_t step = 0;
  double loss = 0;
  std::optional<double> gradNorm, learningRate;
  int64_t countedTokens = 0;
  double milliseconds = 0, tokensPerSecond = 0;
};

/// Drives the ranks of a bundle through steps of data.
class Session {
public:
  /// Opens the bundle and loads the weights. The ranks are threads of this
  /// process unless a transport is given. Collective, as all functions that
  /// run, save or capture.
  Session(const Options &options, const std::atomic<int> *interrupts,
          std::shared_ptr<Transport> transport = nullptr);

  /// The number that the next step has.
  int64_t step() const { return nextStep; }

  /// Shape that data must have.
  BatchShape batchShape() const;

  /// Runs one step. Throws an Error that names the step and the place when the
  /// loss or the gradient is not finite.
  StepResult run(const Batch &batch);

  /// Copies the logits while the next step runs.
  void captureLogits();

  /// What was copied, [batch, sequence, vocabulary], in the process of rank 0;
  /// ends the copying.
  void takeLogits(std::vector<float> &logits);

  /// Writes the gradients of the step that ran last.
  void saveGradients(const std::string &path);

  /// Writes a model directory; see SaveModel.h.
  void save(const std::string &directory);

  /// Writes what the ranks began the steps with, where --save-state asks for
  /// it.
  void saveState();

  /// Number of the step after which the model was last saved, or -1.
  int64_t lastSaved() const { return savedStep; }

  const Recipe &recipe() const { return settings; }
  const Manifest &manifest() const { return bundle->manifest(); }
  Job &getJob() { return job; }
  const std::string &flightFolder() const { return flight.path(); }

private:
  void loadWeights();
  void loadOptimizer();
  void feed(Rank &rank, const Batch &batch);
  [[noreturn]] void explainNonFinite(const std::string &subject, int64_t step,
                                     bool beforeUpdate);
  std::string keptState() const;

  Options options;
  std::unique_ptr<Bundle> bundle;
  Recipe settings;
  FlightFolder flight;
  Job job;
  std::unique_ptr<Capture> capture;
  std::unique_ptr<StateWriter> state;
  int64_t nextStep = 0, savedStep = -1;
};

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_SESSION_H

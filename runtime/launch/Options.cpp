//===- Options.cpp - The command line of pmrun ----------------------------===//

#include "launch/Options.h"

#include "core/Error.h"
#include "host/Fault.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace pipemesh::runtime {

const char *const helpText =
    R"(pmrun runs a bundle that pmc wrote, on as many ranks as its mesh has.

usage: pmrun BUNDLE --weights=DIR --data=FILE [options]
       pmrun BUNDLE --inputs=FILE --outputs=FILE [options]
       mpirun -n RANKS pmrun BUNDLE --weights=DIR --data=FILE [options]

  BUNDLE                folder with manifest.json and role_*.so
  --weights=DIR         model directory: model.safetensors, or sharded with
                        model.safetensors.index.json
  --data=FILE           .txt (bytes are tokens), .u16 or .u32 (token ids,
                        little-endian), or .safetensors with input_ids and
                        optional labels [steps, batch, sequence]
  --inputs=FILE         of a bundle of a whole function: the arguments arg0, arg1
                        ... as .safetensors, whole; each rank reads its blocks
  --outputs=FILE        the results out0, out1 ... of that function, whole
  --steps=N             stop after N steps (default: all of the data); 0 only
                        loads, and saves when asked
  --recipe=FILE         other numbers for the optimizer, without recompiling
  --transport=KIND      threads: all ranks in one process (the default); mpi: a
                        process for each rank, by Open MPI. Under mpirun it is
                        mpi; outside of it, mpi starts mpirun with the right
                        number. Both give the same bits
  --backend=KIND        host or cuda, as the bundle was compiled (pmc --backend);
                        another one is an error
  --capture             of ranks on GPUs: a step is one CUDA graph
  --tf32                of ranks on GPUs: float32 products by TensorFloat-32
  --algorithms=DIR      of ranks on GPUs: keep the algorithms of matrix products here
                        and take those that are here, so that all runs on such a GPU
                        give the same bits
  --meet=KIND           of ranks on GPUs: nccl; staged: through the host; auto (the
                        default): staged only where ranks share a GPU and NCCL does
                        not let them, or is not there
  --rendezvous=HOST:PORT where ranks on GPUs that srun or torchrun started meet; rank
                        0 listens (default: MASTER_ADDR and the port behind
                        MASTER_PORT, or srun's first machine)
  --threads=N           threads of each rank (default 1); any N gives the same
                        bits
  --resume              go on from optimizer.safetensors in --weights: moments,
                        step number, place in the data
  --metrics=FILE        one JSON object a step: step, loss, grad_norm,
                        learning_rate, counted_tokens, step_ms, tokens_per_s
  --trace=FILE          timeline for https://ui.perfetto.dev: a process for
                        each rank, a span for each action and instruction
  --report[=FILE.json]  what each rank did: bytes by axis, kind and module,
                        flops, memory, and how busy it was; as a table, or as
                        JSON with the manifest's conventions
  --compare=WHAT        run the first step and compare it: with another bundle
                        (a folder) on the same weights and data, value by value
                        in the order of the model; or with a .safetensors of
                        logits and grad.NAME. Names the first tensor that
                        departs; the status is 1 then
  --compare-weights=DIR the weights of the other bundle, where they are not those
                        of --weights
  --compare-tolerance=X largest difference, as a part of the largest value
                        (default 1e-4)
  --deadline=SECONDS    end the job when a rank waits longer for others, and say
                        for whom and what those did last (default 600, 0: never)
  --flight-recorder=DIR where each rank records its last 4096 collectives and
                        transfers (default: a folder for temporary files, which
                        stays when the job is killed or stands still)
  --read-flight=DIR     print what ranks recorded last; takes no bundle
  --watch=ADDRESS       where rank 0's machine collects the records of ranks that
                        are processes, when the job fails (default: the
                        addresses that the other machines reach; off: nowhere)
  --inject=FAULT        let a rank fail, to try out what follows: KIND:rank=R,op=N
                        at its Nth collective or transfer, of the kinds kill,
                        stall, skip, wrong-size and slow (with ,ms=500); kill and
                        stall also in the middle of a step: kill:rank=R,step=S
  --pace=FILE.csv       compute nothing: each fragment sleeps for the milliseconds
                        that the table stage,F,I,W,B,U has for it, and transfers
                        run as they do, so that the time of a step is that of its
                        schedule
  --save=DIR            write the model at the end: config.json,
                        model.safetensors, optimizer.safetensors, and the small
                        files of --weights
  --save-every=N        write it after every N steps too
  --save-gradients=FILE the first step's gradients, as safetensors
  --save-logits=FILE    the first step's logits, as safetensors
  --save-state=DIR      what each rank begins with: rank-N.safetensors with its
                        state and the inputs of all steps, for the programs that
                        pmc --emit=cpp writes
  --poison              fill memory with NaN before each use, and check that no
                        instruction reads what nothing has written; =free does so
                        as soon as nothing reads it any more, too, and --report
                        then says how many bytes were in use at the most
  --no-certificate      run a bundle without the certificate.json of its files,
                        which says that its program is proved to run through
  --quiet               no progress and no summary
  --help                this text

examples:
  pmrun bundle/ --weights=model/ --data=text.txt --steps=100 --metrics=out.jsonl
  pmrun bundle/ --weights=model/ --data=tokens.u16 --save=trained/ --save-every=50
  pmrun bundle/ --weights=trained/ --resume --data=tokens.u16 --save=trained/
  pmrun bundle/ --weights=model/ --data=one.safetensors --steps=1 \
      --save-gradients=gradients.safetensors --save-logits=logits.safetensors
  mpirun -n 8 --bind-to none --oversubscribe pmrun bundle/ --weights=model/ \
      --data=text.txt --steps=100
  pmrun bundle/ --transport=mpi --weights=model/ --data=text.txt --deadline=60s
  pmrun bundle/ --weights=model/ --data=text.txt --inject=stall:rank=3,op=200 \
      --deadline=5s --flight-recorder=flight/
  pmrun --read-flight=flight/
  pmrun bundle/ --weights=model/ --data=text.txt --steps=20 --report
  pmrun parallel/ --compare=single/ --weights=model/ --data=text.txt
  pmrun bundle/ --compare=reference.safetensors --weights=model/ \
      --data=reference.safetensors
  pmrun function/ --inputs=io.safetensors --outputs=out.safetensors
  pmrun gpus/ --weights=model/ --data=text.txt --capture
  mpirun -n 8 pmrun gpus/ --backend=cuda --weights=model/ --data=text.txt
  srun --ntasks=8 pmrun gpus/ --weights=model/ --data=text.txt
)";

static int64_t parseNumber(const std::string &flag, const std::string &value,
                           int64_t least) {
  if (value.empty() || value.size() > 15 ||
      !std::all_of(value.begin(), value.end(),
                   [](char c) { return c >= '0' && c <= '9'; }) ||
      std::stoll(value) < least)
    fail(flag, " is '", value, "', but a whole number of at least ", least,
         " is needed");
  return std::stoll(value);
}

static double parseReal(const std::string &flag, const std::string &value) {
  char *end = nullptr;
  double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end || !(number >= 0) || !std::isfinite(number))
    fail(flag, " is '", value, "', but a number of at least 0 is needed");
  return number;
}

/// "60", "60s", "0.5s".
static double parseSeconds(const std::string &flag, const std::string &value) {
  bool unit = value.size() > 1 && value.back() == 's';
  return parseReal(flag, unit ? value.substr(0, value.size() - 1) : value);
}

/// Number of single-letter changes between two words.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replace = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

Options parseOptions(const std::vector<std::string> &arguments) {
  Options options;
  struct Text {
    const char *flag;
    std::string *value;
  };
  const std::vector<Text> texts = {
      {"--weights", &options.weights},
      {"--data", &options.data},
      {"--recipe", &options.recipe},
      {"--metrics", &options.metrics},
      {"--trace", &options.trace},
      {"--save", &options.save},
      {"--compare", &options.compare},
      {"--compare-weights", &options.compareWeights},
      {"--transport", &options.transport},
      {"--backend", &options.backend},
      {"--meet", &options.meet},
      {"--rendezvous", &options.rendezvous},
      {"--inputs", &options.inputs},
      {"--outputs", &options.outputs},
      {"--flight-recorder", &options.flightRecorder},
      {"--read-flight", &options.readFlight},
      {"--watch", &options.watch},
      {"--algorithms", &options.algorithms},
      {"--inject", &options.inject},
      {"--pace", &options.pace},
      {"--save-gradients", &options.saveGradients},
      {"--save-logits", &options.saveLogits},
      {"--save-state", &options.saveState}};
  const std::vector<std::pair<const char *, bool *>> switches = {
      {"--no-certificate", &options.noCertificate},
      {"--resume", &options.resume},
      {"--capture", &options.capture},
      {"--tf32", &options.tf32},
      {"--quiet", &options.quiet},
      {"--help", &options.help}};
  const std::vector<const char *> numbers = {"--steps", "--save-every",
                                             "--threads", "--deadline",
                                             "--compare-tolerance"};

  for (const std::string &argument : arguments) {
    if (argument == "-h") {
      options.help = true;
      continue;
    }
    if (argument.empty() || argument[0] != '-') {
      if (!options.bundle.empty())
        fail("two bundles are given, '", options.bundle, "' and '", argument,
             "'; values of options follow a '='");
      options.bundle = argument;
      continue;
    }
    size_t equals = argument.find('=');
    std::string flag = argument.substr(0, equals);
    bool hasValue = equals != std::string::npos;
    std::string value = hasValue ? argument.substr(equals + 1) : "";
    bool known = false;
    if (flag == "--report") {
      if (hasValue && value.empty())
        fail("--report= needs a value: --report=FILE.json");
      options.report = known = true;
      options.reportFile = value;
    }
    if (flag == "--poison") {
      if (hasValue && value != "free")
        fail("--poison is '", value, "', but takes no value or =free");
      options.poison = known = true;
      options.poisonFreed = hasValue;
    }
    for (auto &[name, target] : switches)
      if (flag == name) {
        if (hasValue)
          fail(flag, " takes no value");
        *target = true;
        known = true;
      }
    for (const Text &text : texts)
      if (flag == text.flag) {
        if (value.empty())
          fail(flag, " needs a value: ", flag,
               flag == "--transport" ? "=threads or =mpi"
               : flag == "--backend" ? "=host or =cuda"
               : flag == "--rendezvous" ? "=HOST:PORT"
               : flag == "--meet"    ? "=nccl, =staged or =auto"
               : flag == "--inject"  ? "=stall:rank=3,op=200"
               : flag == "--watch"   ? "=ADDRESS or =off"
                                     : "=PATH");
        *text.value = value;
        known = true;
      }
    for (const char *name : numbers)
      if (flag == name) {
        if (!hasValue)
          fail(flag, " needs a value: ", flag, "=N");
        known = true;
        if (flag == "--steps")
          options.steps = parseNumber(flag, value, 0);
        else if (flag == "--save-every")
          options.saveEvery = parseNumber(flag, value, 1);
        else if (flag == "--deadline")
          options.deadline = parseSeconds(flag, value);
        else if (flag == "--compare-tolerance")
          options.compareTolerance = parseReal(flag, value);
        else
          options.threads = static_cast<int>(
              std::min<int64_t>(parseNumber(flag, value, 1), 1024));
      }
    if (known)
      continue;
    std::vector<std::string> names = {"--report", "--poison"};
    for (auto &entry : switches)
      names.push_back(entry.first);
    for (const Text &text : texts)
      names.push_back(text.flag);
    names.insert(names.end(), numbers.begin(), numbers.end());
    auto nearest = std::min_element(
        names.begin(), names.end(), [&](const auto &a, const auto &b) {
          return editDistance(flag, a) < editDistance(flag, b);
        });
    fail("unknown option '", flag, "'",
         editDistance(flag, *nearest) <= 3
             ? cat("; did you mean ", *nearest, "?")
             : std::string("; --help lists the options"));
  }
  if (options.help || !options.readFlight.empty())
    return options;
  parseFault(options.inject);
  if (!options.transport.empty() && options.transport != "threads" &&
      options.transport != "mpi")
    fail("--transport is '", options.transport,
         "'; known ones are threads and mpi");
  if (!options.backend.empty() && options.backend != "host" &&
      options.backend != "cuda")
    fail("--backend is '", options.backend, "'; known ones are host and cuda");
  if (options.meet != "auto" && options.meet != "nccl" && options.meet != "staged")
    fail("--meet is '", options.meet, "'; known ones are auto, nccl and staged");
  if (options.bundle.empty())
    fail("no bundle is given; usage: pmrun BUNDLE --weights=DIR --data=FILE "
         "(--help shows examples)");
  if (!options.inputs.empty() || !options.outputs.empty()) {
    if (options.outputs.empty())
      fail("--inputs needs --outputs=FILE.safetensors");
    for (const Text &text : texts)
      if (!text.value->empty() && text.value != &options.inputs &&
          text.value != &options.outputs && text.value != &options.trace &&
          text.value != &options.transport && text.value != &options.backend &&
          text.value != &options.rendezvous &&
          text.value != &options.meet &&
          text.value != &options.flightRecorder &&
          text.value != &options.watch &&
          text.value != &options.inject)
        fail(text.flag, " is for models, not for a function with --inputs");
    if (options.steps || options.resume || options.saveEvery)
      fail(options.steps      ? "--steps"
           : options.resume   ? "--resume"
                              : "--save-every",
           " is for models, not for a function with --inputs");
    return options;
  }
  for (auto [flag, value] :
       {std::pair("--compare", &options.compare),
        std::pair("--save-gradients", &options.saveGradients),
        std::pair("--save-logits", &options.saveLogits)})
    if (options.poisonFreed && !value->empty())
      fail(flag, " reads values behind their last use in the step, which "
                 "--poison=free has overwritten; use --poison");
  if (options.weights.empty())
    fail("--weights is missing: give it the model directory that the bundle "
         "was compiled from (or --inputs and --outputs to a bundle of a whole "
         "function)");
  if (options.data.empty() && !(options.steps && *options.steps == 0))
    fail("--data is missing: give it a .txt, .u16, .u32 or .safetensors file");
  if (options.saveEvery && options.save.empty())
    fail("--save-every needs --save=DIR");
  if (!options.compareWeights.empty() && options.compare.empty())
    fail("--compare-weights needs --compare=BUNDLE");
  if (!options.compare.empty() && options.data.empty())
    fail("--compare runs a step and needs --data");
  if (!options.compare.empty() && options.transport == "mpi")
    fail(
        "--compare runs with --transport=threads, which gives the bits of mpi");
  return options;
}

} // namespace pipemesh::runtime

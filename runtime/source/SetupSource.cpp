//===- SetupSource.cpp - What a source declares and sets up ---------------===//

#include "source/RoleSource.h"

#include "core/Instruction.h"
#include "core/Safetensors.h"
#include "source/Prelude.h"

#include <algorithm>
#include <cstdio>

namespace pipemesh::source {

using namespace runtime;

/// Runs of ranks of one role, in their order: {role, count}.
static std::vector<std::pair<int64_t, int64_t>> runsOf(const Mesh &mesh) {
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    int64_t role = mesh.role(rank);
    if (runs.empty() || runs.back().first != role)
      runs.push_back({role, 0});
    ++runs.back().second;
  }
  return runs;
}

std::string RoleSource::header() const {
  std::string meshText;
  for (const Axis &axis : mesh.getAxes())
    meshText += cat(meshText.empty() ? "" : ", ", axis.name, "=", axis.size);
  std::string name = cat("role-", number);
  std::string text = cat("// ", name, ".cpp: the program of role ", number,
                         " of ", roles.size(), " on ", mesh.ranks(),
                         mesh.ranks() == 1 ? " rank" : " ranks",
                         meshText.empty() ? "" : cat(" (", meshText, ")"),
                         ", for NVIDIA's GPUs.\n//\n");
  text += comment("", cat("Written by pmc --emit=cpp from bundle ",
                          manifest.hash.substr(0, 12),
                          ". Ranks of this role: ", rangesText(ranks), "."));
  text +=
      cat("//\n// Compile:\n//   nvcc -std=c++17 -O2 ", name, ".cpp -o ", name,
          " -lcuda -lcublasLt", usesRanks() ? " -lnccl" : "",
          "\n//\n// Launch, a process for each rank with a GPU of its own:\n");
  if (mesh.ranks() == 1) {
    text += cat("//   ./", name, " --state=state/ --steps=10\n");
  } else {
    auto runs = runsOf(mesh);
    text += "//   mpirun";
    for (size_t i = 0; i < runs.size() && i < 8; ++i)
      text +=
          cat(i ? " :" : "", " -n ", runs[i].second, " ./role-", runs[i].first,
              i ? "" : " --id-file=/shared/id --state=state/ --steps=10");
    text += runs.size() > 8 ? " : ...\n" : "\n";
    std::string list;
    for (int64_t rank : ranks)
      list += cat(list.empty() ? "" : ",", rank);
    if (runs.size() > 1)
      text += cat("// (the options of the first for each), or by srun "
                  "--multi-prog with "
                  "a line for each role:\n//   ",
                  list, " ./", name,
                  " --id-file=/shared/id --state=state/ --steps=10\n");
  }
  text += R"(//
// Options:
//   --steps=N        steps to run (1)
//   --state=FOLDER   FOLDER/rank-N.safetensors has what rank N begins with, by the names of
//                    the buffers below: all slots of one, and of an input as many times as
//                    there are steps; what it lacks is zero. pmrun --save-state=FOLDER writes
//                    such files
//   --save=FOLDER    writes them behind the last step
)";
  if (usesRanks())
    text += "//   --id-file=PATH   a file that is new in each run and that all "
            "ranks see, by\n"
            "//                    which they meet\n";
  text += "//   --rank=N --ranks=N --device=N  instead of what mpirun, srun or "
          "torchrun "
          "say\n//\n";
  text += comment("", "Each function forward_0, ... is a fragment of the model "
                      "for a micro-batch m, with "
                      "the place in the model above each call. Functions take "
                      "events that differ "
                      "between micro-batches as e[...]; -1 is none.");
  return text;
}

std::string RoleSource::constants() const {
  const pmrt_device_code &code = *role.device;
  cuda::DeviceMemory memory(role, static_cast<uint64_t>(mesh.microBatches()), plan);
  std::string text = cat(
      "constexpr uint64_t scratchAt = ", role.scratch_offset, "; // of ",
      role.scratch_bytes, " bytes\n", "constexpr uint64_t coordinatesAt = ",
      memory.coordinatesAt, ";\n", "constexpr uint64_t copiesAt = ", memory.copiesAt,
      ";\n", "constexpr uint64_t arenaBytes = ", memory.bytes, ";\n");
  if (!products.empty())
    text += cat("constexpr uint64_t productWorkspace = ",
                code.workspaces[cuda::ComputeStream].bytes, ";\n");
  text += cat("constexpr int numAxes = ", mesh.getAxes().size(),
              ", numMicroBatches = ", mesh.microBatches(),
              ", numRanks = ", mesh.ranks(), ", numEvents = ", plan.numEvents(),
              ";\n\n");
  text += call(
      "enum Stream : int { ",
      [&] {
        std::vector<std::string> all = streamNames;
        all.push_back("numStreams");
        return all;
      }(),
      " };");
  std::vector<std::string> used, places;
  for (uint32_t s = 0; s < plan.numStreams(); ++s) {
    used.push_back(s == cuda::ComputeStream || plan.uses(s) ? "true" : "false");
    places.push_back(
        cat(s < code.num_workspaces ? code.workspaces[s].offset : 0));
  }
  text += call("constexpr bool isUsed[] = {", used, "};");
  text += call("constexpr uint64_t workspaces[] = {", places, "};");
  return text;
}

std::string RoleSource::buffers() const {
  std::string text = "\nnamespace b {\n";
  for (uint32_t i = 0; i < role.num_buffers; ++i) {
    const pmrt_buffer &buffer = role.buffers[i];
    const BufferInfo &own = info.buffers[i];
    const char *use = own.kind == BufferKind::Input    ? "Input"
                      : own.kind == BufferKind::State  ? "State"
                      : own.kind == BufferKind::Output ? "Output"
                                                       : "Value";
    std::string what = cat(dtypeName(buffer.dtype), shapeText(own.localShape),
                           own.role.empty() ? "" : cat(" ", own.role));
    text += call(cat("constexpr Buffer ", bufferNames[i], " = {"),
                 {quoted(buffer.name), cat(buffer.offset), cat(buffer.bytes),
                  cat(buffer.slot_stride), cat(buffer.slots), cat("Use::", use),
                  quoted(storedType(dtypeName(buffer.dtype))),
                  cat(dtypeSize(buffer.dtype))},
                 cat("}; // ", what));
  }
  std::vector<std::string> all;
  for (const std::string &name : bufferNames)
    all.push_back("&" + name);
  text += call("const std::vector<const Buffer *> all = {", all, "};");
  return text + "} // namespace b\n";
}

/// The text of all kernels, cut in front of each; a piece holds at most one.
static std::vector<std::string> piecesOf(const std::string &ptx) {
  std::vector<std::string> pieces;
  size_t begin = 0;
  while (begin < ptx.size()) {
    size_t next = ptx.find("\n.visible .entry", begin);
    size_t end = next == std::string::npos ? ptx.size() : next + 1;
    pieces.push_back(ptx.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

std::string RoleSource::kernels() const {
  // Where in the model each kernel is for.
  std::vector<std::vector<std::string>> places(role.num_kernels);
  for (uint32_t b = 0; b < role.num_bodies; ++b)
    for (uint64_t i = 0; i < role.bodies[b].num_instructions; ++i) {
      const pmrt_instruction &instruction = role.bodies[b].instructions[i];
      if (instruction.opcode != PMRT_OP_KERNEL)
        continue;
      auto &own = places[&kernelOf(instruction) - role.kernels];
      std::string place = instruction.location ? instruction.location : "";
      if (!place.empty() &&
          std::find(own.begin(), own.end(), place) == own.end())
        own.push_back(place);
    }
  std::string text =
      "\n//"
      "===-------------------------------------------------------------------"
      "---===//\n// "
      "Kernels\n//===------------------------------------------------"
      "----------------------===//\n\nnamespace k {\n";
  text += "enum Kernel : int {\n";
  for (const std::string &name : kernelNames)
    text += "  " + name + ",\n";
  text += "};\nstruct Shape {\n  const char *name;\n  unsigned blocks, "
          "threads;\n};\n"
          "const std::vector<Shape> shapes = {\n";
  for (uint32_t k = 0; k < role.num_kernels; ++k)
    text += cat("    {", quoted(role.kernels[k].name), ", ",
                role.device->launches[k].blocks, ", ",
                role.device->launches[k].threads, "},\n");
  text += "};\nconst std::vector<const char *> ptx = {\n";
  const char *ptx = nullptr;
  for (uint32_t i = 0; i < role.device->num_images; ++i)
    if (!role.device->images[i].processor)
      ptx = static_cast<const char *>(role.device->images[i].data);
  if (!ptx && role.num_kernels)
    fail("role ", number, " has kernels, but not as text; compile it again");
  for (const std::string &piece : piecesOf(ptx ? ptx : "")) {
    for (uint32_t k = 0; k < role.num_kernels; ++k) {
      std::string entry = cat(".visible .entry ", role.kernels[k].name, "(");
      if (piece.compare(0, entry.size(), entry))
        continue;
      std::string list;
      size_t most = std::min<size_t>(places[k].size(), 3);
      for (size_t i = 0; i < most; ++i)
        list += cat(i ? ", " : " ", places[k][i]);
      if (places[k].size() > most)
        list += cat(" and ", places[k].size() - most, " more");
      text +=
          comment("", cat(kernelNames[k], ": ", role.device->launches[k].blocks,
                          " x ", role.device->launches[k].threads, " threads,",
                          list.empty() ? " of no place" : list));
    }
    if (piece.find(")ptx\"") != std::string::npos)
      fail("role ", number, " has kernels that a string of C++ cannot hold");
    text += "R\"ptx(" + piece + ")ptx\",\n";
  }
  return text + "};\n} // namespace k\n";
}

/// With all of its digits.
static std::string realText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string RoleSource::productSpecs() const {
  std::string text =
      "\nstd::vector<ProductSpec> productSpecs() {\n  return {\n";
  for (size_t i = 0; i < products.size(); ++i) {
    const cuda::ProductForm &form = products[i].form;
    auto layout = [](const cuda::ProductForm::Layout &own) {
      return cat("{", own.rows, ", ", own.columns, ", ", own.leading, ", ",
                 own.stride, "}");
    };
    std::vector<std::string> attributes, calls;
    for (const cuda::ProductForm::Attribute &attribute : form.attributes)
      attributes.push_back(cat("{", attributeName(attribute.name), ", ",
                               attributeValue(attribute.name, attribute.value), ", ",
                               attribute.bytes, "}"));
    std::vector<std::string> operands;
    for (int pointer : form.pointers)
      operands.push_back(attributeName(pointer));
    auto size = static_cast<int64_t>(dtypeSize(products[i].gemm.dtype)),
         resultSize = static_cast<int64_t>(dtypeSize(products[i].gemm.result_dtype));
    for (const cuda::ProductShape::Call &one : form.shape.calls)
      calls.push_back(
          cat("{", one.a * size, ", ", one.b * size, ", ", one.c * resultSize, "}"));
    auto list = [](const std::vector<std::string> &entries) {
      std::string all;
      for (const std::string &entry : entries)
        all += (all.empty() ? "" : ", ") + entry;
      return "{" + all + "}";
    };
    text += cat("      // ", i, ": ", productText(products[i].gemm), "\n");
    text += call("      {",
                 {dataTypeName(form.type), dataTypeName(form.resultType),
                  computeTypeName(form.compute),
                  dataTypeName(form.scale), list(attributes), layout(form.first),
                  layout(form.second), layout(form.result), cat(form.shape.batch),
                  realText(form.alpha), realText(form.beta),
                  list(operands), list(calls)},
                 "},");
  }
  return text + "  };\n}\n";
}

std::string RoleSource::communicators() const {
  std::string text = "\nstruct RankInfo {\n  int number;\n"
                     "  std::vector<int64_t> coordinates; ///< on the mesh\n";
  if (usesRanks())
    text += "  std::vector<Member> members; ///< of each communicator\n";
  text += "};\nconst RankInfo ranks[] = {\n";
  if (usesRanks()) {
    std::string before =
        "\n//"
        "===-----------------------------------------------------------------"
        "-----===//\n// "
        "Ranks\n//===------------------------------------------------"
        "----------------------===//\n\n/// Ranks of a colour are a "
        "communicator, in "
        "the order of their keys; -1: none.\nstruct Member {\n  int color, "
        "key;\n};\n";
    before += "enum Communicator : int {\n";
    for (size_t d = 0; d < divisions.size(); ++d)
      before += cat("  ", divisionNames[d], ", // ", divisions[d].name, "\n");
    before += "  numCommunicators\n};\n";
    text = before + text;
  }
  for (int64_t rank : ranks) {
    std::string coordinates, members;
    for (int64_t index : mesh.coordinates(rank))
      coordinates += cat(coordinates.empty() ? "" : ", ", index);
    for (const cuda::Division &division : divisions)
      members += cat(members.empty() ? "" : ", ", "{", division.colors[rank],
                     ", ", division.keys[rank], "}");
    text += cat("    {", rank, ", {", coordinates, "}",
                usesRanks() ? cat(", {", members, "}") : "", "},\n");
  }
  text +=
      cat("};\nconstexpr const char *ranksText = ", quoted(rangesText(ranks)),
          ";\n/// What a micro-batch adds to the coordinates.\n"
          "const std::vector<int64_t> microBatches[] = {\n");
  for (int64_t m = 0; m < mesh.microBatches(); ++m) {
    std::string coordinates;
    for (int64_t index : mesh.coordinates(0, m))
      coordinates += cat(coordinates.empty() ? "" : ", ", index);
    text += cat("    {", coordinates, "},\n");
  }
  return text + "};\n";
}

std::string RoleSource::setUp() const {
  std::string text = setUpText;
  if (!products.empty())
    text += setUpProductsText;
  if (usesRanks())
    text += setUpRanksText;
  text += cat("\nvoid setUp(Rank &r, int ordinal, const std::string &",
              usesRanks() ? "idPath" : "", ") {\n  setUpDevice(r, ordinal);\n",
              products.empty() ? "" : "  setUpProducts(r);\n",
              usesRanks() ? "  setUpRanks(r, idPath);\n" : "", "}\n\n");
  text += "void tearDown(Rank &r) {\n";
  if (usesRanks())
    text += "  for (ncclComm_t communicator : r.communicators)\n"
            "    if (communicator)\n"
            "      NCCL(ncclCommDestroy(communicator));\n"
            "  NCCL(ncclCommDestroy(r.world));\n";
  if (!products.empty())
    text += "  for (const Product &product : r.products) {\n"
            "    for (cublasLtMatrixLayout_t layout : {product.first, "
            "product.second, "
            "product.result})\n"
            "      if (layout)\n"
            "        BLAS(cublasLtMatrixLayoutDestroy(layout));\n"
            "    if (product.description)\n"
            "      BLAS(cublasLtMatmulDescDestroy(product.description));\n"
            "  }\n"
            "  BLAS(cublasLtDestroy(r.blas));\n";
  text += "  for (CUevent event : r.events)\n"
          "    CU(cuEventDestroy(event));\n"
          "  for (CUstream stream : r.streams)\n"
          "    if (stream)\n"
          "      CU(cuStreamDestroy(stream));\n"
          "  if (r.module)\n"
          "    CU(cuModuleUnload(r.module));\n"
          "  CU(cuMemFree(r.arena));\n"
          "  CU(cuMemFreeHost(r.words));\n"
          "  CU(cuDevicePrimaryCtxRelease(r.device));\n"
          "}\n";
  return text;
}

std::string RoleSource::finish() const {
  std::string text =
      "\n/// What is seen of a step once it is over.\n"
      "void finish(Rank &r, int number) {\n"
      "  if (r.words[1] != static_cast<uint32_t>(number) + 1)\n"
      "    fail(__LINE__, \"the GPU has not come to the end of step \" +\n"
      "                       std::to_string(number) + \", but says that it is "
      "done\");\n";
  int64_t loss = manifest.loss.empty() ? -1 : info.find(manifest.loss);
  // The first role that has it says it.
  for (uint32_t r = 0; r < number && loss >= 0; ++r)
    if (manifest.roles[r].find(manifest.loss) >= 0)
      loss = -1;
  if (loss >= 0)
    text += cat("  if (r.row != 0)\n    return;\n  float loss = 0;\n"
                "  CU(cuMemcpyDtoH(&loss, r.at(b::",
                bufferNames[loss],
                "), sizeof(loss)));\n"
                "  std::printf(\"step %d: loss %.9g\\n\", number, "
                "static_cast<double>(loss));\n  std::fflush(stdout);\n");
  return text + "}\n";
}

} // namespace pipemesh::source

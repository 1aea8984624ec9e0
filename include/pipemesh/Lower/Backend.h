//===- Backend.h - what runs a program --------------------------*- C++ -*-===//

#ifndef PIPEMESH_LOWER_BACKEND_H
#define PIPEMESH_LOWER_BACKEND_H

namespace pipemesh {

/// What runs a bundle: processors of machines, or NVIDIA's GPUs.
enum class Backend { Host, Cuda };

} // namespace pipemesh

#endif // PIPEMESH_LOWER_BACKEND_H

//===- BundleProof.h - The proof of a bundle and its certificate ----------===//

#ifndef PIPEMESH_RUNTIME_CHECK_BUNDLEPROOF_H
#define PIPEMESH_RUNTIME_CHECK_BUNDLEPROOF_H

#include "check/Prove.h"

namespace pipemesh::proof {

/// Reads manifest.json and the roles of a bundle, whose hashes must be one, and
/// proves the program. The limit of the options is that of the manifest where
/// they have none.
Proof proveBundle(const std::string &directory,
                  const ProveOptions &options = {});

/// The text of certificate.json: what was proved, of which files.
std::string certificateText(const std::string &directory, const Proof &proof);

/// The proof for people, one line a fact.
std::string proofText(const Proof &proof);

} // namespace pipemesh::proof

#endif // PIPEMESH_RUNTIME_CHECK_BUNDLEPROOF_H

//===- Wire.h - Messages over a socket, without blocking ------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_WIRE_H
#define PIPEMESH_RUNTIME_LAUNCH_WIRE_H

#include <cstdint>
#include <optional>
#include <string>

namespace pipemesh::runtime {

/// What the processes of a job tell each other beside the data of their ranks.
/// Fields of a body are separated by line feeds; the last one may hold anything.
enum class Word : uint32_t {
  // From a rank's process to its supervisor, and back.
  Listen,    ///< addresses -> Listening
  Listening, ///< token, endpoints; nothing where that failed
  Connect,   ///< rank, token, endpoints -> Connected
  Connected, ///< "", or why not
  // From a supervisor to the collector, and back.
  Hello,   ///< token, rank -> Welcome
  Welcome, ///
  Collect, ///< machine, marker -> Log
  Log,     ///< a flight record, or nothing where the collector has it
  Goodbye, ///< what ends now ends as it should
  // From either to the collector, and back.
  Report,  ///< of Report.h -> Printed, Hold or Unheard
  Printed, ///< end the job with the status
  Hold,    ///< somebody else ends it; also said without being asked
  Unheard  ///< nobody has printed anything
};

struct WireMessage {
  Word word;
  std::string body;
};

class Wire {
public:
  /// Owns the socket.
  explicit Wire(int socket);
  ~Wire();
  Wire(const Wire &) = delete;
  Wire &operator=(const Wire &) = delete;

  int descriptor() const { return socket; }
  bool isLost() const { return lost; }
  /// Whether the other end closed it, rather than the network.
  bool isClosed() const { return closed; }
  bool hasToWrite() const { return !lost && !outgoing.empty(); }

  /// Longer bodies than this are not of this program; the wire is lost then.
  uint32_t longest = 1u << 20;

  void send(Word word, const std::string &body = "");
  /// Writes and reads what goes without waiting.
  void move();
  /// The next whole message that has come.
  std::optional<WireMessage> next();
  /// Waits for it.
  std::optional<WireMessage> wait(int milliseconds);
  /// Waits until all is written.
  void flush(int milliseconds);

private:
  bool pollFor(short events, uint64_t until);

  int socket;
  bool lost = false, closed = false;
  std::string incoming, outgoing;
};

/// Cuts the text in front of the first line feed off.
std::string takeField(std::string &body);

/// A whole number of at least `least`, else nothing.
std::optional<int64_t> fieldNumber(const std::string &field, int64_t least);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_WIRE_H

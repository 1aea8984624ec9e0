//===- TcpWire.h - Frames over a TCP connection ---------------------------===//

#ifndef PIPEMESH_RUNTIME_LAUNCH_TCPWIRE_H
#define PIPEMESH_RUNTIME_LAUNCH_TCPWIRE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pipemesh::runtime {

struct TcpFrame {
  enum Kind : uint32_t {
    Hello,   ///< TcpHello -> Welcome or Refused
    Welcome, ///< all ranks have come
    Refused, ///< why
    Gather,  ///< a text for rank 0
    All,     ///< the texts of all ranks
    Tensor,  ///< a part of one -> Next
    Next,
    End,    ///< status, line feed, message
    Goodbye ///< closing the connection is no loss
  };
  Kind kind;
  std::string body;
};

/// Who comes.
struct TcpHello {
  int64_t rank = 0, size = 0;
  std::string token, bundle;
  std::string pack() const;
  bool unpack(const std::string &body);
};

std::string packTexts(const std::vector<std::string> &texts);
/// Nothing where the text is not of packTexts.
std::vector<std::string> unpackTexts(const std::string &packed);

/// A connection that is never waited for, but in `wait` and `flush`.
class TcpWire {
public:
  /// Owns the socket.
  explicit TcpWire(int socket);
  ~TcpWire();
  TcpWire(const TcpWire &) = delete;
  TcpWire &operator=(const TcpWire &) = delete;

  int descriptor() const { return socket; }
  bool isLost() const { return lost; }
  bool hasToWrite() const { return !lost && written < outgoing.size(); }
  void send(const TcpFrame &frame);
  /// Writes and reads what goes without waiting.
  void move();
  std::optional<TcpFrame> next();
  /// Until the time of `nanoseconds()`.
  std::optional<TcpFrame> wait(uint64_t until);
  void flush(int milliseconds);

private:
  int socket;
  bool lost = false;
  std::string incoming, outgoing;
  size_t taken = 0, written = 0;
};

/// Listens on a port of all addresses of this machine.
class TcpListener {
public:
  explicit TcpListener(int port);
  ~TcpListener();
  TcpListener(const TcpListener &) = delete;
  TcpListener &operator=(const TcpListener &) = delete;
  int descriptor() const { return socket; }
  std::unique_ptr<TcpWire> accept();

private:
  int socket = -1;
};

/// A connection; null, with why, where there is none by then.
std::unique_ptr<TcpWire> connectTo(const std::string &host, int port,
                                   uint64_t until, std::string &problem);

/// The time of `nanoseconds()` in so many seconds; 0 is never.
uint64_t deadlineIn(double seconds);

} // namespace pipemesh::runtime

#endif // PIPEMESH_RUNTIME_LAUNCH_TCPWIRE_H

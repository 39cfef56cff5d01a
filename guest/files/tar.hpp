// The headers of a tar stream as the two ends of a transfer write and read them: GNU's format, of which only
// files, folders, symbolic links and long names (L, K) are used. Any tar lists such a stream; only such
// a stream is read. Used by the guest and by the host: no heap, no exceptions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exechost::guest::tar {

inline constexpr std::size_t kBlock = 512;
inline constexpr std::size_t kShortName = 100;  // longer ones come in an entry of their own before
inline constexpr std::size_t kMaxPath = 4095;   // PATH_MAX without its NUL
inline constexpr std::size_t kMaxName = 255;
inline constexpr int kMaxDepth = 128;  // of folders in each other; the walks are recursive
// What every stream is about: its first entry. The source's own name does not travel.
inline constexpr char kRoot[] = "data";
inline constexpr std::size_t kRootLength = sizeof kRoot - 1;
inline constexpr std::uint32_t kModeBits = 0777;  // set-id and sticky bits do not travel

enum class Type : char { file = '0', link = '2', folder = '5', long_link = 'K', long_name = 'L' };

struct Header {
  Type type = Type::file;
  std::uint32_t mode = 0;
  std::uint64_t size = 0;          // of what follows
  char name[kShortName + 1] = {};  // without the slash that ends a folder's
  char link[kShortName + 1] = {};
};

// A folder's name gets its slash here.
void encode(const Header& header, char* block);

enum class Decoded {
  header,
  end,        // a block of zeros
  malformed,  // a wrong checksum, another format, a number that is none, a kind that is not used
};
Decoded decode(const char* block, Header& header);

// Padding behind `size` bytes of content.
constexpr std::uint64_t padding(std::uint64_t size) { return (kBlock - size % kBlock) % kBlock; }

// Whether a name can be one component of a path: not empty, not . or .., not too long, no slash.
bool is_component(const char* name, std::size_t length);
// Whether a path is "data" or below it, made of such components only.
bool is_stream_path(const char* path, std::size_t length);

}  // namespace exechost::guest::tar

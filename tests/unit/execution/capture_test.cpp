#include "core/execution/capture.hpp"

#include <random>

#include "support.hpp"

namespace exechost::execution {
namespace {

using test::noise;

// What a capture must hold, said without any ring.
CapturedStream expected(const std::string& bytes, std::uint64_t cap) {
  CapturedStream stream;
  stream.total_bytes = bytes.size();
  if (bytes.size() <= cap) {
    stream.data = bytes;
    return stream;
  }
  const auto head = static_cast<std::size_t>(cap - cap / 2);
  const auto tail = static_cast<std::size_t>(cap / 2);
  stream.data = bytes.substr(0, head) + bytes.substr(bytes.size() - tail);
  stream.head_bytes = head;
  stream.dropped_bytes = bytes.size() - cap;
  return stream;
}

TEST(Capture, AnyChunkingGivesTheSameResult) {
  std::mt19937 random(20240601);  // NOLINT(cert-msc51-cpp): the same every time, so that a failure is repeatable
  for (const std::uint64_t cap : std::initializer_list<std::uint64_t>{0, 1, 2, 3, 7, 64, 1000, 4096}) {
    for (const std::size_t size :
         std::initializer_list<std::size_t>{0, 1, 2, 3, 6, 7, 8, 63, 64, 65, 999, 1000, 1001, 5000, 20000}) {
      const std::string bytes = noise(size, static_cast<std::uint32_t>(size + cap));
      const CapturedStream want = expected(bytes, cap);
      for (const std::size_t largest : std::initializer_list<std::size_t>{1, 2, 5, 100, 3000, 50000}) {
        Capture capture(cap);
        std::uniform_int_distribution<std::size_t> chunk(1, largest);
        for (std::size_t at = 0; at < size;) {
          const std::size_t length = std::min(chunk(random), size - at);
          capture.append(std::string_view(bytes).substr(at, length));
          at += length;
        }
        ASSERT_EQ(capture.total_bytes(), size);
        const CapturedStream got = capture.take();
        ASSERT_EQ(got.data, want.data) << "cap " << cap << " size " << size << " chunks to " << largest;
        ASSERT_EQ(got.total_bytes, want.total_bytes);
        ASSERT_EQ(got.dropped_bytes, want.dropped_bytes);
        ASSERT_EQ(got.head_bytes, want.head_bytes);
      }
    }
  }
}

TEST(Capture, SaysWhenItStartsToDrop) {
  Capture capture(10);
  EXPECT_FALSE(capture.would_start_dropping(10));
  EXPECT_TRUE(capture.would_start_dropping(11));
  capture.append("0123456789");
  const auto [head, tail] = capture.everything();
  EXPECT_EQ(std::string(head) + std::string(tail), "0123456789");
  EXPECT_TRUE(capture.would_start_dropping(1));
  capture.append("x");
  EXPECT_FALSE(capture.would_start_dropping(1)) << "it has started already";
}

TEST(Capture, AHugeCapCostsNothingUntilItIsUsed) {
  Capture capture(UINT64_MAX);
  capture.append("abc");
  EXPECT_EQ(capture.take().data, "abc");
}

}  // namespace
}  // namespace exechost::execution

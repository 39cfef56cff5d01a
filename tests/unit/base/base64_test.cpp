#include "core/base/base64.hpp"

#include <gtest/gtest.h>

namespace exechost {
namespace {

struct Vector {
  std::string_view bytes;
  std::string_view text;
};

// RFC 4648 section 10.
constexpr Vector kVectors[] = {{"", ""},
                               {"f", "Zg=="},
                               {"fo", "Zm8="},
                               {"foo", "Zm9v"},
                               {"foob", "Zm9vYg=="},
                               {"fooba", "Zm9vYmE="},
                               {"foobar", "Zm9vYmFy"}};

TEST(Base64, EncodesAndDecodesTheStandardVectors) {
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
}

TEST(Base64, CarriesEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::string part = bytes.substr(0, length);
    EXPECT_EQ(base64_decode(base64_encode(part)), part) << length;
  }
}

TEST(Base64, RefusesWhatIsNotCanonical) {
  for (const std::string_view text :
       {"Zg", "Zg=", "Zh==", "Zm9v!", "Zm 9v", "Zm9v\n", "=", "====", "Zg==Zg==", "-_-_"}) {
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace exechost

#include "cli/place_argument.hpp"

#include <gtest/gtest.h>

#include "cli/copy_progress.hpp"

namespace exechost::cli {
namespace {

TEST(PlaceArgument, AColonBehindANameIsASession) {
  const auto place = place_argument("build-1.x_y:/tmp/a:b");
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->session, "build-1.x_y");
  EXPECT_EQ(place->path, "/tmp/a:b");
  EXPECT_EQ(place_argument("s:rel/path")->path, "rel/path");
}

TEST(PlaceArgument, AnythingElseIsAFileOfThisMachine) {
  for (const char* path : {"file", "./a:b", "/a:b", "a/b:c", ".."}) {
    const auto place = place_argument(path);
    ASSERT_TRUE(place.has_value()) << path;
    EXPECT_FALSE(place->session) << path;
    EXPECT_EQ(place->path, path);
  }
}

TEST(PlaceArgument, WhatIsNeitherIsRefused) {
  for (const char* word : {"", ":x", "-s:x", ".s:x", "s p:x", "s:", "\xff:x"}) {
    EXPECT_FALSE(place_argument(word).has_value()) << word;
  }
  EXPECT_FALSE(place_argument(std::string(65, 'n') + ":x").has_value());
  EXPECT_TRUE(place_argument(std::string(64, 'n') + ":x").has_value());
}

TEST(ReadableBytes, InTheUnitThatFits) {
  EXPECT_EQ(readable_bytes(0), "0 bytes");
  EXPECT_EQ(readable_bytes(1023), "1023 bytes");
  EXPECT_EQ(readable_bytes(1024), "1.0 KiB");
  EXPECT_EQ(readable_bytes(1536), "1.5 KiB");
  EXPECT_EQ(readable_bytes(10ULL << 30), "10.0 GiB");
}

}  // namespace
}  // namespace exechost::cli

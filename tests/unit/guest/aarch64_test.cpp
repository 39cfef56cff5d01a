// The guest for aarch64, run by qemu's user mode: frames, supervision and kills. qemu knows no seccomp, no Landlock and
// no child subreaper, so this is about a guest that confines nothing and is process 1.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>

#include "exechost_test_paths.hpp"
#include "tests/unit/guest/support/guest_process.hpp"
#include "tests/unit/guest/support/stream_process.hpp"

namespace exechost::guest::test {
namespace {

constexpr char kDaemon[] = "(setsid sh -c 'sh -c \"echo up; exec sleep 1000\" &' &) ; ";

SpecWriter unconfined(std::string_view script) {
  SpecWriter spec;
  for (const std::string_view argument : {std::string_view("/bin/sh"), std::string_view("-c"), script})
    spec.add_argument(argument);
  spec.add_environment("PATH=/usr/bin:/bin");
  spec.set_unconfined(true);
  return spec;
}

std::string guest_program() { return EXECHOST_BUILD_PREFIX "/libexec/exechost/aarch64/exechost-guest"; }

class Aarch64 : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.place = {true, ::geteuid() == 0};
    options_.interpreter = EXECHOST_QEMU_AARCH64;
    options_.program = programs_.folder() + "/exechost-guest-aarch64";
    if (options_.interpreter.empty()) GTEST_SKIP() << "no qemu-aarch64-static (package qemu-user-static)";
    if (!std::filesystem::exists(guest_program()))
      GTEST_SKIP() << "no guest for aarch64 (package g++-aarch64-linux-gnu)";
    if (const auto reason = why_not(options_.place); !reason.empty()) GTEST_SKIP() << reason;
    std::filesystem::copy_file(guest_program(), options_.program);
  }
  std::unique_ptr<StreamProcess> serving() {
    auto guest = std::make_unique<StreamProcess>(programs_, options_);
    EXPECT_EQ(guest->hello().as<Hello>().architecture, Architecture::aarch64);
    EXPECT_EQ(guest->open(unconfined("")).header.type, FrameType::confined);
    return guest;
  }
  StagedPrograms programs_;
  StreamOptions options_;
};

TEST_F(Aarch64, ALifeCycleWithExactStreams) {
  const auto guest = serving();
  std::string bytes;
  for (int i = 0; i < 40000; ++i) bytes += static_cast<char>(i * 7);
  const auto number = guest->run(unconfined("cat; echo err >&2; exit 42"));
  guest->send(FrameType::data, number, bytes);
  guest->send(FrameType::closed, number);
  ASSERT_TRUE(guest->wait_finished(number));
  EXPECT_TRUE(guest->out(number) == bytes);
  EXPECT_EQ(guest->err(number), "err\n");
  EXPECT_EQ(guest->exit_code(number), 42);
  EXPECT_EQ(guest->find(number, FrameType::over)->as<Over>().error_number, 0);
  EXPECT_EQ(guest->close_and_wait(), 0);
}

TEST_F(Aarch64, AKillFindsTheWholeTree) {
  const auto guest = serving();
  const auto number = guest->run(unconfined(std::string(kDaemon) + "sleep 1000"));
  ASSERT_TRUE(guest->wait_for_output(number, "up\n"));
  guest->send(FrameType::kill, number);
  ASSERT_TRUE(guest->wait_finished(number));  // its daemon held its output
  EXPECT_EQ(guest->find(number, FrameType::exited)->as<Exited>().wait_status, SIGKILL);
  EXPECT_EQ(guest->find(number, FrameType::over)->as<Over>().error_number, 0);
  EXPECT_EQ(guest->close_and_wait(), 0);
}

TEST_F(Aarch64, ItsStreamsEndIsTheEndOfEverything) {
  const auto guest = serving();
  const auto number = guest->run(unconfined(std::string(kDaemon) + "sleep 1000"));
  ASSERT_TRUE(guest->wait_for_output(number, "up\n"));
  EXPECT_EQ(guest->close_and_wait(), 0);
}

// Nothing runs less confined than it was asked for.
TEST_F(Aarch64, WhatCantBePutOnIsRefused) {
  StreamProcess guest(programs_, options_);
  guest.hello();
  const Frame answer = guest.open(shell("true"));
  ASSERT_EQ(answer.header.type, FrameType::failed);
  EXPECT_TRUE(guest.closed());
}

TEST(GuestSize, BothAreSmall) {
  for (const std::string& program :
       {std::string(EXECHOST_BUILD_PREFIX "/libexec/exechost/exechost-guest"), guest_program()}) {
    struct stat status {};
    if (::stat(program.c_str(), &status) != 0) GTEST_SKIP() << program << " is not built here";
    EXPECT_LE(status.st_size, 1'500'000) << program;
  }
}

}  // namespace
}  // namespace exechost::guest::test

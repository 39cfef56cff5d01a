#include "core/settings/units.hpp"

#include <gtest/gtest.h>

namespace exechost::settings {
namespace {

constexpr std::uint64_t kKi = 1024;

TEST(Units, Booleans) {
  for (const auto text : {"1", "true", "yes", "on", "TRUE", "Yes", "oN"}) EXPECT_EQ(parse_boolean(text), true) << text;
  for (const auto text : {"0", "false", "no", "off", "FALSE", "nO", "Off"})
    EXPECT_EQ(parse_boolean(text), false) << text;
  for (const auto text :
       {"", " ", "y", "n", "t", "f", "2", "-1", "01", "true ", " true", "yes\n", "enabled", "none", "tru"}) {
    EXPECT_FALSE(parse_boolean(text)) << text;
  }
}

TEST(Units, Sizes) {
  const std::pair<const char*, std::uint64_t> good[] = {{"1b", 1},
                                                        {"1", kKi * kKi},
                                                        {"5120", 5120 * kKi * kKi},
                                                        {"512m", 512 * kKi * kKi},
                                                        {"512M", 512 * kKi * kKi},
                                                        {"512mb", 512 * kKi * kKi},
                                                        {"512MiB", 512 * kKi * kKi},
                                                        {"2GiB", 2 * kKi * kKi * kKi},
                                                        {"2g", 2 * kKi * kKi * kKi},
                                                        {"1T", kKi * kKi * kKi * kKi},
                                                        {"64k", 64 * kKi},
                                                        {"100B", 100},
                                                        {"1.5g", 1536 * kKi * kKi},
                                                        {"0.5k", 512},
                                                        {"0.5", 512 * kKi},
                                                        {"007", 7 * kKi * kKi}};
  for (const auto& [text, bytes] : good) EXPECT_EQ(parse_size(text), bytes) << text;
  for (const auto text : {"",
                          " ",
                          "0",
                          "0m",
                          "0.0g",
                          "-1",
                          "-512m",
                          "+5",
                          "5 m",
                          " 5",
                          "5 ",
                          "5mm",
                          "5ib",
                          "5x",
                          "m",
                          ".5g",
                          "1.g",
                          "1.2.3",
                          "1e3",
                          "0x10",
                          "nan",
                          "NaN",
                          "inf",
                          "1,5g",
                          "1_000",
                          "0.3k",
                          "0.0001b",
                          "9223372036854775808b",
                          "99999999999999999999",
                          "9999999t",
                          "18446744073709551617b",
                          "1.0000000001g",
                          "none"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
  EXPECT_EQ(parse_size("9223372036854775807b"), 9223372036854775807U);
}

TEST(Units, Durations) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"30", 30'000},    {"30s", 30'000},     {"5m", 300'000},           {"250ms", 250},
      {"1h", 3'600'000}, {"1.5h", 5'400'000}, {"1d", 86'400'000},        {"0.5", 500},
      {"0.001", 1},      {"5M", 300'000},     {"3650d", 315'360'000'000}};
  for (const auto& [text, count] : good) EXPECT_EQ(parse_duration(text), std::chrono::milliseconds(count)) << text;
  for (const auto text : {"",    "0",   "0s",    "0.0",    "-1",    "-5m", "+5",  "5 m",   "5min",
                          "5q",  "ms",  "0.5ms", "0.0001", "1h30m", "nan", "inf", "3651d", "99999999999999999999",
                          "1e3", "5m ", "\t5",   "forever"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Units, Cpu) {
  const std::pair<const char*, double> good[] = {
      {"1", 1}, {"0.5", 0.5}, {"2.25", 2.25}, {"0.001", 0.001}, {"4096", 4096}};
  for (const auto& [text, cores] : good) EXPECT_EQ(parse_cpu(text), cores) << text;
  for (const auto text :
       {"", "0", "0.0", "-1", "+1", "0.0009", "4097", "nan", "inf", "1e1", "1 ", "two", "1,5", ".5", "1."}) {
    EXPECT_FALSE(parse_cpu(text)) << text;
  }
}

TEST(Units, Counts) {
  EXPECT_EQ(parse_count("1"), 1U);
  EXPECT_EQ(parse_count("9223372036854775807"), 9223372036854775807U);
  for (const auto text :
       {"", "0", "-1", "+1", "1.0", "1 ", " 1", "x", "9223372036854775808", "18446744073709551616", "1k"}) {
    EXPECT_FALSE(parse_count(text)) << text;
  }
}

TEST(Units, PlainNumbers) {
  EXPECT_EQ(parse_integer("-5"), -5);
  EXPECT_EQ(parse_integer("0"), 0);
  for (const auto text : {"", "-", "+5", "5.0", "5 ", "0x5", "9223372036854775808"})
    EXPECT_FALSE(parse_integer(text)) << text;
  EXPECT_EQ(parse_number("-2.5"), -2.5);
  EXPECT_EQ(parse_number("1e3"), 1000);
  for (const auto text : {"", "nan", "inf", "-inf", "1x", "1e999", " 1"}) EXPECT_FALSE(parse_number(text)) << text;
}

TEST(Units, RulesAreInWords) {
  EXPECT_NE(parse_size("x").error().find("512m"), std::string::npos);
  EXPECT_NE(parse_duration("x").error().find("30s"), std::string::npos);
  EXPECT_NE(parse_boolean("x").error().find("yes"), std::string::npos);
}

TEST(Units, FormattingReadsBackTheSame) {
  for (const std::uint64_t bytes :
       {1ULL, 512ULL, 1023ULL, 1024ULL, 1536ULL, 1048576ULL, 1610612736ULL, 9223372036854775807ULL}) {
    EXPECT_EQ(parse_size(format_size(bytes)), bytes) << format_size(bytes);
  }
  for (const std::int64_t count :
       {1LL, 250LL, 1000LL, 1500LL, 90'000LL, 3'600'000LL, 86'400'000LL, 315'360'000'000LL}) {
    const std::chrono::milliseconds span(count);
    EXPECT_EQ(parse_duration(format_duration(span)), span) << format_duration(span);
  }
  EXPECT_EQ(format_size(512 * kKi * kKi), "512MiB");
  EXPECT_EQ(format_duration(std::chrono::milliseconds(90'000)), "90s");
}

}  // namespace
}  // namespace exechost::settings

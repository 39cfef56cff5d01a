// Goes through a document without building it and stops at too deep a nesting, since the parsers and writers of
// nlohmann::json recurse, and at too many values, since each takes many times its bytes in memory.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace exechost::keeper {

class NestingGuard final : public nlohmann::json_sax<nlohmann::json> {
 public:
  static constexpr std::size_t kMostValues = 1'000'000;

  explicit NestingGuard(int limit) : limit_(limit) {}

  bool null() override { return count(); }
  bool boolean(bool /*value*/) override { return count(); }
  bool number_integer(number_integer_t /*value*/) override { return count(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return count(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return count(); }
  bool string(string_t& /*value*/) override { return count(); }
  bool binary(binary_t& /*value*/) override { return count(); }
  bool start_object(std::size_t /*elements*/) override { return ++depth_ <= limit_ && count(); }
  bool key(string_t& /*value*/) override { return true; }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t /*elements*/) override { return ++depth_ <= limit_ && count(); }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  bool count() { return ++values_ <= kMostValues; }

  std::size_t values_ = 0;
  int limit_;
  int depth_ = 0;
};

}  // namespace exechost::keeper

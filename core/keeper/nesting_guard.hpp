// Goes through a document without building it and stops at too deep a nesting: the parsers and
// writers of nlohmann::json recurse, so that depth must be known before.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace exechost::keeper {

class NestingGuard final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit NestingGuard(int limit) : limit_(limit) {}

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return ++depth_ <= limit_; }
  bool key(string_t& /*value*/) override { return true; }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t /*elements*/) override { return ++depth_ <= limit_; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  int limit_;
  int depth_ = 0;
};

}  // namespace exechost::keeper

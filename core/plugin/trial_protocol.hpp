// What exechost-plugin-check writes on kReportFd: kSurvived, or kThrew and the exception's text.
// Nothing at all: it died.
#pragma once

namespace exechost::plugin::trial {

inline constexpr int kReportFd = 3;
inline constexpr int kCopyFd = 4;  // the sealed copy to load, when there is one
inline constexpr char kSurvived = 'k';
inline constexpr char kThrew = 'x';

}  // namespace exechost::plugin::trial

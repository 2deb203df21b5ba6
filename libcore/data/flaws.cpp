#include "data/flaws.hpp"

namespace dt::data {

Flaws& Flaws::operator+=(const Flaws& later) {
  invalid_sequences += later.invalid_sequences;
  bad_lines += later.bad_lines;
  if (first_bad_line.empty()) first_bad_line = later.first_bad_line;
  return *this;
}

LeftOut& LeftOut::operator+=(const LeftOut& later) {
  too_short += later.too_short;
  too_long += later.too_long;
  duplicates += later.duplicates;
  return *this;
}

}  // namespace dt::data

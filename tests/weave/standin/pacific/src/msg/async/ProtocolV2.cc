// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct ProtocolV2 {
  int write_message(Message *m, bool more);
};
int ProtocolV2::write_message(Message *m, bool more) {
  return more ? m->type : 0;
}

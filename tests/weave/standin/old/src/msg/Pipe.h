// SPDX-License-Identifier: MIT
#ifndef STANDIN_PIPE_H
#define STANDIN_PIPE_H
#include "standin.h"
struct Pipe {
  std::vector<Message *> out_q;
  void _send(Message *m) {
    out_q.push_back(m);
  }
  int write_message(Message &m) { return m.type; }
  void writer();
};
#endif

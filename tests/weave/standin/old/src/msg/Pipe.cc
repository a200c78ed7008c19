// SPDX-License-Identifier: MIT
#include "Pipe.h"
void Pipe::writer()
{
  while (!out_q.empty()) {
    Message *m = out_q.back();
    int rc = write_message(*m);
    if (rc < 0)
      return;
    out_q.pop_back();
  }
}

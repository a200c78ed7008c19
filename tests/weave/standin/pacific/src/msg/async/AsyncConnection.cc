// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct AsyncConnection {
  std::vector<Message *> out;
  int send_message(Message *m);
};
int AsyncConnection::send_message(Message *m)
{
  out.push_back(m);
  return 0;
}

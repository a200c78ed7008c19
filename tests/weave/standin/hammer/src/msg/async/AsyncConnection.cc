// SPDX-License-Identifier: MIT
#include "standin.h"
struct AsyncConnection {
  int send_message(Message *m);
  int _send(Message *m);
  int write_message(std::string& blist) { return (int)blist.size(); }
};
int AsyncConnection::send_message(Message *m)
{
  return _send(m);
}
int AsyncConnection::_send(Message *m)
{
  std::string blist(m->get_data_len(), '.');
  int rc = write_message(blist);
  return rc;
}

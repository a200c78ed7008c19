// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct OSDService {
  void reply_op_error(OpRequestRef op, int err);
  void reply_op_error(OpRequestRef op, int err, eversion_t v,
                      std::vector<int> op_returns);
};
struct OSD {
  void enqueue_op(int pg, OpRequestRef&& op, unsigned epoch);
  void dequeue_op(
    int pg, OpRequestRef op);
};
void OSDService::reply_op_error(OpRequestRef op, int err)
{
  reply_op_error(op, err, {}, {});
}
void OSDService::reply_op_error(OpRequestRef op, int err, eversion_t v,
                                std::vector<int> op_returns)
{
  (void)op, (void)err, (void)v, (void)op_returns;
}
void OSD::enqueue_op(int pg, OpRequestRef&& op, unsigned epoch)
{
  (void)pg, (void)op, (void)epoch;
}
void OSD::dequeue_op(
  int pg, OpRequestRef op)
{
  (void)pg, (void)op;
}

// SPDX-License-Identifier: MIT
#include "standin.h"
struct MOSDSubOp : public Message {
  MOSDSubOp(osd_reqid_t, uint64_t) {}
};
struct MOSDSubOpReply : public Message {
  int ack_type;
};
struct ReplicatedPG {
  struct OpContext {
    OpRequestRef op;
    osd_reqid_t reqid;
    uint64_t bytes_written, bytes_read;
  };
  struct RepGather {
    OpContext *ctx;
    uint64_t rep_tid;
  };
  struct RepModify {
    OpRequestRef op;
  };
  std::vector<int> acting;
  void lock() {}
  void unlock() {}
  int prepare_transaction(OpContext *ctx) { return ctx->op ? 0 : -1; }
  void do_op(OpRequestRef op);
  void log_op_stats(OpContext *ctx);
  void wait_for_missing_object(const hobject_t& soid, OpRequestRef op);
  void wait_for_degraded_object(const hobject_t& soid, OpRequestRef op);
  void op_commit(RepGather *repop);
  void issue_repop(RepGather *repop);
  void sub_op_modify(OpRequestRef op);
  void sub_op_modify_commit(RepModify *rm);
  void sub_op_modify_reply(OpRequestRef op);
};
void ReplicatedPG::do_op(OpRequestRef op)
{
  OpContext context = {op, op->get_reqid(), 0, 0}, *ctx = &context;
  int result = prepare_transaction(ctx);
  if (result < 0)
    return;
  log_op_stats(ctx);
}
void ReplicatedPG::log_op_stats(OpContext *ctx)
{
  ctx->bytes_written = 0;
}
void ReplicatedPG::wait_for_missing_object(const hobject_t& soid, OpRequestRef op)
{
  (void)soid, (void)op;
}
void ReplicatedPG::wait_for_degraded_object(const hobject_t& soid, OpRequestRef op)
{
  (void)soid, (void)op;
}
void ReplicatedPG::op_commit(RepGather *repop)
{
  lock();
  if (repop->ctx->op)
    repop->rep_tid = 0;
  unlock();
}
void ReplicatedPG::issue_repop(RepGather *repop)
{
  for (unsigned i = 1; i < acting.size(); i++) {
    int peer = acting[i];
    MOSDSubOp *wr = new MOSDSubOp(repop->ctx->reqid,
                                  repop->rep_tid);
    wr->type = peer;
    delete wr;
  }
}
void ReplicatedPG::sub_op_modify(OpRequestRef op)
{
  (void)op;
}
void ReplicatedPG::sub_op_modify_commit(RepModify *rm)
{
  lock();
  rm->op = OpRequestRef();
  unlock();
}
void ReplicatedPG::sub_op_modify_reply(OpRequestRef op)
{
  MOSDSubOpReply *r = static_cast<MOSDSubOpReply*>(op->request);
  uint64_t rep_tid = r->get_tid();
  (void)rep_tid;
}

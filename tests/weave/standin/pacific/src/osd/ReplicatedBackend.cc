// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
#include <memory>
struct pg_shard_t {
  int osd;
};
struct MOSDRepOpReply : public Message {
  int ack_type;
  pg_shard_t from;
};
struct ReplicatedBackend {
  struct InProgressOp {
    OpRequestRef op;
  };
  struct RepModify {
    OpRequestRef op;
  };
  using RepModifyRef = std::shared_ptr<RepModify>;
  void op_commit(const Ref<InProgressOp>& op);
  Message *generate_subop(uint64_t tid, pg_shard_t peer);
  void do_repop(OpRequestRef op);
  void repop_commit(RepModifyRef rm);
  void do_repop_reply(OpRequestRef op);
};
void ReplicatedBackend::op_commit(const Ref<InProgressOp>& op)
{
  op->op = {};
}
Message *ReplicatedBackend::generate_subop(uint64_t tid, pg_shard_t peer)
{
  auto *wr = new Message;
  wr->type = (int)tid + peer.osd;
  return wr;
}
void ReplicatedBackend::do_repop(OpRequestRef op)
{
  (void)op;
}
void ReplicatedBackend::repop_commit(RepModifyRef rm)
{
  rm->op = {};
}
void ReplicatedBackend::do_repop_reply(OpRequestRef op)
{
  auto r = static_cast<MOSDRepOpReply*>(op->request);
  uint64_t rep_tid = r->get_tid();
  (void)rep_tid;
}

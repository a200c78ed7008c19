// SPDX-License-Identifier: MIT
#include "standin.h"
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
  typedef Ref<RepModify> RepModifyRef;
  void op_commit(
    InProgressOp *op);
  template <typename T, int MSGTYPE>
  Message *generate_subop(uint64_t tid, pg_shard_t peer);
  void sub_op_modify(OpRequestRef op);
  void sub_op_modify_commit(RepModifyRef rm);
  template <typename T, int MSGTYPE> void sub_op_modify_reply(OpRequestRef op);
  void both(OpRequestRef op);
};
void ReplicatedBackend::op_commit(
  InProgressOp *op)
{
  op->op = OpRequestRef();
}
template <typename T, int MSGTYPE>
Message *ReplicatedBackend::generate_subop(uint64_t tid, pg_shard_t peer)
{
  T *wr = new T;
  wr->type = MSGTYPE + (int)tid + peer.osd;
  return wr;
}
void ReplicatedBackend::sub_op_modify(OpRequestRef op) {
  (void)op;
}
void ReplicatedBackend::sub_op_modify_commit(RepModifyRef rm)
{
  rm->op = OpRequestRef();
}
template <typename T, int MSGTYPE>
void ReplicatedBackend::sub_op_modify_reply(OpRequestRef op)
{
  T *r = static_cast<T *>(op->request);
  uint64_t rep_tid = r->get_tid();
  (void)rep_tid;
}
void ReplicatedBackend::both(OpRequestRef op)
{
  pg_shard_t peer = {1};
  delete generate_subop<MOSDRepOpReply, 112>(1, peer);
  sub_op_modify_reply<MOSDRepOpReply, 113>(op);
}

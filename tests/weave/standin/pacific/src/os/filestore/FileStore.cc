// SPDX-License-Identifier: MIT
#include "standin_pacific.h"
struct bufferlist {
  int write_fd(int fd) const { return fd; }
};
struct FDRef {
  int fd;
  int operator*() const { return fd; }
  operator bool() const { return fd >= 0; }
};
struct CollectionIndex {
  std::shared_mutex access_lock;
};
struct Index {
  CollectionIndex *index;
};
static int safe_pread(int fd, size_t len, uint64_t offset) { return fd + (int)len + (int)offset; }
struct FileStore {
  struct Op {
    uint64_t op;
  };
  struct OpSequencer {
    Op *o = nullptr;
    Op *peek_queue() { return o; }
    void wait_for_apply(const hobject_t&) {}
  };
  struct ApplyManager {
    void op_apply_start(uint64_t) {}
    void op_apply_finish(uint64_t) {}
  } apply_manager;
  int queue_transactions(OpSequencer *osr, TrackedOpRef osd_op);
  void op_queue_reserve_throttle(Op *o);
  void _journaled_ahead(OpSequencer *osr, Op *o, void *ondisk);
  void _do_op(OpSequencer *osr);
  int get_index(int, Index *index) { return index->index ? 0 : -1; }
  int lfn_open(int cid,
               const hobject_t& oid,
               bool create,
               FDRef *outfd,
               Index *index);
  int read(int cid, const hobject_t& oid, uint64_t offset, size_t len);
  int _write(int cid, const hobject_t& oid, size_t len, const bufferlist& bl);
};
int FileStore::queue_transactions(OpSequencer *osr, TrackedOpRef osd_op)
{
  op_queue_reserve_throttle(osr->peek_queue());
  return osd_op ? 0 : 1;
}
void FileStore::op_queue_reserve_throttle(Op *o)
{
  o->op = 0;
}
void FileStore::_journaled_ahead(OpSequencer *osr, Op *o, void *ondisk)
{
  osr->o = ondisk ? o : 0;
}
void FileStore::_do_op(OpSequencer *osr)
{
  Op *o = osr->peek_queue();
  apply_manager.op_apply_start(o->op);
  o = osr->peek_queue();
  apply_manager.op_apply_finish(o->op);
}
int FileStore::lfn_open(int cid,
                        const hobject_t& oid,
                        bool create,
                        FDRef *outfd,
                        Index *index)
{
  int r = get_index(cid, index);
  bool need_lock = r == 0;
  if (need_lock) {
    ((*index).index)->access_lock.lock();
  }
  if (*outfd) {
    if (need_lock) {
      ((*index).index)->access_lock.unlock();
    }
    return 0;
  }
  if (!create)
    goto fail;
  (void)oid;
  if (need_lock) {
    ((*index).index)->access_lock.unlock();
  }
  return 0;

 fail:
  if (need_lock) {
    ((*index).index)->access_lock.unlock();
  }
  return r;
}
int FileStore::read(int cid, const hobject_t& oid, uint64_t offset, size_t len)
{
  FDRef fd;
  Index index = {0};
  int got;
  OpSequencer sequencer, *osr = &sequencer;
  osr->wait_for_apply(oid);
  int r = lfn_open(cid, oid, false, &fd, &index);
  if (r < 0)
    return r;
  got = safe_pread(*fd, len, offset);
  return got;
}
int FileStore::_write(int cid, const hobject_t& oid, size_t len, const bufferlist& bl)
{
  FDRef fd;
  Index index = {0};
  int r = lfn_open(cid, oid, true, &fd, &index);
  if (r < 0)
    goto out;
  r = bl.write_fd(*fd);
  r += (int)len;
 out:
  return r;
}

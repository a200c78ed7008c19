// SPDX-License-Identifier: MIT
#include "standin.h"
struct bufferlist {
  int write_fd(int fd) const { return fd; }
};
struct FDRef {
  int fd;
  int operator*() const { return fd; }
  operator bool() const { return fd >= 0; }
};
typedef int Index;
typedef int IndexedPath;
static int safe_pread(int fd, size_t len, uint64_t offset) { return fd + (int)len + (int)offset; }
struct FileStore {
  struct Op {
    uint64_t op;
  };
  struct OpSequencer {
    Op *o;
    Op *peek_queue() { return o; }
  };
  struct ApplyManager {
    void op_apply_start(uint64_t) {}
    void op_apply_finish(uint64_t) {}
  } apply_manager;
  Mutex fdcache_lock;
  int queue_transactions(OpSequencer *osr, TrackedOpRef osd_op);
  void op_queue_reserve_throttle(Op *o);
  void _journaled_ahead(OpSequencer *osr, Op *o, void *ondisk);
  void _do_op(OpSequencer *osr, ThreadPool::TPHandle &handle);
  int get_index(coll_t, Index *index) { return *index; }
  int lfn_open(coll_t cid,
               const hobject_t& oid,
               bool create,
               FDRef *outfd,
               IndexedPath *path,
               Index *index);
  int read(coll_t cid, const hobject_t& oid, uint64_t offset, size_t len);
  int _write(coll_t cid, const hobject_t& oid, size_t len, const bufferlist& bl);
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
void FileStore::_do_op(OpSequencer *osr, ThreadPool::TPHandle &handle)
{
  Op *o = osr->peek_queue();
  apply_manager.op_apply_start(o->op);
  (void)handle;
  apply_manager.op_apply_finish(o->op);
}
int FileStore::lfn_open(coll_t cid,
                        const hobject_t& oid,
                        bool create,
                        FDRef *outfd,
                        IndexedPath *path,
                        Index *index)
{
  int r = 0;
  if (!(*index)) {
    r = get_index(cid, index);
  }
  Mutex::Locker l(fdcache_lock);
  if (*outfd) return 0;
  if (r < 0)
    goto fail;
  if (create)
    *path = 1;
  (void)oid;
  return 0;

 fail:
  return r;
}
int FileStore::read(coll_t cid, const hobject_t& oid, uint64_t offset, size_t len)
{
  FDRef fd;
  int got, path, index;
  int r = lfn_open(cid, oid, false, &fd, &path, &index);
  if (r < 0)
    return r;
  got = safe_pread(*fd, len, offset);
  return got;
}
int FileStore::_write(coll_t cid, const hobject_t& oid, size_t len, const bufferlist& bl)
{
  FDRef fd;
  int path, index;
  int r = lfn_open(cid, oid, true, &fd, &path, &index);
  if (r < 0)
    goto out;
  r = bl.write_fd(*fd);
  r += (int)len;
 out:
  return r;
}

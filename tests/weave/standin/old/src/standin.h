/* SPDX-License-Identifier: MIT
 * Names as the shipped rules expect them in a Ceph of the years 2013 to 2015; what they do is ours. */
#ifndef STANDIN_H
#define STANDIN_H
#include <stdint.h>
#include <stddef.h>
#include <string>
#include <vector>

#define CEPH_MSG_OSD_OP 42
#define CEPH_OSD_FLAG_ONDISK 4

template <class T> struct Ref {
    T *object;
    Ref(T *object_ = 0) : object(object_) {}
    T *get() const { return object; }
    T *operator->() const { return object; }
    T &operator*() const { return *object; }
    operator bool() const { return object != 0; }
};

struct utime_t {
    uint64_t to_nsec() const { return 1; }
};
struct entity_name_t {
    int64_t num() const { return 7; }
};
struct osd_reqid_t {
    entity_name_t name;
    uint64_t tid;
};
struct hobject_t {};
typedef hobject_t ghobject_t;
struct coll_t {};
struct eversion_t {};

struct Message {
    int type;
    int get_type() const { return type; }
    uint64_t get_tid() const { return 3; }
    entity_name_t get_source() const { return entity_name_t(); }
    utime_t get_recv_stamp() const { return utime_t(); }
    utime_t get_throttle_stamp() const { return utime_t(); }
    utime_t get_recv_complete_stamp() const { return utime_t(); }
    utime_t get_dispatch_stamp() const { return utime_t(); }
    unsigned get_data_len() const { return 0; }
};

struct Cond {
    template <class M> void Wait(M &) {}
};
struct Mutex {
    const char *name;
    int _m;
    void Lock(bool no_lockdep = false);
    void Unlock() {}
    struct Locker {
        Locker(Mutex &) {}
    };
};
struct RWLock {
    void get_write() {}
    void put_write() {}
};

struct OpTracker;
struct TrackedOp {
    virtual ~TrackedOp() {}
};
struct OpRequest : public TrackedOp {
    Message *request;
    osd_reqid_t reqid;
    OpRequest(Message *req, OpTracker *tracker);
    osd_reqid_t get_reqid() const { return reqid; }
};
typedef Ref<OpRequest> OpRequestRef;
typedef Ref<TrackedOp> TrackedOpRef;

struct OpTracker {
    void unregister_inflight_op(OpRequest *i);
};
struct ThreadPool {
    struct TPHandle {};
};
#endif

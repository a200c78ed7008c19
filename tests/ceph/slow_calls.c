/* SPDX-License-Identifier: MIT */
/* Delays of a known size in a daemon that knows nothing of them: a shared object for LD_PRELOAD
 * that sleeps in some of the calls that reach the disk.
 *
 * The file that OPTRAIL_SLOW_CALLS names is an array of `struct slow_call`, mapped shared: whoever
 * writes a row's delay changes it at once, and reads there how long was really slept. A call that
 * no row names, and every call while the file is not there, is passed on as it is.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct slow_call {
    char call[16];   /* the function's name; empty: the row is not used */
    char thread[16]; /* the calling thread's name; empty: any */
    _Atomic uint64_t delay_ns;
    _Atomic uint64_t calls;    /* how many were delayed */
    _Atomic uint64_t slept_ns; /* by how much in all, as the clock tells */
};

static struct slow_call *rows;
static size_t n_rows;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void map_rows(void)
{
    const char *path = getenv("OPTRAIL_SLOW_CALLS");
    struct stat status;
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &status) == 0 && status.st_size >= (off_t)sizeof(struct slow_call)) {
        void *map = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            rows = map;
            n_rows = (size_t)status.st_size / sizeof(struct slow_call);
        }
    }
    close(fd);
}

/* Sleeps for what the rows say of this call in this thread. */
static void sleep_in(const char *call)
{
    char thread[16] = "";
    for (size_t i = 0; i < n_rows; i++) {
        uint64_t delay = atomic_load(&rows[i].delay_ns);
        if (delay == 0 || strncmp(rows[i].call, call, sizeof rows[i].call) != 0) {
            continue;
        }
        if (rows[i].thread[0] != '\0' && thread[0] == '\0') {
            pthread_getname_np(pthread_self(), thread, sizeof thread);
        }
        if (rows[i].thread[0] != '\0' &&
            strncmp(rows[i].thread, thread, sizeof rows[i].thread) != 0) {
            continue;
        }
        uint64_t begin = now_ns();
        struct timespec time = {.tv_sec = (time_t)(delay / 1000000000U),
                                .tv_nsec = (long)(delay % 1000000000U)};
        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) != 0) {
        }
        atomic_fetch_add(&rows[i].slept_ns, now_ns() - begin);
        atomic_fetch_add(&rows[i].calls, 1);
    }
}

/* SLOW_CALL(type, name, parameters, arguments): the function of that name, after its delay. */
#define SLOW_CALL(type, name, parameters, arguments)                                               \
    type name parameters;                                                                          \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*_Atomic next) parameters;                                                     \
        type(*call) parameters = atomic_load_explicit(&next, memory_order_relaxed);                \
        if (!call) {                                                                               \
            *(void **)&call = dlsym(RTLD_NEXT, #name);                                             \
            atomic_store_explicit(&next, call, memory_order_relaxed);                              \
        }                                                                                          \
        sleep_in(#name);                                                                           \
        return call arguments;                                                                     \
    }

SLOW_CALL(ssize_t, pread64, (int fd, void *data, size_t size, off64_t at), (fd, data, size, at))
SLOW_CALL(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at),
          (fd, data, size, at))
SLOW_CALL(ssize_t, pwritev64, (int fd, const struct iovec *parts, int n, off64_t at),
          (fd, parts, n, at))
SLOW_CALL(ssize_t, writev, (int fd, const struct iovec *parts, int n), (fd, parts, n))
SLOW_CALL(int, fdatasync, (int fd), (fd))

/* The thread that hears of what the device has done sleeps only when it has heard of something.
 * (libaio's header is not needed for that.) */
int io_getevents(void *context, long least, long most, void *events, struct timespec *longest);
int io_getevents(void *context, long least, long most, void *events, struct timespec *longest)
{
    static int (*_Atomic next)(void *, long, long, void *, struct timespec *);
    int (*call)(void *, long, long, void *, struct timespec *) = atomic_load(&next);
    if (!call) {
        *(void **)&call = dlsym(RTLD_NEXT, "io_getevents");
        atomic_store(&next, call);
    }
    int done = call(context, least, most, events, longest);
    if (done > 0) {
        sleep_in("io_getevents");
    }
    return done;
}

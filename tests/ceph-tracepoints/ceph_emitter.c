/* SPDX-License-Identifier: MIT */
/*
 * ceph_emitter: emits what a Ceph that is built WITH_LTTNG emits for some requests, from the
 * threads that it would come from, and prints, for each event that a stage begins or ends at,
 * between which two times it was emitted:
 *
 *   write 7 prepared 12345678 12345699
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "providers.h"

enum { READ = 2, WRITE = 4, CLIENT = 8, CLIENT_NUMBER = 4123 };
enum { QUEUED = 1, REACHED = 2, STARTED = 8, SENT = 16, COMMITTED = 32 };
enum { WRITES = 60, OLD = 100, CALLS = 50 };
enum { FIRST_STATE = 19, STATES = 4 };

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Emits, and tells between which times. */
#define TELL(kind, number, place, emit)                                                            \
    do {                                                                                           \
        uint64_t before = now_ns();                                                                \
        emit;                                                                                      \
        uint64_t after = now_ns();                                                                 \
        pthread_mutex_lock(&output);                                                               \
        printf("%s %d %s %ju %ju\n", kind, number, place, (uintmax_t)before, (uintmax_t)after);    \
        pthread_mutex_unlock(&output);                                                             \
    } while (0)

#define REQUEST(number) CLIENT, CLIENT_NUMBER, number, 0

static void mark(uint64_t number, int rmw, uint8_t flag, const char *text)
{
    lttng_ust_tracepoint(oprequest, mark_flag_point, REQUEST(number), rmw, flag, text, 0, flag);
}

/* A thread that does one thing, after the one before it. */
struct step {
    void (*step)(int number);
    int number;
};

static void *run(void *argument)
{
    struct step *step = argument;
    step->step(step->number);
    return NULL;
}

static void in_thread(void (*step)(int number), int number)
{
    struct step argument = {step, number};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &argument) != 0)
        abort();
    pthread_join(thread, NULL);
}

/* 16.2.5 on BlueStore: a write with one replica */

static void write_arrives(int i)
{
    TELL("write", i, "dispatch", lttng_ust_tracepoint(osd, ms_fast_dispatch, REQUEST((uint64_t)i)));
    TELL("write", i, "queued", mark((uint64_t)i, 0, QUEUED, "queued_for_pg"));
}

static void write_runs(int i)
{
    uint64_t n = (uint64_t)i;
    TELL("write", i, "taken", lttng_ust_tracepoint(osd, opwq_process_start, REQUEST(n)));
    mark(n, 0, REACHED, "reached_pg");
    lttng_ust_tracepoint(oprequest, set_rmw_flags, REQUEST(n), WRITE, 0, WRITE);
    usleep(100);
    TELL("write", i, "started", mark(n, WRITE, STARTED, "started"));
    TELL("write", i, "prepare", lttng_ust_tracepoint(osd, prepare_tx_enter, REQUEST(n)));
    lttng_ust_tracepoint(osd, do_osd_op_pre_write, "o", 0, 0, 0, 0, 4096, 0, 0);
    usleep(50);
    TELL("write", i, "prepared", lttng_ust_tracepoint(osd, prepare_tx_exit, REQUEST(n)));
    mark(n, WRITE, SENT, "waiting for subops from 1");
    uint64_t asked = now_ns();
    usleep(200);
    double waited = (double)(now_ns() - asked) / 1e9;
    TELL(
        "write", i, "throttled",
        lttng_ust_tracepoint(bluestore, transaction_initial_state, 7, n, 0, 0, 1, 0, 1, 0, waited));
    TELL("write", i, "aio",
         lttng_ust_tracepoint(bluestore, transaction_state_duration, 7, n, FIRST_STATE, 0));
    lttng_ust_tracepoint(osd, opwq_process_finish, REQUEST(n));
}

static void write_commits(int i)
{
    static const char *const places[STATES] = {"aio_told", "io_told", "kv_queue", "kv_taken"};
    uint64_t n = (uint64_t)i;
    for (int state = 1; state < STATES; state++) {
        usleep(150);
        TELL("write", i, places[state],
             lttng_ust_tracepoint(bluestore, transaction_state_duration, 7, n,
                                  (uint8_t)(FIRST_STATE + state), 0));
    }
    usleep(300);
    TELL("write", i, "committed",
         lttng_ust_tracepoint(bluestore, transaction_commit_latency, 7, n, 0));
}

static void answer_arrives(int i)
{
    lttng_ust_tracepoint(osd, ms_fast_dispatch, REQUEST((uint64_t)i));
    mark((uint64_t)i, 0, QUEUED, "queued_for_pg");
}

static void answer_runs(int i)
{
    uint64_t n = (uint64_t)i;
    lttng_ust_tracepoint(osd, opwq_process_start, REQUEST(n));
    mark(n, 0, REACHED, "reached_pg");
    mark(n, 0, STARTED, "started");
    usleep(100);
    TELL("write", i, "sent", mark(n, WRITE, COMMITTED, "commit_sent"));
    lttng_ust_tracepoint(osd, opwq_process_finish, REQUEST(n));
}

/* 0.94 on FileStore: a read, and a write that is applied */

static void old_arrives(int i)
{
    int rmw = i % 2 ? WRITE : READ;
    const char *kind = i % 2 ? "old-write" : "read";
    uint64_t n = 10000 + (uint64_t)i;
    TELL(kind, i, "dispatch", lttng_ust_tracepoint(osd, ms_fast_dispatch, REQUEST(n)));
    lttng_ust_tracepoint(oprequest, set_rmw_flags, REQUEST(n), rmw, 0, rmw);
    TELL(kind, i, "queued", lttng_ust_tracepoint(pg, queue_op, REQUEST(n), rmw));
}

static void old_runs(int i)
{
    int rmw = i % 2 ? WRITE : READ;
    const char *kind = i % 2 ? "old-write" : "read";
    uint64_t n = 10000 + (uint64_t)i;
    TELL(kind, i, "taken", lttng_ust_tracepoint(osd, opwq_process_start, REQUEST(n)));
    mark(n, rmw, REACHED, "reached_pg");
    TELL(kind, i, "started", mark(n, rmw, STARTED, "started"));
    TELL(kind, i, "prepare", lttng_ust_tracepoint(osd, prepare_tx_enter, REQUEST(n)));
    if (rmw == READ) {
        lttng_ust_tracepoint(osd, do_osd_op_pre_read, "o", 0, 0, 0, 0, 8192, 0, 0);
        TELL(kind, i, "reading",
             lttng_ust_tracepoint(objectstore, read_enter, "0.1_head", 0, 8192));
        usleep(250);
        TELL(kind, i, "had", lttng_ust_tracepoint(objectstore, read_exit, 8192));
    }
    TELL(kind, i, "prepared", lttng_ust_tracepoint(osd, prepare_tx_exit, REQUEST(n)));
    TELL(kind, i, "left", lttng_ust_tracepoint(osd, opwq_process_finish, REQUEST(n)));
}

static void old_commits(int i)
{
    usleep(200);
    TELL("old-write", i, "sent", mark(10000 + (uint64_t)i, WRITE, COMMITTED, "commit_sent"));
}

static void old_applies(int i)
{
    TELL("step", i, "begin", lttng_ust_tracepoint(objectstore, write_enter, "0.1", 0, 8192));
    usleep(100);
    TELL("step", i, "end", lttng_ust_tracepoint(objectstore, write_exit, 0));
}

/* A client's librbd */

static void completes(int i)
{
    usleep(300);
    TELL("aio", i, "complete",
         lttng_ust_tracepoint(librbd, aio_complete_enter, (void *)(uintptr_t)0x9000, 4096));
}

static void calls(int i)
{
    void *image = (void *)(uintptr_t)0x5000;
    TELL("call", i, "enter",
         lttng_ust_tracepoint(librbd, write_enter, image, "i", "", 0, 0, 512, "x"));
    usleep(300);
    TELL("call", i, "exit", lttng_ust_tracepoint(librbd, write_exit, 512));
    TELL("aio", i, "enter",
         lttng_ust_tracepoint(librbd, aio_read_enter, image, "i", "", 0, 0, 4096, NULL,
                              (void *)(uintptr_t)0x9000));
    usleep(20);
    TELL("aio", i, "exit", lttng_ust_tracepoint(librbd, aio_read_exit, 0));
    in_thread(completes, i);
}

int main(void)
{
    for (int i = 0; i < WRITES; i++) {
        in_thread(write_arrives, i);
        in_thread(write_runs, i);
        in_thread(write_commits, i);
        in_thread(answer_arrives, i);
        in_thread(answer_runs, i);
    }
    for (int i = 0; i < OLD; i++) {
        in_thread(old_arrives, i);
        in_thread(old_runs, i);
        if (i % 2) {
            in_thread(old_commits, i);
            in_thread(old_applies, i);
        }
    }
    for (int i = 0; i < CALLS; i++)
        in_thread(calls, i);
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "err.h"
#include "trial.skel.h"
#include "uprobe_link.h"

/* Two functions to be probed: a nop of one byte and one of five. They stand alone in assembler so
 * that no compiler moves or pads anything between label and nop. */
__asm__(".pushsection .text\n"
        ".balign 64\n"
        ".type optrail_trial_nop1, @function\n"
        "optrail_trial_nop1:\n"
        "    nop\n"
        "    ret\n"
        ".size optrail_trial_nop1, . - optrail_trial_nop1\n"
        ".balign 64\n"
        ".type optrail_trial_nop5, @function\n"
        "optrail_trial_nop5:\n"
        "    .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
        "    ret\n"
        ".size optrail_trial_nop5, . - optrail_trial_nop5\n"
        ".popsection\n");
extern void optrail_trial_nop1(void);
extern void optrail_trial_nop5(void);

enum { WARM_UP = 200, ROUNDS = 5, CALLS = 200 };

struct attempt {
    void (*function)(void);
    double ns; /* of a call, the best of the rounds */
};

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Runs in a thread that is not the main one: there some kernels miss hits. */
static void *call_often(void *argument)
{
    struct attempt *attempt = argument;
    for (int i = 0; i < WARM_UP; i++)
        attempt->function();
    attempt->ns = 1e12;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int i = 0; i < CALLS; i++)
            attempt->function();
        double each = (now_ns() - start) / CALLS;
        if (each < attempt->ns)
            attempt->ns = each;
    }
    return NULL;
}

/* Address in this process to offset in the file that it was mapped from. */
static int file_offset(const void *code, uint64_t *offset)
{
    uintptr_t address = (uintptr_t)code;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return err_set(errno, "cannot read /proc/self/maps");
    char line[4352];
    int error = -ENOENT;
    while (error && fgets(line, sizeof(line), maps)) {
        uint64_t start, end, where;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &where) == 3 &&
            address >= start && address < end) {
            *offset = where + (address - start);
            error = 0;
        }
    }
    fclose(maps);
    return error ? err_set(ENOENT, "cannot find this program's own code") : 0;
}

static void *detach(void *link)
{
    uprobe_link_detach(link);
    return NULL;
}

/* The kernel lets everyone who detaches wait for a grace period: not us. */
static void detach_meanwhile(struct uprobe_link *link)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, detach, link))
        detach(link);
    else
        pthread_detach(thread);
}

/* Calls the function. Returns ns of a call; 0 when not every hit was counted. */
static double time_calls(void (*function)(void), const volatile uint64_t *hits)
{
    struct attempt work = {.function = function};
    uint64_t before = *hits;
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_often, &work))
        return 0;
    pthread_join(thread, NULL);
    return *hits - before >= WARM_UP + ROUNDS * CALLS ? work.ns : 0;
}

/* Attaches to the first `count` of both functions, calls them, lets the link go. */
static int attempt(const struct uprobe_programs *programs, size_t count,
                   const volatile uint64_t *hits, struct trial *trial)
{
    struct uprobe_place places[2] = {0};
    int error = file_offset((const void *)(uintptr_t)optrail_trial_nop1, &places[0].offset);
    if (!error)
        error = file_offset((const void *)(uintptr_t)optrail_trial_nop5, &places[1].offset);
    if (error)
        return error;
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self < 0)
        return err_set(errno, "cannot open this program's own code: %s", strerror(errno));
    struct uprobe_link *link;
    error = uprobe_link_attach(programs, self, getpid(), places, count, &link);
    close(self);
    if (error)
        return error;
    trial->nop1_ns = time_calls(optrail_trial_nop1, hits);
    trial->nop5_ns = count > 1 ? time_calls(optrail_trial_nop5, hits) : 0;
    detach_meanwhile(link);
    return 0;
}

/* With the 5-byte nop as well, if the kernel takes it: failing there only means that the other one
 * is chosen. */
static int attempt_any(const struct uprobe_programs *programs, const volatile uint64_t *hits,
                       struct trial *trial)
{
    int error = attempt(programs, 2, hits, trial);
    return error && error != -EPERM ? attempt(programs, 1, hits, trial) : error;
}

static int try_multi(struct uprobe_programs *programs, const volatile uint64_t *hits,
                     struct trial *trial)
{
    int error = attempt_any(programs, hits, trial);
    if (!error && trial->nop1_ns == 0) {
        programs->all_processes = trial->all_processes = true;
        error = attempt_any(programs, hits, trial);
    }
    trial->multi = !error && trial->nop1_ns > 0;
    if (!trial->multi)
        trial->all_processes = false;
    return error == -EPERM ? error : 0; /* with the message; else the other way is left */
}

/* Loads the program that this way to attach needs. A kernel that does not know the way refuses. */
static int load(bool multi, struct trial_bpf **result)
{
    struct trial_bpf *skeleton = trial_bpf__open();
    *result = skeleton;
    if (!skeleton)
        return uprobe_refused(-errno, "cannot open the BPF programs");
    bpf_program__set_expected_attach_type(skeleton->progs.trial_multi,
                                          (enum bpf_attach_type)UPROBE_ATTACH_MULTI);
    bpf_program__set_autoload(skeleton->progs.trial_multi, multi);
    bpf_program__set_autoload(skeleton->progs.trial_single, !multi);
    int error = trial_bpf__load(skeleton);
    return error ? uprobe_load_refused(error) : 0;
}

static int try_way(bool multi, struct trial *trial)
{
    struct trial_bpf *skeleton;
    *trial = (struct trial){0};
    int error = load(multi, &skeleton);
    if (!error) {
        struct uprobe_programs programs = {.multi = multi ? skeleton->progs.trial_multi : NULL,
                                           .single = multi ? NULL : skeleton->progs.trial_single};
        const volatile uint64_t *hits = (const volatile uint64_t *)&skeleton->bss->trial_hits;
        error = multi ? try_multi(&programs, hits, trial) : attempt_any(&programs, hits, trial);
    }
    trial_bpf__destroy(skeleton);
    return multi && error != -EPERM ? 0 : error;
}

int trial_run(bool multi, struct trial *trial)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct trial known[2]; /* perf events, uprobe_multi links */
    static bool tried[2];

    pthread_mutex_lock(&lock);
    int error = tried[multi] ? 0 : try_way(multi, &known[multi]);
    tried[multi] = !error;
    *trial = known[multi];
    pthread_mutex_unlock(&lock);
    return error;
}

bool trial_prefers_nop5(const struct trial *trial)
{
    return trial->nop5_ns > 0 && trial->nop5_ns < trial->nop1_ns;
}

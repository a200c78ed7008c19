/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "err.h"

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

/* Attaches to the function, calls it, detaches. *ns stays 0 when not every hit was counted. */
static int attempt(const struct uprobe_programs *programs, void (*function)(void),
                   const volatile uint64_t *hits, double *ns)
{
    struct uprobe_place place = {0};
    int error = file_offset((const void *)(uintptr_t)function, &place.offset);
    if (error)
        return error;
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self < 0)
        return err_set(errno, "cannot open this program's own code: %s", strerror(errno));
    struct uprobe_link *link;
    error = uprobe_link_attach(programs, self, getpid(), &place, 1, &link);
    close(self);
    if (error)
        return error;
    struct attempt work = {.function = function};
    uint64_t before = *hits;
    pthread_t thread;
    bool ran = pthread_create(&thread, NULL, call_often, &work) == 0;
    if (ran)
        pthread_join(thread, NULL);
    *ns = ran && *hits - before >= WARM_UP + ROUNDS * CALLS ? work.ns : 0;
    uprobe_link_detach(link);
    return 0;
}

int trial_run(struct uprobe_programs programs, const volatile uint64_t *hits, struct trial *trial)
{
    *trial = (struct trial){0};
    int error = -ENOTSUP;
    if (programs.multi) {
        error = attempt(&programs, optrail_trial_nop1, hits, &trial->nop1_ns);
        if (!error && trial->nop1_ns == 0) {
            programs.all_processes = trial->all_processes = true;
            error = attempt(&programs, optrail_trial_nop1, hits, &trial->nop1_ns);
        }
        trial->multi = !error && trial->nop1_ns > 0;
    }
    if (error == -EPERM)
        return error; /* the message is set */
    if (!trial->multi && !programs.single)
        return 0; /* the caller tries the other way */
    if (!trial->multi) {
        trial->all_processes = programs.all_processes = false;
        programs.multi = NULL;
        error = attempt(&programs, optrail_trial_nop1, hits, &trial->nop1_ns);
        if (error)
            return error;
    }
    /* failing here only means that the 1-byte nop is taken */
    if (attempt(&programs, optrail_trial_nop5, hits, &trial->nop5_ns))
        trial->nop5_ns = 0;
    return 0;
}

bool trial_prefers_nop5(const struct trial *trial)
{
    return trial->nop5_ns > 0 && trial->nop5_ns < trial->nop1_ns;
}

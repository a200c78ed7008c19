/* SPDX-License-Identifier: MIT */
/* Loads the BPF programs: those that this kernel can do with, and no others. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "tracer_internal.h"
#include "uprobe.skel.h"

/* The inode of the initial pid namespace is fixed: PROC_PID_INIT_INO in <linux/proc_ns.h>. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu
/* enum bpf_attach_type's BPF_TRACE_UPROBE_MULTI, Linux 6.6 */
#define ATTACH_TYPE_UPROBE_MULTI 48

/* The program finds its registers by the kernel's type information. */
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

/* Abilities of the kernel that this variable names (`btf`, `uprobe_multi`, with commas) are taken
 * to be missing: for trying what happens then. */
#define WITHOUT "OPTRAIL_WITHOUT"

/* The kernel stays the same while this process lives: what it can do is tried once. */
static pthread_mutex_t trial_lock = PTHREAD_MUTEX_INITIALIZER;
static struct trial known_trials[2]; /* without, with uprobe_multi links */
static bool tried[2];

static bool is_without(const char *ability)
{
    const char *list = getenv(WITHOUT);
    size_t length = strlen(ability);
    while (list && *list) {
        size_t word = strcspn(list, ",");
        if (word == length && strncmp(list, ability, length) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

static int load_refused(int error)
{
    if (error == -EACCES)
        return err_set(EACCES,
                       "the kernel's verifier refuses the BPF programs: uprobes with cookies "
                       "need Linux 5.15 or later");
    return uprobe_refused(error, "cannot load the BPF programs");
}

/* Loads the programs of one way to attach. Each costs the kernel's verifier some 20 ms. */
static int open_programs(struct tracer *tracer, bool multi)
{
    struct uprobe_bpf *skeleton = uprobe_bpf__open();
    if (!skeleton)
        return uprobe_refused(-errno, "cannot open the BPF programs");
    tracer->skeleton = skeleton;
    skeleton->rodata->target_tgid = (uint32_t)tracer->target.pid;
    struct stat namespace;
    if (stat("/proc/self/ns/pid", &namespace) == 0 && namespace.st_ino != INITIAL_PID_NAMESPACE) {
        skeleton->rodata->namespace_device = namespace.st_dev;
        skeleton->rodata->namespace_inode = namespace.st_ino;
    }
    if (tracer->options.ring_bytes)
        bpf_map__set_max_entries(skeleton->maps.ring, tracer->options.ring_bytes);
    tracer_fold_prepare(tracer);
    struct bpf_program *multis[] = {skeleton->progs.uprobe_multi, skeleton->progs.trial_multi};
    for (size_t i = 0; i < 2; i++)
        bpf_program__set_expected_attach_type(multis[i],
                                              (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI);
    bpf_program__set_autoload(skeleton->progs.uprobe_multi, multi);
    bpf_program__set_autoload(skeleton->progs.trial_multi, multi && !tried[1]);
    bpf_program__set_autoload(skeleton->progs.uprobe_single, !multi);
    bpf_program__set_autoload(skeleton->progs.trial_single, !multi && !tried[0]);
    int error = uprobe_bpf__load(skeleton);
    return error ? load_refused(error) : 0;
}

/* Tries what the kernel can do. *works: this way to attach is one. */
static int try_kernel(struct tracer *tracer, bool multi, bool *works)
{
    struct uprobe_bpf *skeleton = tracer->skeleton;
    struct uprobe_programs programs = {
        .multi = multi ? skeleton->progs.trial_multi : NULL,
        .single = multi ? NULL : skeleton->progs.trial_single,
    };
    int error = 0;
    if (!tried[multi])
        error = trial_run(programs, (const volatile uint64_t *)&skeleton->bss->trial_hits,
                          &known_trials[multi]);
    tried[multi] = !error;
    tracer->trial = known_trials[multi];
    *works = !multi || tracer->trial.multi;
    return error;
}

static void unload(struct tracer *tracer)
{
    uprobe_bpf__destroy(tracer->skeleton);
    tracer->skeleton = NULL;
}

static int load_and_try(struct tracer *tracer)
{
    bool multi = !tracer->options.one_by_one && !is_without("uprobe_multi");
    bool works = false;
    if (multi && !(tried[1] && !known_trials[1].multi)) {
        int error = open_programs(tracer, true);
        if (!error)
            error = try_kernel(tracer, true, &works);
        if (error == -EPERM || works)
            return error;
        unload(tracer);
    }
    int error = open_programs(tracer, false);
    return error ? error : try_kernel(tracer, false, &works);
}

int tracer_load(struct tracer *tracer)
{
    libbpf_set_print(NULL); /* the message is ours to write */
    if (access(KERNEL_TYPES, R_OK) || is_without("btf"))
        return err_set(ENOTSUP, "this kernel has no type information (" KERNEL_TYPES
                                "): it must be built with CONFIG_DEBUG_INFO_BTF");
    pthread_mutex_lock(&trial_lock);
    int error = load_and_try(tracer);
    pthread_mutex_unlock(&trial_lock);
    return error;
}

/* SPDX-License-Identifier: MIT */
/* Loads the BPF programs: those that this kernel can do with, and no others. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "tracer_internal.h"
#include "uprobe.skel.h"

/* The inode of the initial pid namespace is fixed: PROC_PID_INIT_INO in <linux/proc_ns.h>. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

/* The program finds its registers by the kernel's type information. */
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

/* Abilities of the kernel that this variable names (`btf`, `uprobe_multi`, with commas) are taken
 * to be missing: for trying what happens then. */
#define WITHOUT "OPTRAIL_WITHOUT"

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

/* Loads the programs of one way to attach. They cost the kernel's verifier some 200 ms with the
 * fold, 50 ms without. */
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
    bpf_program__set_expected_attach_type(skeleton->progs.uprobe_multi,
                                          (enum bpf_attach_type)UPROBE_ATTACH_MULTI);
    bpf_program__set_autoload(skeleton->progs.uprobe_multi, multi);
    bpf_program__set_autoload(skeleton->progs.uprobe_single, !multi);
    int error = uprobe_bpf__load(skeleton);
    return error ? uprobe_load_refused(error) : 0;
}

int tracer_load(struct tracer *tracer)
{
    libbpf_set_print(NULL); /* the message is ours to write */
    if (access(KERNEL_TYPES, R_OK) || is_without("btf"))
        return err_set(ENOTSUP, "this kernel has no type information (" KERNEL_TYPES
                                "): it must be built with CONFIG_DEBUG_INFO_BTF");
    bool multi = !tracer->options.one_by_one && !is_without("uprobe_multi");
    int error = multi ? trial_run(true, &tracer->trial) : 0;
    if (!error && !tracer->trial.multi)
        error = trial_run(false, &tracer->trial);
    return error ? error : open_programs(tracer, tracer->trial.multi);
}

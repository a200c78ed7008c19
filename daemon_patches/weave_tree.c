/* SPDX-License-Identifier: MIT */
#include "weave_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

int weave_tree_open(const char *name, struct weave_tree *tree)
{
    *tree = (struct weave_tree){.name = name};
    tree->descriptor = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree->descriptor < 0)
        return err_set(errno == ENOENT ? ENOTDIR : errno, "%s: cannot open the directory: %s", name,
                       strerror(errno));
    return 0;
}

void weave_tree_close(struct weave_tree *tree)
{
    close(tree->descriptor);
    tree->descriptor = -1;
}

int weave_tree_lock(const struct weave_tree *tree)
{
    if (flock(tree->descriptor, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return err_set(EBUSY, "%s: another optrail weave is changing it: wait until it is done",
                       tree->name);
    return 0;
}

bool weave_tree_holds(const char *name)
{
    if (!*name || *name == '/' || strstr(name, "..") || strlen(name) >= 1024)
        return false;
    for (; *name; name++)
        if ((unsigned char)*name < ' ')
            return false;
    return true;
}

static int wrong(const struct weave_tree *tree, const char *name, const char *what)
{
    int code = errno ? errno : EIO;
    return err_set(code, "%s/%s: cannot %s: %s", tree->name, name, what,
                   code == ELOOP ? "it is a symbolic link" : strerror(code));
}

/* Opens the directory that the file is in; *base is the last part of the name, and part of it. */
static int open_parent(const struct weave_tree *tree, const char *name, const char **base)
{
    int directory = fcntl(tree->descriptor, F_DUPFD_CLOEXEC, 0);
    for (const char *slash; directory >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        char part[1024];
        size_t length = (size_t)(slash - name);
        if (length == 0 || length >= sizeof(part))
            continue;
        memcpy(part, name, length);
        part[length] = '\0';
        int next = openat(directory, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int code = errno;
        struct stat status;
        if (next < 0 && code == ENOTDIR &&
            fstatat(directory, part, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
            code = ELOOP;
        close(directory);
        errno = code;
        directory = next;
    }
    *base = name;
    return directory;
}

static int read_descriptor(int descriptor, size_t limit, char **text, size_t *size,
                           struct weave_access *access)
{
    struct stat status;
    if (fstat(descriptor, &status) < 0)
        return -1;
    if (!S_ISREG(status.st_mode) || (size_t)status.st_size > limit) {
        errno = EFBIG;
        return -1;
    }
    if (access)
        *access = (struct weave_access){status.st_mode & 07777, status.st_uid, status.st_gid};
    *text = malloc((size_t)status.st_size + 1);
    if (!*text)
        return -1;
    for (ssize_t got = 1; got > 0 && *size < (size_t)status.st_size; *size += (size_t)got) {
        got = read(descriptor, *text + *size, (size_t)status.st_size - *size);
        if (got < 0)
            return -1;
    }
    (*text)[*size] = '\0';
    return 0;
}

int weave_tree_read(const struct weave_tree *tree, const char *name, size_t limit, char **text,
                    size_t *size, struct weave_access *access)
{
    const char *base;
    int directory = open_parent(tree, name, &base), descriptor = -1, result = 0;
    *text = NULL;
    *size = 0;
    if (directory >= 0)
        descriptor = openat(directory, base, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor < 0)
        result = wrong(tree, name, "open it");
    else if (read_descriptor(descriptor, limit, text, size, access) < 0)
        result = errno == EFBIG ? err_set(EINVAL, "%s/%s: no ordinary file of at most %zu MiB",
                                          tree->name, name, limit >> 20)
                                : wrong(tree, name, "read it");
    if (descriptor >= 0)
        close(descriptor);
    if (directory >= 0)
        close(directory);
    if (result) {
        free(*text);
        *text = NULL;
    }
    return result;
}

#define BESIDE ".optrail-" /* NAME.optrail-PROCESS-NUMBER */

/* Creates a file that was not there, beside the one named base. */
static int create_beside(int directory, const char *base, char *beside, size_t size)
{
    int descriptor = -1;
    errno = EEXIST;
    for (int i = 0; i < 100 && descriptor < 0 && errno == EEXIST; i++) {
        if (snprintf(beside, size, "%s" BESIDE "%d-%d", base, (int)getpid(), i) >= (int)size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        descriptor =
            openat(directory, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    return descriptor;
}

static bool is_beside(const char *name, const char *base)
{
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || strncmp(name + length, BESIDE, strlen(BESIDE)) != 0)
        return false;
    name += length + strlen(BESIDE);
    size_t process = strspn(name, "0123456789");
    if (!process || name[process] != '-')
        return false;
    name += process + 1;
    size_t number = strspn(name, "0123456789");
    return number > 0 && !name[number];
}

static int remove_strays(int directory, const char *base, size_t *count)
{
    int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = 0;
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (!list) {
        if (copy >= 0)
            close(copy);
        return -1;
    }
    for (struct dirent *entry; result == 0 && (entry = readdir(list));) {
        struct stat status;
        if (!is_beside(entry->d_name, base) ||
            fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(status.st_mode))
            continue;
        result = unlinkat(directory, entry->d_name, 0);
        *count += result == 0;
    }
    int code = errno;
    closedir(list);
    errno = code;
    return result;
}

int weave_tree_remove_strays(const struct weave_tree *tree, const char *name, size_t *count)
{
    const char *base;
    int directory = open_parent(tree, name, &base), result = 0;
    if (directory < 0 || remove_strays(directory, base, count) < 0)
        result = wrong(tree, name, "remove what an interrupted run left beside it");
    if (directory >= 0)
        close(directory);
    return result;
}

/* 0; 1: it belongs to another user or group than it should; -1 with errno. Ownership goes first: to
 * change it takes bits of the mode away. */
static int give_access(const struct weave_tree *tree, int descriptor,
                       const struct weave_access *access)
{
    struct stat status;
    struct weave_access own = {.mode = 0644};
    if (!access && fstat(tree->descriptor, &status) == 0)
        own.owner = status.st_uid, own.group = status.st_gid;
    if (fstat(descriptor, &status) < 0)
        return -1;
    const struct weave_access *to = access ? access : &own;
    /* who may not give it to its owner may be in its group */
    bool given = (status.st_uid == to->owner && status.st_gid == to->group) ||
                 fchown(descriptor, to->owner, to->group) == 0;
    if (!given && fchown(descriptor, (uid_t)-1, to->group) < 0)
        errno = 0;
    if (fchmod(descriptor, to->mode) < 0)
        return -1;
    return !given && access;
}

static bool write_all(int descriptor, const char *text, size_t size)
{
    for (ssize_t put; size > 0; text += put, size -= (size_t)put)
        if ((put = write(descriptor, text, size)) < 0)
            return false;
    return true;
}

int weave_tree_write_beside(const struct weave_tree *tree, const char *name, const char *text,
                            size_t size, const struct weave_access *access, char **temporary)
{
    const char *base;
    char beside[1024 + 64];
    *temporary = NULL;
    int directory = open_parent(tree, name, &base), descriptor = -1;
    if (directory >= 0)
        descriptor = create_beside(directory, base, beside, sizeof(beside));
    int given = 0;
    bool good = descriptor >= 0 && write_all(descriptor, text, size) &&
                (given = give_access(tree, descriptor, access)) >= 0 && fsync(descriptor) == 0;
    int result = good ? given : wrong(tree, name, "write beside it");
    if (descriptor >= 0 && close(descriptor) < 0 && good)
        result = wrong(tree, name, "write beside it");
    if (result >= 0 && asprintf(temporary, "%.*s%s", (int)(base - name), name, beside) < 0) {
        *temporary = NULL;
        result = err_no_memory();
    }
    if (result < 0 && descriptor >= 0)
        unlinkat(directory, beside, 0);
    if (directory >= 0)
        close(directory);
    return result;
}

int weave_tree_replace(const struct weave_tree *tree, const char *temporary, const char *name)
{
    const char *base;
    int directory = open_parent(tree, name, &base), result = 0;
    if (directory < 0 || renameat(directory, temporary + (base - name), directory, base) < 0)
        result = wrong(tree, name, "replace it");
    if (directory >= 0)
        close(directory);
    return result;
}

int weave_tree_remove(const struct weave_tree *tree, const char *name)
{
    const char *base;
    int directory = open_parent(tree, name, &base), result = 0;
    if ((directory < 0 || unlinkat(directory, base, 0) < 0) && errno != ENOENT)
        result = wrong(tree, name, "remove it");
    if (directory >= 0)
        close(directory);
    return result;
}

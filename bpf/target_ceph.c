/* SPDX-License-Identifier: MIT */
#include "target_ceph.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process_file.h"

/* What stands beside the version in the executable: behind it, or before it. */
static const char behind[] = "\0ceph version ";
static const char before[] = "expected plugin \0";

static bool is_version(const char *text, size_t length)
{
    int dots = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.' && i > 0 && text[i - 1] != '.')
            dots++;
        else if (!isdigit((unsigned char)text[i]))
            return false;
    }
    return dots == 2 && length >= 5 && isdigit((unsigned char)text[length - 1]);
}

/* Looks for the version in a piece of the file. */
static bool version_in(const char *bytes, size_t size, char *version, size_t capacity)
{
    const char *mark = memmem(bytes, size, behind, sizeof(behind) - 1);
    if (mark) {
        const char *start = mark;
        while (start > bytes && (isdigit((unsigned char)start[-1]) || start[-1] == '.'))
            start--;
        if (is_version(start, (size_t)(mark - start))) {
            snprintf(version, capacity, "%.*s", (int)(mark - start), start);
            return true;
        }
    }
    mark = memmem(bytes, size, before, sizeof(before) - 1);
    if (mark) {
        const char *start = mark + sizeof(before) - 1;
        size_t length = strnlen(start, (size_t)(bytes + size - start));
        if (length < capacity && is_version(start, length)) {
            snprintf(version, capacity, "%.*s", (int)length, start);
            return true;
        }
    }
    return false;
}

void target_ceph_version(struct elf_file *file, char *version, size_t capacity)
{
    enum { PIECE = 1 << 20, OVERLAP = 256, MOST = 64 << 20 };
    GElf_Shdr constants;
    version[0] = '\0';
    if (elf_file_section(file, ".rodata", &constants) || constants.sh_type == SHT_NOBITS ||
        constants.sh_offset > elf_file_size(file))
        return;
    char *piece = malloc(PIECE);
    if (!piece)
        return;
    uint64_t size = constants.sh_size < MOST ? constants.sh_size : MOST;
    for (uint64_t done = 0; done < size;) {
        uint64_t length = size - done < PIECE ? size - done : PIECE;
        long got = elf_file_read(file, constants.sh_offset + done, piece, (size_t)length);
        if (got <= 0 || version_in(piece, (size_t)got, version, capacity) || got <= OVERLAP)
            break;
        done += (uint64_t)got - OVERLAP;
    }
    free(piece);
}

/* The first line of DIRECTORY/type, seen with the process's own root. */
static bool read_type(pid_t pid, const char *directory, char *store, size_t size)
{
    char path[PATH_MAX + 8];
    snprintf(path, sizeof(path), "%s/type", directory);
    FILE *file = process_file_open(pid, path);
    if (!file)
        return false;
    bool got = fgets(store, (int)size, file) != NULL;
    fclose(file);
    if (!got) {
        store[0] = '\0';
        return false;
    }
    store[strcspn(store, "\n")] = '\0';
    return true;
}

/* FileStore and BlueStore keep DATA/fsid open and locked as long as they run. */
static bool store_from_open_files(pid_t pid, char *store, size_t size)
{
    char folder[64];
    snprintf(folder, sizeof(folder), "/proc/%d/fd", pid);
    DIR *directory = opendir(folder);
    if (!directory)
        return false;
    bool found = false;
    const struct dirent *entry;
    while (!found && (entry = readdir(directory))) {
        char link[PATH_MAX], file[PATH_MAX];
        snprintf(link, sizeof(link), "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(link, file, sizeof(file) - 1);
        if (length <= 0)
            continue;
        file[length] = '\0';
        char *slash = strrchr(file, '/');
        if (!slash || strcmp(slash, "/fsid") != 0)
            continue;
        *slash = '\0';
        found = read_type(pid, file, store, size);
    }
    closedir(directory);
    return found;
}

/* Does the section's name ("[osd]") apply to osd.ID, and how closely? -1: it does not. */
static int section_rank(const char *line, const char *id)
{
    char own[80];
    snprintf(own, sizeof(own), "[osd.%s]", id);
    if (strncmp(line, own, strlen(own)) == 0)
        return 2;
    if (strncmp(line, "[osd]", 5) == 0)
        return 1;
    return strncmp(line, "[global]", 8) == 0 ? 0 : -1;
}

/* The value of `osd data` if the line sets it ("osd data", "osd_data" and "osd-data" are one). */
static const char *data_setting(char *line)
{
    char *equals = strchr(line, '=');
    if (!equals || strncmp(line, "osd", 3) != 0 || strncmp(line + 4, "data", 4) != 0 ||
        !strchr(" _-", line[3]) || line + 8 + strspn(line + 8, " \t") != equals)
        return NULL;
    char *value = equals + 1 + strspn(equals + 1, " \t\"");
    value[strcspn(value, "\r\n\"#;")] = '\0';
    size_t length = strlen(value);
    while (length && isspace((unsigned char)value[length - 1]))
        value[--length] = '\0';
    return value;
}

/* Puts `id` in the place of $id, "ceph" in that of $cluster. */
static void expand(const char *text, const char *id, char *result, size_t size)
{
    size_t used = 0;
    result[0] = '\0';
    while (*text && used + 1 < size) {
        const char *insert = NULL;
        if (strncmp(text, "$id", 3) == 0) {
            insert = id;
            text += 3;
        } else if (strncmp(text, "$cluster", 8) == 0) {
            insert = "ceph";
            text += 8;
        }
        if (insert)
            used += (size_t)snprintf(result + used, size - used, "%s", insert);
        else {
            result[used++] = *text++;
            result[used] = '\0';
        }
    }
}

static void data_directory(const struct target *target, const char *conf, char *directory,
                           size_t size)
{
    expand("/var/lib/ceph/osd/$cluster-$id", target->id, directory, size);
    FILE *file = process_file_open(target->pid, conf);
    if (!file)
        return;
    char line[4096];
    int rank = -1, best = -1;
    while (fgets(line, sizeof(line), file)) {
        char *text = line + strspn(line, " \t");
        if (*text == '[')
            rank = section_rank(text, target->id);
        const char *value = rank >= best && rank >= 0 ? data_setting(text) : NULL;
        if (value) {
            expand(value, target->id, directory, size);
            best = rank;
        }
    }
    fclose(file);
}

void target_ceph_inspect(struct target *target, const char *arguments, size_t size)
{
    const char *value = target_option(arguments, size, "-i", "--id");
    const char *name = target_option(arguments, size, "-n", "--name");
    if (!value && name && strchr(name, '.'))
        value = strchr(name, '.') + 1;
    snprintf(target->id, sizeof(target->id), "%s", value ? value : "");
    if (strcmp(target->kind, "ceph-osd") != 0)
        return;
    char directory[PATH_MAX];
    value = target_option(arguments, size, NULL, "--osd-data");
    const char *conf = target_option(arguments, size, "-c", "--conf");
    if (value)
        expand(value, target->id, directory, sizeof(directory));
    else if (store_from_open_files(target->pid, target->store, sizeof(target->store)))
        return;
    else
        data_directory(target, conf ? conf : "/etc/ceph/ceph.conf", directory, sizeof(directory));
    read_type(target->pid, directory, target->store, sizeof(target->store));
}

/* SPDX-License-Identifier: MIT */
#include "debug_file.h"

#include <stdio.h>
#include <string.h>

bool debug_file_add(struct stack_module *module, int fd)
{
    struct elf_image image;
    struct build_id id = {0};

    bool good = elf_image_open(&image, fd) == 0;
    if (good)
        elf_image_build_id(&image, &id);
    good = good && id.size > 0 && id.size == module->build_id.size &&
           memcmp(id.bytes, module->build_id.bytes, id.size) == 0;
    if (good) {
        symbol_table_add(&module->names, &image);
        symbol_table_sort(&module->names);
        module->names_whole = true;
    }
    elf_image_close(&image);
    return good;
}

bool debug_file_path(const struct build_id *id, const char *root, char *path)
{
    if (id->size < 2)
        return false;
    int length =
        snprintf(path, DEBUG_FILE_PATH_MAX, "%s/usr/lib/debug/.build-id/%02x/", root, id->bytes[0]);
    for (size_t i = 1; i < id->size; i++)
        length +=
            snprintf(path + length, DEBUG_FILE_PATH_MAX - (size_t)length, "%02x", id->bytes[i]);
    snprintf(path + length, DEBUG_FILE_PATH_MAX - (size_t)length, ".debug");
    return true;
}

static bool add_at(struct stack_module *module, const char *root)
{
    char path[DEBUG_FILE_PATH_MAX];
    int fd = debug_file_path(&module->build_id, root, path) ? elf_image_open_path(path) : -1;
    return fd >= 0 && debug_file_add(module, fd);
}

void debug_file_read_names(struct stack_module *module, pid_t pid)
{
    char root[32];
    if (module->names_read)
        return;
    module->names_read = true;
    symbol_table_add(&module->names, &module->image);
    module->names_whole = elf_image_section(&module->image, ".symtab") != NULL;
    symbol_table_sort(&module->names);
    snprintf(root, sizeof(root), "/proc/%d/root", pid);
    if (!module->names_whole && !add_at(module, root))
        add_at(module, "");
    elf_image_close_file(&module->image);
}

/* SPDX-License-Identifier: MIT */
#include "file_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug_file.h"
#include "demangle.h"
#include "err.h"
#include "stack_module.h"
#include "symbols.h"

enum { PAGE = 4096, SHORTENED_MAX = 512, FIRST_PLACES = 64 };

struct answer {
    uint64_t address;
    bool known;
    char *function; /* owned */
    uint64_t start;
};

struct file_names {
    struct stack_module *module; /* a reference */
    size_t count, places;        /* places: a power of two */
    struct answer *answers;      /* owned; open addressing */
};

static bool is_of_build(const struct stack_module *module, const struct build_id *id)
{
    return !module->bad && id->size > 0 && module->build_id.size == id->size &&
           memcmp(module->build_id.bytes, id->bytes, id->size) == 0;
}

/* Takes the descriptor. */
static int open_module(int fd, const char *path, const struct build_id *id,
                       struct stack_module **module, bool *other)
{
    struct stack_module *made = stack_module_of_file(fd, path);

    if (!made)
        return -ENOMEM;
    if (is_of_build(made, id)) {
        *module = made;
        return 0;
    }
    *other = true;
    stack_module_release(made);
    return 0;
}

static int find_module(const char *path, const struct build_id *id, struct stack_module **module,
                       bool *other)
{
    char debug[DEBUG_FILE_PATH_MAX];
    bool other_debug = false;
    int fd = path[0] == '/' ? elf_image_open_path(path) : -1;
    int result = fd >= 0 ? open_module(fd, path, id, module, other) : 0;

    if (result < 0 || *module || !debug_file_path(id, "", debug))
        return result;
    fd = elf_image_open_path(debug);
    return fd >= 0 ? open_module(fd, path, id, module, &other_debug) : 0;
}

int file_names_open(const char *path, const struct build_id *id, enum file_names_found *found,
                    struct file_names **names)
{
    struct stack_module *module = NULL;
    bool other = false;
    int result = find_module(path, id, &module, &other);

    *names = NULL;
    if (result < 0)
        return result;
    *found = module ? FILE_NAMES_FOUND : other ? FILE_NAMES_OTHER_BUILD : FILE_NAMES_MISSING;
    if (!module)
        return 0;
    struct file_names *made = calloc(1, sizeof(*made));
    if (made)
        made->answers = calloc(FIRST_PLACES, sizeof(*made->answers));
    if (!made || !made->answers) {
        free(made);
        stack_module_release(module);
        return err_no_memory();
    }
    made->module = module;
    made->places = FIRST_PLACES;
    *names = made;
    return 0;
}

void file_names_free(struct file_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->places; i++)
        free(names->answers[i].function);
    free(names->answers);
    stack_module_release(names->module);
    free(names);
}

static struct answer *place_of(struct answer *answers, size_t places, uint64_t address)
{
    size_t at = (address * 0x9e3779b97f4a7c15ull) >> 32;

    while (answers[at & (places - 1)].known && answers[at & (places - 1)].address != address)
        at++;
    return &answers[at & (places - 1)];
}

static int make_room(struct file_names *names)
{
    if (4 * (names->count + 1) <= 3 * names->places)
        return 0;
    struct answer *bigger = calloc(2 * names->places, sizeof(*bigger));
    if (!bigger)
        return err_no_memory();
    for (size_t i = 0; i < names->places; i++)
        if (names->answers[i].known)
            *place_of(bigger, 2 * names->places, names->answers[i].address) = names->answers[i];
    free(names->answers);
    names->answers = bigger;
    names->places *= 2;
    return 0;
}

/* The function's name in the file, as far as it has one: a copy, owned by the caller. */
static int look_up(struct stack_module *module, uint64_t address, struct answer *answer)
{
    char shortened[SHORTENED_MAX];
    uint64_t inside = address - module->low;
    /* without rows (a debug file has none) a symbol without a size is known where it starts only */
    uint32_t from = (uint32_t)inside;
    bool gap = false, starts = false;

    answer->start = address & ~(uint64_t)(PAGE - 1);
    if (address < module->low || address >= module->high)
        return 0;
    if (module->rows.count > 0) {
        gap = unwind_rows_gap(&module->rows, inside, &from);
        starts = !gap && unwind_rows_function(&module->rows, inside, &from);
    }
    if (starts)
        answer->start = module->low + from;
    pthread_mutex_lock(&module->names_lock);
    debug_file_read_names(module, getpid());
    const struct symbol *symbol =
        symbol_table_find(&module->names, address, module->low + from, gap);
    char *whole = symbol ? demangle_symbol(symbol_name(&module->names, symbol)) : NULL;
    if (symbol)
        answer->start = symbol->address;
    bool named = symbol != NULL;
    pthread_mutex_unlock(&module->names_lock);
    if (whole)
        answer->function = strdup(symbols_shorten(whole, shortened, sizeof(shortened)));
    free(whole);
    return named && !answer->function ? err_no_memory() : 0;
}

int file_names_find(struct file_names *names, uint64_t address, struct file_name *name)
{
    int result = make_room(names);

    if (result < 0)
        return result;
    struct answer *answer = place_of(names->answers, names->places, address);
    if (!answer->known) {
        *answer = (struct answer){.address = address};
        result = look_up(names->module, address, answer);
        if (result < 0)
            return result;
        answer->known = true;
        names->count++;
    }
    *name = (struct file_name){.function = answer->function, .start = answer->start};
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug_file.h"
#include "debuginfod.h"
#include "demangle.h"
#include "err.h"
#include "unwinder.h"

enum { FUNCTION_BUCKETS = 4096, FOUND_BITS = 12, SHORTENED_MAX = 512, PAGE = 4096 };

/* A function that was asked for. Its strings live as long as the unwinder: callers have them. */
struct function {
    struct function *next; /* in its bucket; when superseded, among the others of these */
    const struct stack_module *module;
    uint64_t start;
    bool named;              /* by the file; else it is known by its start alone */
    char *whole, *shortened; /* owned; NULL: no name */
};

struct found {
    uint64_t counter; /* that was looked up; 0: empty */
    struct frame_name name;
};

struct held_module {
    struct held_module *next;
    struct stack_module *module;
};

struct names {
    struct function *buckets[FUNCTION_BUCKETS];
    struct function *superseded;
    struct held_module *held;
    struct debuginfod *debuginfod;
    struct found found[1 << FOUND_BITS];
};

static void free_functions(struct function *function)
{
    while (function) {
        struct function *next = function->next;
        free(function->whole);
        free(function->shortened);
        free(function);
        function = next;
    }
}

void names_free(struct names *names)
{
    if (!names)
        return;
    debuginfod_close(names->debuginfod);
    for (size_t i = 0; i < FUNCTION_BUCKETS; i++)
        free_functions(names->buckets[i]);
    free_functions(names->superseded);
    while (names->held) {
        struct held_module *next = names->held->next;
        stack_module_release(names->held->module);
        free(names->held);
        names->held = next;
    }
    free(names);
}

void names_moved(struct names *names)
{
    if (names)
        memset(names->found, 0, sizeof(names->found));
}

static struct names *names_of(struct unwinder *unwinder)
{
    if (!unwinder->names)
        unwinder->names = calloc(1, sizeof(*unwinder->names));
    return unwinder->names;
}

int symbols_debuginfod(struct unwinder *unwinder)
{
    struct names *names = names_of(unwinder);
    if (!names)
        return err_no_memory();
    return names->debuginfod ? 0 : debuginfod_open(&names->debuginfod);
}

/* Keeps the module, whose address and name are used, as long as the unwinder. */
static bool hold(struct names *names, struct stack_module *module)
{
    for (struct held_module *held = names->held; held; held = held->next)
        if (held->module == module)
            return true;
    struct held_module *held = malloc(sizeof(*held));
    if (!held)
        return false;
    *held = (struct held_module){.next = names->held, .module = stack_module_hold(module)};
    names->held = held;
    return true;
}

/* New names for a module: what was answered of it is answered anew. */
static void supersede(struct names *names, const struct stack_module *module)
{
    for (size_t i = 0; i < FUNCTION_BUCKETS; i++)
        for (struct function **link = &names->buckets[i]; *link;) {
            struct function *function = *link;
            if (function->module != module) {
                link = &function->next;
                continue;
            }
            *link = function->next;
            function->next = names->superseded;
            names->superseded = function;
        }
    names_moved(names);
}

static void take_answers(struct names *names)
{
    const struct stack_module *module;
    int fd;
    while (names->debuginfod && debuginfod_answer(names->debuginfod, &module, &fd)) {
        struct held_module *held = names->held;
        while (held->module != module)
            held = held->next;
        pthread_mutex_lock(&held->module->names_lock);
        bool more = debug_file_add(held->module, fd);
        pthread_mutex_unlock(&held->module->names_lock);
        if (more)
            supersede(names, module);
    }
}

static void give_names(struct function *function, const char *raw)
{
    char shortened[SHORTENED_MAX];
    function->whole = demangle_symbol(raw);
    if (!function->whole)
        return;
    function->shortened = strdup(symbols_shorten(function->whole, shortened, sizeof(shortened)));
    if (!function->shortened) {
        free(function->whole);
        function->whole = NULL;
    }
}

/* The function that starts there; made when it is new. `raw`: its name in the file, or NULL. */
static const struct function *function_at(struct names *names, const struct stack_module *module,
                                          uint64_t start, const char *raw)
{
    const uint64_t spread = 0x9e3779b97f4a7c15;
    struct function **bucket =
        &names->buckets[((start ^ (uint64_t)(uintptr_t)module) * spread) >> 52];
    for (struct function *function = *bucket; function; function = function->next)
        if (function->module == module && function->start == start &&
            function->named == (raw != NULL))
            return function;
    struct function *function = calloc(1, sizeof(*function));
    if (!function)
        return NULL;
    *function =
        (struct function){.next = *bucket, .module = module, .start = start, .named = raw != NULL};
    *bucket = function;
    if (raw)
        give_names(function, raw);
    return function;
}

/* Looks up an address of the module's file. */
static void look_up(struct unwinder *unwinder, struct stack_module *module, uint64_t address,
                    struct frame_name *name)
{
    struct names *names = unwinder->names;
    const uint64_t inside = address - module->low;
    uint32_t from;
    bool gap = unwind_rows_gap(&module->rows, inside, &from);

    if (!gap)
        unwind_rows_function(&module->rows, inside, &from);
    name->start = gap ? address & ~(uint64_t)(PAGE - 1) : module->low + from;
    pthread_mutex_lock(&module->names_lock);
    debug_file_read_names(module, unwinder->pid);
    const struct symbol *symbol =
        symbol_table_find(&module->names, address, module->low + from, gap);
    if (symbol)
        name->start = symbol->address;
    const struct function *function = function_at(
        names, module, name->start, symbol ? symbol_name(&module->names, symbol) : NULL);
    bool whole = module->names_whole;
    pthread_mutex_unlock(&module->names_lock);
    if (function) {
        name->function = function->whole;
        name->shortened = function->shortened;
    }
    name->offset = address - name->start;
    if (!symbol && !whole && names->debuginfod)
        debuginfod_ask(names->debuginfod, module);
}

static struct frame_name unknown(uint64_t address, const char *module)
{
    return (struct frame_name){
        .module = module,
        .start = address & ~(uint64_t)(PAGE - 1),
        .offset = address & (PAGE - 1),
    };
}

void symbols_find(struct unwinder *unwinder, uint64_t counter, bool caller, struct frame_name *name)
{
    struct names *names = names_of(unwinder);
    const uint64_t spread = 0x9e3779b97f4a7c15;
    uint64_t address = counter - (caller && counter > 0);

    *name = unknown(counter, "?");
    if (!names)
        return;
    take_answers(names);
    struct found *found = &names->found[(address * spread) >> (64 - FOUND_BITS)];
    if (found->counter != address || address == 0) {
        struct process_map *map = unwinder_map(unwinder, address);
        if (!map || !hold(names, map->module))
            return;
        found->counter = address;
        found->name = (struct frame_name){.module = map->module->name};
        look_up(unwinder, map->module, address - map->bias, &found->name);
    }
    *name = found->name;
    name->offset += counter - address;
}

struct text {
    char *bytes;
    size_t length, capacity;
};

static bool append(struct text *text, const char *more, bool clean)
{
    size_t length = strlen(more);
    if (text->length + length + 1 > text->capacity) {
        size_t capacity = 2 * (text->length + length + 1);
        char *grown = realloc(text->bytes, capacity);
        if (!grown)
            return false;
        text->bytes = grown;
        text->capacity = capacity;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)more[i];
        bool bad = clean && (c < 0x20 || c == 0x7f || c == ';');
        text->bytes[text->length++] = bad ? '_' : (char)c;
    }
    text->bytes[text->length] = '\0';
    return true;
}

size_t symbols_text_depth(const char *text)
{
    size_t depth = *text != 0;
    while ((text = strchr(text, ';')) != NULL) {
        depth++;
        text++;
    }
    return depth;
}

char *symbols_text(struct unwinder *unwinder, const uint64_t *frames, size_t count, bool whole)
{
    struct text text = {0};
    bool good = append(&text, "", false);
    for (size_t i = 0; i < count && good; i++) {
        struct frame_name name;
        char start[32];
        bool caller = i > 0 && !unwinder_is_signal_frame(unwinder, frames[i - 1]);
        symbols_find(unwinder, frames[i], caller, &name);
        good = i == 0 || append(&text, ";", false);
        if (name.function) {
            good = good && append(&text, whole ? name.function : name.shortened, true);
        } else {
            snprintf(start, sizeof(start), "+0x%" PRIx64, name.start);
            good = good && append(&text, name.module, true) && append(&text, start, false);
        }
    }
    if (good)
        return text.bytes;
    free(text.bytes);
    err_no_memory();
    return NULL;
}

/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "err.h"
#include "function_bounds.h"
#include "hit_plan.h"
#include "points.h"
#include "probe_functions.h"
#include "site.h"
#include "tracer_internal.h"
#include "uprobe.skel.h"

/* What our probe library's notes say; nothing else is understood. */
#define USDT_ARGUMENTS "8@%rdi 8@%rsi 8@%rdx"

/* Functions are read up to here to choose a site. */
#define MAX_FUNCTION (128u << 10)

static int reserve(struct tracer *tracer, size_t count)
{
    if (count == 0 || count > UPROBE_MAX_SITES)
        return err_set(E2BIG, "%zu places to probe: between 1 and %d can be", count,
                       UPROBE_MAX_SITES);
    tracer->sites = calloc(count, sizeof(*tracer->sites));
    tracer->specs = calloc(count, sizeof(*tracer->specs));
    tracer->places = calloc(count, sizeof(*tracer->places));
    tracer->names = calloc(count, sizeof(*tracer->names));
    if (!tracer->sites || !tracer->specs || !tracer->places || !tracer->names)
        return err_no_memory();
    tracer->site_count = count;
    return 0;
}

static void accept(struct tracer *tracer, size_t index, uint64_t offset, uint64_t semaphore_offset)
{
    tracer->sites[index].attached = true;
    size_t at = tracer->place_count++;
    bool starts = tracer->specs[index].kind == UPROBE_POINT &&
                  point_rows[tracer->specs[index].point].role == ROLE_START;
    if (starts) {
        tracer->places[at] = tracer->places[tracer->start_count];
        at = tracer->start_count++;
    }
    tracer->places[at] = (struct uprobe_place){offset, semaphore_offset, index};
}

/* Leaves the site out, with err_message() as the reason. */
static void refuse(struct tracer *tracer, size_t index)
{
    snprintf(tracer->sites[index].reason, sizeof(tracer->sites[index].reason), "%s", err_message());
}

/* The program that is looked at. */
struct program {
    struct elf_file *file;
    struct function_bounds *bounds; /* NULL: it does not tell */
};

/* Whether a symbol says the truth, as far as it can be told; *size: how much of the code is its. */
static int check_function(const struct program *program, const struct elf_function *function,
                          size_t *size)
{
    uint64_t start, end;
    *size = function->size && function->size < MAX_FUNCTION ? function->size : 256;
    if (function->ambiguous)
        return err_set(ENOTUNIQ, "the program has several functions of that pattern");
    if (!function->address)
        return err_set(ENOENT, "the program has no such function");
    if (function->indirect)
        return err_set(ENOTSUP, "it is chosen when the program starts: the symbol is of what "
                                "chooses");
    if (!program->bounds)
        return 0;
    if (!function_bounds_find(program->bounds, function->address, &start, &end) ||
        start != function->address)
        return err_set(EINVAL, "its symbol does not begin a function");
    *size = end - start < MAX_FUNCTION ? end - start : MAX_FUNCTION;
    return 0;
}

/* Finds the place for the rows of one function. `registers`: all that any of them needs. */
static int place_function(struct tracer *tracer, const struct program *program, unsigned registers,
                          const struct elf_function *function, size_t index)
{
    size_t size;
    int error = check_function(program, function, &size);
    if (error)
        return error;
    uint8_t *code = malloc(size);
    if (!code)
        return err_no_memory();
    long got = elf_file_read(program->file, function->offset, code, size);
    struct site site;
    error = got < 0
                ? (int)got
                : site_choose(code, (size_t)got, registers, 0, tracer->options.allow_slow, &site);
    free(code);
    if (error)
        return error;
    tracer->sites[index].slow = site.slow;
    accept(tracer, index, function->offset + site.offset, 0);
    return 0;
}

static int add_texts(struct tracer *tracer, const struct probe_row *row)
{
    int map = bpf_map__fd(tracer->skeleton->maps.texts);
    for (size_t i = 0; i < row->text_count; i++) {
        struct uprobe_text text = {0};
        size_t length = strlen(row->texts[i].text);
        memcpy(text.bytes, row->texts[i].text,
               length < sizeof(text.bytes) ? length : sizeof(text.bytes));
        if (bpf_map_update_elem(map, &text, &row->texts[i].point, BPF_ANY))
            return err_set(errno, "cannot fill the table of texts: %s", strerror(errno));
        if (row->utime_stamp && row->texts[i].point < POINT_COUNT)
            tracer->skeleton->bss->utime_points[row->texts[i].point] = true;
    }
    return 0;
}

static int name_of_row(struct tracer *tracer, const struct probe_row *row, size_t index)
{
    struct tracer_site *site = &tracer->sites[index];
    site->function = row->function ? row->function : row->symbol;
    if (row->point >= 0) {
        site->name = point_rows[row->point].name;
        return 0;
    }
    if (row->site.kind == UPROBE_REMEMBER) {
        site->name = "a remembered time";
        return 0;
    }
    char *name;
    if (asprintf(&name, "texts of %.*s", (int)strcspn(site->function, "("), site->function) < 0)
        return err_no_memory();
    site->name = tracer->names[tracer->name_count++] = name;
    return 0;
}

/* The rows that are probed at this level of detail, and the functions they mean. */
struct chosen {
    size_t count;
    const struct probe_row **rows;
    struct elf_function *functions;
    int *errors; /* of those that cannot be, with the reason in tracer->sites */
};

static void chosen_free(struct chosen *chosen)
{
    free(chosen->rows);
    free(chosen->functions);
    free(chosen->errors);
}

static int choose_rows(struct tracer *tracer, struct elf_file *file, const struct probe_map *map,
                       struct chosen *chosen)
{
    chosen->rows = calloc(map->count, sizeof(const struct probe_row *));
    chosen->functions = calloc(map->count, sizeof(*chosen->functions));
    chosen->errors = calloc(map->count, sizeof(*chosen->errors));
    if (!chosen->rows || !chosen->functions || !chosen->errors)
        return err_no_memory();
    char build_id[ELF_BUILD_ID_SIZE];
    elf_file_build_id(file, build_id);
    const struct probe_layout *layout = probe_map_layout(map, build_id);
    enum probe_detail detail = tracer->options.detail ?: DETAIL_STANDARD;
    for (size_t i = 0; i < map->count; i++)
        if ((map->rows[i].details & 1u << detail) && !probe_row_is_needless(&map->rows[i], layout))
            chosen->rows[chosen->count++] = &map->rows[i];
    int error = reserve(tracer, chosen->count);
    return error ? error
                 : probe_functions_find(file, chosen->rows, chosen->count, chosen->functions);
}

static bool fetch_has_field(const struct uprobe_fetch *fetch, int field)
{
    for (int i = 0; i < UPROBE_MAX_LOADS; i++)
        if (fetch->offsets[i] == PROBE_FIELD + field)
            return true;
    return false;
}

/* Whether the row tells a point from a field that this build does not tell, and another row is
 * there for that case. If that one cannot be probed either, it says so itself. */
static bool is_replaced(const struct chosen *chosen, const struct probe_row *row)
{
    const struct uprobe_site *site = &row->site;
    for (size_t i = 0; i < chosen->count; i++) {
        int field = chosen->rows[i]->without;
        if (field >= 0 && row->point >= 0 && chosen->rows[i]->point == row->point &&
            (row->needs == field || fetch_has_field(&site->key, field) ||
             fetch_has_field(&site->arg0, field) || fetch_has_field(&site->arg1, field) ||
             fetch_has_field(&site->when, field)))
            return true;
    }
    return false;
}

/* Fills in the rows; those that this build does not tell enough for get an error. */
static int fill_rows(struct tracer *tracer, struct elf_file *file, const struct probe_map *map,
                     struct chosen *chosen)
{
    char build_id[ELF_BUILD_ID_SIZE];
    elf_file_build_id(file, build_id);
    const struct probe_layout *layout = probe_map_layout(map, build_id);
    int error = 0;
    for (size_t i = 0; !error && i < chosen->count; i++) {
        const struct probe_row *row = chosen->rows[i];
        error = name_of_row(tracer, row, i);
        if (!error)
            error = add_texts(tracer, row);
        if (!error && row->utime_stamp && row->point >= 0)
            tracer->skeleton->bss->utime_points[row->point] = true;
        chosen->errors[i] = probe_row_site(row, layout, &tracer->specs[i]);
        if (chosen->errors[i]) {
            refuse(tracer, i);
            tracer->sites[i].replaced = is_replaced(chosen, row);
        }
    }
    return error;
}

/* One hit serves all rows of a function: chains them behind the first, which alone has a place. */
static void place_rows(struct tracer *tracer, const struct program *program, struct chosen *chosen,
                       size_t first)
{
    unsigned registers = 0;
    size_t last = first, length = 0;
    for (size_t i = first; i < chosen->count; i++) {
        if (chosen->errors[i] ||
            (i != first && (!chosen->functions[i].address ||
                            chosen->functions[i].address != chosen->functions[first].address)))
            continue;
        if (++length > UPROBE_MAX_CHAIN) {
            chosen->errors[i] =
                err_set(E2BIG, "more than %d rows at one function", UPROBE_MAX_CHAIN);
            refuse(tracer, i);
            continue;
        }
        registers |= chosen->rows[i]->registers;
        if (i != first)
            tracer->specs[last].next = (uint16_t)i;
        last = i;
    }
    int error = place_function(tracer, program, registers, &chosen->functions[first], first);
    for (size_t i = first;; i = tracer->specs[i].next) {
        chosen->errors[i] = error ? error : 1;
        if (error)
            refuse(tracer, i);
        else
            tracer->sites[i].attached = true;
        tracer->sites[i].shares_hit = i != first;
        if (tracer->specs[i].next == 0)
            return;
    }
}

static int choose_from_map(struct tracer *tracer, const struct program *program,
                           const struct probe_map *map)
{
    struct elf_file *file = program->file;
    struct chosen chosen = {0};
    int error = choose_rows(tracer, file, map, &chosen);
    if (!error)
        error = fill_rows(tracer, file, map, &chosen);
    if (!error)
        error = tracer_add_classes(tracer, file, map);
    for (size_t i = 0; !error && i < chosen.count; i++) {
        if (!chosen.errors[i])
            place_rows(tracer, program, &chosen, i);
        if (chosen.errors[i] < 0 && chosen.rows[i]->required) {
            err_set(-chosen.errors[i], "%s", tracer->sites[i].reason);
            error =
                err_prefix(chosen.errors[i], "%s:%d: %s cannot be probed at %s", map->file,
                           chosen.rows[i]->line, tracer->sites[i].name, tracer->sites[i].function);
        }
    }
    chosen_free(&chosen);
    return error;
}

/* Whether an instruction begins at a USDT site. Where no function is known, as in code written in
 * assembler, the bytes at the site must do. */
static int check_usdt(const struct program *program, const struct usdt_probe *probe)
{
    uint64_t start, end;
    if (!program->bounds || !function_bounds_find(program->bounds, probe->address, &start, &end))
        return 0;
    size_t size = end - start < MAX_FUNCTION ? end - start : MAX_FUNCTION;
    uint8_t *code = malloc(size);
    if (!code)
        return err_no_memory();
    uint64_t behind = probe->address - start;
    long got = behind <= probe->offset
                   ? elf_file_read(program->file, probe->offset - behind, code, size)
                   : 0;
    bool begins = got > 0 && site_is_boundary(code, (size_t)got, behind);
    free(code);
    return begins ? 0 : err_set(EINVAL, "its site is in the middle of an instruction");
}

/* Finds the place for one USDT probe: the nop that is cheaper here. */
static int place_usdt(struct tracer *tracer, const struct program *program,
                      const struct usdt_probe *probe, size_t index)
{
    int point = point_by_identifier(probe->name);
    if (point < 0)
        return err_set(ENOENT, "this optrail does not know the point %s", probe->name);
    tracer->specs[index] = (struct uprobe_site){.point = (uint16_t)point,
                                                .key = {.reg = UPROBE_RDI, .width = 8},
                                                .arg0 = {.reg = UPROBE_RSI, .width = 8},
                                                .arg1 = {.reg = UPROBE_RDX, .width = 8}};
    tracer->sites[index].name = point_rows[point].name;
    if (strcmp(probe->arguments, USDT_ARGUMENTS) != 0)
        return err_set(ENOTSUP, "its arguments are `%s`, not `%s`", probe->arguments,
                       USDT_ARGUMENTS);
    if (probe->obstacle)
        return err_set(ENOTSUP, "%s", probe->obstacle);
    uint8_t code[16];
    long got = elf_file_read(program->file, probe->offset, code, sizeof(code));
    if (got < 1)
        return err_set(EINVAL, "its site lies outside of the file");
    int error = check_usdt(program, probe);
    if (error)
        return error;
    if (site_is_nop_pair(code, (size_t)got)) {
        accept(tracer, index, probe->offset + (trial_prefers_nop5(&tracer->trial) ? 1 : 0),
               probe->semaphore_offset);
        return 0;
    }
    struct site site;
    error = site_choose(code, 1, 0, 0, tracer->options.allow_slow, &site);
    if (error)
        return error;
    tracer->sites[index].slow = site.slow;
    accept(tracer, index, probe->offset, probe->semaphore_offset);
    return 0;
}

static int choose_from_usdt(struct tracer *tracer, const struct program *program)
{
    int error = usdt_read(program->file, "optrail", &tracer->usdt);
    if (!error && tracer->usdt.count == 0)
        error = err_set(ENOENT, "the program has no probes: nothing to attach to");
    if (!error)
        error = reserve(tracer, tracer->usdt.count);
    for (size_t i = 0; !error && i < tracer->usdt.count; i++) {
        tracer->sites[i].name = tracer->sites[i].function = tracer->usdt.probes[i].name;
        if (place_usdt(tracer, program, &tracer->usdt.probes[i], i))
            refuse(tracer, i);
    }
    return error;
}

/* What the programs are told: of each hit what is read, then what its rows make of it. */
static int fill_specs(struct tracer *tracer)
{
    int sites = bpf_map__fd(tracer->skeleton->maps.sites);
    int hits = bpf_map__fd(tracer->skeleton->maps.hits);
    for (size_t i = 0; i < tracer->place_count; i++) {
        uint32_t first = (uint32_t)tracer->places[i].cookie;
        struct uprobe_hit hit;
        int error = hit_plan(tracer->specs, first, &hit);
        if (error)
            return err_prefix(error, "%s", tracer->sites[first].function);
        if (bpf_map_update_elem(hits, &first, &hit, BPF_ANY))
            return err_set(errno, "cannot fill the table of hits: %s", strerror(errno));
    }
    for (uint32_t i = 0; i < tracer->site_count; i++)
        if (bpf_map_update_elem(sites, &i, &tracer->specs[i], BPF_ANY))
            return err_set(errno, "cannot fill the table of sites: %s", strerror(errno));
    return 0;
}

int tracer_choose_sites(struct tracer *tracer, const struct probe_map *map)
{
    struct program program = {0};
    int error = elf_file_open_fd(tracer->program, tracer->target.program, &program.file);
    if (!error)
        error = function_bounds_read(program.file, &program.bounds);
    if (!error)
        error = map ? choose_from_map(tracer, &program, map) : choose_from_usdt(tracer, &program);
    function_bounds_free(program.bounds);
    elf_file_close(program.file);
    if (!error && tracer->place_count == 0)
        error = err_set(ENOTSUP, "none of the %zu places can be probed; the first: %s",
                        tracer->site_count, tracer->sites[0].reason);
    return error ? error : fill_specs(tracer);
}

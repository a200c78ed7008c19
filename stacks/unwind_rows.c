/* SPDX-License-Identifier: MIT */
#include "unwind_row.h"

#include <errno.h>
#include <stdlib.h>

#include "byte_reader.h"
#include "cfi_program.h"
#include "err.h"
#include "unwind.h"

/* LSB 5, DWARF exception header encoding. */
enum {
    DW_EH_PE_absptr = 0x00,
    DW_EH_PE_uleb128 = 0x01,
    DW_EH_PE_udata2 = 0x02,
    DW_EH_PE_udata4 = 0x03,
    DW_EH_PE_udata8 = 0x04,
    DW_EH_PE_sleb128 = 0x09,
    DW_EH_PE_sdata2 = 0x0a,
    DW_EH_PE_sdata4 = 0x0b,
    DW_EH_PE_sdata8 = 0x0c,
    DW_EH_PE_format = 0x0f,
    DW_EH_PE_pcrel = 0x10,
    DW_EH_PE_omit = 0xff,
};

enum { COMMON_SLOTS = 256, AUGMENTATION_MAX = 8, ROWS_MAX = 32 << 20 };

/* An FDE: whose frames it describes, and where its instructions are. */
struct function_entry {
    uint32_t start, end; /* offsets from the lowest address */
    uint32_t common;     /* its CIE's offset in the section */
    uint32_t at, size;   /* of its instructions in the section */
};

struct common_slot {
    uint64_t offset;
    bool taken, good;
    struct cfi_common common;
};

struct rows_maker {
    const struct eh_frame *frame;
    struct unwind_rows *rows;
    struct common_slot *commons;
    struct function_entry *functions;
    size_t function_count, function_capacity;
    uint64_t budget; /* instructions that may still be run */
    const struct function_entry *current;
    const struct cfi_common *current_common;
    size_t first_row; /* of the current function */
};

static uint64_t position(const struct rows_maker *maker, const uint8_t *at)
{
    return (uint64_t)(at - maker->frame->bytes);
}

/* Reads an encoded pointer; how it is applied is limited to what .eh_frame uses. */
static bool read_pointer(const struct rows_maker *maker, struct byte_reader *reader,
                         uint8_t encoding, uint64_t *value)
{
    uint64_t here = maker->frame->address + position(maker, reader->at);
    switch (encoding & DW_EH_PE_format) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        *value = read_u64(reader);
        break;
    case DW_EH_PE_uleb128:
        *value = read_uleb(reader);
        break;
    case DW_EH_PE_sleb128:
        *value = (uint64_t)read_sleb(reader);
        break;
    case DW_EH_PE_udata2:
        *value = read_u16(reader);
        break;
    case DW_EH_PE_sdata2:
        *value = (uint64_t)(int64_t)(int16_t)read_u16(reader);
        break;
    case DW_EH_PE_udata4:
        *value = read_u32(reader);
        break;
    case DW_EH_PE_sdata4:
        *value = (uint64_t)(int64_t)(int32_t)read_u32(reader);
        break;
    default:
        return false;
    }
    if ((encoding & 0xf0) == DW_EH_PE_pcrel)
        *value += here;
    else if ((encoding & 0xf0) != 0)
        return false;
    return !reader->failed;
}

/* One record: its body, and where the next begins. False at the end. */
static bool next_record(struct byte_reader *section, struct byte_reader *body, bool *wide)
{
    if (bytes_left(section) < sizeof(uint32_t))
        return false;
    uint64_t length = read_u32(section);
    *wide = length == UINT32_MAX;
    if (*wide)
        length = read_u64(section);
    if (length == 0 || section->failed)
        return false;
    *body = byte_reader(section->at, length < bytes_left(section) ? length : bytes_left(section));
    skip_bytes(section, length);
    return !section->failed;
}

/* What the letters of the augmentation announce. */
static bool parse_augmentation(const struct rows_maker *maker, const char *augmentation,
                               struct byte_reader *body, struct cfi_common *common)
{
    if (augmentation[0] == '\0')
        return true;
    if (augmentation[0] != 'z')
        return false;
    common->has_data = true;
    uint64_t size = read_uleb(body);
    if (size > bytes_left(body))
        return false;
    struct byte_reader data = byte_reader(body->at, size);
    for (const char *letter = augmentation + 1; *letter; letter++) {
        uint64_t ignored;
        if (*letter == 'R') {
            common->address_encoding = read_u8(&data);
        } else if (*letter == 'P') {
            uint8_t encoding = read_u8(&data);
            if (encoding != DW_EH_PE_omit && !read_pointer(maker, &data, encoding & 0x1f, &ignored))
                return false;
        } else if (*letter == 'L') {
            read_u8(&data);
        } else if (*letter == 'S') {
            common->signal = true;
        } else {
            break; /* its data are skipped, with those behind them */
        }
    }
    skip_bytes(body, size);
    return !data.failed;
}

static bool parse_common(struct rows_maker *maker, uint64_t offset, struct cfi_common *common)
{
    char augmentation[AUGMENTATION_MAX];
    struct byte_reader section =
        byte_reader(maker->frame->bytes + offset, maker->frame->size - offset);
    struct byte_reader body;
    size_t length = 0;
    bool wide;

    *common = (struct cfi_common){.address_encoding = DW_EH_PE_absptr};
    if (!next_record(&section, &body, &wide) || (wide ? read_u64(&body) : read_u32(&body)) != 0)
        return false;
    uint8_t version = read_u8(&body);
    if (version != 1 && version != 3)
        return false;
    while ((augmentation[length] = (char)read_u8(&body)) != '\0')
        if (++length == AUGMENTATION_MAX)
            return false;
    common->code_align = read_uleb(&body);
    common->data_align = read_sleb(&body);
    common->return_register = version == 1 ? read_u8(&body) : read_uleb(&body);
    if (!parse_augmentation(maker, augmentation, &body, common) || body.failed)
        return false;
    struct cfi_state state = {0};
    if (cfi_run(common, body.at, bytes_left(&body), 0, &state, &maker->budget, NULL, NULL) < 0)
        return false;
    common->initial = state;
    return true;
}

/* The CIE at an offset; NULL when it is none. Files have few. */
static const struct cfi_common *common_at(struct rows_maker *maker, uint64_t offset)
{
    struct common_slot *slot = &maker->commons[(offset >> 2) % COMMON_SLOTS];
    if (!slot->taken || slot->offset != offset) {
        slot->taken = true;
        slot->offset = offset;
        slot->good = parse_common(maker, offset, &slot->common);
    }
    return slot->good ? &slot->common : NULL;
}

static int add_function(struct rows_maker *maker, struct function_entry entry)
{
    if (maker->function_count == maker->function_capacity) {
        size_t capacity = maker->function_capacity ? 2 * maker->function_capacity : 1024;
        void *grown = realloc(maker->functions, capacity * sizeof(*maker->functions));
        if (!grown)
            return err_no_memory();
        maker->functions = grown;
        maker->function_capacity = capacity;
    }
    maker->functions[maker->function_count++] = entry;
    return 0;
}

/* An FDE: 0 also when it is not usable. */
static int parse_function(struct rows_maker *maker, struct byte_reader *body, bool wide)
{
    const struct eh_frame *frame = maker->frame;
    const uint64_t here = position(maker, body->at);
    const uint64_t distance = wide ? read_u64(body) : read_u32(body);
    uint64_t start, size;

    if (distance == 0)
        return 0; /* a CIE */
    const struct cfi_common *common = distance <= here ? common_at(maker, here - distance) : NULL;
    if (!common || !read_pointer(maker, body, common->address_encoding, &start) ||
        !read_pointer(maker, body, common->address_encoding & DW_EH_PE_format, &size)) {
        maker->rows->skipped++;
        return 0;
    }
    if (size == 0)
        return 0;
    if (common->has_data)
        skip_bytes(body, read_uleb(body));
    if (body->failed || start < frame->low || start >= frame->high || size > frame->high - start) {
        maker->rows->skipped++;
        return 0;
    }
    return add_function(maker, (struct function_entry){
                                   .start = (uint32_t)(start - frame->low),
                                   .end = (uint32_t)(start - frame->low + size),
                                   .common = (uint32_t)(here - distance),
                                   .at = (uint32_t)position(maker, body->at),
                                   .size = (uint32_t)bytes_left(body),
                               });
}

static int read_functions(struct rows_maker *maker)
{
    struct byte_reader section = byte_reader(maker->frame->bytes, maker->frame->size);
    struct byte_reader body;
    bool wide;
    while (next_record(&section, &body, &wide)) {
        int result = parse_function(maker, &body, wide);
        if (result < 0)
            return result;
    }
    if (section.failed)
        maker->rows->skipped++;
    return 0;
}

static int add_row(struct unwind_rows *rows, struct unwind_row row)
{
    if (rows->count == ROWS_MAX)
        return -E2BIG;
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 1024;
        void *grown = realloc(rows->rows, capacity * sizeof(*rows->rows));
        if (!grown)
            return err_no_memory();
        rows->rows = grown;
        rows->capacity = capacity;
    }
    rows->rows[rows->count++] = row;
    return 0;
}

static bool same_rules(const struct unwind_row *a, const struct unwind_row *b)
{
    return a->cfa == b->cfa && a->cfa_offset == b->cfa_offset && a->rbp_offset == b->rbp_offset &&
           (a->rbp & RBP_RULE_BITS) == (b->rbp & RBP_RULE_BITS);
}

static int take_state(void *context, uint64_t address, const struct cfi_state *state)
{
    struct rows_maker *maker = context;
    struct unwind_rows *rows = maker->rows;
    if (address >= maker->current->end)
        return 0;
    struct unwind_row row = cfi_row(maker->current_common, state);
    row.start = (uint32_t)address;
    if (rows->count == maker->first_row)
        row.rbp |= ROW_STARTS_FUNCTION;
    else if (same_rules(&rows->rows[rows->count - 1], &row))
        return 0;
    return add_row(rows, row);
}

static int make_function_rows(struct rows_maker *maker, const struct function_entry *function)
{
    struct unwind_rows *rows = maker->rows;
    const struct cfi_common *common = common_at(maker, function->common);
    struct unwind_row nothing = {
        .start = function->start, .cfa = CFA_NO_ROW, .rbp = ROW_STARTS_FUNCTION};

    maker->current = function;
    maker->current_common = common;
    maker->first_row = rows->count;
    if (common) {
        struct cfi_state state = common->initial;
        int result = cfi_run(common, maker->frame->bytes + function->at, function->size,
                             function->start, &state, &maker->budget, take_state, maker);
        if (result != -EINVAL)
            return result;
    }
    rows->count = maker->first_row;
    rows->skipped++;
    return add_row(rows, nothing);
}

static int by_start(const void *a, const void *b)
{
    const struct function_entry *left = a;
    const struct function_entry *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

static int make_rows(struct rows_maker *maker)
{
    uint32_t end = 0; /* of the last function that has rows */
    int result = 0;

    if (maker->function_count > 0)
        qsort(maker->functions, maker->function_count, sizeof(*maker->functions), by_start);
    for (size_t i = 0; i < maker->function_count && result == 0; i++) {
        const struct function_entry *function = &maker->functions[i];
        if (i > 0 && function->start < end) {
            maker->rows->skipped++;
            continue;
        }
        if (end > 0 && function->start > end)
            result = add_row(maker->rows, (struct unwind_row){.start = end, .cfa = CFA_NO_ROW});
        if (result == 0)
            result = make_function_rows(maker, function);
        end = function->end;
    }
    if (result == 0 && end > 0)
        result = add_row(maker->rows, (struct unwind_row){.start = end, .cfa = CFA_NO_ROW});
    if (result == -E2BIG) { /* what there is can be used */
        maker->rows->skipped++;
        maker->rows->rows[maker->rows->count - 1].cfa = CFA_NO_ROW;
        result = 0;
    }
    return result;
}

int unwind_rows_make(const struct eh_frame *frame, struct unwind_rows *rows)
{
    struct rows_maker maker = {
        .frame = frame,
        .rows = rows,
        .budget = 4 * (uint64_t)frame->size + 65536,
        .commons = calloc(COMMON_SLOTS, sizeof(*maker.commons)),
    };
    *rows = (struct unwind_rows){0};
    int result = maker.commons ? read_functions(&maker) : err_no_memory();
    if (result == 0)
        result = make_rows(&maker);
    if (result == 0 && rows->count > 0) {
        struct unwind_row *fitting = realloc(rows->rows, rows->count * sizeof(*rows->rows));
        rows->rows = fitting ? fitting : rows->rows;
        rows->capacity = fitting ? rows->count : rows->capacity;
    }
    free(maker.functions);
    free(maker.commons);
    return result;
}

void unwind_rows_free(struct unwind_rows *rows)
{
    free(rows->rows);
    *rows = (struct unwind_rows){0};
}

/* The last row that does not start behind the offset; NULL: none. */
static const struct unwind_row *last_row(const struct unwind_rows *rows, uint64_t offset)
{
    size_t low = 0, high = rows->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->rows[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &rows->rows[low - 1] : NULL;
}

const struct unwind_row *unwind_rows_find(const struct unwind_rows *rows, uint64_t offset)
{
    const struct unwind_row *row = last_row(rows, offset);
    return row && row->cfa != CFA_NO_ROW ? row : NULL;
}

bool unwind_rows_function(const struct unwind_rows *rows, uint64_t offset, uint32_t *start)
{
    const struct unwind_row *row = unwind_rows_find(rows, offset);
    if (!row)
        return false;
    while (!(row->rbp & ROW_STARTS_FUNCTION))
        row--;
    *start = row->start;
    return true;
}

bool unwind_rows_gap(const struct unwind_rows *rows, uint64_t offset, uint32_t *start)
{
    const struct unwind_row *row = last_row(rows, offset);
    *start = row ? row->start : 0;
    return !row || row->cfa == CFA_NO_ROW;
}

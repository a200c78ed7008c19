/* SPDX-License-Identifier: MIT */
#include "yaml_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

/* No file of ours is larger; a larger one is a mistake, or an attack. */
#define MAX_BYTES (1 << 20)

int yaml_line(const yaml_node_t *node)
{
    return (int)node->start_mark.line + 1;
}

const yaml_node_t *yaml_node(const struct yaml_file *file, int index)
{
    /* libyaml only looks; it has no const for it */
    return yaml_document_get_node((yaml_document_t *)&file->document, index);
}

int yaml_wrong(const struct yaml_file *file, const yaml_node_t *node, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return err_set(EINVAL, "%s:%d: %s", file->name, yaml_line(node), text);
}

/* Opens without waiting for anybody: a pipe would make us wait for its writer. */
static int open_ordinary(const char *name, FILE **in)
{
    struct stat status;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set(errno, "%s: cannot open it: %s", name, strerror(errno));
    int rc = 0;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > MAX_BYTES)
        rc = err_set(EINVAL, "%s: no ordinary file of at most 1 MiB", name);
    else if (!(*in = fdopen(fd, "r")))
        rc = err_set(errno, "%s: cannot read it: %s", name, strerror(errno));
    if (rc < 0)
        close(fd);
    return rc;
}

/* Loads from the one that is not NULL. */
static int load(struct yaml_file *file, FILE *in, const char *text, const yaml_node_t **root)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return err_no_memory();
    if (in)
        yaml_parser_set_input_file(&parser, in);
    else
        yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
    int rc = 0;
    if (!yaml_parser_load(&parser, &file->document))
        rc = err_set(EINVAL, "%s:%zu: not YAML: %s", file->name, parser.problem_mark.line + 1,
                     parser.problem ? parser.problem : "out of memory");
    yaml_parser_delete(&parser);
    if (rc == 0)
        *root = yaml_document_get_root_node(&file->document);
    return rc;
}

int yaml_file_load(struct yaml_file *file, const char *name, const char *manual,
                   const yaml_node_t **root)
{
    *file = (struct yaml_file){.name = name, .manual = manual};
    FILE *in = NULL;
    int rc = open_ordinary(name, &in);
    if (rc < 0)
        return rc;
    rc = load(file, in, NULL, root);
    fclose(in);
    return rc;
}

int yaml_text_load(struct yaml_file *file, const char *name, const char *manual, const char *text,
                   const yaml_node_t **root)
{
    *file = (struct yaml_file){.name = name, .manual = manual};
    return load(file, NULL, text, root);
}

void yaml_file_close(struct yaml_file *file)
{
    yaml_document_delete(&file->document);
}

int yaml_string(const struct yaml_file *file, const yaml_node_t *node, const char **string)
{
    *string = "";
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.length == 0 ||
        strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
        return yaml_wrong(file, node, "a word or a sentence is wanted here");
    *string = (const char *)node->data.scalar.value;
    return 0;
}

int yaml_copy(const struct yaml_file *file, const yaml_node_t *node, char **field)
{
    const char *value;
    int rc = yaml_string(file, node, &value);
    if (rc < 0)
        return rc;
    if (*field)
        return yaml_wrong(file, node, "this is said twice");
    *field = strdup(value);
    return *field ? 0 : err_no_memory();
}

int yaml_bool(const struct yaml_file *file, const yaml_node_t *node, bool *value)
{
    const char *text;
    int rc = yaml_string(file, node, &text);
    if (rc < 0)
        return rc;
    *value = strcmp(text, "true") == 0;
    if (!*value && strcmp(text, "false") != 0)
        return yaml_wrong(file, node, "true or false is wanted here, not '%s'", text);
    return 0;
}

int yaml_each_item(const struct yaml_file *file, const yaml_node_t *node, yaml_handler *handler,
                   void *context)
{
    if (node->type != YAML_SEQUENCE_NODE)
        return yaml_wrong(file, node, "a list is wanted here");
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        int rc = handler(file, yaml_node(file, *item), context);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int yaml_each_key(const struct yaml_file *file, const yaml_node_t *node,
                  const struct yaml_key *keys, void *context)
{
    if (node->type != YAML_MAPPING_NODE)
        return yaml_wrong(file, node, "keys and values are wanted here");
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_node(file, pair->key);
        const char *name;
        int rc = yaml_string(file, key, &name);
        if (rc < 0)
            return rc;
        const struct yaml_key *row = keys;
        while (row->name && strcmp(row->name, name) != 0)
            row++;
        if (!row->name)
            return yaml_wrong(file, key, "unknown key '%s' (%s has those there are)", name,
                              file->manual);
        rc = row->handler(file, yaml_node(file, pair->value), context);
        if (rc < 0)
            return rc;
    }
    return 0;
}

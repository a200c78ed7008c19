/* SPDX-License-Identifier: MIT */
#include "tolerant_json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

#define DEEPEST 64 /* lists in lists; what lies deeper is put into the last one */

struct tolerant {
    struct tolerant_node *root, *newest, *list;
    size_t depth;
    char *strings; /* room for all of them: none is longer than what it was written as, and a 0 */
    size_t used;
    const char *key; /* read, its value not yet */
    const char *at, *end;
};

static struct tolerant_node *add_node(struct tolerant *tree, enum tolerant_type type)
{
    struct tolerant_node *node = calloc(1, sizeof(*node));

    if (!node) {
        err_no_memory();
        return NULL;
    }
    node->type = type;
    node->key = tree->key ? tree->key : "";
    node->text = "";
    tree->key = NULL;
    node->parent = tree->list;
    if (tree->list && tree->list->last)
        tree->list->last->next = node;
    else if (tree->list)
        tree->list->first = node;
    if (tree->list)
        tree->list->last = node;
    if (tree->newest)
        tree->newest->all = node;
    tree->newest = node;
    return node;
}

/* A closing bracket ends the innermost list of its kind, and those in it, which lost theirs. One
 * that opens nothing belongs to what was cut off. */
static void close_list(struct tolerant *tree, char open)
{
    struct tolerant_node *list = tree->list;

    while (list->open && list->open != open)
        list = list->parent;
    tree->key = NULL;
    if (!list->open)
        return;
    while (tree->list != list) {
        tree->list = tree->list->parent;
        tree->depth--;
    }
    list->closed = true;
    tree->list = list->parent;
    tree->depth--;
}

static int open_list(struct tolerant *tree, char open)
{
    if (tree->depth == DEEPEST)
        return 0;
    struct tolerant_node *node = add_node(tree, TOLERANT_LIST);
    if (!node)
        return -1;
    node->open = open;
    tree->list = node;
    tree->depth++;
    return 0;
}

static void skip_line(struct tolerant *tree)
{
    while (tree->at < tree->end && *tree->at != '\n')
        tree->at++;
}

/* Whether a colon comes next: then what was read is a key. */
static bool take_colon(struct tolerant *tree)
{
    const char *at = tree->at;

    while (at < tree->end && isspace((unsigned char)*at))
        at++;
    if (at == tree->end || *at != ':')
        return false;
    tree->at = at + 1;
    return true;
}

static int add_text(struct tolerant *tree, char *text, enum tolerant_type type)
{
    if (type == TOLERANT_STRING && take_colon(tree)) {
        tree->key = text;
        return 0;
    }
    struct tolerant_node *node = add_node(tree, type);
    if (!node)
        return -1;
    node->text = text;
    node->number = strtod(text, NULL);
    return 0;
}

/* Four digits behind \u; -1: they are not there. */
static long hexadecimal(const struct tolerant *tree)
{
    long value = 0;

    for (int i = 0; i < 4; i++) {
        if (tree->at + i >= tree->end || !isxdigit((unsigned char)tree->at[i]))
            return -1;
        int digit = tolower((unsigned char)tree->at[i]);
        value = 16 * value + (digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

/* The character as UTF-8, no longer than the escape was; returns how many bytes. */
static size_t put_character(unsigned long character, char *text)
{
    if (character < 0x80) {
        text[0] = character ? (char)character : ' '; /* 0 would end the text */
        return 1;
    }
    if (character < 0x800) {
        text[0] = (char)(0xc0 | character >> 6);
        text[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        text[0] = (char)(0xe0 | character >> 12);
        text[1] = (char)(0x80 | (character >> 6 & 0x3f));
        text[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    text[0] = (char)(0xf0 | character >> 18);
    text[1] = (char)(0x80 | (character >> 12 & 0x3f));
    text[2] = (char)(0x80 | (character >> 6 & 0x3f));
    text[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

/* What a backslash and the character behind it stand for; returns how many bytes. */
static size_t escaped(struct tolerant *tree, char character, char *text)
{
    static const char letters[] = "nrtbf", values[] = "\n\r\t\b\f";
    const char *letter = strchr(letters, character);
    long high = character == 'u' ? hexadecimal(tree) : -1;

    if (high >= 0) {
        tree->at += 4;
        bool pair = high >= 0xd800 && high < 0xdc00 && tree->end - tree->at >= 6 &&
                    tree->at[0] == '\\' && tree->at[1] == 'u';
        if (pair) {
            tree->at += 2;
            long low = hexadecimal(tree);
            if (low >= 0xdc00 && low < 0xe000) {
                tree->at += 4;
                return put_character(0x10000 + ((unsigned long)(high - 0xd800) << 10) +
                                         (unsigned long)(low - 0xdc00),
                                     text);
            }
            tree->at -= 2;
        }
        /* half a pair is no character */
        return put_character(high >= 0xd800 && high < 0xe000 ? 0xfffd : (unsigned long)high, text);
    }
    *text = letter && character ? values[letter - letters] : character == '\n' ? ' ' : character;
    return 1;
}

/* A wrapped string goes on behind the break. One whose end is missing is no string. */
static int string(struct tolerant *tree)
{
    char quote = *tree->at++;
    char *text = tree->strings + tree->used;
    size_t length = 0;

    while (tree->at < tree->end && *tree->at != quote) {
        char character = *tree->at++;
        if (character == '\\' && tree->at < tree->end) {
            character = *tree->at++;
            length += escaped(tree, character, text + length);
            continue;
        }
        text[length++] = character == '\n' ? ' ' : character;
    }
    if (tree->at == tree->end)
        return 0;
    tree->at++;
    text[length++] = '\0';
    tree->used += length;
    return add_text(tree, text, TOLERANT_STRING);
}

static bool is_word(char character)
{
    return isalnum((unsigned char)character) || strchr("_.+-", character);
}

/* A number, true, or anything else, which is no value. One at the end may be cut. */
static int word(struct tolerant *tree)
{
    char *text = tree->strings + tree->used, *end;
    size_t length = 0;

    while (tree->at < tree->end && *tree->at && is_word(*tree->at))
        text[length++] = *tree->at++;
    text[length] = '\0';
    if (tree->at == tree->end)
        return 0;
    if (length == 1 && (*text == 'u' || *text == 'b') && strchr("\"'", *tree->at))
        return 0; /* Python's mark of a string */
    strtod(text, &end);
    bool constant = strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
    if ((*end || end == text) && !constant) {
        tree->key = NULL;
        return 0;
    }
    tree->used += length + 1;
    return add_text(tree, text, TOLERANT_NUMBER);
}

static int step(struct tolerant *tree)
{
    char character = *tree->at, next = tree->at + 1 < tree->end ? tree->at[1] : '\0';

    if (character == '{' || character == '[') {
        tree->at++;
        return open_list(tree, character);
    }
    if (character == '}' || character == ']') {
        tree->at++;
        close_list(tree, character == '}' ? '{' : '[');
        return 0;
    }
    if (character == '"' || (character == '\'' && tree->list->open))
        return string(tree);
    if ((character == '#' || (character == '/' && next == '/')) && tree->list->open) {
        skip_line(tree);
        return 0;
    }
    if (is_word(character))
        return word(tree);
    tree->at++;
    return 0;
}

struct tolerant *tolerant_parse(const char *text, size_t size)
{
    struct tolerant *tree = calloc(1, sizeof(*tree));

    if (tree)
        tree->strings = malloc(2 * size + 2);
    if (!tree || !tree->strings) {
        err_no_memory();
        free(tree);
        return NULL;
    }
    tree->at = text;
    tree->end = text + size;
    tree->root = add_node(tree, TOLERANT_LIST);
    tree->list = tree->root;
    int result = tree->root ? 0 : -1;
    while (result == 0 && tree->at < tree->end)
        result = step(tree);
    if (result == 0)
        return tree;
    tolerant_free(tree);
    return NULL;
}

void tolerant_free(struct tolerant *tree)
{
    if (!tree)
        return;
    for (struct tolerant_node *node = tree->root, *next; node; node = next) {
        next = node->all;
        free(node);
    }
    free(tree->strings);
    free(tree);
}

struct tolerant_node *tolerant_root(struct tolerant *tree)
{
    return tree->root;
}

struct tolerant_node *tolerant_child(const struct tolerant_node *list, const char *key)
{
    for (struct tolerant_node *node = list->first; node; node = node->next)
        if (strcmp(node->key, key) == 0)
            return node;
    return NULL;
}

const char *tolerant_text(const struct tolerant_node *list, const char *key)
{
    const struct tolerant_node *node = tolerant_child(list, key);

    return node ? node->text : "";
}

bool tolerant_number(const struct tolerant_node *list, const char *key, double *number)
{
    const char *text = tolerant_text(list, key);
    char *end;

    *number = strtod(text, &end);
    return end != text;
}

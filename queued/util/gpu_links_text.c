/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_links_text.c - reads `nvidia-smi topo -m`: words, header, rows.
 *
 * Words end at blanks, tabs and escape sequences (also without the lost ESC byte); that the
 * diagonal is X shows every lost cell. Lines that are neither header nor row are passed over: what
 * is missing is found at the end. Columns count bytes from 1.
 */
#include "util/gpu_links_text.h"

#include <stdio.h>
#include <string.h>

const char *const link_words[LINK_N] = {"NV#", "PSB", "PIX", "PXB", "PHB", "NODE", "SYS"};

enum { NAME_MAX_LEN = 31, SHOWN = 24 };

struct word {
    const char *s;
    size_t len;
};

struct reader {
    const char *at, *begin, *end; /* of the line that is read */
    unsigned line, header_line;
    struct gpu_links *x;
    uint32_t n_rows;
    bool has_row[LINK_DEVICES_MAX];
    char name[LINK_DEVICES_MAX][NAME_MAX_LEN + 1];
    struct err *err;
};

static uint32_t devices(const struct reader *r)
{
    return r->x->n_gpus + r->x->n_nics;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of text that stand for nothing: blanks, what is not ASCII, "ESC[4m", "[0m". */
static size_t blank_len(const char *s, const char *end)
{
    const char *p = s;

    if (*s <= ' ' && *s != '\033')
        return 1; /* char may be signed or not: both ends of the range */
    if ((unsigned char)*s >= 0x7f)
        return 1;
    p += *p == '\033';
    if (p == end || *p != '[')
        return (size_t)(p - s);
    for (p++; p < end && (is_digit(*p) || *p == ';'); p++)
        ;
    return p < end && *p == 'm' ? (size_t)(p + 1 - s) : 0;
}

static bool next_word(struct reader *r, struct word *ret)
{
    size_t n;

    for (; r->at < r->end; r->at += n) {
        n = blank_len(r->at, r->end);
        if (!n)
            break;
    }
    ret->s = r->at;
    while (r->at < r->end && !blank_len(r->at, r->end))
        r->at++;
    ret->len = (size_t)(r->at - ret->s);
    return ret->len > 0;
}

static int damage(struct reader *r, const struct word *w, const char *what)
{
    return err_set(r->err, ERR_INVALID, "%u:%u: \"%.*s\": %s", r->line,
                   (unsigned)(w->s - r->begin) + 1, (int)(w->len < SHOWN ? w->len : SHOWN), w->s,
                   what);
}

static bool is_word(const struct word *w, const char *s)
{
    return w->len == strlen(s) && !memcmp(w->s, s, w->len);
}

/* "GPU7": letters, then a number and nothing else. */
static bool is_numbered(const struct word *w, const char *letters)
{
    size_t n = strlen(letters);

    if (w->len <= n || memcmp(w->s, letters, n) != 0)
        return false;
    while (n < w->len && is_digit(w->s[n]))
        n++;
    return n == w->len;
}

static bool begins_name(const char *s, size_t len)
{
    static const char *const begins[] = {"GPU", "NIC", "CPU", "NUMA", "mlx", "roce", "ibp"};

    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (len >= strlen(begins[i]) && !memcmp(s, begins[i], strlen(begins[i])))
            return true;
    return false;
}

/* Names that run together are parted: a new one begins behind a digit. */
static bool next_name(struct reader *r, struct word *ret)
{
    if (!next_word(r, ret))
        return false;
    for (size_t i = 1; i < ret->len; i++)
        if (is_digit(ret->s[i - 1]) && begins_name(ret->s + i, ret->len - i)) {
            ret->len = i;
            r->at = ret->s + i;
        }
    return true;
}

static bool is_title(const struct word *w)
{
    return is_word(w, "CPU") || is_word(w, "NUMA") || is_word(w, "GPU");
}

static bool is_name(const struct word *w)
{
    bool has_digit = false;

    for (size_t i = 0; i < w->len; i++) {
        char c = w->s[i], low = (char)(c | 0x20);

        has_digit = has_digit || is_digit(c);
        if (!is_digit(c) && !(low >= 'a' && low <= 'z') && (c != '_' && c != '-' && c != '.'))
            return false;
    }
    return has_digit && !is_digit(w->s[0]) && w->len <= NAME_MAX_LEN;
}

static uint32_t find(const struct reader *r, const struct word *w)
{
    uint32_t i = 0;

    while (i < devices(r) && !is_word(w, r->name[i]))
        i++;
    return i;
}

static int add_device(struct reader *r, const struct word *w)
{
    char expected[16];
    bool is_gpu = is_numbered(w, "GPU");

    (void)snprintf(expected, sizeof(expected), "GPU%u", r->x->n_gpus);
    if (!is_name(w))
        return damage(r, w, "not the name of a device");
    if (is_gpu && (r->x->n_nics || !is_word(w, expected)))
        return damage(r, w, "the GPUs of the header are not numbered from GPU0 upwards");
    if (find(r, w) < devices(r))
        return damage(r, w, "named twice in the header");
    if (is_gpu ? r->x->n_gpus == LINK_GPUS_MAX : r->x->n_nics == LINK_NICS_MAX)
        return damage(r, w, "more than 16 GPUs or 64 NICs in one host");
    (void)snprintf(r->name[devices(r)], sizeof(r->name[0]), "%.*s", (int)w->len, w->s);
    if (is_gpu)
        r->x->n_gpus++;
    else
        r->x->n_nics++;
    return 0;
}

/* A line before the first row: the header where it holds GPU0, its next line where it goes on with
 * devices, else none. A later header replaces an earlier one (words of a banner). */
static void read_header(struct reader *r)
{
    struct word w;
    const char *begin = r->at;

    while (next_name(r, &w) && !is_word(&w, "GPU0"))
        ;
    if (w.len) {
        r->x->n_gpus = r->x->n_nics = 0;
        r->header_line = r->line;
    } else {
        r->at = begin;
        if (!devices(r) || !next_name(r, &w) || !is_name(&w))
            return;
    }
    for (bool more = true; more && !is_title(&w); more = next_name(r, &w))
        if (add_device(r, &w)) {
            r->x->n_gpus = r->x->n_nics = 0;
            return;
        }
}

/* The distance a cell says; 0 for X, -1 for what is no cell. */
static int cell_distance(const struct word *w)
{
    unsigned links = 0;

    if (is_word(w, "X"))
        return 0;
    if (is_word(w, "SOC"))
        return LINK_FAR + LINK_SYS;
    for (int c = LINK_PSB; c < LINK_N; c++)
        if (is_word(w, link_words[c]))
            return LINK_FAR + c;
    if (w->len > 5 || !is_numbered(w, "NV"))
        return -1;
    for (size_t i = 2; i < w->len; i++)
        links = links * 10 + (unsigned)(w->s[i] - '0');
    return links && links < LINK_FAR ? (int)(LINK_FAR - links) : -1;
}

static int read_cell(struct reader *r, uint32_t row, uint32_t column)
{
    struct word w;
    int d;
    bool has_nic = row >= r->x->n_gpus || column >= r->x->n_gpus;

    if (!next_word(r, &w))
        return err_set(r->err, ERR_INVALID, "%u:%u: the row of %s ends before its cell for %s",
                       r->line, (unsigned)(r->end - r->begin) + 1, r->name[row], r->name[column]);
    d = cell_distance(&w);
    if (d < 0)
        return damage(r, &w,
                      "no link: a cell is X, NV#, PSB, PIX, PXB, PHB, NODE, SYS or SOC; "
                      "cells are cut or run together");
    if ((d == 0) != (row == column))
        return damage(r, &w,
                      "X stands where a device meets itself, and only there: a cell is lost");
    if (d && d < LINK_FAR && has_nic)
        return damage(r, &w, "no NIC is reached over NVLink");
    if (r->has_row[column] && r->x->distance[column][row] != d)
        return damage(r, &w, "the same pair has another link in its other row");
    r->x->distance[row][column] = (uint16_t)d;
    return 0;
}

static int read_row(struct reader *r, const struct word *name, uint32_t row)
{
    struct word w;

    if (r->has_row[row])
        return damage(r, name, "this row is there twice");
    for (uint32_t i = 0; i < devices(r); i++)
        if (read_cell(r, row, i))
            return -1;
    while (next_word(r, &w))
        if (cell_distance(&w) >= 0)
            return damage(r, &w, "a link more than the header has devices");
    r->has_row[row] = true;
    r->n_rows++;
    return 0;
}

/* One line; *ret_done when nothing of the matrix can follow. */
static int read_line(struct reader *r, bool *ret_done)
{
    struct word name, second;
    const char *begin = r->at;
    uint32_t row;
    bool is_whole = devices(r) && r->n_rows == devices(r);

    if (!next_word(r, &name))
        return 0;
    row = find(r, &name);
    if (!next_word(r, &second))
        second = (struct word){name.s + name.len, 0};
    *ret_done = is_whole;
    if (row == devices(r) || is_whole) {
        if (r->n_rows && (is_numbered(&name, "GPU") || is_numbered(&name, "NIC")) &&
            cell_distance(&second) >= 0)
            return damage(r, &name,
                          row == devices(r) ? "a row without a column in the header"
                                            : "this row is there twice");
    } else if (r->n_rows || !(begins_name(second.s, second.len))) {
        r->at = name.s + name.len;
        return read_row(r, &name, row);
    }
    r->at = begin;
    if (!r->n_rows && cell_distance(&second) < 0)
        read_header(r);
    return 0;
}

static int check_whole(struct reader *r)
{
    uint32_t i = 0;

    if (!devices(r) && r->err && r->err->code != ERR_OK)
        return -1;
    if (!devices(r))
        return err_set(r->err, ERR_INVALID,
                       "%u:1: no line that names GPU0, GPU1 and so on: this "
                       "is not what nvidia-smi topo -m prints",
                       r->line);
    while (i < devices(r) && r->has_row[i])
        i++;
    if (i == devices(r))
        return 0;
    return err_set(r->err, ERR_INVALID,
                   "%u:1: the row of %s is missing: the header in line %u names "
                   "%u GPUs and %u NICs, %u rows are there",
                   r->line, r->name[i], r->header_line, r->x->n_gpus, r->x->n_nics, r->n_rows);
}

int gpu_links_parse(const char *text, size_t len, struct gpu_links *ret, struct err *err)
{
    struct gpu_links x = {0};
    struct err own = {0};
    struct reader r = {.x = &x, .err = &own};
    const char *p = text, *end = text + len;
    bool is_done = false;
    int rc = 0;

    while (p < end && !is_done && !rc) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));

        r.begin = r.at = p;
        r.end = eol ? eol : end;
        r.line++;
        rc = read_line(&r, &is_done);
        p = r.end + (eol != NULL);
    }
    r.line += r.line == 0;
    if (!rc)
        rc = check_whole(&r);
    if (!rc)
        *ret = x;
    else if (err)
        *err = own;
    return rc;
}

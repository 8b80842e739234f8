/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_links.c - a pair matrix is read in every form it was seen in, or refused with line and
 * column; what it says agrees with the collected captures, when they are there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/gpu_links.h"
#include "util/mem.h"
#include "util/str.h"

#define CAPTURES "../shared/data/topo-matrices/"

/* Two pairs with NVLink, the rest over SYS. */
#define PAIRS_ROWS                                                                                 \
    "GPU0\t X \tNV4\tSYS\tSYS\t0-3\t0\n"                                                           \
    "GPU1\tNV4\t X \tSYS\tSYS\t0-3\t0\n"                                                           \
    "GPU2\tSYS\tSYS\t X \tNV4\t4-7\t1\n"                                                           \
    "GPU3\tSYS\tSYS\tNV4\t X \t4-7\t1\n"
#define ROWS_OUT_OF_ORDER                                                                          \
    "\tGPU0 GPU1 GPU2 GPU3\r\n  GPU3  SYS SYS NV4  X\r\n\r\n  GPU0   X  NV4 SYS SYS\r\n"           \
    "  GPU2  SYS SYS  X  NV4\r\n  GPU1  NV4  X  SYS SYS 0,2 N/A"
#define PAIRS_HEADER "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"

static void one_matrix_in_every_form_is_the_same(void **state)
{
    static const char *const forms[] = {
        PAIRS_HEADER PAIRS_ROWS,
        "GPU0\tGPU1\tGPU2\tGPU3\n" PAIRS_ROWS,
        "$ nvidia-smi topo -m   GPU0 GPU1  GPU2 GPU3 CPU Affinity\n" PAIRS_ROWS,
        "\t\033[4mGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\033[0m\n" PAIRS_ROWS,
        "\t[4mGPU0\tGPU1\tGPU2\tGPU3[0m\n" PAIRS_ROWS,
        "GPU0GPU1GPU2GPU3CPU AffinityNUMA Affinity\n" PAIRS_ROWS,
        "\tGPU0\tGPU1\n\tGPU2\tGPU3\tCPU Affinity\n" PAIRS_ROWS,
        "GPU0 is an A40\nFound GPU0\n\n" PAIRS_HEADER "\n" PAIRS_ROWS "\nLegend:\n\n  X = Self\n",
        "GPU0: NVIDIA A40\n" PAIRS_HEADER PAIRS_ROWS "\n\tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n",
        ROWS_OUT_OF_ORDER,
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct gpu_links x;
        struct gpu_link_facts f;
        struct err err = {0};

        if (gpu_links_parse(forms[i], strlen(forms[i]), &x, &err))
            fail_msg("form %zu: %s", i, err.text);
        gpu_links_facts(&x, &f);
        if (x.n_gpus != 4 || x.n_nics || f.clique != 2 || f.connected != 2 || f.is_uniform ||
            f.sets[2].mask != 0x3 || f.sets[2].is_any_good || f.sets[3].linked != LINK_SYS ||
            f.sets[3].mask != 0x7 || !f.sets[3].is_any_good)
            fail_msg("form %zu: other facts", i);
    }
}

static void what_is_damaged_is_named_with_line_and_column(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "1:1: no line that names GPU0"},
        {"No devices were found\n", "1:1: no line that names GPU0"},
        {"\tGPU0\tGPU2\nGPU0\tX\tSYS\nGPU2\tSYS\tX\n", "1:7: \"GPU2\": the GPUs of the header"},
        {"\tGPU0\tmlx5_0\tmlx5_0\n", "1:14: \"mlx5_0\": named twice"},
        {"\tGPU0\tGPU1\nGPU0\tX\tNV4\n", "2:1: the row of GPU1 is missing"},
        {"\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\n",
         "3:9: the row of GPU1 ends before its cell for G"},
        {"\tGPU0\tGPU1\nGPU0\tX\tNV\nGPU1\tNV4\tX\n", "2:8: \"NV\": no link"},
        {"\tGPU0\tGPU1\nGPU0\tX\tNV0\nGPU1\tNV0\tX\n", "2:8: \"NV0\": no link"},
        {"\tGPU0\tGPU1\nGPU0\tX\tPH0-115\n", "2:8: \"PH0-115\": no link"},
        {"\tGPU0\tGPU1\tNIC0NIC1\nGPU0\tX\tNV4\tNODENODE\n", "2:12: \"NODENODE\": no link"},
        {"\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV2\tX\n", "3:6: \"NV2\": the same pair"},
        {"\tGPU0\tGPU1\nGPU0\tNV4\tX\n", "2:6: \"NV4\": X stands"},
        {"\tGPU0\tGPU1\nGPU0\tX\tX\n", "2:8: \"X\": X stands"},
        {"\tGPU0\tNIC0\nGPU0\tX\tNV4\n", "2:8: \"NV4\": no NIC is reached over NVLink"},
        {"\tGPU0\tGPU1\nGPU0\tX\tPIX\tPIX\n", "2:12: \"PIX\": a link more"},
        {"\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU0\tX\tPIX\n", "3:1: \"GPU0\": this row is there twice"},
        {"\tGPU0\nGPU0\tX\n\nGPU1\tPIX\tX\n", "4:1: \"GPU1\": a row without a column"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gpu_links x = {.n_gpus = 77};
        struct err err = {0};
        int rc = gpu_links_parse(rows[i].text, strlen(rows[i].text), &x, &err);

        if (rc != -1 || x.n_gpus != 77 || strncmp(err.text, rows[i].says, strlen(rows[i].says)))
            fail_msg("%s\nis: %d %s\nnot: %s", rows[i].text, rc, err.text, rows[i].says);
    }
}

static void one_gpu_has_no_pair(void **state)
{
    static const char text[] = "\tGPU0\tCPU Affinity\nGPU0\t X \t0-3\n";
    struct gpu_links x;
    struct gpu_link_facts f;

    (void)state;
    assert_int_equal(gpu_links_parse(text, strlen(text), &x, NULL), 0);
    gpu_links_facts(&x, &f);
    assert_true(f.is_uniform && f.clique == 1 && f.connected == 1 && f.best == 0);
    assert_true(f.sets[1].mask == 1 && f.sets[1].is_any_good);
}

/* ---- the collected captures */

enum { FILE_COLUMN = 0, GPUS = 2, NICS, CLIQUE = 6, CONNECTED, BEST, PAIRS, COMPLETE = 14 };

static char *read_whole(const char *path)
{
    FILE *f = fopen(path, "re");
    struct str s = {0};
    char buf[4096];
    size_t n;

    if (!f)
        return NULL;
    for (n = fread(buf, 1, sizeof(buf), f); n > 0; n = fread(buf, 1, sizeof(buf), f))
        str_add_bytes(&s, buf, n);
    (void)fclose(f);
    return str_take(&s);
}

static void pairs_text(struct str *out, const struct gpu_links *x, const struct gpu_link_facts *f)
{
    for (uint32_t i = 0; i < x->n_gpus && !f->is_uniform; i++)
        for (uint32_t k = i + 1; k < x->n_gpus; k++)
            if (x->distance[i][k] == f->best)
                str_addf(out, "%s%u-%u", out->len ? " " : "", i, k);
    if (f->is_uniform)
        str_add(out, "all");
}

static void check_capture(char **column)
{
    char path[512], link[LINK_TEXT_MAX], *text;
    struct gpu_links x;
    struct gpu_link_facts f;
    struct err err = {0};
    struct str pairs = {0};
    int rc;

    (void)snprintf(path, sizeof(path), CAPTURES "%s", column[FILE_COLUMN]);
    text = read_whole(path);
    assert_non_null(text);
    rc = gpu_links_parse(text, strlen(text), &x, &err);
    free(text);
    if (!strcmp(column[COMPLETE], "no")) {
        assert_int_equal(rc, -1);
        return;
    }
    if (rc)
        fail_msg("%s:%s", path, err.text);
    gpu_links_facts(&x, &f);
    pairs_text(&pairs, &x, &f);
    if (x.n_gpus != strtoul(column[GPUS], NULL, 10) ||
        x.n_nics != strtoul(column[NICS], NULL, 10) ||
        f.clique != strtoul(column[CLIQUE], NULL, 10) ||
        f.connected != strtoul(column[CONNECTED], NULL, 10) ||
        strcmp(gpu_link_text(link, f.best), column[BEST]) != 0 ||
        strcmp(str_text(&pairs), column[PAIRS]) != 0)
        fail_msg("%s: %u GPUs %u NICs clique %u component %u best %s: %s", path, x.n_gpus, x.n_nics,
                 f.clique, f.connected, link, str_text(&pairs));
    str_fini(&pairs);
}

static void every_capture_gives_the_facts_of_its_index(void **state)
{
    char *index = read_whole(CAPTURES "index.tsv"), *line, *next = index;
    int n = 0;

    (void)state;
    if (!index) {
        print_message("SKIPPED: no captures in " CAPTURES "\n");
        skip();
    }
    (void)strsep(&next, "\n");
    for (line = strsep(&next, "\n"); line && *line; line = strsep(&next, "\n")) {
        char *column[32] = {0};

        for (int i = 0; i < 32 && line; i++)
            column[i] = strsep(&line, "\t");
        assert_non_null(column[COMPLETE]);
        check_capture(column);
        n++;
    }
    assert_true(n >= 46);
    free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_matrix_in_every_form_is_the_same),
        cmocka_unit_test(what_is_damaged_is_named_with_line_and_column),
        cmocka_unit_test(one_gpu_has_no_pair),
        cmocka_unit_test(every_capture_gives_the_facts_of_its_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* explain_array.c - why an array, or an index of it that has not begun, waits. */
#include <stdio.h>
#include <string.h>

#include "core/array.h"
#include "util/str.h"
#include "view/explain.h"
#include "view/explain_say.h"

enum { RANGES_SHOWN = 8 };

static void say_held(const struct job *j, struct explain *x)
{
    const struct job_array *a = j->array;
    const struct array_part *part = NULL;
    struct str text = {0};

    for (size_t i = 0; i < a->parts.n && !part; i++)
        part = a->parts.v[i].kind == PART_HELD ? &a->parts.v[i] : NULL;
    if (!part)
        return;
    indices_format(&text, &part->set, RANGES_SHOWN);
    say(x, "Held", "only held indices are left: %.80s %.150s", str_text(&text), part->text);
    next_step(x, "'queuectl release %s' lets them wait for nodes", j->name);
    number(x, "held", array_held(a));
    str_fini(&text);
}

/* An array waits for what its next index waits for. */
void explain_array(const struct state *s, const struct job *j, usec_t now, struct explain *x)
{
    const struct job_array *a = j->array;
    const struct job *next = a->next;

    for (size_t i = 0; !next && !a->waiting.n && i < a->live.n; i++)
        next = a->live.v[i]->state != JOB_RUNNING ? a->live.v[i] : NULL;
    if (explain_own(s, j, now, x))
        return;
    if (next) {
        explain_job(s, next, now, x);
    } else if (a->waiting.n) {
        say(x, "ArrayLimit", "%zu of %u indices running", a->live.n, a->parallel);
        next_step(x, "the next index starts when one of them ends");
        number(x, "running", a->live.n);
        number(x, "waiting", a->waiting.n);
    } else if (!a->live.n) {
        say_held(j, x);
    }
}

void explain_index(const struct state *s, const struct job *array, uint32_t index, usec_t now,
                   struct explain *ret)
{
    const struct array_part *held = array_part_of(array->array, PART_HELD, index);
    size_t len;

    *ret = (struct explain){.code = ""};
    if (held) {
        say(ret, "Held", "%s", held->text);
        next_step(ret, "'queuectl release \"%s[%u]\"' lets it wait for its turn", array->name,
                  index);
        return;
    }
    if (!indices_has(&array->array->waiting, index))
        return;
    explain_job(s, array, now, ret);
    ret->position = ret->position_overall = 0; /* it is none of the queue */
    len = strlen(ret->text);
    (void)snprintf(ret->text + len, sizeof(ret->text) - len,
                   "%sindex %u is number %u of %u in turn", len ? "; " : "", index,
                   array_turn(array, index), array->array->waiting.n);
    number(ret, "turn", array_turn(array, index));
}

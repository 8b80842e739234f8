/* SPDX-License-Identifier: Apache-2.0 */
/* si_audit.c - what happened, as JSON lines.
 *
 * The loop flushes the file once a turn, so that readers see whole turns.
 */
#include "si_audit.h"

#include <inttypes.h>
#include <string.h>

/* The rest of a line after its first member. */
static void write_rest(struct standin *s, const struct rec *rec)
{
    (void)fprintf(s->audit,
                  ",\"time_us\":%" PRIu64 ",\"rv\":%" PRIu64
                  ",\"kind\":\"%s\",\"ns\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\","
                  "\"node\":\"%s\",\"phase\":\"%s\"}\n",
                  clock_wall_us(), rec->rv, res_table[rec->res].kind, rec->ns, rec->name, rec->uid,
                  rec->node, rec->phase);
}

static void write_op(struct standin *s, const char *op, const struct rec *rec)
{
    (void)fprintf(s->audit, "{\"op\":\"%s\"", op);
    write_rest(s, rec);
}

void audit_event(struct standin *s, const struct event *event)
{
    const struct rec *rec = event->rec;
    const struct rec *old = event->old;
    if (s->audit == NULL || rec->res == RES_EVENTS) {
        return;
    }
    if (event->type == EVENT_ADDED) {
        write_op(s, "create", rec);
    } else if (event->type == EVENT_DELETED) {
        write_op(s, "end", rec);
    } else {
        if (strcmp(old->node, rec->node) != 0) {
            write_op(s, "bind", rec);
        }
        if (strcmp(old->phase, rec->phase) != 0) {
            write_op(s, "phase", rec);
        }
        if (rec->deleting && !old->deleting) {
            write_op(s, "delete", rec);
        }
    }
}

void audit_overcommit(struct standin *s, const struct rec *pod, uint64_t used, uint64_t allocatable)
{
    s->violations++;
    if (s->audit == NULL) {
        return;
    }
    (void)fprintf(s->audit,
                  "{\"violation\":\"pod of %u GPUs bound to a node with %" PRIu64 " of %" PRIu64
                  " GPUs in use\"",
                  pod->gpus, used, allocatable);
    write_rest(s, pod);
}

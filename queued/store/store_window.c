/* SPDX-License-Identifier: Apache-2.0 */
/* store_window.c - reservations of operators between memory and record; the key is the name.
 *
 * Nodes are stored by name, as those of a job.
 */
#include <string.h>

#include "core/window.h"
#include "store/store_pack.h"

void store_make_window(Queued__Record__WindowRecord *r, const struct window *w,
                       const struct state *s, struct arena *a)
{
    struct str nodes = {0};

    r->tenant = store_text(w->tenant);
    r->text = store_text(w->text);
    PACK(r, from, w->from);
    PACK(r, to, w->to);
    PACK(r, made_at, w->made_at);
    for (size_t i = 0; i < w->nodes.n; i++)
        str_addf(&nodes, "%s\n", cluster_node(&s->cluster, w->nodes.v[i])->name);
    r->nodes = arena_strdup(a, str_text(&nodes));
    str_fini(&nodes);
}

/* Are these names of nodes, each ended by a line break? */
static bool are_nodes(const char *p)
{
    char name[NODE_NAME_MAX + 1];

    for (; *p; p += strlen(name) + 1) {
        size_t len = strcspn(p, "\n");

        if (len >= sizeof(name) || p[len] != '\n')
            return false;
        memcpy(name, p, len);
        name[len] = '\0';
        if (!str_is_dns_subdomain(name))
            return false;
    }
    return true;
}

int store_decode_window(struct store_bytes key, struct store_bytes value, struct state *s,
                        struct err *err)
{
    ProtobufCMessage *m =
        store_unpack(STORE_WINDOWS, key, value, &queued__record__window_record__descriptor, err);
    const Queued__Record__WindowRecord *r = (const Queued__Record__WindowRecord *)m;
    struct window w = {0};
    int rc = -1;

    if (!m)
        return -1;
    w.from = r->from;
    w.to = r->to;
    w.made_at = r->made_at;
    memcpy(w.name, key.p, key.len < sizeof(w.name) ? key.len : 0);
    if (!str_is_dns_label(w.name, LABEL_MAX, false) || window_find(s, w.name))
        (void)err_set(err, ERR_INVALID, "the key is no name of a reservation");
    else if (w.from < 0 || w.to <= w.from)
        (void)err_set(err, ERR_INVALID, "a reservation that ends before it begins");
    else if (!r->nodes || !are_nodes(r->nodes))
        (void)err_set(err, ERR_INVALID, "a reservation of what are no nodes");
    else if (store_take_text(w.tenant, sizeof(w.tenant), r->tenant, "tenant", err) == 0 &&
             store_take_text(w.text, sizeof(w.text), r->text, "reason", err) == 0)
        rc = 0;
    if (rc == 0)
        window_make(s, &w, r->nodes);
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* si_node.h - the objects that are there at the start: invented nodes, node files, namespaces, a
 * saved state. */
#ifndef QUEUED_STANDIN_NODE_H
#define QUEUED_STANDIN_NODE_H

#include "standin.h"

/* Namespaces default, kube-system (with a fixed uid) and those of the options, and the two built-in
 * priority classes. */
void seed_base(struct standin *s);
/* options.make_nodes invented nodes, spread evenly over blocks and racks in name order. */
void seed_nodes(struct standin *s);
/* Nodes of a NodeList (or single Node) file. -1 after a line on stderr. */
int seed_node_file(struct standin *s, const char *path);
/* The objects of a file, each on a line of its own and put as it is: with kind, uid and status.
 * Watches of the past are refused afterwards. -1 after a line on stderr. */
int seed_object_file(struct standin *s, const char *path);
/* Save everything to a file, and load it. Load returns 1 when there is no file, -1 after a line on
 * stderr. The resourceVersion continues; older ones are refused. */
int state_save(const struct standin *s, const char *path);
int state_load(struct standin *s, const char *path);

#endif

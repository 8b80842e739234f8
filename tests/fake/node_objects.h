/* SPDX-License-Identifier: Apache-2.0 */
/* node_objects.h - where tests find node objects: ours, and those of real machines if they are
 * here.
 *
 * Ours (tests/data/own-nodes) are invented and always there. The others lie beside the tree, in
 * ../shared/data/nodes or $QUEUED_SHARED/data/nodes; a test without them says so and goes on with
 * ours. Both directories have nodelist-all.json, index.tsv and watch-plugin-restart.jsonl.
 */
#ifndef QUEUED_TESTS_NODE_OBJECTS_H
#define QUEUED_TESTS_NODE_OBJECTS_H

#define OWN_NODES "tests/data/own-nodes"

/* The whole file, which the caller frees; a file that is missing fails the test. */
char *recording_read(const char *dir, const char *name);
/* The directory of the real ones, which the caller frees; NULL, and a line that says SKIPPED, when
 * it is not here. */
char *node_objects_dir(void);

#endif

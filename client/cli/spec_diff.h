/* SPDX-License-Identifier: Apache-2.0 */
/* spec_diff.h - in what a new spec differs from a stored one, for the conflict of a submit key. */
#ifndef QUEUED_CLI_SPEC_DIFF_H
#define QUEUED_CLI_SPEC_DIFF_H

/* Lines of two canonical job files to stderr: "+" only in wanted, "-" only in stored, where wanted
 * says something else under the same key (what the daemon filled in is no difference). */
void spec_diff(const char *stored, const char *wanted);

#endif

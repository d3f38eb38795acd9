/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for the texts in a runtime file. Each returns NULL, or a text that begins "must ...". */
#ifndef BRIG_RUNTIME_RUNTIME_RULES_H
#define BRIG_RUNTIME_RUNTIME_RULES_H

const char *rule_text(const char *text);    /* printable, not empty */
const char *rule_module(const char *text);  /* to import */
const char *rule_name(const char *text);    /* of a language, an extension, a #! program */
const char *rule_file(const char *text);    /* a file name in /sandbox */
const char *rule_word(const char *text);    /* a word of a programming language */
const char *rule_program(const char *text); /* an absolute path */
const char *rule_argv(const char *text);    /* with placeholders */
const char *rule_value_argv(const char *text);
const char *rule_warm_argv(const char *text); /* the same, for a start in advance */
const char *rule_env_name(const char *text);  /* NAME, or PREFIX* */
const char *rule_closure(const char *text);   /* a path, a glob, or @group */
#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A plugin of QEMU (its plugin interface, version 1) that counts the instructions of a program on
 * one thread, and prints their number at the end:
 *
 *   cc -O2 -fPIC -shared tools/bench/count_instructions.c -o count.so
 *   qemu-aarch64 -plugin ./count.so -d plugin -L /usr/aarch64-linux-gnu PROGRAM ...
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

/* What the interface declares, as far as it is used here; QEMU itself defines these. */
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
                                           void (*translated)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation,
                                              void *counter, uint64_t addend);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_outs(const char *text);

EXPORT int qemu_plugin_version = 1;

static uint64_t count;

static void translated(plugin_id id, struct qemu_plugin_tb *block) {
  (void)id;
  const int add = 0;
  qemu_plugin_register_vcpu_tb_exec_inline(block, add, &count, qemu_plugin_tb_n_insns(block));
}

static void ended(plugin_id id, void *data) {
  (void)id, (void)data;
  char text[64];
  snprintf(text, sizeof text, "%" PRIu64 " instructions\n", count);
  qemu_plugin_outs(text);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A Slurm array of 16 tasks, each of which runs its share of the lines: `sbatch slurm.sh`. A task that ends early is queued again.
#SBATCH --job-name=lines
#SBATCH --array=0-15
#SBATCH --cpus-per-task=16
#SBATCH --requeue
set -u
program=${PROGRAM:-./program} lines=${LINES_FILE:-lines.jsonl} results=${RESULTS:-out}

# The number of the share, and how many there are, come from SLURM_ARRAY_TASK_ID and its neighbours.
"$program" --lines "$lines" --output "$results" --shard auto --resume --threads "${SLURM_CPUS_PER_TASK:-1}"
code=$?
((code == 1)) && code=0 # lines that are errors have rows that say so
exit $code

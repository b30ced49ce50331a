#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a cluster of Slurm with two nodes on this machine, runs a job array in it, and holds the results to those of one run.

usage: slurm.py SCRIPT FOLDER   # FOLDER has the checkpoint of test/import/make.py's minilm"""
import atexit
import getpass
import glob
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

from cluster import joined, np, prepare

SHARES = 4
NODES = ("one", "two")


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def start(*command):
    """A daemon that ends with this process."""
    daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(daemon.wait)
    atexit.register(daemon.terminate)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def start_cluster(folder):
    folder.mkdir()
    host, user, ports = socket.gethostname().partition(".")[0], getpass.getuser(), free_ports(1 + len(NODES))
    daemon = pathlib.Path(shutil.which("slurmd-wlm"))
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o400)
    nodes = "\n".join(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2" for name, port in zip(NODES, ports[1:]))
    (folder / "slurm.conf").write_text(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge
PluginDir={daemon.parent.parent}/lib/x86_64-linux-gnu/slurm-wlm
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/%n
StateSaveLocation={folder}/state
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
{nodes}
PartitionName=all Nodes={','.join(NODES)} Default=YES State=UP LLN=YES
""")
    os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
    start("munged", "--foreground", "--force", f"--key-file={folder}/key", f"--socket={folder}/munge", f"--pid-file={folder}/munge.pid",
          f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed")
    start("slurmctld-wlm", "-D")
    for name in NODES:
        start(str(daemon), "-D", "-N", name, "-d", str(daemon.with_name("slurmstepd-wlm")))
    end = time.monotonic() + 60
    while subprocess.run(["sinfo", "-h", "-o", "%t %D"], capture_output=True, text=True).stdout.split() != ["idle", str(len(NODES))]:
        assert time.monotonic() < end, f"the nodes do not come up: {folder}"
        time.sleep(0.2)


def submit(script):
    """Runs the array to its end; what its tasks have said."""
    said = run("sbatch", "--wait", f"--array=0-{SHARES - 1}", "--cpus-per-task=1", "--output=task-%A-%a", script)
    job = re.search(r"job (\d+)", said)[1]
    shown = run("scontrol", "show", "job", job)
    assert shown.count("JobState=COMPLETED") == SHARES, shown
    nodes = sorted(set(re.findall(r" NodeList=(\w+)", shown)))
    return nodes, "".join(open(name).read() for name in sorted(glob.glob(f"task-{job}-*")))


def main():
    script, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    wanted = prepare(folder)
    os.environ.update(RESULTS="slurm")
    start_cluster(pathlib.Path(folder) / "cluster")
    nodes, _ = submit(script)
    rows, vectors = joined("slurm", SHARES)
    assert rows == wanted[0] and np.array_equal(vectors, wanted[3], equal_nan=True)
    print(f"{SHARES} tasks on {', '.join(nodes)}: the rows of one run")
    said = submit(script)[1]
    assert (rows, True) == (joined("slurm", SHARES)[0], said.count("which was there") == SHARES), said
    there = sum(int(count) for count in re.findall(r"(\d+) lines: .* was there", said))
    print(f"again: {there} lines there before")


if __name__ == "__main__":
    main()

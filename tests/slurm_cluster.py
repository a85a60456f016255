"""A SLURM cluster of one node on this machine, from Debian's packages, for the time of a test session."""

import os
import random
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol"]

# The node says that it has more than the machine: what the profile asks for is granted, and jobs run a few at a time.
CONFIGURATION = """
ClusterName=beirflow
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A job that is put back into the queue waits for cred_expire, else 120 seconds.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SlurmdParameters=config_overrides
# Nothing waits longer than it must: for the scheduler, for a killed process, for a node that does not answer.
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=100000
KillWait=2
SlurmdTimeout=6
# Jobs that ended are remembered until the tests are over.
MinJobAge=3600
# A job that takes more memory than it asked for is killed, without control groups: looked at every second.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=32 RealMemory=256000 Gres=gpu:3 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing_programs() -> list[str]:
    """The programs of SLURM and munge that are not installed."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 300) -> None:
    """Wait until a condition holds; fail with what was waited for."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} seconds for {what}"
        time.sleep(0.1)


@dataclass
class Cluster:
    """The daemons, and what they wrote into a folder."""

    folder: Path
    host: str = field(default_factory=lambda: socket.gethostname().split(".")[0])
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What makes SLURM's commands find this cluster."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": f"{self.folder}/bin:{os.environ.get('PATH', '')}"}

    def start(self) -> None:
        """Start munged, slurmctld and slurmd, and wait until the node is idle."""
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir()
        # The plugin calls srun without SLURM_CONF; on a cluster that is set up for good, /etc/slurm/slurm.conf is there.
        srun = self.folder / "bin/srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)
        key, socket_path = self.folder / "munge.key", self.folder / "munge.socket"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        ports = dict(zip(("controller_port", "node_port"), _free_ports(2), strict=True))
        configuration = CONFIGURATION.format(host=self.host, folder=self.folder, **ports)
        (self.folder / "slurm.conf").write_text(configuration)
        # SLURM only looks whether the devices of the GPUs are there.
        for i in range(3):
            (self.folder / f"gpu{i}").touch()
        (self.folder / "gres.conf").write_text(f"Name=gpu File={self.folder}/gpu[0-2]\n")
        # --force: temporary folders are closed to other users, which munged otherwise refuses.
        files = [f"--{name}-file={self.folder}/munged.{name}" for name in ("pid", "log", "seed")]
        self._start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket_path}", *files)
        wait_for(socket_path.exists, "munged")
        self._start("slurmctld", "-D")
        try:
            self.start_node()
        except AssertionError as error:
            raise AssertionError("\n".join(log.read_text() for log in self.folder.glob("slurm*.out"))) from error

    def drain_node(self) -> None:
        """Let what runs on the node end, and start nothing more."""
        self.call("scontrol", "update", f"nodename={self.host}", "state=drain", "reason=test")

    def resume_node(self) -> None:
        """Take jobs again."""
        self.call("scontrol", "update", f"nodename={self.host}", "state=resume")

    def stop_controller(self) -> None:
        """End slurmctld, as for an update or when it moves to another machine."""
        self.daemons[1].terminate()
        self.daemons[1].wait(60)

    def start_controller(self) -> None:
        """Start slurmctld again and wait until the node takes jobs."""
        self._start("slurmctld", "-D")
        self.daemons[1] = self.daemons.pop()
        wait_for(lambda: self.node_state() in ("idle", "mixed"), "an idle node")

    def restore(self) -> None:
        """Cancel every job, whatever a test did, and wait until the node is idle."""
        if self.daemons[1].poll() is not None:
            self.start_controller()
        if len(self.daemons) == 2:
            self.start_node()
        if "drain" in self.node_state():
            self.resume_node()
        self.cancel_all()
        wait_for(lambda: self.node_state() == "idle", "an idle node")

    def lose_node(self) -> None:
        """Kill slurmd and whatever runs on the node, as when a machine loses its power, and wait until that is noticed."""
        lost: dict[int, psutil.Process] = {}
        # Stopped before they are killed: what is stopped starts nothing more, and what is killed loses its children to others.
        while found := {pid: process for pid, process in self._on_node().items() if pid not in lost}:
            lost |= found
            for process in found.values():
                with suppress(psutil.NoSuchProcess):
                    process.suspend()
        for process in lost.values():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.daemons.pop().wait()
        wait_for(lambda: self.node_state() == "down*", "a node that does not answer")

    def _on_node(self) -> dict[int, psutil.Process]:
        """slurmd and what runs for jobs of this cluster; processes end, and become zombies, while they are looked at."""
        daemon = psutil.Process(self.daemons[-1].pid)
        found = {each.pid: each for each in [daemon, *daemon.children(recursive=True)]}
        for process in psutil.process_iter(["name"]):
            with suppress(psutil.NoSuchProcess):  # a ZombieProcess is one
                if process.info["name"] == "slurmstepd" and process.environ().get("SLURM_CONF") == self.environment["SLURM_CONF"]:
                    found |= {each.pid: each for each in [process, *process.children(recursive=True)]}
        return found

    def start_node(self) -> None:
        """Start slurmd and wait until the node takes jobs."""
        self._start("slurmd", "-D")
        wait_for(lambda: self.node_state() in ("idle", "mixed"), "an idle node")

    def node_state(self) -> str:
        """What SLURM says of the node: idle, mixed, drained, down* …; empty while slurmctld is not there."""
        return self.call("sinfo", "--noheader", "--format=%T", ok=False).strip()

    def _start(self, program: str, *arguments: str) -> None:
        path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
        with (self.folder / f"{program}.out").open("wb") as output:
            environment = {**os.environ, **self.environment, "PATH": path}
            self.daemons.append(subprocess.Popen([program, *arguments], env=environment, stdout=output, stderr=subprocess.STDOUT))

    def stop(self) -> None:
        """Cancel what runs and stop the daemons."""
        if len(self.daemons) == 3:  # otherwise a daemon did not start
            self.cancel_all()
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def call(self, *command: str, ok: bool = True) -> str:
        """Run one of SLURM's commands and give back what it printed."""
        done = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0 or not ok, done.stderr
        return done.stdout

    def jobs(self, state: str) -> dict[str, str]:
        """Rule of every job or array task in a state, by SLURM's id."""
        lines = self.call("squeue", "--noheader", "--array", f"--states={state}", "--format=%i %k").splitlines()
        return {job: comment.split("_wildcards_")[0].removeprefix("rule_") for job, comment in (line.split() for line in lines)}

    def cancel_all(self) -> None:
        """Cancel every job and wait until none is left."""
        self.call("scancel", "--partition=main", ok=False)
        wait_for(lambda: not self.call("squeue", "--noheader", ok=False).strip(), "the jobs to end")

    def ended(self) -> list[dict[str, str]]:
        """What SLURM knows of every job and array task that ended, in the order of submission."""
        lines = self.call("scontrol", "--oneliner", "show", "job").splitlines()
        jobs = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines if line.startswith("JobId=")]
        return sorted((job for job in jobs if job["JobState"] not in ("PENDING", "RUNNING")), key=lambda job: int(job["JobId"]))


def _free_ports(count: int) -> list[int]:
    """Ports that nothing listens on and that the system gives to no connection; drawn, so that two sessions draw others."""
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(15_000, 32_000)
        with socket.socket() as listening, suppress(OSError):
            listening.bind(("127.0.0.1", port))
            found += [port] if port not in found else []
    return found

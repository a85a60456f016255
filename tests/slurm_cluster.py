"""A SLURM cluster of several nodes on this machine, from Debian's packages, for the time of a test session.

Every node is a slurmd with a name and a port of its own. With accounting there are slurmdbd and a MariaDB too.
"""

import getpass
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from slurm_files import NODES, write_files

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol"]
PROGRAMS_OF_ACCOUNTING = ["mariadbd", "my_print_defaults", "slurmdbd", "sacct", "sacctmgr"]

NODE = "BEIRFLOW_NODE_OF_TEST"
"""The environment variable by which a slurmd, and what it started to watch jobs, is told from those of other nodes."""


READY = ("idle", "mixed", "allocated")
"""States of a node that takes jobs, or has taken as many as it can."""


def missing_programs(programs: list[str] = PROGRAMS) -> list[str]:
    """Those programs that are not installed."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in programs if shutil.which(name, path=path) is None]


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 300) -> None:
    """Wait until a condition holds; fail with what was waited for."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} seconds for {what}"
        time.sleep(0.5)


@dataclass
class Cluster:
    """The daemons by name, those of the nodes by theirs, and what they wrote into a folder."""

    folder: Path
    accounting: bool = False
    cpus: int = 32  # that each node says it has
    host: str = field(default_factory=lambda: socket.gethostname().split(".")[0])
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Give the environment in which SLURM's commands find this cluster."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self) -> None:
        """Start all daemons, and wait until every node is idle."""
        ports = write_files(self.folder, self.host, cpus=self.cpus, accounting=self.accounting)
        # --force: temporary folders are closed to other users, which munged otherwise refuses.
        files = [f"--{name}-file={self.folder}/munged.{name}" for name in ("pid", "log", "seed")]
        socket_path = self.folder / "munge.socket"
        self._start("munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key", f"--socket={socket_path}", *files)
        wait_for(socket_path.exists, "munged")
        if self.accounting:
            self._start_accounting(ports["database"])
        try:
            self._start("slurmctld", "-D")
            for node in NODES:
                self._start_node(node)
            self._wait_for_nodes()
        except AssertionError as error:
            raise AssertionError("\n".join(log.read_text() for log in self.folder.glob("*.out"))) from error

    def _start_accounting(self, port: int) -> None:
        """Start a MariaDB that believes everybody on this machine, slurmdbd, and the accounts of this cluster."""
        data, server = self.folder / "database", ("mariadbd", "--no-defaults", "--user=root", "--skip-grant-tables")
        make = ["mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db"]
        subprocess.run(make, check=True, capture_output=True)
        where = (f"--datadir={data}", f"--socket={self.folder}/database.socket", "--bind-address=127.0.0.1")
        self._start(*server, *where, f"--port={port}", "--innodb-buffer-pool-size=64M")
        wait_for((self.folder / "database.socket").exists, "MariaDB")
        self._start("slurmdbd", "-D")
        wait_for(lambda: "beirflow" in self._account("show", "cluster") or self._made_accounts(), "slurmdbd")

    def _made_accounts(self) -> bool:
        """Try to make the cluster, an account and this user; tells if that succeeded."""
        return bool(
            self._account("add", "cluster", "beirflow")
            and self._account("add", "account", "lab", "Cluster=beirflow")
            and self._account("add", "user", "root", "Account=lab", "DefaultAccount=lab")
        )

    def _account(self, *words: str) -> str:
        """Run sacctmgr and give its output; nothing where it failed."""
        return self.call("sacctmgr", "--immediate", "--noheader", *words, ok=False)

    def limit_jobs(self, limit: str) -> None:
        """Set a limit of this user, such as MaxSubmitJobs=1; -1 removes it."""
        self.call("sacctmgr", "--immediate", "modify", "user", "root", "set", limit)

    def stop_accounting(self) -> None:
        """End slurmdbd; slurmctld keeps what it has to say until there is one again."""
        self._stop("slurmdbd")

    def start_accounting(self) -> None:
        """Start slurmdbd again and wait until it answers."""
        self._start("slurmdbd", "-D")
        wait_for(lambda: "beirflow" in self._account("show", "cluster"), "slurmdbd")

    def drain_nodes(self) -> None:
        """Let what runs end, and start nothing more."""
        self._update_nodes("drain", *NODES)

    def resume_nodes(self) -> None:
        """Take jobs again."""
        self._update_nodes("resume", *(node for node, state in self.node_states().items() if "drain" in state))

    def _update_nodes(self, state: str, *nodes: str) -> None:
        if nodes:
            self.call("scontrol", "update", f"nodename={','.join(nodes)}", f"state={state}", "reason=test")

    def stop_controller(self) -> None:
        """End slurmctld, as for an update or when it moves to another machine."""
        self._stop("slurmctld")

    def _stop(self, name: str) -> None:
        self.daemons[name].terminate()
        self.daemons.pop(name).wait(60)

    def start_controller(self, *, forgetful: bool = False) -> None:
        """Start slurmctld again, with its jobs unless it is ``forgetful``, and wait until the nodes take jobs."""
        self._start("slurmctld", "-D", *(["-c"] if forgetful else []))
        self._wait_for_nodes()

    def restore(self) -> None:
        """Cancel every job, whatever a test did, and wait until all nodes are idle."""
        if "slurmctld" not in self.daemons:
            self._start("slurmctld", "-D")
            wait_for(lambda: bool(self.node_states()), "slurmctld")
        for node in NODES:
            if node not in self.daemons:
                self._start_node(node)
        self.resume_nodes()
        self.cancel_all()
        self._wait_for_nodes("idle")

    def lose_node(self, node: str) -> None:
        """Kill a slurmd and whatever runs there, as when a machine loses its power; SLURM does not know it yet."""
        lost: dict[int, psutil.Process] = {}
        # Stopped before they are killed: what is stopped starts nothing more, and what is killed loses its children to others.
        while found := {pid: process for pid, process in self._on_node(node).items() if pid not in lost}:
            lost |= found
            for process in found.values():
                with suppress(psutil.NoSuchProcess):
                    process.suspend()
        for process in lost.values():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.daemons.pop(node).wait()

    def give_up_node(self, node: str) -> None:
        """Say that a node is lost, as its administrator does who does not wait for SLURM to notice."""
        self._update_nodes("down", node)

    def _on_node(self, node: str) -> dict[int, psutil.Process]:
        """slurmd and what runs there for jobs; processes end, and become zombies, while they are looked at."""
        daemon = psutil.Process(self.daemons[node].pid)
        found = {each.pid: each for each in [daemon, *daemon.children(recursive=True)]}
        for process in psutil.process_iter(["name"]):
            with suppress(psutil.NoSuchProcess):  # a ZombieProcess is one
                if process.info["name"] == "slurmstepd" and process.environ().get(NODE) == f"{self.folder}/{node}":
                    found |= {each.pid: each for each in [process, *process.children(recursive=True)]}
        return found

    def preempt(self, seconds: int) -> None:
        """Take all nodes from the jobs that run there, for a more urgent one."""
        words = ("--partition=urgent", f"--nodes={len(NODES)}", "--exclusive", "--job-name=urgent", "--comment=urgent")
        self.call("sbatch", *words, "--output=/dev/null", f"--wrap=sleep {seconds}")

    def start_node(self, node: str) -> None:
        """Start a slurmd again and wait until its node takes jobs."""
        self._start_node(node)
        wait_for(lambda: self.node_states().get(node) in READY, "a node")

    def _start_node(self, node: str) -> None:
        self._start("slurmd", "-D", "-N", node, name=node, **{NODE: f"{self.folder}/{node}"})

    def node_states(self) -> dict[str, str]:
        """Give SLURM's word for every node: idle, mixed, drained, down* …; nothing while slurmctld is not there."""
        lines = self.call("sinfo", "--noheader", "--Node", "--partition=main", "--format=%N %T", ok=False).splitlines()
        return dict(line.split() for line in lines)

    def _wait_for_nodes(self, *states: str) -> None:
        wanted = states or READY
        wait_for(lambda: [state in wanted for state in self.node_states().values()] == [True] * len(NODES), "nodes")

    def _start(self, program: str, *arguments: str, name: str = "", **more: str) -> None:
        path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
        with (self.folder / f"{name or program}.out").open("wb") as output:
            environment = {**os.environ, **self.environment, "PATH": path, **more}
            daemon = subprocess.Popen([program, *arguments], env=environment, stdout=output, stderr=subprocess.STDOUT)
            self.daemons[name or program] = daemon

    def stop(self) -> None:
        """Cancel what runs and stop the daemons."""
        if "slurmctld" in self.daemons and NODES[-1] in self.daemons:  # otherwise a daemon did not start
            self.cancel_all()
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
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
        self.call("scancel", f"--user={getpass.getuser()}", ok=False)
        wait_for(lambda: not self.call("squeue", "--noheader", ok=False).strip(), "the jobs to end")

    def ended(self) -> list[dict[str, str]]:
        """Describe every job and array task that ended, in the order of submission, as SLURM does."""
        jobs = [job for job in self._described() if job["JobState"] not in ("PENDING", "RUNNING")]
        return sorted(jobs, key=lambda job: int(job["JobId"]))

    def describe(self, job: str) -> dict[str, str]:
        """Describe a job or array task as SLURM does."""
        (found,) = self._described(job)
        return found

    def completed(self, job: str) -> dict[str, str]:
        """Describe a job or array task once SLURM says that it has completed, which the job itself may have said before."""
        wait_for(lambda: self.describe(job)["JobState"] == "COMPLETED", f"the end of {job}")
        return self.describe(job)

    def _described(self, *job: str) -> list[dict[str, str]]:
        lines = self.call("scontrol", "--oneliner", "show", "job", *job).splitlines()
        return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines if line.startswith("JobId=")]

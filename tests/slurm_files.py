"""The files that the daemons of a SLURM cluster read, for several nodes on this machine, with or without accounting."""

import random
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

NODES = ("n1", "n2", "n3", "n4")

# A node says that it has more than the machine: what the profile asks for is granted, and jobs run a few at a time.
CONFIGURATION = """
ClusterName=beirflow
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A job that is put back into the queue waits for cred_expire, else 120 seconds.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPort={ports[controller]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
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
# A controller that is away is soon said to be.
MessageTimeout=4
# A job that takes more memory than it asked for is killed, without control groups: looked at every second.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
ReturnToService=2
# The least loaded node first, so that jobs that run together run on several.
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP LLN=YES
PartitionName=short Nodes=ALL MaxTime=5 State=UP
# What is submitted here takes nodes from the others, whose jobs go back into the queue.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=urgent Nodes=ALL PriorityTier=2 MaxTime=INFINITE State=UP
"""

WITHOUT_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"
WITH_ACCOUNTING = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStoragePass={folder}/munge.socket
AccountingStorageHost=127.0.0.1
AccountingStoragePort={ports[accounting]}
AccountingStorageEnforce=associations,limits,qos
"""

OF_A_NODE = (
    "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=256000 Gres=gpu:1 State=UNKNOWN\n"
)

OF_ACCOUNTING = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdPort={ports[accounting]}
SlurmUser=root
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports[database]}
StorageUser=slurm
StorageLoc=slurm_accounts
"""


def write_files(folder: Path, host: str, *, cpus: int, accounting: bool) -> Mapping[str, int]:
    """Write the files of the daemons; gives the ports of slurmctld, slurmdbd, MariaDB and every node."""
    for name in ("state", *(f"spool-{node}" for node in NODES)):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    names = ("controller", "accounting", "database", *NODES)
    ports = dict(zip(names, _free_ports(len(names)), strict=True))
    words = {"host": host, "folder": folder, "ports": ports}
    nodes = "".join(OF_A_NODE.format(node=node, host=host, port=ports[node], cpus=cpus) for node in NODES)
    content = nodes + (CONFIGURATION + (WITH_ACCOUNTING if accounting else WITHOUT_ACCOUNTING)).format(**words)
    (folder / "slurm.conf").write_text(content)
    # SLURM only looks whether the devices of the GPUs are there.
    for node in NODES:
        (folder / f"gpu-{node}").touch()
    (folder / "gres.conf").write_text("".join(f"NodeName={node} Name=gpu File={folder}/gpu-{node}\n" for node in NODES))
    of_accounting = folder / "slurmdbd.conf"
    of_accounting.write_text(OF_ACCOUNTING.format(**words))
    of_accounting.chmod(0o600)
    return ports


def _free_ports(count: int) -> list[int]:
    """Ports that nothing listens on and that the system gives to no connection; drawn, so that two sessions draw others."""
    found: list[int] = []
    while len(found) < count:
        port = random.SystemRandom().randrange(15_000, 32_000)
        with socket.socket() as listening, suppress(OSError):
            listening.bind(("127.0.0.1", port))
            found += [port] if port not in found else []
    return found

#!/bin/sh
# A site on one machine: Slurm's own daemons, three users, a job each before and a job each while slurmd is killed; the summaries
# are ingested, and each user is shown the own ones only. Needs root, slurmctld, slurmd, munge, an MPI and curl.
#
#     slurm.sh INSTALLED-TREE
set -eu
tree=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d /tmp/marple-slurm-XXXXXX)
chmod 755 "$work"
started=
finish() {
    for pid in $started; do kill "$pid" 2>/dev/null || true; done
    for pid in $started; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap finish EXIT
background() {
    "$@" >>"$work/daemons.log" 2>&1 &
    started="$started $!"
}
# until COMMAND...: waits for something that will be so.
until_so() {
    for _ in $(seq 600); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.2
    done
    echo "slurm.sh: in vain: $*" >&2
    tail -n 20 "$work"/*.log >&2
    exit 1
}
users="games mail news" # of every Debian
as() {
    user=$1
    shift
    setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
}

mkdir -m 755 "$work/munge" "$work/state" "$work/slurmd"
mkdir -m 1777 "$work/jobs"
install -d -m 3773 "$work/spool"
mpicc.openmpi -O2 -g -w -o "$work/heat" "$here/test/apps/heat.c"
printf 'site: 1\nspool: %s/spool\n' "$work" >"$work/site.yaml"
sed -e "s|^PATH=.*|PATH=$tree/bin:\$PATH MARPLE_CONFIG=$work/site.yaml; export MARPLE_CONFIG|" "$here/docs/site/slurm-task-prolog" >"$work/prolog"
chmod 755 "$work/prolog"

dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 2>/dev/null
chmod 600 "$work/munge/key"
background munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
    --seed-file="$work/munge/seed" --log-file="$work/munge.log"
until_so test -S "$work/munge/socket"

host=$(hostname -s)
cat >"$work/slurm.conf" <<CONF
ClusterName=site
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
SlurmctldPort=26817
SlurmdPort=26818
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
TaskProlog=$work/prolog
NodeName=$host NodeAddr=127.0.0.1 CPUs=6 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
export SLURM_CONF="$work/slurm.conf"
background slurmctld -D -L "$work/slurmctld.log"
background slurmd -D -L "$work/slurmd.log" -N "$host"
slurmd=$!
until_so sh -c "sinfo -h -o %T | grep -qE 'idle|mixed'"

submit() {
    for user in $users; do
        as "$user" sbatch -Q -n 2 --chdir="$work/jobs" -o "$work/jobs/%u-%j.out" --wrap "mpirun.openmpi --oversubscribe -n 2 $work/heat"
    done
}
running() { squeue -h -t R | grep -q .; }
done_all() { test -z "$(squeue -h)"; }

submit
until_so done_all
submit
until_so running
kill -9 "$slurmd"
wait "$slurmd" 2>/dev/null || true
background slurmd -D -L "$work/slurmd.log" -N "$host"
until_so done_all

# The users see what they always saw.
for out in "$work"/jobs/*.out; do
    [ "$(grep -c '500 steps: the last changed' "$out")" = 1 ] && ! grep -qi marple "$out" || { cat "$out"; exit 1; }
done
echo "summaries: $(find "$work/spool" -name '*.marple' | wc -l)"
"$tree/bin/marple" db ingest "$work/spool" "$work/jobs.db"
background "$tree/bin/marple" serve db: --db "$work/jobs.db" --socket "$work/serve" --user-header X-Remote-User --admin root
until_so test -S "$work/serve"
seen() { curl -sS --unix-socket "$work/serve" -H "X-Remote-User: $1" http://localhost/jobs | grep -o '<td>[a-z]*</td><td></td><td>[0-9]' | cut -d'<' -f2 | cut -d'>' -f2 | sort | uniq -c | tr -s ' \n' ' '; }
for user in $users root; do
    echo "$user sees:$(seen "$user")"
done

# A hook of PBS Professional and OpenPBS, which sets the same for each program that a job starts:
#
#     qmgr -c 'create hook marple event=execjob_launch'
#     qmgr -c 'import hook marple application/x-python default pbs-launch-hook.py'
import subprocess

import pbs

event = pbs.event()
try:
    # Of the job's own variables no more than what opts out, and by what jobs are drawn: this runs as root.
    variables = {name: event.env[name] for name in event.env if name in ("MARPLE_ENABLE", "PBS_JOBID", "LD_PRELOAD")}
    out = subprocess.run(["/opt/marple/bin/marple", "environment"], env=variables, capture_output=True, text=True, timeout=5).stdout
    for line in out.splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        event.env[name] = value
except Exception as trouble:  # the job is worth more than its measurement
    pbs.logmsg(pbs.LOG_WARNING, "marple: %s" % trouble)
event.accept()

# To be sourced where programs run in Apptainer (or Singularity) containers: /etc/profile.d, or a job's script. The container sees
# the library and the spool directory, and what is set for the library outside is set inside.
export APPTAINER_BIND="${APPTAINER_BIND:+$APPTAINER_BIND,}/opt/marple:/opt/marple:ro,/var/spool/marple"
for marple_name in $(env | sed -n 's/^\(MARPLE_[A-Z_]*\)=.*/\1/p'); do
    eval "export APPTAINERENV_$marple_name=\"\$$marple_name\""
done
export APPTAINERENV_LD_PRELOAD=/opt/marple/lib/libmarple.so
unset marple_name

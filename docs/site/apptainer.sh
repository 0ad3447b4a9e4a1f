# To be sourced where programs run in Apptainer (or Singularity) containers: /etc/profile.d, or a job's script. The container sees
# the library and the spool directory, and what is set for the library outside is set inside. Only for images with glibc 2.34 or
# later, as Debian 12, Ubuntu 22.04 and EL 9 have: the loader of an older one starts nothing with this. musl's (Alpine) finds
# nothing under this path, and starts programs bare.
marple_library='/usr/$LIB/../../../../../../../../opt/marple/lib/libmarple.so'
export APPTAINER_BIND="${APPTAINER_BIND:+$APPTAINER_BIND,}/opt/marple:/opt/marple:ro,/var/spool/marple"
for marple_name in $(env | sed -n 's/^\(MARPLE_[A-Z_]*\)=.*/\1/p'); do
    eval "export APPTAINERENV_$marple_name=\"\$$marple_name\""
done
export APPTAINERENV_LD_PRELOAD="$marple_library${APPTAINERENV_LD_PRELOAD:+:$APPTAINERENV_LD_PRELOAD}"
unset marple_name marple_library

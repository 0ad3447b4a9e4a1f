package harness

import "os"

// Settle sets, for all that a package of tests starts, what MPI libraries are asked for, unless it is set already. As they are
// by themselves they are used in make test-long.
func Settle() {
	settings := map[string]string{"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
		"OMPI_MCA_pml": "ob1"} // it looks for no network, which takes it a fifth of a second
	if !Long() {
		// hwloc looks for devices by what is installed of OpenCL, which takes a third of the time that a rank needs to begin.
		settings["HWLOC_COMPONENTS"] = "-opencl"
		// Where a rank has failed, Open MPI's launcher leaves a second to the others, which compute until then.
		settings["OMPI_MCA_odls_base_sigkill_timeout"], settings["PRTE_MCA_odls_base_sigkill_timeout"] = "0", "0"
	}
	for name, value := range settings {
		if _, set := os.LookupEnv(name); !set {
			_ = os.Setenv(name, value)
		}
	}
}

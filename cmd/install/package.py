# A recipe for Spack: put it into packages/marple of a repository of your own, then
#
#     spack install marple
#     spack dev-build marple@main        in a clone of Marple
#
# The build needs Go and a C compiler, and the Go module proxy; without network, run `go mod vendor` before.
from spack.package import *


class Marple(MakefilePackage):
    """Marple says why a parallel program is slow and what to change, when the program ends."""

    license("Apache-2.0")

    version("main")

    variant("otf2", default=False, description="Export OTF2 traces")
    variant("papi", default=False, description="Count with PAPI instead of perf_event alone")

    depends_on("otf2", when="+otf2")
    depends_on("papi", type="run", when="+papi")
    depends_on("c", type="build")
    depends_on("go@1.25:", type="build")
    depends_on("gmake", type="build")

    @property
    def build_targets(self):
        return ["build", *self.settings()]

    @property
    def install_targets(self):
        return ["install", f"PREFIX={self.prefix}", f"VERSION={self.spec.version}", *self.settings()]

    def settings(self):
        return ["WERROR="] + ([] if self.spec.satisfies("+otf2") else ["OTF2="])

    def setup_run_environment(self, env):
        env.set("MARPLE_ROOT", self.prefix)
        if self.spec.satisfies("+papi"):
            env.set("MARPLE_PAPI", join_path(self.spec["papi"].prefix.lib, "libpapi.so"))

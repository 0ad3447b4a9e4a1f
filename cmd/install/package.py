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

    depends_on("c", type="build")
    depends_on("go@1.25:", type="build")
    depends_on("gmake", type="build")

    build_targets = ["build", "WERROR="]

    @property
    def install_targets(self):
        return ["install", "WERROR=", f"PREFIX={self.prefix}", f"VERSION={self.spec.version}"]

    def setup_run_environment(self, env):
        env.set("MARPLE_ROOT", self.prefix)

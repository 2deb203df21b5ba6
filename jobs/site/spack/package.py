# Spack recipe of dt, for Spack 1.0 or newer. It is checked by reading Spack's documentation and packages only: it has never been run.
#
# dt comes from its source folder, so the recipe names no address. In that folder:
#   spack repo create ~/repos site
#   mkdir ~/repos/spack_repo/site/packages/dt
#   cp jobs/site/spack/package.py ~/repos/spack_repo/site/packages/dt/
#   spack repo add ~/repos/spack_repo/site
#   spack env create dt && spack env activate dt
#   spack add dt ^openmpi
#   spack develop --path "$PWD" dt@0.2.0
#   spack install
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Dt(CMakePackage):
    """Trains transformer language models with small Unix tools, on CPUs and GPUs, with MPI and Slurm."""

    license("MIT")

    version("0.2.0")

    variant("cuda", default=False, description="Build kernels for NVIDIA GPUs")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    conflicts("%gcc@:11")
    conflicts("%clang@:15")

    depends_on("mpi")
    depends_on("boost+program_options")
    depends_on("fmt")
    depends_on("hdf5~mpi")
    depends_on("highway")
    depends_on("nlohmann-json")
    depends_on("simdjson")
    depends_on("oniguruma")
    depends_on("utf8proc")
    depends_on("xxhash")
    depends_on("libarchive libs=shared")
    depends_on("nettle")
    depends_on("zlib-api")
    depends_on("bzip2")
    depends_on("xz")
    depends_on("lz4")
    depends_on("zstd")

    # dt loads the libraries of CUDA while it runs.
    depends_on("cuda@13:", when="+cuda", type=("build", "run"))
    depends_on("cudnn@9:", when="+cuda", type=("build", "run"))
    depends_on("nccl", when="+cuda", type=("build", "run"))

    def cmake_args(self):
        args = [
            self.define("BUILD_TESTING", False),
            self.define("CUDA", "on" if self.spec.satisfies("+cuda") else "off"),
            # A static libarchive would need libraries that dt does not link.
            self.define("ARCHIVE_LIBRARY", self.spec["libarchive"].libs[0]),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("NVCC", self.spec["cuda"].prefix.bin.nvcc))
        return args

    def setup_run_environment(self, env):
        env.set("DT_BIN", self.prefix.bin)
        if self.spec.satisfies("+cuda"):
            for name in ("cuda", "cudnn", "nccl"):
                prefix = self.spec[name].prefix
                env.prepend_path("LD_LIBRARY_PATH", prefix.lib64 if name == "cuda" else prefix.lib)

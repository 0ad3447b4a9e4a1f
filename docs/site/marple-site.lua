-- A module of Lmod that has everything measured which is started while it is loaded; put it among those loaded by default.
help("All MPI programs are measured for the site. Not this one: export MARPLE_ENABLE=off")
whatis("Measures MPI programs for the site")

-- The loader of glibc sees the library there; that of musl does not, which could not load it.
local root = "/usr/$LIB/../../../../../../../.." .. (os.getenv("MARPLE_ROOT") or "/opt/marple")
if os.getenv("MARPLE_ENABLE") ~= "off" then
    prepend_path("LD_PRELOAD", root .. "/lib/libmarple.so", ":")
    setenv("MARPLE_SITE", "1")
    setenv("MARPLE_SPOOL", "/var/spool/marple")
end

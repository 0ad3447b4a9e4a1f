/*
 * The Euler equations of gas dynamics on a hierarchy of patches: a shock meets the interface between a light and
 * a heavy gas. An assembly of components as in N. Trebon's thesis (University of Oregon, 2005, chapter VII); these
 * are its ports. Lengths are in units of the domain's height, gamma is 1.4.
 */
#ifndef SHOCK_HPP
#define SHOCK_HPP

#include <cca.h>

#include <algorithm>
#include <vector>

namespace shock {

constexpr int fields = 4; /* density, momentum in x and y, energy: of a volume */
constexpr int ghosts = 2; /* cells around a patch that belong to others */
constexpr int tile = 8;   /* cells of a level, each way, that are refined together */
constexpr double gamma = 1.4;

/* Cells of a level, from (x0, y0) to before (x1, y1). */
struct Box {
    int x0, y0, x1, y1;
    int width() const { return x1 - x0; }
    int height() const { return y1 - y0; }
    bool empty() const { return x1 <= x0 || y1 <= y0; }
    Box grown(int by) const { return {x0 - by, y0 - by, x1 + by, y1 + by}; }
    Box refined() const { return {2 * x0, 2 * y0, 2 * x1, 2 * y1}; }
    Box coarsened() const { return {x0 >> 1, y0 >> 1, (x1 + 1) >> 1, (y1 + 1) >> 1}; }
    Box cut(const Box &b) const { return {std::max(x0, b.x0), std::max(y0, b.y0), std::min(x1, b.x1), std::min(y1, b.y1)}; }
};

/* Everybody knows all patches; their owners have the values. */
struct Patch {
    Box box;
    int level, owner;
    std::vector<double> u; /* by field, row, column: with ghosts */

    int pitch() const { return box.width() + 2 * ghosts; }
    int plane() const { return pitch() * (box.height() + 2 * ghosts); }
    double &at(int field, int x, int y)
    {
        return u[static_cast<std::size_t>(field * plane() + (y - box.y0 + ghosts) * pitch() + x - box.x0 + ghosts)];
    }
    double at(int field, int x, int y) const { return const_cast<Patch *>(this)->at(field, x, y); }
    void allocate() { u.assign(static_cast<std::size_t>(fields * plane()), 0); }
};
typedef std::vector<Patch> Patches;

struct Setup {
    int width = 128, height = 32; /* cells of level 0 */
    int levels = 3;
    int patch = 1; /* how many times larger than usual patches may be, each way */
    int unbalanced = 1; /* how many times patches stay with the owner of what is below them */
};

class MeshPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "mesh";
    virtual void build(const Setup &setup) = 0;
    virtual int levels() const = 0;
    virtual int rank() const = 0;
    virtual Patches &patches(int level) = 0;
    virtual Box domain(int level) const = 0;
    virtual double spacing(int level) const = 0;
    /* Copies what is inside patches to wherever other ones want it: `margin` cells around their boxes. */
    virtual void exchange(const Patches &from, Patches &to, int margin) = 0;
    /* Fills the ghosts of a level: of the level below, of neighbours, of the boundary. */
    virtual void GC_Synch(int level) = 0;
    /* Replaces the level above by patches over the tiles that are flagged, here or elsewhere. */
    virtual void GC_regrid_above(int level, const std::vector<int> &flags) = 0;
    virtual double greatest(double value) = 0;
    virtual void sum(std::vector<double> &values) = 0;
};

class IccPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "icc";
    /* Interpolates: all of `fine` that lies in `region`, but for `except`. */
    virtual void prolong(const Patch &coarse, Patch &fine, const Box &region, const Box &except) = 0;
    /* Averages a level into the one below. */
    virtual void restrict_to(int level) = 0;
};

class BoundaryPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "bc";
    virtual void compute(Patch &patch, const Box &domain) = 0;
};

class IntegratorPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "rk2";
    virtual void Advance(double dt) = 0;
    virtual double GetStableTimestep() = 0;
};

class RegridPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "ee";
    virtual void Regrid() = 0;
};

class FluxPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "flux";
    /* rate: what each cell changes by in a unit of time, in the patch's layout. */
    virtual void compute(const Patch &patch, double spacing, std::vector<double> &rate) = 0;
};

/* Along x, the values of a line of cells lie beside each other; along y, a row apart. */
enum Mode { sequential = 0, strided = 1 };

/* States on both sides of the faces of `lines` lines of `cells` cells, by field, line, face: density, velocity
 * across and along the face, pressure. */
struct Faces {
    int lines, cells;
    std::vector<double> left, right, flux;
    int plane() const { return lines * (cells + 1); }
};

class StatesPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "sc";
    virtual void compute(const Patch &patch, Mode mode, Faces &faces) = 0;
};

class RiemannPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "riemann";
    virtual void compute(Mode mode, Faces &faces) = 0;
};

class CharacteristicsPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "c";
    /* The greatest sum of wave speeds in x and y. */
    virtual double compute(const Patch &patch) = 0;
};

class QuantitiesPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "cq";
    /* Of each cell: pressure and speed of sound. */
    virtual void compute(const Patch &patch, std::vector<double> &pressure, std::vector<double> &sound) = 0;
};

class StatisticsPort : public virtual classic::gov::cca::Port {
public:
    static constexpr const char *type = "stats";
    /* Of level 0: mass, momentum in x, energy, greatest Mach number. */
    virtual void compute(std::vector<double> &values) = 0;
};

/* The exact solution of the problem of two states that meet at x = 0, at x/t: density, velocity, pressure. */
struct Gas {
    double density, velocity, pressure;
};
Gas riemann(const Gas &left, const Gas &right, double speed);

}

#endif

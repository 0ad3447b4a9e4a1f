/*
 * rk2: Heun's method. ee: where the density changes much, a level is refined. flux: differences of what crosses
 * faces. sc: states at the faces, linear within cells, limited. efm and godunov: what crosses a face between two
 * states. c and cq: speeds of waves.
 */
#include "part.hpp"

#include <cmath>

namespace shock {
namespace {

class Rk2 : public Part<IntegratorPort> {
public:
    Rk2() : Part({"mesh", "flux", "icc", "c"}) {}

    void Advance(double dt) override
    {
        auto &mesh = port<MeshPort>();
        std::vector<std::vector<double>> before;
        std::vector<double> rate;
        for (int stage = 0; stage < 2; stage++) {
            std::size_t next = 0;
            for (int level = 0; level < mesh.levels(); level++)
                for (Patch &p : mesh.patches(level)) {
                    if (p.owner != mesh.rank())
                        continue;
                    if (stage == 0)
                        before.push_back(p.u);
                    port<FluxPort>().compute(p, mesh.spacing(level), rate);
                    const std::vector<double> &first = before[next++];
                    for (std::size_t i = 0; i < p.u.size(); i++)
                        p.u[i] = stage == 0 ? p.u[i] + dt * rate[i] : 0.5 * (first[i] + p.u[i] + dt * rate[i]);
                }
            for (int level = mesh.levels() - 2; level >= 0; level--)
                port<IccPort>().restrict_to(level);
            for (int level = 0; level < mesh.levels(); level++)
                mesh.GC_Synch(level);
        }
    }

    double GetStableTimestep() override
    {
        auto &mesh = port<MeshPort>();
        double fastest = 0;
        for (int level = 0; level < mesh.levels(); level++)
            for (const Patch &p : mesh.patches(level))
                if (p.owner == mesh.rank())
                    fastest = std::max(fastest, port<CharacteristicsPort>().compute(p) / mesh.spacing(level));
        return 0.8 / mesh.greatest(fastest);
    }
};

class Estimator : public Part<RegridPort> {
public:
    Estimator() : Part({"mesh"}) {}
    void Regrid() override
    {
        auto &mesh = port<MeshPort>();
        for (int level = 0; level + 1 < mesh.levels(); level++) {
            int width = mesh.domain(level).width() / tile, height = mesh.domain(level).height() / tile;
            std::vector<int> flags(static_cast<std::size_t>(width * height));
            for (const Patch &p : mesh.patches(level)) {
                if (p.owner != mesh.rank())
                    continue;
                for (int y = p.box.y0; y < p.box.y1; y++)
                    for (int x = p.box.x0; x < p.box.x1; x++) {
                        double here = p.at(0, x, y);
                        double change = std::fabs(p.at(0, x + 1, y) - p.at(0, x - 1, y)) + std::fabs(p.at(0, x, y + 1) - p.at(0, x, y - 1));
                        if (change > 0.04 * here)
                            flags[static_cast<std::size_t>(y / tile * width + x / tile)] = 1;
                    }
            }
            mesh.GC_regrid_above(level, flags);
        }
    }
};

class Flux : public Part<FluxPort> {
public:
    Flux() : Part({"sc", "riemann"}) {}
    void compute(const Patch &p, double spacing, std::vector<double> &rate) override
    {
        rate.assign(p.u.size(), 0);
        for (Mode mode : {sequential, strided}) {
            port<StatesPort>().compute(p, mode, faces_);
            port<RiemannPort>().compute(mode, faces_);
            int pitch = p.pitch(), step = mode == sequential ? 1 : pitch, line = mode == sequential ? pitch : 1;
            for (int f = 0; f < fields; f++) {
                int across = mode == sequential || f == 0 || f == 3 ? f : 3 - f; /* momenta change places */
                for (int l = 0; l < faces_.lines; l++) {
                    const double *flux = &faces_.flux[static_cast<std::size_t>(across * faces_.plane() + l * (faces_.cells + 1))];
                    double *to = &rate[static_cast<std::size_t>(f * p.plane() + ghosts * (1 + pitch) + l * line)];
                    for (int i = 0; i < faces_.cells; i++)
                        to[i * step] += (flux[i] - flux[i + 1]) / spacing;
                }
            }
        }
    }

private:
    Faces faces_;
};

class States : public Part<StatesPort> {
public:
    States() : Part({}) {}
    void compute(const Patch &p, Mode mode, Faces &faces) override
    {
        int pitch = p.pitch(), plane = p.plane(), step = mode == sequential ? 1 : pitch, line = mode == sequential ? pitch : 1;
        faces.lines = mode == sequential ? p.box.height() : p.box.width();
        faces.cells = mode == sequential ? p.box.width() : p.box.height();
        auto size = static_cast<std::size_t>(fields * faces.plane());
        faces.left.resize(size);
        faces.right.resize(size);
        faces.flux.resize(size);
        int across = mode == sequential ? 1 : 2;
        double w[3][fields];
        for (int l = 0; l < faces.lines; l++) {
            const double *u = &p.u[static_cast<std::size_t>((mode == sequential ? ghosts * pitch : ghosts) + l * line)];
            auto primitive = [&](int i, double *to) {
                const double *c = u + i * step;
                double rho = c[0], mx = c[plane], my = c[2 * plane], e = c[3 * plane];
                to[0] = rho;
                to[1] = (across == 1 ? mx : my) / rho;
                to[2] = (across == 1 ? my : mx) / rho;
                to[3] = pressure(rho, mx, my, e);
            };
            primitive(0, w[0]);
            primitive(1, w[1]);
            /* Cell i, ghosts included: its left face is i - 1 and its right face i of those with ghosts. */
            for (int i = 1; i <= faces.cells + ghosts; i++) {
                primitive(i + 1, w[(i + 1) % 3]);
                const double *before = w[(i - 1) % 3], *here = w[i % 3], *after = w[(i + 1) % 3];
                for (int f = 0; f < fields; f++) {
                    double a = here[f] - before[f], b = after[f] - here[f];
                    double slope = a * b <= 0 ? 0 : std::fabs(a) < std::fabs(b) ? a : b;
                    auto at = static_cast<std::size_t>(f * faces.plane() + l * (faces.cells + 1) + i - ghosts);
                    if (i >= ghosts)
                        faces.right[at] = here[f] - 0.5 * slope;
                    if (i <= faces.cells + 1)
                        faces.left[at + 1] = here[f] + 0.5 * slope;
                }
            }
        }
        /* A cell's left face is numbered like the cell, so its state is the right one of that face. */
    }
};

/* What crosses a face between two gases; `along` is the speed that does not matter for it. */
template <class Solver> class Riemann : public Part<RiemannPort> {
public:
    Riemann() : Part<RiemannPort>({}) {}
    void compute(Mode, Faces &faces) override
    {
        int plane = faces.plane();
        for (int i = 0; i < plane; i++) {
            double flux[fields];
            Solver::flux(&faces.left[static_cast<std::size_t>(i)], &faces.right[static_cast<std::size_t>(i)], plane, flux);
            for (int f = 0; f < fields; f++)
                faces.flux[static_cast<std::size_t>(f * plane + i)] = flux[f];
        }
    }
};

/* The equilibrium flux method (Pullin 1980): particles of both gases fly past each other. */
struct Equilibrium {
    static void half(const double *w, int plane, double sign, double *flux)
    {
        double rho = w[0], u = w[plane], v = w[2 * plane], p = w[3 * plane];
        double root = std::sqrt(2 * p / rho), s = u / root;
        double share = 0.5 * (1 + sign * std::erf(s)), spread = sign * 0.5 * root * std::exp(-s * s) / std::sqrt(M_PI);
        double kinetic = 0.5 * rho * (u * u + v * v), mass = rho * (u * share + spread);
        flux[0] += mass;
        flux[1] += (rho * u * u + p) * share + rho * u * spread;
        flux[2] += mass * v;
        flux[3] += u * share * (kinetic + gamma / (gamma - 1) * p) + spread * (kinetic + (gamma + 1) / (2 * (gamma - 1)) * p);
    }
    static void flux(const double *left, const double *right, int plane, double *flux)
    {
        std::fill(flux, flux + fields, 0);
        half(left, plane, 1, flux);
        half(right, plane, -1, flux);
    }
};

/* Godunov's: the exact solution of the two gases' problem, at the face. */
struct Exact {
    static void flux(const double *left, const double *right, int plane, double *flux)
    {
        Gas g = riemann({left[0], left[plane], left[3 * plane]}, {right[0], right[plane], right[3 * plane]}, 0);
        /* The speed along the face comes with the gas, and the contact between the two moves with `middle`. */
        double v = g.velocity >= 0 ? left[2 * plane] : right[2 * plane];
        double mass = g.density * g.velocity;
        flux[0] = mass;
        flux[1] = mass * g.velocity + g.pressure;
        flux[2] = mass * v;
        flux[3] = g.velocity * (gamma / (gamma - 1) * g.pressure + 0.5 * g.density * (g.velocity * g.velocity + v * v));
    }
};

class Characteristics : public Part<CharacteristicsPort> {
public:
    Characteristics() : Part({"cq"}) {}
    double compute(const Patch &p) override
    {
        std::vector<double> pressures, sound;
        port<QuantitiesPort>().compute(p, pressures, sound);
        double fastest = 0;
        std::size_t i = 0;
        for (int y = p.box.y0; y < p.box.y1; y++)
            for (int x = p.box.x0; x < p.box.x1; x++, i++)
                fastest = std::max(fastest, (std::fabs(p.at(1, x, y)) + std::fabs(p.at(2, x, y))) / p.at(0, x, y) + 2 * sound[i]);
        return fastest;
    }
};

class Quantities : public Part<QuantitiesPort> {
public:
    Quantities() : Part({}) {}
    void compute(const Patch &p, std::vector<double> &pressures, std::vector<double> &sound) override
    {
        pressures.clear();
        sound.clear();
        for (int y = p.box.y0; y < p.box.y1; y++)
            for (int x = p.box.x0; x < p.box.x1; x++) {
                pressures.push_back(pressure(p.at(0, x, y), p.at(1, x, y), p.at(2, x, y), p.at(3, x, y)));
                sound.push_back(std::sqrt(gamma * pressures.back() / p.at(0, x, y)));
            }
    }
};

}

/* Toro, Riemann Solvers and Numerical Methods for Fluid Dynamics, chapter 4. */
namespace {

/* How the velocity behind a wave depends on the pressure there, and its derivative. */
double behind(const Gas &g, double sound, double p, double &slope)
{
    if (p > g.pressure) {
        double a = 2 / ((gamma + 1) * g.density), b = (gamma - 1) / (gamma + 1) * g.pressure, root = std::sqrt(a / (p + b));
        slope = root * (1 - 0.5 * (p - g.pressure) / (p + b));
        return (p - g.pressure) * root;
    }
    double ratio = std::pow(p / g.pressure, (gamma - 1) / (2 * gamma));
    slope = ratio * g.pressure / (p * g.density * sound);
    return 2 * sound / (gamma - 1) * (ratio - 1);
}

/* The state at `speed` on the left of the contact, which moves with `velocity` at pressure p. */
Gas left_of(const Gas &g, double sound, double p, double velocity, double speed)
{
    if (p > g.pressure) {
        double ratio = p / g.pressure, k = (gamma - 1) / (gamma + 1);
        double shock = g.velocity - sound * std::sqrt((gamma + 1) / (2 * gamma) * ratio + (gamma - 1) / (2 * gamma));
        return speed <= shock ? g : Gas{g.density * (ratio + k) / (k * ratio + 1), velocity, p};
    }
    double last = sound * std::pow(p / g.pressure, (gamma - 1) / (2 * gamma));
    if (speed <= g.velocity - sound)
        return g;
    if (speed >= velocity - last)
        return {g.density * std::pow(p / g.pressure, 1 / gamma), velocity, p};
    double c = 2 / (gamma + 1) * (sound + (gamma - 1) / 2 * (g.velocity - speed));
    return {g.density * std::pow(c / sound, 2 / (gamma - 1)), speed + c, g.pressure * std::pow(c / sound, 2 * gamma / (gamma - 1))};
}

}

Gas riemann(const Gas &left, const Gas &right, double speed)
{
    double cl = std::sqrt(gamma * left.pressure / left.density), cr = std::sqrt(gamma * right.pressure / right.density);
    double dl, dr, p = 0.5 * (left.pressure + right.pressure) - 0.125 * (right.velocity - left.velocity) * (left.density + right.density) * (cl + cr);
    p = std::max(p, 1e-6 * std::min(left.pressure, right.pressure));
    double fl = 0, fr = 0;
    for (int i = 0; i < 50; i++) {
        fl = behind(left, cl, p, dl);
        fr = behind(right, cr, p, dr);
        double next = std::max(p - (fl + fr + right.velocity - left.velocity) / (dl + dr), 1e-6 * p);
        bool near = std::fabs(next - p) < 1e-10 * p;
        p = next;
        if (near)
            break;
    }
    double velocity = 0.5 * (left.velocity + right.velocity + behind(right, cr, p, dr) - behind(left, cl, p, dl));
    if (speed <= velocity)
        return left_of(left, cl, p, velocity, speed);
    Gas mirrored = left_of({right.density, -right.velocity, right.pressure}, cr, p, -velocity, -speed);
    return {mirrored.density, -mirrored.velocity, mirrored.pressure};
}

}

extern "C" {
classic::gov::cca::Component *create_Rk2() { return new shock::Rk2; }
classic::gov::cca::Component *create_Estimator() { return new shock::Estimator; }
classic::gov::cca::Component *create_Flux() { return new shock::Flux; }
classic::gov::cca::Component *create_States() { return new shock::States; }
classic::gov::cca::Component *create_EFMFlux() { return new shock::Riemann<shock::Equilibrium>; }
classic::gov::cca::Component *create_GodunovFlux() { return new shock::Riemann<shock::Exact>; }
classic::gov::cca::Component *create_Characteristics() { return new shock::Characteristics; }
classic::gov::cca::Component *create_Quantities() { return new shock::Quantities; }
}

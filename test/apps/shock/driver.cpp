/*
 * driver: sets the problem up, steps through time, and compares with what is known exactly. stats: sums over the gas.
 *
 * Problems: "sod", Sod's shock tube; "interface", a shock of Mach 1.5 runs into a gas of three times the density;
 * "inclined", the same with an interface that is not parallel to the shock, of which no exact solution is known.
 */
#include "part.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace shock {
namespace {

class Statistics : public Part<StatisticsPort> {
public:
    Statistics() : Part({"mesh", "cq"}) {}
    void compute(std::vector<double> &values) override
    {
        auto &mesh = port<MeshPort>();
        values.assign(3, 0);
        double mach = 0, volume = mesh.spacing(0) * mesh.spacing(0);
        std::vector<double> pressures, sound;
        for (const Patch &p : mesh.patches(0)) {
            if (p.owner != mesh.rank())
                continue;
            port<QuantitiesPort>().compute(p, pressures, sound);
            std::size_t i = 0;
            for (int y = p.box.y0; y < p.box.y1; y++)
                for (int x = p.box.x0; x < p.box.x1; x++, i++) {
                    values[0] += volume * p.at(0, x, y);
                    values[1] += volume * p.at(1, x, y);
                    values[2] += volume * p.at(3, x, y);
                    mach = std::max(mach, std::hypot(p.at(1, x, y), p.at(2, x, y)) / p.at(0, x, y) / sound[i]);
                }
        }
        mesh.sum(values);
        values.push_back(mesh.greatest(mach));
    }
};

class Driver : public classic::gov::cca::Component, public classic::gov::cca::GoPort, public classic::gov::cca::ParameterPort {
public:
    void setServices(classic::gov::cca::Services *services) override
    {
        services_ = services;
        if (!services)
            return;
        for (const char *name : {"mesh", "rk2", "ee", "stats"})
            services->registerUsesPort(name, name);
        services->addProvidesPort(static_cast<GoPort *>(this), "go", "GoPort");
        services->addProvidesPort(static_cast<ParameterPort *>(this), "parameters", "ParameterPort");
    }

    void set(const std::string &name, const std::string &value) override
    {
        std::map<std::string, int *> numbers{{"width", &setup_.width}, {"height", &setup_.height}, {"levels", &setup_.levels},
                                             {"patch", &setup_.patch}, {"unbalanced", &setup_.unbalanced},
                                             {"steps", &steps_}, {"regrid", &regrid_}};
        char *end;
        if (name == "problem" && (value == "sod" || value == "interface" || value == "inclined")) {
            problem_ = value;
            return;
        }
        double number = std::strtod(value.c_str(), &end);
        if (*end || value.empty())
            throw classic::gov::cca::CCAException(name + ": expected a number, or a problem: sod, interface or inclined; not " + value);
        if (name == "time")
            time_ = number;
        else if (numbers.count(name))
            *numbers[name] = static_cast<int>(number);
        else
            throw classic::gov::cca::CCAException("no parameter " + name + "; there are: problem, time, width, height, levels, patch, unbalanced, steps, regrid");
    }

    int go() override
    {
        MeshPort &mesh = port<MeshPort>();
        mesh.build(setup_);
        initialize(mesh, 0);
        for (int level = 0; level + 1 < setup_.levels; level++) { /* a level at a time: the problem is known on all */
            port<RegridPort>().Regrid();
            for (int l = 0; l <= level + 1; l++)
                initialize(mesh, l);
        }
        std::vector<double> begin, now;
        port<StatisticsPort>().compute(begin);
        double t = 0;
        int step = 0;
        for (; step < steps_ && t < time_; step++) {
            if (step > 0 && step % regrid_ == 0)
                port<RegridPort>().Regrid();
            double dt = std::min(port<IntegratorPort>().GetStableTimestep(), time_ - t);
            port<IntegratorPort>().Advance(dt);
            t += dt;
            if (step % 10 == 0)
                port<StatisticsPort>().compute(now);
        }
        port<StatisticsPort>().compute(now);
        std::vector<double> errors = compare(mesh, t);
        if (mesh.rank() == 0) {
            std::printf("steps %d time %.6f mass %.6f energy %.6f mach %.4f\n", step, t, now[0] / begin[0], now[2] / begin[2], now[3]);
            if (problem_ != "inclined")
                std::printf("error %.6f\n", errors[0] / errors[1]);
            std::fflush(stdout);
        }
        return !(std::isfinite(now[0]) && now[0] > 0);
    }

private:
    template <class Port> Port &port() const
    {
        auto *found = dynamic_cast<Port *>(services_->getPort(Port::type));
        if (!found)
            throw std::runtime_error(std::string("port ") + Port::type + " is not connected");
        services_->releasePort(Port::type);
        return *found;
    }

    /* The gas at (x, y) in the beginning: on the left, shocked, beyond the interface. */
    struct Problem {
        Gas left, middle, right;
        double shock, interface;
    };
    Problem problem() const
    {
        double length = static_cast<double>(setup_.width) / setup_.height;
        if (problem_ == "sod")
            return {{1, 0, 1}, {1, 0, 1}, {0.125, 0, 0.1}, 0, 0.5 * length};
        /* Rankine and Hugoniot: what a shock of this Mach number leaves behind. */
        double mach = 1.5, m2 = mach * mach, sound = std::sqrt(gamma);
        Gas behind{(gamma + 1) * m2 / ((gamma - 1) * m2 + 2), 2 * sound * (m2 - 1) / ((gamma + 1) * mach), 1 + 2 * gamma / (gamma + 1) * (m2 - 1)};
        return {behind, {1, 0, 1}, {3, 0, 1}, 0.2 * length, 0.4 * length};
    }

    void initialize(MeshPort &mesh, int level)
    {
        Problem q = problem();
        double h = mesh.spacing(level);
        for (Patch &p : mesh.patches(level)) {
            if (p.owner != mesh.rank())
                continue;
            for (int y = p.box.y0; y < p.box.y1; y++)
                for (int x = p.box.x0; x < p.box.x1; x++) {
                    double at = (x + 0.5) * h, edge = q.interface + (problem_ == "inclined" ? (y + 0.5) * h - 0.5 : 0);
                    const Gas &g = at < q.shock ? q.left : at < edge ? q.middle : q.right;
                    p.at(0, x, y) = g.density;
                    p.at(1, x, y) = g.density * g.velocity;
                    p.at(2, x, y) = 0;
                    p.at(3, x, y) = g.pressure / (gamma - 1) + 0.5 * g.density * g.velocity * g.velocity;
                }
        }
        mesh.GC_Synch(level);
    }

    /* The exact density: until the shock arrives, and what it becomes at the interface. */
    double exact(double x, double t) const
    {
        Problem q = problem();
        if (problem_ == "sod")
            return riemann(q.left, q.right, (x - q.interface) / t).density;
        double shock = 1.5 * std::sqrt(gamma), meet = (q.interface - q.shock) / shock;
        if (t <= meet)
            return x < q.shock + shock * t ? q.left.density : x < q.interface ? q.middle.density : q.right.density;
        return riemann(q.left, q.right, (x - q.interface) / (t - meet)).density;
    }

    /* On the finest grid there is at each place: sums of errors of the density, and of the density. */
    std::vector<double> compare(MeshPort &mesh, double t)
    {
        std::vector<double> sums(2, 0);
        for (int level = 0; level < mesh.levels(); level++)
            for (const Patch &p : mesh.patches(level)) {
                if (p.owner != mesh.rank())
                    continue;
                double h = mesh.spacing(level);
                for (int y = p.box.y0; y < p.box.y1; y++)
                    for (int x = p.box.x0; x < p.box.x1; x++) {
                        bool covered = false;
                        if (level + 1 < mesh.levels())
                            for (const Patch &fine : mesh.patches(level + 1))
                                covered = covered || !fine.box.cut({2 * x, 2 * y, 2 * x + 1, 2 * y + 1}).empty();
                        if (covered)
                            continue;
                        double is = exact((x + 0.5) * h, t);
                        sums[0] += h * h * std::fabs(p.at(0, x, y) - is);
                        sums[1] += h * h * is;
                    }
            }
        mesh.sum(sums);
        return sums;
    }

    classic::gov::cca::Services *services_ = nullptr;
    Setup setup_;
    std::string problem_ = "inclined";
    double time_ = 1e9;
    int steps_ = 1000000, regrid_ = 5;
};

}
}

extern "C" {
classic::gov::cca::Component *create_Driver() { return new shock::Driver; }
classic::gov::cca::Component *create_Statistics() { return new shock::Statistics; }
}

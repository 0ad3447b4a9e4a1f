/*
 * A costs y = 2x or y = x², B y = x³ or y = 2x², in milliseconds. C and D cost next to nothing: C is used by A, and D
 * by B, where it tells the other processes. Each says how long it took by its own clock.
 */
#include "validation.hpp"

#include "../mock/include/mock.h"
#include "mpiservice.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <vector>

using namespace classic::gov::cca;

namespace {

double now()
{
    if (marple_clock_external && marple_clock_external() != UINT64_MAX)
        return static_cast<double>(marple_clock_external()) / 1e9;
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

double twice(double x) { return 2 * x; }
double square(double x) { return x * x; }
double cube(double x) { return x * x * x; }
double two_squares(double x) { return 2 * x * x; }
double little(double) { return 0.001; }

template <double (*cost)(double)> class Sleeper : public Component, public validation::Work {
public:
    Sleeper(const char *name, const char *uses) : name_(name), uses_(uses) {}
    void setServices(Services *services) override
    {
        services_ = services;
        if (!services)
            return;
        services->addProvidesPort(this, "work", "Work");
        if (uses_)
            services->registerUsesPort(uses_, "Work");
    }

    void compute(double x) override
    {
        double begin = now();
        auto ns = static_cast<long>(cost(x) * 1e6 + 0.5);
        timespec t{ns / 1000000000, ns % 1000000000};
        nanosleep(&t, nullptr);
        if (uses_) {
            dynamic_cast<validation::Work &>(*services_->getPort(uses_)).compute(x);
            services_->releasePort(uses_);
        }
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0)
            std::printf("%s %.17g %.9f\n", name_, x, now() - begin);
    }

private:
    const char *name_, *uses_;
    Services *services_ = nullptr;
};

class Teller : public Component, public validation::Work {
public:
    void setServices(Services *services) override
    {
        if (services)
            services->addProvidesPort(this, "work", "Work");
    }
    void compute(double x) override
    {
        double most;
        MPI_Allreduce(&x, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
};

/* As B, but for what may go wrong. */
template <void (*fails)()> class Failing : public Component, public validation::Work {
public:
    void setServices(Services *services) override
    {
        if (!services)
            return;
        services->addProvidesPort(this, "work", "Work");
        services->registerUsesPort("d", "Work");
    }
    void compute(double) override { fails(); }
};

void throws() { throw std::runtime_error("out of range"); }
void hangs()
{
    for (;;)
        pause();
}

class Driver : public Component, public GoPort, public ParameterPort {
public:
    void setServices(Services *services) override
    {
        services_ = services;
        if (!services)
            return;
        services->registerUsesPort("a", "Work");
        services->registerUsesPort("b", "Work");
        services->addProvidesPort(static_cast<GoPort *>(this), "go", "GoPort");
        services->addProvidesPort(static_cast<ParameterPort *>(this), "parameters", "ParameterPort");
    }
    void set(const std::string &name, const std::string &value) override
    {
        std::istringstream in(value);
        xs_.clear();
        for (std::string x; std::getline(in, x, ',');)
            xs_.push_back(std::atof(x.c_str()));
        if (name != "x" || xs_.empty())
            throw CCAException("expected: x 0.5,1,1.5");
    }
    int go() override
    {
        for (double x : xs_)
            for (const char *name : {"a", "b"}) {
                dynamic_cast<validation::Work &>(*services_->getPort(name)).compute(x);
                services_->releasePort(name);
            }
        return 0;
    }

private:
    Services *services_ = nullptr;
    /* Where the framework has no ParameterPort, the environment says what there is to compute. */
    static std::vector<double> given()
    {
        const char *text = std::getenv("VALIDATION_X");
        std::vector<double> xs;
        std::istringstream in(text ? text : "3");
        for (std::string x; std::getline(in, x, ',');)
            xs.push_back(std::atof(x.c_str()));
        return xs;
    }
    std::vector<double> xs_ = given();
};

}

extern "C" {
Component *create_A1() { return new Sleeper<twice>("A", "c"); }
Component *create_A2() { return new Sleeper<square>("A", "c"); }
Component *create_B1() { return new Sleeper<cube>("B", "d"); }
Component *create_B2() { return new Sleeper<two_squares>("B", "d"); }
Component *create_B3() { return new Failing<throws>; }
Component *create_B4() { return new Failing<hangs>; }
Component *create_C() { return new Sleeper<little>("C", nullptr); }
Component *create_D() { return new Teller; }
Component *create_Driver() { return new Driver; }
}

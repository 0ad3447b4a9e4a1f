/*
 * Components that try the framework out. A Number doubles or squares what it is given; a Caller asks whatever is
 * connected; a Ring passes a number around all processes; others do what components must not do.
 */
#include "mpiservice.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace classic::gov::cca;

namespace {

class Number : public virtual Port {
public:
    virtual int of(int x) = 0;
};

template <int (*function)(int)> class Provider : public Component, public Number {
public:
    void setServices(Services *services) override
    {
        if (!services)
            return;
        const char *properties[] = {"unit", "pieces", nullptr};
        PortInfo *info = services->createPortInfo("number", "Number", properties);
        char unit[] = "unit", other[] = "other";
        if (std::string(info->getProperty(unit)) != "pieces" || info->getProperty(other))
            throw CCAException("properties of a port are lost");
        if (services->addProvidesPort(this, info))
            throw CCAException("cannot provide the port");
        if (!services->addProvidesPort(this, services->createPortInfo("number", "Number", nullptr)))
            throw CCAException("provided twice");
    }
    int of(int x) override { return function(x); }
};

int doubled(int x) { return 2 * x; }
int squared(int x) { return x * x; }

class Caller : public Component, public GoPort, public ParameterPort {
public:
    void setServices(Services *services) override
    {
        services_ = services;
        if (!services)
            return;
        services->registerUsesPort("number", "Number");
        services->addProvidesPort(static_cast<GoPort *>(this), "go", "GoPort");
        services->addProvidesPort(static_cast<ParameterPort *>(this), "parameters", "ParameterPort");
        try {
            services->registerUsesPort("go", "GoPort");
        } catch (const CCAException &) {
            return;
        }
        throw std::logic_error("two ports of one name");
    }

    int go() override
    {
        std::unique_ptr<char, void (*)(void *)> name(services_->getComponentID()->toString(), free);
        auto *number = dynamic_cast<Number *>(services_->getPort("number"));
        if (!number)
            throw CCAException("port number is not connected");
        if (!services_->unregisterUsesPort("number"))
            throw std::logic_error("a port that is in use is gone");
        printf("%s: %d\n", name.get(), number->of(x_));
        fflush(stdout);
        if (!keep_)
            services_->releasePort("number");
        return number->of(x_) < 0 ? 3 : 0;
    }

    void set(const std::string &name, const std::string &value) override
    {
        char *end;
        if (name == "keep")
            keep_ = true;
        else if (name != "x")
            throw CCAException("no parameter " + name + "; there are: keep, x");
        x_ = static_cast<int>(strtol(value.c_str(), &end, 10));
        if (*end)
            throw CCAException("x: expected a whole number, not " + value);
    }

private:
    Services *services_ = nullptr;
    int x_ = 5;
    bool keep_ = false;
};

class Ring : public Component, public GoPort {
public:
    void setServices(Services *services) override
    {
        services_ = services;
        if (!services)
            return;
        services->registerUsesPort("mpi", "gov.cca.MPIService");
        services->addProvidesPort(this, "go", "GoPort");
    }

    int go() override
    {
        auto *mpi = dynamic_cast<MPIService *>(services_->getPort("mpi"));
        MPI_Comm comm = mpi->getComm();
        int rank, ranks, sum = 0;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &ranks);
        if (rank > 0)
            MPI_Recv(&sum, 1, MPI_INT, rank - 1, 0, comm, MPI_STATUS_IGNORE);
        sum += rank;
        MPI_Send(&sum, 1, MPI_INT, (rank + 1) % ranks, 0, comm);
        if (rank == 0) {
            MPI_Recv(&sum, 1, MPI_INT, ranks - 1, 0, comm, MPI_STATUS_IGNORE);
            printf("sum of %d ranks: %d\n", ranks, sum);
        }
        mpi->releaseComm(comm);
        services_->releasePort("mpi");
        return 0;
    }

private:
    Services *services_ = nullptr;
};

/* On the last process only. */
class Faulty : public Component, public GoPort {
public:
    void setServices(Services *services) override
    {
        if (services)
            services->addProvidesPort(this, "go", "GoPort");
    }
    int go() override
    {
        int rank, ranks;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        if (rank == ranks - 1)
            throw std::runtime_error("out of paper");
        MPI_Barrier(MPI_COMM_WORLD);
        return 0;
    }
};

class Unwilling : public Component {
public:
    void setServices(Services *) override { throw CCAException("not today"); }
};

}

extern "C" {
Component *create_Doubled() { return new Provider<doubled>; }
Component *create_Squared() { return new Provider<squared>; }
Component *create_Caller() { return new Caller; }
Component *create_Ring() { return new Ring; }
Component *create_Faulty() { return new Faulty; }
Component *create_Unwilling() { return new Unwilling; }
}

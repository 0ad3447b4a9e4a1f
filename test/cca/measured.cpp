/*
 * What the Mastermind and TAU's component say, checked by a component that knows what they should: on a simulated
 * clock to the nanosecond, elsewhere as far as a clock can tell.
 */
#include <marple_cca.hpp>

#include "../mock/include/mock.h"
#include "mpiservice.h"

#include <cstdio>
#include <unistd.h>

using namespace classic::gov::cca;

namespace {

#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)
void check(bool well, const char *what, int line)
{
    if (!well)
        throw std::logic_error("line " + std::to_string(line) + ": not " + what);
}

/* Milliseconds; other clocks than a simulated one may show more. */
void work(int ms)
{
    if (mock_compute)
        mock_compute(static_cast<uint64_t>(ms) * 1000000);
    else
        usleep(static_cast<useconds_t>(ms) * 1000);
}
bool simulated() { return marple_clock_external && marple_clock_external() != UINT64_MAX; }
/* On a real clock, time for which the thread had no core is in none of the times. */
bool takes(double seconds, double ms) { return simulated() ? std::fabs(seconds * 1e3 - ms) < 1e-6 : seconds >= 0; }
/* What a barrier, or more of them, has taken: nothing, without Marple or for want of a core all the while. */
bool waits(double time, bool measured) { return simulated() || !measured ? measured == (time > 0) : time >= 0; }

/* Its port is not proxied: it tells the Mastermind by itself, as older proxies do. */
class Driver : public Component, public GoPort {
public:
    void setServices(Services *services) override
    {
        services_ = services;
        if (!services)
            return;
        services->registerUsesPort("monitor", "Performance.Monitor");
        services->registerUsesPort("perfparam", "Performance.PerfParam");
        services->registerUsesPort("measurement", "Performance.Measurement");
        services->addProvidesPort(this, "go", "GoPort");
    }

    int go() override
    {
        measured_ = marple::cca::place().second > 0 && [] { marple_totals t; return marple_read_totals(&t); }();
        monitored();
        timed();
        grouped();
        counted();
        tracked();
        return 0;
    }

private:
    template <class Wanted> Wanted &port(const char *name) { return dynamic_cast<Wanted &>(*services_->getPort(name)); }
    static double barrier()
    {
        MPI_Barrier(MPI_COMM_WORLD);
        return 0;
    }

    /* Both styles of parameters; inner methods inside; time in MPI; one that is off; one left by an exception. */
    void monitored()
    {
        auto &m = port<Performance::Monitor>("monitor");
        for (int i = 1; i <= 3; i++) {
            m.startMonitoring("Outer::compute()");
            work(i);
            m.startMonitoring("Inner.solve", {"n", "level"}, {i * 10., 1.});
            work(2 * i);
            barrier();
            m.stopMonitoring("Inner.solve");
            m.stopMonitoring("Outer::compute()", {"n"}, {i * 1.});
        }
        m.startMonitoring("Outer::compute()");
        m.startMonitoring("Inner.solve");
        work(1);
        m.stopMonitoring("Outer::compute()", {"n"}, {4.});
        m.setMonitoring("Quiet::run", false);
        m.startMonitoring("Quiet::run");
        m.stopMonitoring("Quiet::run", {}, {});
        m.stopMonitoring("Never::begun");
        m.setMonitoring("Quiet::run", true);

        auto &p = port<Performance::PerfParam>("perfparam");
        std::vector<std::string> names;
        CHECK(p.getCompMethNames(names) == 2);
        std::vector<std::vector<double>> outer, inner;
        CHECK(p.getPerformanceData("Never::begun", outer, false) != 0);
        CHECK(p.getPerformanceData("Outer::compute()", outer, false) == 0 && outer.size() == 4);
        CHECK(p.getPerformanceData("Inner.solve", inner, false) == 0 && inner.size() == 4);
        for (std::size_t i = 0; i < 3; i++) {
            auto ms = static_cast<double>(i + 1);
            CHECK(takes(outer[i][0] - outer[i][1], 3 * ms) && takes(inner[i][0] - inner[i][1], 2 * ms));
            CHECK(outer[i][2] == outer[i][0] - outer[i][1] || std::fabs(outer[i][2] - (outer[i][0] - outer[i][1])) < 1e-9);
            CHECK(outer[i][0] >= inner[i][0] && outer[i][1] == inner[i][1]);
            CHECK(waits(inner[i][1], measured_));
            CHECK(outer[i].size() == 4 && outer[i][3] == ms);
            CHECK(inner[i].size() == 5 && inner[i][3] == 10 * ms && inner[i][4] == 1);
        }
        CHECK(std::isnan(inner[3][3]) && outer[3][3] == 4);
        CHECK(p.getPerformanceData("Inner.solve", inner, true) == 0 && p.getPerformanceData("Inner.solve", inner, false) != 0);
        m.setFileName("Outer::compute()", "outer.csv");
        m.dumpDataFileName("Outer::compute()", "now.csv");
    }

    struct Data {
        std::vector<std::vector<double>> exclusive, inclusive;
        std::vector<int> calls, children;
    };
    static Data ask(Performance::Query &q, const std::vector<std::string> &timers)
    {
        Data d;
        std::vector<std::string> counters;
        int count;
        q.getTimerData(timers, d.exclusive, d.inclusive, d.calls, d.children, counters, count);
        check(count == 2 && counters[0] == "P_WALL_CLOCK_TIME" && counters[1] == "MPI_TIME", "the counters", __LINE__);
        return d;
    }

    void timed()
    {
        auto &m = port<Performance::Measurement>("measurement");
        auto &q = *m.createQuery();
        auto *outer = m.createTimerWithName("outer"), *inner = m.createTimerWithNameType("inner", "()");
        CHECK(m.createTimerWithName("outer") == outer && m.createTimerWithNameTypeGroup("outer", "", "other") != outer);
        auto *phase = m.createPhaseWithName("phase");
        for (int i = 0; i < 2; i++) {
            outer->start();
            work(1);
            inner->start();
            inner->setParam1L(i, "step");
            work(2);
            outer->start(); /* recursion: inclusive time counts once */
            work(4);
            outer->stop();
            barrier();
            inner->stop();
            outer->stop();
        }
        phase->start();
        inner->start();
        work(8);
        phase->stop(); /* and what is still inside */
        inner->stop();
        Data d = ask(q, {"outer", "inner", "phase", "inner [ <step=1> ]", "phase => inner", "none"});
        CHECK(d.calls == std::vector<int>({4, 3, 1, 1, 1, 0}));
        CHECK(d.children == std::vector<int>({2, 2, 1, 1, 0, 0}));
        CHECK(takes((d.inclusive[0][0] - d.inclusive[0][1]) / 1e6, 14) && takes(d.exclusive[0][0] / 1e6, 10));
        CHECK(takes((d.inclusive[1][0] - d.inclusive[1][1]) / 1e6, 20) && takes((d.exclusive[1][0] - d.exclusive[1][1]) / 1e6, 12));
        CHECK(takes(d.inclusive[2][0] / 1e6, 8) && takes(d.inclusive[4][0] / 1e6, 8));
        CHECK(takes((d.inclusive[3][0] - d.inclusive[3][1]) / 1e6, 6));
        CHECK(waits(d.exclusive[1][1], measured_) && d.exclusive[0][1] == 0 && d.inclusive[5][0] == 0);
        outer->setName("renamed");
        CHECK(outer->getName() == "renamed" && ask(q, {"renamed"}).calls[0] == 4);
        q.dumpProfileDataPrefix("timers");
    }

    void grouped()
    {
        auto &m = port<Performance::Measurement>("measurement");
        auto &c = *m.createControl();
        auto &q = *m.createQuery();
        auto *one = m.createTimerWithNameTypeGroup("one", "", "io"), *two = m.createTimerWithNameTypeGroup("two", "", "io | solver");
        auto both = [&] {
            for (auto *t : {one, two}) {
                t->start();
                barrier();
                t->stop();
            }
            return ask(q, {"one", "two"});
        };
        CHECK(both().calls == std::vector<int>({1, 1}));
        c.disableGroupName("io");
        CHECK(both().calls == std::vector<int>({1, 2})); /* the other group of the second is on */
        c.disableGroupId(two->getGroupId());
        CHECK(both().calls == std::vector<int>({1, 2}));
        c.enableGroupId(one->getGroupId());
        Data before = both();
        CHECK(before.calls == std::vector<int>({2, 3}));
        barrier();
        c.disableGroupName("MPI");
        Data off = both();
        CHECK(off.calls == std::vector<int>({3, 4}) && off.inclusive[0][1] == before.inclusive[0][1]);
        c.enableGroupName("MPI");
        Data on = both();
        CHECK(on.calls == std::vector<int>({4, 5}) && waits(on.inclusive[0][1] - off.inclusive[0][1], measured_));
        c.disableAllGroups();
        CHECK(both().calls == std::vector<int>({4, 5}));
        c.enableAllGroups();
        CHECK(both().calls == std::vector<int>({5, 6}));
        one->setGroupName("elsewhere");
        CHECK(one->getGroupName() == "elsewhere");
    }

    void counted()
    {
        auto &m = port<Performance::Measurement>("measurement");
        auto &q = *m.createQuery();
        auto *e = m.createEventWithName("size");
        auto *c = m.createContextEventWithName("depth");
        auto *t = m.createTimerWithName("renamed"), *u = m.createTimerWithName("inner");
        for (double x : {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16})
            e->trigger(x);
        e->trigger(std::numeric_limits<double>::infinity());
        c->trigger(1);
        t->start();
        u->start();
        c->trigger(2);
        u->stop();
        c->disable();
        c->trigger(3);
        t->stop();
        std::vector<int> n;
        std::vector<double> max, min, mean, squares, deviation;
        std::vector<std::string> names{"size", "depth", "depth : renamed => inner"};
        q.getEventData(names, n, max, min, mean, squares);
        q.getEventDeviations(names, deviation);
        CHECK(n == std::vector<int>({4, 3, 1}) && max[0] == 1e9 + 16 && min[0] == 1e9 + 4 && mean[0] == 1e9 + 10);
        CHECK(std::fabs(deviation[0] - std::sqrt(22.5)) < 1e-9 && mean[1] == 2 && squares[1] == 14 && mean[2] == 2);
        q.getEventNames(names);
        CHECK(names.size() == 3);
    }

    /* Memory is seen when it comes and when it goes, now and by the thread that looks every second. */
    void tracked()
    {
        auto &m = port<Performance::Measurement>("measurement");
        auto &q = *m.createQuery();
        auto *heap = m.createMemoryTracker();
        auto *room = m.createMemoryHeadroomTracker();
        const std::string name = "Memory Utilization (heap, in KB)";
        std::vector<int> n;
        std::vector<double> max, min, mean, squares;
        heap->trackHere();
        room->trackHere();
        {
            std::vector<char> block(64 << 20, 1);
            heap->trackHere();
            q.getEventData({name, "Memory Headroom Left (in MB)"}, n, max, min, mean, squares);
            CHECK(n[0] == 2 && std::fabs(max[0] - min[0] - 65536) < 1024 && n[1] == 1 && max[1] > 0);
        }
        heap->disable();
        heap->trackHere();
        heap->enable();
        heap->trackHere();
        q.getEventData({name}, n, max, min, mean, squares);
        CHECK(n[0] == 3 && mean[0] - min[0] < 30000);
        if (simulated())
            return;
        heap->setInterruptInterval(1);
        heap->enableInterruptTracking();
        for (int i = 0; i < 600 && n[0] == 3; i++, usleep(50000))
            q.getEventData({name}, n, max, min, mean, squares);
        CHECK(n[0] > 3);
    }

    Services *services_ = nullptr;
    bool measured_ = false;
};

}

extern "C" {
Component *create_Driver() { return new Driver; }
Component *create_Tau() { return new marple::cca::Tau; }
Component *create_Mastermind() { return new marple::cca::Mastermind; }
}

/*
 * Nanoseconds that the ports of marple_cca.hpp take: thread CPU time, the best of several rounds. Prints one line per
 * use: its name and nanoseconds.
 *
 *     monitor [ROUNDS [CALLS-PER-ROUND]]
 */
#include <marple_cca.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

double now()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <class Use> void measure(const char *name, int rounds, int calls, Use use)
{
    double least = 1e300;
    for (int r = 0; r < rounds; r++) {
        const double begin = now();
        for (int i = 0; i < calls; i++)
            use(i);
        const double each = (now() - begin) / calls;
        least = each < least ? each : least;
    }
    std::printf("%s %.2f\n", name, least);
}

}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 5, calls = argc > 2 ? std::atoi(argv[2]) : 10000;
    marple::cca::Mastermind mastermind;
    marple::cca::Tau tau;
    Performance::Monitor &monitor = mastermind;
    Performance::Measurement &measurement = tau;
    const std::string record = "Flux::compute()", other = "Flux::limit()"; /* each keeps its first 65536 */
    const std::vector<std::string> names{"n"};
    std::vector<double> values{1};
    Performance::Timer &timer = *measurement.createTimerWithName("sweep");
    Performance::Event &event = *measurement.createEventWithName("cells");
    measure("Monitor", rounds, calls, [&](int) {
        monitor.startMonitoring(record);
        monitor.stopMonitoring(record);
    });
    measure("Monitor,-one-parameter", rounds, calls, [&](int i) {
        values[0] = i & 1023;
        monitor.startMonitoring(other);
        monitor.stopMonitoring(other, names, values);
    });
    monitor.setMonitoring(record, false);
    measure("Monitor,-method-off", rounds, calls, [&](int) {
        monitor.startMonitoring(record);
        monitor.stopMonitoring(record);
    });
    measure("Timer", rounds, calls, [&](int) {
        timer.start();
        timer.stop();
    });
    measure("Event", rounds, calls, [&](int i) { event.trigger(i); });
}
